package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
)

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

func TestCheckRepairs(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	dbtest.Exec(t, p.url, `update counting set bodies_since = now();
		insert into bucket_bodies (bucket_id, month, reports, kept)
		values (substr(sha256('x'), 1, 20), '2026-11-01', 3, 2)`)
	wantOutput(t, p.environ, []string{"check", "--all", "--repair"}, "1 month of a problem corrected", " 0 differences")
	wantOutput(t, p.environ, []string{"check", "--repair"}, "0 months of problems corrected")
	records := mustRun(t, p.environ, "audit")
	if n := strings.Count(records, "mishap check --repair"); n != 1 {
		t.Errorf("got %d records of repairs, want 1: %s", n, records)
	}
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
