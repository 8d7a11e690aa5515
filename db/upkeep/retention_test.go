package upkeep_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
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
	receipt := dbtest.Must(in.Accept(t.Context(), crash.Report{ID: crash.NewOopsID(at), System: "machine",
		Fields: r.Fields()}))(t)
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
			rest, removed := upkeep.Expire(table, before, grouping.AddressSignature(before))
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
	table := dbtest.Must(privacy.Parse("UserGroups=secret", "private"))(t)
	s := upkeep.NewRetention(store, table)
	var ids []crash.OopsID
	for i := range 3 {
		id, _ := saveOld(t, store, 3-i, crashtest.Native(crashtest.Process(i), crashtest.Set("FooNote", "stays")))
		ids = append(ids, id)
	}
	heldID, held := saveOld(t, store, 2, crashtest.Python())
	hold := crash.Mark{Kind: crash.MarkHold, Bucket: held, Person: "ada"}
	dbtest.Must(problems.New(store).Set(t.Context(), hold))(t)
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

// TestRunsNotInFull checks that runs look at reports that are not stored in full, and change nothing of them.
func TestRunsNotInFull(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.OpenConfig(t, db.Config{URL: url, KeepBodies: 2, Now: func() time.Time { return today }})
	dbtest.Exec(t, url, `update counting set bodies_since = $1`, today.AddDate(-1, 0, 0))
	s := upkeep.NewRetention(store, dbtest.Must(privacy.Parse("UserGroups=secret", "private"))(t))
	var ids []crash.OopsID
	for i := range 6 {
		id, _ := saveOld(t, store, 6-i, crashtest.Native(crashtest.Process(i)))
		ids = append(ids, id)
	}
	const rows = `select id::text, concat_ws('|', complete, quality) from reports where body is null`
	before := dbtest.Lines(t, url, rows)
	if len(before) != 4 {
		t.Fatalf("got %d reports that are not stored in full, want 4", len(before))
	}
	for _, step := range []struct {
		kind    privacy.RunKind
		changed int64
	}{{privacy.RunCheck, 0}, {privacy.RunApply, 2}, {privacy.RunApply, 0}, {privacy.RunExpire, 2}} {
		r := run(t, s, step.kind, today)
		if r.LookedAt != 6 || r.Changed != step.changed {
			t.Errorf("%s: got %d of %d changed, want %d of 6", step.kind, r.Changed, r.LookedAt, step.changed)
		}
	}
	checktest.Diff(t, "reports that are not stored in full", dbtest.Lines(t, url, rows), before)
	for _, id := range ids {
		r, err := store.Report(t.Context(), id)
		if err != nil || r.Fields["UserGroups"] != "" || r.Fields["Package"] == "" {
			t.Errorf("got %v, %v; want the secret field dropped and the others there", r.Fields, err)
		}
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
	dbtest.Must(holds.Set(t.Context(), crash.Mark{Kind: crash.MarkHold, Bucket: held}))(t)
	want := func(lost ...crash.OopsID) {
		t.Helper()
		for _, id := range []crash.OopsID{old, heldID, middle, young} {
			report := dbtest.Must(store.Report(t.Context(), id))(t)
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
	checktest.NoError(t, holds.Lift(t.Context(), held, crash.MarkHold, "ada"))
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
	r := dbtest.Must(a.Start(t.Context(), privacy.RunExpire, time.Now().AddDate(10, 0, 0), ""))(t)
	var working sync.WaitGroup
	working.Go(func() { _, _ = a.Work(t.Context(), r.ID, func(privacy.Run) {}) })
	last, err := b.Work(t.Context(), r.ID, func(privacy.Run) {})
	working.Wait()
	if err != nil || last.LookedAt != reports || last.Changed != reports {
		t.Errorf("got %+v, %v; want each of %d reports changed once", last, err, reports)
	}
	checkExpired(t, one)
}

// number returns the result of a query for one number.
func number(t *testing.T, conn *pgx.Conn, sql string, args ...any) (n int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func execute(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// daysOf returns the number of daily counts of a problem that are older than two years.
func daysOf(t *testing.T, conn *pgx.Conn, id crash.BucketID) int64 {
	t.Helper()
	return number(t, conn, "select count(*) from bucket_days where bucket_id = $1 and day < $2", id[:],
		upkeep.CountsFrom(time.Now(), 2))
}

// TestExpireCounts lets the counts of years expire, and fails in each of its steps first. It checks that
// totals stay, that days that have not expired do not change, that everything can be verified at any
// time, and which problems and days stay: held ones, those of stored reports, and those with work.
func TestExpireCounts(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	s, holds := upkeep.NewRetention(store, nil), problems.New(store)
	conn := dbtest.Connect(t, url)
	years := []int{2000, 1500, 1490, 1000, 400, 100, 1}
	_, long := saveOld(t, store, 2100, crashtest.Native(crashtest.Process(100)))
	for i, days := range years {
		saveOld(t, store, days, crashtest.Native(crashtest.Process(i)))
	}
	_, held := saveOld(t, store, 1600, crashtest.Python())
	_, over := saveOld(t, store, 1601, crashtest.Oops())
	_, worked := saveOld(t, store, 1602, crashtest.Java())
	stored, needed := saveOld(t, store, 1603, crashtest.GoPanic())
	dbtest.Must(holds.Set(t.Context(), crash.Mark{Kind: crash.MarkHold, Bucket: held, Person: "ada"}))(t)
	execute(t, conn, `insert into decisions (kind, cause, bucket_id, person, reason, at)
		values ('renamed', 'person', $1, 'ada', '', now())`, worked[:])
	// Retention has dropped all reports of these years but one, as if it had been received later.
	execute(t, conn, "delete from reports where id <> $1 and bucket_id <> $2 and received < $3", [16]byte(stored), held[:],
		today.AddDate(-2, 0, 0))
	execute(t, conn, "insert into dropped_months values ('2024-10-01', 8, now())")
	total := number(t, conn, "select reports from buckets where id = $1", long[:])
	versions := number(t, conn, "select sum(reports) from bucket_versions where bucket_id = $1", long[:])
	recent := `select coalesce(sum(hashtext(d::text)::bigint), 0) from bucket_days as d where day >= $1`
	before := number(t, conn, recent, upkeep.CountsFrom(time.Now(), 2))
	active := activeMachines(t, store)

	if e, err := s.ExpireCounts(t.Context(), 0); err != nil || !e.Before.IsZero() {
		t.Fatalf("forever: got %+v, %v; want nothing to expire", e, err)
	}
	execute(t, conn, `create function fail() returns trigger language plpgsql as
		$$ begin raise exception 'killed'; end $$`)
	for _, table := range []string{"release_active", "release_systems", "report_days", "release_days", "bucket_days",
		"bucket_systems"} {
		execute(t, conn, "create trigger kill before delete on "+table+" execute function fail()")
		if _, err := s.ExpireCounts(t.Context(), 2); err == nil {
			t.Errorf("%s: got no error, want the step to fail", table)
		}
		execute(t, conn, "drop trigger kill on "+table)
		checkExpired(t, store)
	}
	e, err := s.ExpireCounts(t.Context(), 2)
	if from := upkeep.CountsFrom(time.Now(), 2); err != nil || !e.Before.Equal(from) || e.Problems != 1 {
		t.Fatalf("got %+v, %v; want days before %s and one problem", e, err, from)
	}
	checkExpired(t, store)
	if n := number(t, conn, "select count(*) from buckets where id = $1", over[:]); n != 0 {
		t.Error("the problem without a day or work is still there")
	}
	for name, want := range map[string]struct {
		id   crash.BucketID
		days int64
	}{"long": {long, 0}, "held": {held, 1}, "worked on": {worked, 0}, "with a stored report": {needed, 1}} {
		if got := daysOf(t, conn, want.id); got != want.days {
			t.Errorf("%s: got %d old days, want %d", name, got, want.days)
		}
		if n := number(t, conn, "select reports from buckets where id = $1", want.id[:]); n == 0 {
			t.Errorf("%s: no report is counted", name)
		}
	}
	if got := number(t, conn, "select reports from buckets where id = $1", long[:]); got != total {
		t.Errorf("got %d reports of the long problem, want %d as before", got, total)
	}
	if got := number(t, conn, "select sum(reports) from bucket_versions where bucket_id = $1", long[:]); got != versions {
		t.Errorf("got %d reports by version, want %d as before", got, versions)
	}
	if got := number(t, conn, recent, e.Before); got != before {
		t.Error("days that have not expired have changed")
	}
	for _, table := range []string{"report_days", "release_days", "release_active"} {
		if n := number(t, conn, "select count(*) from "+table+" where day < $1", e.Before); n != 0 {
			t.Errorf("%s: got %d rows of expired days, want none", table, n)
		}
	}
	if n := number(t, conn, "select count(*) from release_systems where from_day < $1", e.Before); n != 0 {
		t.Errorf("got %d machines that were active on expired days, want none", n)
	}
	if got := activeMachines(t, store); got != active {
		t.Errorf("active machines of known days: got %s, want %s as before", got, active)
	}
	architectures, _, err := store.BucketArchitectures(t.Context(), long)
	if err != nil || len(architectures) == 0 || architectures[0].Reports != total {
		t.Errorf("architectures: got %v, %v; want all %d reports", architectures, err, total)
	}
	if from, err := problems.New(store).From(t.Context()); err != nil || !from.Equal(e.Before) {
		t.Errorf("first known day: got %v, %v; want %v", from, err, e.Before)
	}

	// A change of what expired is found.
	execute(t, conn, "update bucket_expired set reports = reports + 1 where bucket_id = $1", long[:])
	if r := checked(t, store); r.Found == 0 || r.Expired == "" {
		t.Errorf("wrong sum of expired days: got %+v, want a difference", r)
	}
	execute(t, conn, "update bucket_expired set reports = reports - 1 where bucket_id = $1", long[:])

	// After the hold and the report, the days expire, too.
	checktest.NoError(t, holds.Lift(t.Context(), held, crash.MarkHold, "ada"))
	execute(t, conn, "delete from reports where id = $1 or bucket_id = $2", [16]byte(stored), held[:])
	if e, err := s.ExpireCounts(t.Context(), 2); err != nil || e.Problems != 2 {
		t.Errorf("after the hold: got %+v, %v; want these two problems to expire", e, err)
	}
	if n := number(t, conn, "select count(*) from buckets where id in ($1, $2)", held[:], needed[:]); n != 0 {
		t.Errorf("%d problems are still there, after the hold and the last report", n)
	}
	checkExpired(t, store)
}

func checked(t *testing.T, s *db.Store) crash.CheckResult {
	t.Helper()
	return dbtest.Must(upkeep.Check(t.Context(), s, crash.CheckScope{Most: 5}, func() {}))(t)
}

// activeMachines returns the numbers of active machines on all days of the last 600.
func activeMachines(t *testing.T, s *db.Store) string {
	t.Helper()
	active := dbtest.Must(problems.New(s).ActiveMachines(t.Context(), []crash.Release{"Ubuntu 24.04", "Ubuntu 26.04"},
		today.AddDate(0, 0, -600).Truncate(24*time.Hour), today.Truncate(24*time.Hour)))(t)
	return fmt.Sprint(active)
}

// TestKeepTypes gives types of reports their own limits: one is dropped earlier than the others, and one
// later.
func TestKeepTypes(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	stored := map[string]crash.OopsID{}
	for name, r := range map[string]crashtest.Report{"crash": crashtest.Native(), "oops": crashtest.Oops(),
		"recoverable": crashtest.Recoverable()} {
		for _, days := range []int{20, 100, 200} {
			r["ProcStatus"] = fmt.Sprint("Pid:\t", days) // another crash each time
			stored[fmt.Sprint(name, days)], _ = saveOld(t, store, days, r)
		}
	}
	want := func(gone ...string) {
		t.Helper()
		for name, id := range stored {
			_, err := store.Report(t.Context(), id)
			should := false
			for _, g := range gone {
				should = should || g == name
			}
			if (crash.KindOf(err) == crash.NotFound) != should {
				t.Errorf("%s: got %v, want gone: %v", name, err, should)
			}
		}
	}
	keep := privacy.Keep{Days: 150, Types: map[string]int{"KernelOops": 60, "RecoverableProblem": 0}}
	due, err := upkeep.NewRetention(store, nil).Due(t.Context(), time.Now(), privacy.Periods{Reports: keep})
	if err != nil || len(due.Reports) != 3 || due.Reports[0] != 1 || due.Reports[1] != 2 || due.Reports[2] != 0 {
		t.Errorf("due: got %v, %v; want one crash and two oopses", due.Reports, err)
	}
	for range 2 {
		checktest.NoError(t, store.DropOldReports(t.Context(), keep))
		want("crash200", "oops100", "oops200")
		checkExpired(t, store)
	}
	keep.Types["RecoverableProblem"] = 30
	checktest.NoError(t, store.DropOldReports(t.Context(), keep))
	want("crash200", "oops100", "oops200", "recoverable100", "recoverable200")
	checkExpired(t, store)
}
