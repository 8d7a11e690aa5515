package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
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
