package upkeep_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/db/upkeep"
)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// saveOld stores a report of an age in days, and returns its id and bucket.
func saveOld(t *testing.T, s *db.Store, days int, r crashtest.Report) (crash.OopsID, crash.BucketID) {
	t.Helper()
	at := today.AddDate(0, 0, -days)
	in := intake.New(intake.Config{MaxAgeDays: 3660, Now: func() time.Time { return at }}, s)
	receipt, err := in.Accept(t.Context(), crash.Report{ID: crash.NewOopsID(at), System: "machine", Fields: r.Fields()})
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Counted(t, s)
	report, err := s.Report(t.Context(), receipt.ID)
	if err != nil || report.Bucket == nil {
		t.Fatalf("stored report: %v, bucket %v", err, report.Bucket)
	}
	return receipt.ID, *report.Bucket
}

// run does all steps of a new run.
func run(t *testing.T, s *upkeep.Retention, kind privacy.RunKind, until time.Time) privacy.Run {
	t.Helper()
	r, err := s.Start(t.Context(), kind, until, "ada")
	if err == nil {
		r, err = s.Work(t.Context(), r.ID, func(privacy.Run) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestExpireKeepsGrouping checks for every kind of report that removing the private fields leaves it in
// its problem, with at most the used lines of private fields, and that doing it again changes nothing.
func TestExpireKeepsGrouping(t *testing.T) {
	t.Parallel()
	table := (*privacy.Table)(nil)
	for name, r := range map[string]crashtest.Report{
		"native": crashtest.Native(), "unsymbolised": crashtest.Unsymbolised(), "hang": crashtest.Hang(),
		"assertion": crashtest.Assertion(), "python": crashtest.Python(), "recoverable": crashtest.Recoverable(),
		"package": crashtest.Package(), "oops": crashtest.Oops(), "suspend": crashtest.Suspend(),
		"ungroupable": crashtest.Ungroupable(), "java": crashtest.Java(), "go": crashtest.GoPanic(),
		"rust": crashtest.RustPanic(), "compiler": crashtest.CompilerError(), "odd": crashtest.OddNames(),
		"half": crashtest.HalfNamed(), "thread": crashtest.ThreadHang(), "snap": crashtest.Snap(),
		"bare package": crashtest.BarePackage(), "modern oops": crashtest.ModernOops(), "group": crashtest.ExceptionGroup(),
		"markup": crashtest.Markup(), "unicode": crashtest.Unicode(), "bare": crashtest.BareRecoverable(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r["JournalErrors"], r["ProcEnviron"] = "private 1", "private 2"
			before := r.Fields()
			want := grouping.SignatureOf(before)
			rest, removed := upkeep.Expire(table, before, grouping.SummaryOf(before).AddressSignature)
			if got := grouping.SignatureOf(rest); got.Signature != want.Signature || got.Rule != want.Rule {
				t.Errorf("got %q by %q, want %q by %q", got.Signature, got.Rule, want.Signature, want.Rule)
			}
			if _, there := rest["JournalErrors"]; there || rest["ProcEnviron"] != "" || len(removed) < 2 {
				t.Errorf("removed %v, want JournalErrors and ProcEnviron among them", removed)
			}
			used := map[string]bool{"_PythonExceptionQualifier": name == "unicode"} // part of the signature
			for _, p := range grouping.Explain(before).Passages {
				used[p.Field] = true
			}
			for field := range rest {
				if table.Class(field) >= privacy.Private && !used[field] {
					t.Errorf("%s stays, which determines nothing", field)
				}
			}
			if _, again := upkeep.Expire(table, rest, ""); len(again) > 0 {
				t.Errorf("second time: removed %v", again)
			}
		})
	}
}

// TestRuns checks a dry run, the removal of secret fields, and that both leave held problems alone.
func TestRuns(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	table, err := privacy.Parse("UserGroups=secret", "private")
	if err != nil {
		t.Fatal(err)
	}
	s := upkeep.NewRetention(store, table)
	var ids []crash.OopsID
	for i := range 3 {
		id, _ := saveOld(t, store, 3-i, crashtest.Native(crashtest.Process(i), crashtest.Set("FooNote", "stays")))
		ids = append(ids, id)
	}
	heldID, held := saveOld(t, store, 2, crashtest.Python())
	hold := crash.Mark{Kind: crash.MarkHold, Bucket: held, Person: "ada"}
	if _, err := problems.New(store).Set(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	r := run(t, s, privacy.RunCheck, time.Now())
	if r.LookedAt != 4 || r.Secret != 4 || r.Private != 4 || r.Changed != 0 || r.Found.Secret["UserGroups"] != 4 ||
		r.Found.Private["FooNote"] != 3 {
		t.Errorf("check: got %+v, want 4 reports with secret and private fields, and no change", r)
	}
	if r = run(t, s, privacy.RunApply, time.Now()); r.Changed != 3 || r.Held != 1 {
		t.Errorf("apply: got %d changed, %d held; want 3 and 1", r.Changed, r.Held)
	}
	if r = run(t, s, privacy.RunApply, time.Now()); r.Changed != 0 || r.Held != 1 {
		t.Errorf("apply again: got %d changed, %d held; want 0 and 1", r.Changed, r.Held)
	}
	for _, id := range ids {
		report, err := store.Report(t.Context(), id)
		if err != nil || report.Fields["UserGroups"] != "" || report.Fields["FooNote"] != "stays" ||
			report.Fields[crash.DroppedField] != "UserGroups" {
			t.Errorf("got %v, %v; want the secret field dropped and the others there", report.Fields, err)
		}
	}
	if report, err := store.Report(t.Context(), heldID); err != nil || report.Fields["UserGroups"] == "" {
		t.Errorf("report of a held problem: got %v, %v; want its field there", report.Fields, err)
	}
	checkExpired(t, store)
}

func checkExpired(t *testing.T, s *db.Store) {
	t.Helper()
	result, err := upkeep.Check(t.Context(), s, crash.CheckScope{Most: 10}, func() {})
	if err != nil || result.Found != 0 {
		t.Errorf("check: got %+v, %v; want no difference", result, err)
	}
}

// TestExpire checks that only old reports lose private fields, that a run continues after the last one,
// and that a lifted hold makes the next one begin with the oldest report.
func TestExpire(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	s, holds := upkeep.NewRetention(store, nil), problems.New(store)
	old, _ := saveOld(t, store, 40, crashtest.Native())
	heldID, held := saveOld(t, store, 39, crashtest.Python())
	middle, _ := saveOld(t, store, 20, crashtest.Native(crashtest.Process(2)))
	young, _ := saveOld(t, store, 1, crashtest.Native(crashtest.Process(3)))
	if _, err := holds.Set(t.Context(), crash.Mark{Kind: crash.MarkHold, Bucket: held}); err != nil {
		t.Fatal(err)
	}
	want := func(lost ...crash.OopsID) {
		t.Helper()
		for _, id := range []crash.OopsID{old, heldID, middle, young} {
			report, err := store.Report(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			gone := false
			for _, l := range lost {
				gone = gone || l == id
			}
			if report.Fields["ExecutablePath"] == "" || (report.Fields["UserGroups"] == "") != gone ||
				strings.Contains(report.Fields[crash.ExpiredField], "UserGroups") != gone {
				t.Errorf("report of %s: got %v, want private fields gone: %v", id.Received(), report.Fields, gone)
			}
		}
	}
	if r := run(t, s, privacy.RunExpire, today.AddDate(0, 0, -30)); r.LookedAt != 2 || r.Changed != 1 || r.Held != 1 {
		t.Errorf("first run: got %+v, want 2 reports, one of them held", r)
	}
	want(old)
	_, err := s.Start(t.Context(), privacy.RunExpire, today.AddDate(0, 0, -30), "")
	if crash.KindOf(err) != crash.Conflict {
		t.Errorf("nothing to do: got %v, want Conflict", err)
	}
	if r := run(t, s, privacy.RunExpire, today.AddDate(0, 0, -10)); r.LookedAt != 1 || r.Changed != 1 {
		t.Errorf("second run: got %+v, want it to continue with one report", r)
	}
	want(old, middle)
	if err := holds.Lift(t.Context(), held, crash.MarkHold, "ada"); err != nil {
		t.Fatal(err)
	}
	if r := run(t, s, privacy.RunExpire, today.AddDate(0, 0, -10)); r.LookedAt != 3 || r.Changed != 1 {
		t.Errorf("after the hold: got %+v, want 3 reports, and one changed", r)
	}
	want(old, heldID, middle)
	checkExpired(t, store)
}

// TestTwoInstances lets two instances work on one run. Each report changes once.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	one, two := dbtest.Open(t, url), dbtest.Open(t, url)
	const reports = 600
	in := intake.New(intake.Config{MaxAgeDays: 3660, Now: func() time.Time { return today }}, one)
	var saving sync.WaitGroup
	for i := range reports {
		saving.Go(func() {
			if _, err := in.Accept(t.Context(), crash.Report{System: "machine",
				Fields: crashtest.Native(crashtest.Process(i)).Fields()}); err != nil {
				t.Error(err)
			}
		})
	}
	saving.Wait()
	a, b := upkeep.NewRetention(one, nil), upkeep.NewRetention(two, nil)
	r, err := a.Start(t.Context(), privacy.RunExpire, time.Now().AddDate(10, 0, 0), "")
	if err != nil {
		t.Fatal(err)
	}
	var working sync.WaitGroup
	working.Go(func() { _, _ = a.Work(t.Context(), r.ID, func(privacy.Run) {}) })
	last, err := b.Work(t.Context(), r.ID, func(privacy.Run) {})
	working.Wait()
	if err != nil || last.LookedAt != reports || last.Changed != reports {
		t.Errorf("got %+v, %v; want each of %d reports changed once", last, err, reports)
	}
	checkExpired(t, one)
}
