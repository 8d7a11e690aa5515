package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/db/problems"
	"mishap/notify/mail"
	"mishap/notify/webhook"
)

// TestRegressionByHandIsSentOnce checks which mails reach a relay, and which requests a webhook, about a
// problem that a person marked as fixed: nothing for versions without the fix, one of each when it is seen
// again, and nothing after the person has taken the mark back.
func TestRegressionByHandIsSentOnce(t *testing.T) {
	t.Parallel()
	f := newNotifyFixture(t)
	var mu sync.Mutex
	var hooks []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var got struct {
			Type string
			Data struct{ Version string }
		}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		mu.Lock()
		defer mu.Unlock()
		hooks = append(hooks, got.Type+" "+got.Data.Version)
	}))
	t.Cleanup(receiver.Close)

	stored := events.New(f.store)
	hook := crash.Endpoint{Kind: crash.EndpointWebhook, Name: "hook", Address: crash.Secret(receiver.URL),
		Secret: webhook.NewSecret(), PerMinute: 600}
	if wrong := webhook.CheckSettings(&hook, true); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	var err error
	if hook.ID, err = stored.AddEndpoint(t.Context(), hook, "ada"); err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, f.url, `update rules set actions = actions || jsonb_build_object('endpoints', jsonb_build_array($1::bigint))
		where kind = 'regressed'`, hook.ID)
	allowed, err := crash.ParseNetworks("127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	log := dbtest.Log(t)
	worker, err := webhook.NewWorker(stored, webhook.NewClient(webhook.Config{Allow: allowed, Now: time.Now,
		BaseURL: "https://crashes.example.com"}), log, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { worker.Close(context.WithoutCancel(t.Context())) })
	relay, err := mail.ParseRelay(f.relay.URL, "off")
	if err != nil {
		t.Fatal(err)
	}
	mailer, err := mail.New(mail.Config{Relay: relay, From: "crashes@example.org", BaseURL: "https://crashes.example.com",
		Log: log, Now: time.Now, Registerer: prometheus.NewRegistry()}, stored)
	if err != nil {
		t.Fatal(err)
	}
	evaluator := events.NewEvaluator(stored, events.EvaluatorOptions{Log: log})
	rounds := func() {
		t.Helper()
		dbtest.Counted(t, f.store)
		for range 2 {
			for _, round := range []func(context.Context) error{evaluator.Round, mailer.Round, worker.Round} {
				if err := round(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			worker.Wait()
		}
	}

	sent := 0
	var bucket crash.BucketID
	report := func(version string) {
		t.Helper()
		sent++
		rec, err := intake.New(intake.Config{MaxAgeDays: 366, Now: time.Now}, nil).Examine(crash.Report{
			ID: crash.NewOopsID(time.Now()), System: crash.NewSystemID(fmt.Sprint("machine ", sent)),
			Fields: crashtest.Native(crashtest.Process(sent), crashtest.Set("Package", "tidewatch "+version),
				crashtest.Set("Date", time.Now().UTC().Format(time.ANSIC))).Fields()})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.store.SaveReport(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		bucket = crash.BucketIDOf(rec.Grouping.Signature)
	}
	var wantMails, wantHooks []string
	want := func(when string) {
		t.Helper()
		rounds()
		var mails []string
		for _, m := range f.relay.Mails() {
			mails = append(mails, regexp.MustCompile(`New: |Regressed: |$`).FindString(m.Raw))
		}
		if diff := cmp.Diff(wantMails, mails); diff != "" {
			t.Errorf("%s: mails (-want +got):\n%s", when, diff)
		}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(wantHooks, hooks); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", when, diff)
		}
	}
	fixed := func(version string) int64 {
		t.Helper()
		decided, err := problems.New(f.store).Set(t.Context(), crash.Mark{Bucket: bucket, Kind: crash.MarkFixed,
			Person: "fay", Fixes: []crash.FixedIn{{Version: version}}})
		if err != nil {
			t.Fatal(err)
		}
		return decided.ID
	}

	rounds()
	for range 3 {
		report("1.0-1")
	}
	wantMails = []string{"New: "}
	want("a new problem")

	decided := fixed("1.1-1")
	report("1.0-1")
	want("a version before the fix")

	report("1.2-1")
	wantMails, wantHooks = append(wantMails, "Regressed: "), []string{"problem.regressed 1.2-1"}
	want("a newer version")
	report("1.2-1")
	want("the same version again")

	if _, err := problems.New(f.store).Undo(t.Context(), decided, "fay"); err != nil {
		t.Fatal(err)
	}
	want("reopened")
	report("1.3-1")
	want("a newer version of a problem that a person has reopened")

	fixed("1.4-1")
	report("1.3-1")
	want("marked again, a version before the fix")
	report("1.4-1")
	wantMails, wantHooks = append(wantMails, "Regressed: "), append(wantHooks, "problem.regressed 1.4-1")
	want("marked again, the version with the fix")
}

// oldReports stores n reports as old rules might have grouped them: all reports of a program in one
// problem, and reports without a program in none.
func oldReports(t *testing.T, p *prepared, n int) {
	t.Helper()
	examine := intake.New(intake.Config{MaxAgeDays: 366}, p.store)
	var group errgroup.Group
	group.SetLimit(128)
	for r := range crashtest.Fleet(5, n, time.Now()) {
		rec, err := examine.Examine(r)
		if err != nil {
			t.Fatal(err)
		}
		rec.Grouping = crash.Grouping{Reason: "old"}
		if rec.Executable != "" {
			rec.Grouping = crash.Grouping{Signature: "old " + rec.Executable, Rule: crash.RuleStacktrace}
		}
		group.Go(func() error {
			_, _, err := p.store.SaveReport(t.Context(), rec)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	dbtest.Counted(t, p.store)
	dbtest.Exec(t, p.url, `update reports set rules = 1 where unbucketed = 'old' or rule = 'stacktrace'`)
}

func TestRegroupCommand(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	oldReports(t, p, 400)
	dry := mustRun(t, p.environ, "regroup", "--dry-run")
	if !strings.Contains(dry, "would move") || !strings.Contains(dry, "no problem") || !strings.Contains(dry, "(new)") {
		t.Errorf("dry run: got %s, want the moves", dry)
	}
	mustRun(t, p.environ, "check", "--all")
	again := mustRun(t, p.environ, "regroup", "--dry-run")
	if again != dry {
		t.Errorf("a second dry run: got %s, want the same output as before:\n%s", again, dry)
	}
	moved := mustRun(t, p.environ, "regroup")
	// Old problems that became empty are merged meanwhile, so the labels may differ, but not the
	// numbers.
	if numbers(moved) != numbers(dry) {
		t.Errorf("the run: got %s, want the numbers of the dry run:\n%s", moved, dry)
	}
	mustRun(t, p.environ, "check", "--all")
	if out := mustRun(t, p.environ, "regroup"); !strings.Contains(out, " 0 moved") {
		t.Errorf("a second run: got %s, want nothing to move", out)
	}
	// The address of an old problem leads to the problem that has its reports.
	old := crash.BucketIDOf("old /usr/bin/tidewatch")
	if b, err := p.store.Bucket(t.Context(), old); err == nil && (b.ID == old || b.Reports == 0) {
		t.Errorf("the old problem: got %s with %d reports, want the new problem", b.Signature, b.Reports)
	}
	mustRun(t, p.environ, "check", "--all")
}

// numbers returns the sorted counts of the printed moves.
func numbers(out string) string {
	var found []string
	for line := range strings.SplitSeq(out, "\n") {
		if first, _, ok := strings.Cut(line, " "); ok && first != "" && strings.Trim(first, "0123456789") == "" {
			found = append(found, first)
		}
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// arrive stores up to 100 reports a second until stop is closed.
func arrive(t *testing.T, p *prepared, stop <-chan struct{}) error {
	t.Helper()
	examine := intake.New(intake.Config{MaxAgeDays: 366}, p.store)
	next := time.NewTicker(10 * time.Millisecond)
	defer next.Stop()
	for seed := uint64(6); ; seed++ {
		for r := range crashtest.Fleet(seed, 10_000, time.Now()) {
			select {
			case <-stop:
				return nil
			case <-next.C:
			}
			rec, err := examine.Examine(r)
			if err != nil {
				return err
			}
			if _, _, err := p.store.SaveReport(t.Context(), rec); err != nil {
				return err
			}
		}
	}
}

// TestMoreRegroupKilled repeatedly kills regrouping while reports of the same programs arrive. Nothing
// may be lost or counted twice, and the next run must continue where the last one stopped.
func TestMoreRegroupKilled(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	oldReports(t, p, 2500)
	lookedAt := func() crash.RegroupRun {
		run, err := db.NewDecisions(p.store).RunningRegroup(t.Context())
		if err != nil && crash.KindOf(err) != crash.NotFound {
			t.Fatal(err)
		}
		return run
	}
	stop := make(chan struct{})
	var arriving errgroup.Group
	arriving.Go(func() error { return arrive(t, p, stop) })
	var last int64
	for i := range 3 {
		proc := start(t, p.environ, "regroup", noConfig(t))
		eventually(t, fmt.Sprintf("progress of run %d", i), func() bool { return lookedAt().LookedAt > last })
		proc.kill()
		last = lookedAt().LookedAt
		mustRun(t, p.environ, "check", "--all")
	}
	if last == 0 {
		t.Fatal("the run ended before it was killed; it needs more reports")
	}
	out := mustRun(t, p.environ, "regroup")
	if !strings.Contains(out, "; done") {
		t.Errorf("got %s, want a finished run", out)
	}
	close(stop)
	if err := arriving.Wait(); err != nil {
		t.Error(err)
	}
	mustRun(t, p.environ, "check", "--all")
	run, err := db.NewDecisions(p.store).Regroups(t.Context(), 5)
	if err != nil || len(run) != 1 || run[0].State != crash.RegroupDone || run[0].LookedAt < 2500 {
		t.Errorf("runs: got %+v, %v, want one that examined all reports", run, err)
	}
}
