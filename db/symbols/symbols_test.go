package symbols_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/db/upkeep"
)

const folder = "store 1"

// fixture is a database with an instance that symbolises.
type fixture struct {
	*testing.T
	*symbols.Store
	url string
}

func start(t *testing.T) fixture {
	t.Helper()
	url := dbtest.URL(t)
	f := fixture{t, symbols.New(dbtest.Open(t, url)), url}
	f.seen("amd64")
	return f
}

func (f fixture) seen(architectures ...string) {
	f.Helper()
	err := f.WorkerSeen(f.Context(), crash.SymbolWorker{Store: folder, Architectures: architectures})
	if err != nil {
		f.Fatal(err)
	}
}

// crashed stores a crash at some addresses.
func (f fixture) crashed(machine, place string) crash.CoreRequest {
	f.Helper()
	address := "/usr/bin/tide:11:/usr/bin/tide+" + place
	fields := crashtest.Native(crashtest.Set("StacktraceAddressSignature", address),
		crashtest.Set("ProcStatus", "Pid:\t"+machine+place)).Fields()
	delete(fields, "Stacktrace")
	delete(fields, "StacktraceTop")
	rec, err := intake.New(intake.Config{MaxAgeDays: 10000}, nil).Examine(crash.Report{
		System: crash.SystemID(machine), Fields: fields})
	if err != nil {
		f.Fatal(err)
	}
	if !rec.Grouping.Provisional {
		f.Fatalf("got %+v, want a provisional group", rec.Grouping)
	}
	if _, _, err := f.SaveReport(f.Context(), rec); err != nil {
		f.Fatal(err)
	}
	return crash.CoreRequest{Report: rec.ID, System: rec.System, Problem: crash.BucketIDOf(address), Version: rec.Version,
		Architecture: "amd64"}
}

func (f fixture) asks(r crash.CoreRequest, want bool) {
	f.Helper()
	got, err := f.RequestCore(f.Context(), r, folder)
	if got != want || err != nil {
		f.Errorf("ask for a core: got %v, %v; want %v", got, err, want)
	}
}

func (f fixture) arrives(r crash.CoreRequest, want bool) {
	f.Helper()
	needed, err := f.CoreReceived(f.Context(), crash.ReceivedCore{Report: r.Report, Architecture: r.Architecture,
		Store: folder, Bytes: 1000})
	if needed != want || err != nil {
		f.Errorf("core arrives: got needed %v, %v; want %v", needed, err, want)
	}
}

func (f fixture) claim(want crash.OopsID) crash.SymbolClaim {
	f.Helper()
	c, ok, err := f.ClaimJob(f.Context(), folder, []string{"amd64"})
	if err != nil || ok != (want != crash.OopsID{}) || c.Report != want {
		f.Fatalf("claim: got %v, %v, %v; want %s", c, ok, err, want)
	}
	return c
}

func (f fixture) finish(c crash.SymbolClaim, o crash.SymbolOutcome) {
	f.Helper()
	if err := f.FinishJob(f.Context(), c, o); err != nil {
		f.Fatal(err)
	}
}

// later makes what is due in the given time due now.
func (f fixture) later(d string) {
	f.Helper()
	for column, table := range map[string]string{"lease": "symbol_jobs", "not_before": "symbol_jobs",
		"seen": "symbol_workers", "requested": "core_requests"} {
		dbtest.Exec(f, f.url, fmt.Sprintf("update %s set %s = %s - interval '%s'", table, column, column, d))
	}
}

func (f fixture) job(id crash.OopsID) crash.SymbolJob {
	f.Helper()
	j, _, err := f.ReportJob(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	return j
}

// TestRequestCore checks when a machine is asked for a core.
func TestRequestCore(t *testing.T) {
	t.Parallel()
	f := start(t)
	first := f.crashed("m1", "aa")
	f.asks(first, true)
	f.asks(first, true) // the machine has not got the answer
	second := f.crashed("m2", "aa")
	f.asks(second, true) // the first machine may never send its core
	other := first
	other.System = "m3"
	other.Report = crash.NewOopsID(time.Now())
	other.Architecture = "riscv64"
	f.asks(other, false)
	f.arrives(first, true)
	if j := f.job(first.Report); j.State != crash.SymbolsQueued {
		t.Errorf("got state %s, want queued", j.State)
	}
	third := f.crashed("m3", "aa")
	f.asks(third, false)
	f.arrives(second, false) // it was asked for, but is needed no longer
	f.asks(second, false)
	third.Version = "2.0"
	f.asks(third, true)

	// The core was bad.
	f.finish(f.claim(first.Report), crash.SymbolOutcome{State: crash.SymbolsFailed, Reason: "It is not a core."})
	fourth := f.crashed("m4", "aa")
	f.asks(fourth, true)
	for _, machine := range []string{"m5", "m6"} {
		r := f.crashed(machine, "aa")
		f.asks(r, true)
		f.arrives(r, true)
		f.finish(f.claim(r.Report), crash.SymbolOutcome{State: crash.SymbolsFailed, Reason: "It is not a core."})
	}
	fifth := f.crashed("m7", "aa")
	f.asks(fifth, false) // after three bad cores
	f.later("1 day")
	f.seen("amd64")
	f.asks(fifth, true)
	f.asks(f.crashed("m8", "aa"), false) // one a day

	// No instance can symbolise, or sees the cores.
	f.later("4 minutes")
	f.asks(f.crashed("m1", "bb"), false)
	f.seen()
	f.asks(f.crashed("m2", "bb"), false)
	f.seen("amd64")
	r := f.crashed("m3", "bb")
	if got, err := f.RequestCore(t.Context(), r, "another store"); got || err != nil {
		t.Errorf("another store: got %v, %v; want no request", got, err)
	}
	f.asks(r, true)
	checktest.NoError(t, f.WorkerGone(t.Context()))
	f.asks(f.crashed("m4", "bb"), false)
}

// TestRequestsAreLimited checks that a problem that many machines have at once does not bring cores
// of all of them.
func TestRequestsAreLimited(t *testing.T) {
	t.Parallel()
	f := start(t)
	for i := range 10 {
		f.asks(f.crashed(fmt.Sprint("m", i), "aa"), true)
	}
	last := f.crashed("m10", "aa")
	f.asks(last, false)
	f.later("61 minutes")
	f.seen("amd64")
	f.asks(last, true)
}

// names are the fields of a symbolised stack.
func names(functions ...string) crash.Fields {
	f := crash.Fields{"SymbolisedBy": "mishap"}
	for i, function := range functions {
		line := fmt.Sprintf("#%d  0x000055989a6e9%03x in %s () at tide.c:%d", i, i, function, i+1)
		if i > 0 {
			f["Stacktrace"] += "\n"
			f["StacktraceTop"] += "\n"
		}
		f["Stacktrace"] += line
		f["StacktraceTop"] += function + " () at tide.c:1"
	}
	return f
}

// TestFinishJob checks that a symbolised core names its report and all others with its addresses,
// and that the counts stay exact.
func TestFinishJob(t *testing.T) {
	t.Parallel()
	f := start(t)
	r := f.crashed("m1", "aa")
	f.crashed("m2", "aa")
	elsewhere := f.crashed("m3", "bb")
	f.asks(r, true)
	f.arrives(r, true)
	c := f.claim(r.Report)
	f.finish(c, crash.SymbolOutcome{State: crash.SymbolsDone, Fields: names("parse", "load", "main"), Engine: "gdb 13",
		Modules: []crash.SymbolModule{{Path: "/usr/bin/tide", BuildID: "ab12", Frames: 3}}})
	signature := "/usr/bin/tide:11:parse:load:main"
	report := dbtest.Must(f.Report(t.Context(), r.Report))(t)
	if report.Rule != crash.RuleStacktrace || report.Bucket == nil || *report.Bucket == r.Problem ||
		report.Fields["StacktraceTop"] == "" || report.AddressSignature != "/usr/bin/tide:11:/usr/bin/tide+aa" {
		t.Errorf("got rule %s, bucket %s, top %q; want the names and signature %s", report.Rule, report.Bucket,
			report.Fields["StacktraceTop"], signature)
	}
	b := dbtest.Must(f.Bucket(t.Context(), r.Problem))(t)
	if b.ID != *report.Bucket || b.Reports != 2 || b.Systems != 2 || b.Provisional {
		t.Errorf("got %s with %d reports of %d machines, want both in %s", b.ID, b.Reports, b.Systems, report.Bucket)
	}
	f.crashed("m4", "aa")
	dbtest.Counted(t, f.Store.Store)
	if b = dbtest.Must(f.Bucket(t.Context(), *report.Bucket))(t); b.Reports != 3 {
		t.Errorf("a later crash: got %d reports, want 3", b.Reports)
	}
	f.asks(f.crashed("m5", "aa"), false)
	if p, err := f.ProblemSymbols(t.Context(), b.ID); err != nil || p.Job.State != crash.SymbolsDone ||
		len(p.Job.Modules) != 1 || p.Job.Engine != "gdb 13" {
		t.Errorf("got %+v, %v; want the job done", p, err)
	}
	waiting := f.crashed("m6", "cc")
	f.asks(waiting, true)
	f.arrives(waiting, true)
	done, err := f.DoneCores(t.Context(), []crash.OopsID{r.Report, waiting.Report, elsewhere.Report})
	if err != nil || len(done) != 2 || slices.Contains(done, waiting.Report) {
		t.Errorf("got %v, %v; want the core of the first, and the one that nobody asked for", done, err)
	}
	f.checkCounts()
}

func (f fixture) checkCounts() {
	f.Helper()
	dbtest.Counted(f, f.Store.Store)
	result, err := upkeep.Check(f.Context(), f.Store.Store, crash.CheckScope{Most: 10}, func() {})
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range result.Differences {
		f.Errorf("check: %+v", d)
	}
}

// TestPartialNames checks that incomplete names are shown, but leave the report where it is, and that
// a missing file that is added starts the job again.
func TestPartialNames(t *testing.T) {
	t.Parallel()
	f := start(t)
	r := f.crashed("m1", "aa")
	f.asks(r, true)
	f.arrives(r, true)
	f.finish(f.claim(r.Report), crash.SymbolOutcome{State: crash.SymbolsPartial, Fields: names("??", "load", "main"),
		Missing: []string{"ab12/executable", "cd34/debuginfo"}, Again: time.Hour, Reason: "Files are missing."})
	report := dbtest.Must(f.Report(t.Context(), r.Report))(t)
	if *report.Bucket != r.Problem || report.Fields["StacktraceTop"] == "" || report.Rule != crash.RuleAddress {
		t.Errorf("got bucket %s by %s, want the provisional one, %s", report.Bucket, report.Rule, r.Problem)
	}
	f.claim(crash.OopsID{})
	if ids, err := f.MissingFiles(t.Context(), folder); err != nil || len(ids) != 2 {
		t.Errorf("got %v, %v; want two missing files", ids, err)
	}
	checktest.NoError(t, f.FilesAdded(t.Context(), folder, []string{"cd34/debuginfo"}))
	c := f.claim(r.Report)
	if c.Tries != 1 {
		t.Errorf("got %d tries, want 1", c.Tries)
	}
	f.finish(c, crash.SymbolOutcome{State: crash.SymbolsWaiting, Again: time.Hour})
	f.claim(crash.OopsID{})
	f.later("1 hour")
	f.finish(f.claim(r.Report), crash.SymbolOutcome{State: crash.SymbolsDone, Fields: names("parse", "load", "main")})
	b, err := f.Bucket(t.Context(), r.Problem)
	if err != nil || b.ID == r.Problem || b.Provisional {
		t.Errorf("got %s, %v; want the named problem", b.ID, err)
	}
	f.checkCounts()
}

// TestClaims checks that a job is completed once, whatever dies.
func TestClaims(t *testing.T) {
	t.Parallel()
	f := start(t)
	r := f.crashed("m1", "aa")
	f.asks(r, true)
	f.arrives(r, true)
	if _, ok, err := f.ClaimJob(t.Context(), "another store", []string{"amd64"}); ok || err != nil {
		t.Errorf("another store: got %v, %v; want no job", ok, err)
	}
	first := f.claim(r.Report)
	f.claim(crash.OopsID{})
	if err := f.ReleaseClaim(t.Context(), first); err != nil { // a graceful stop
		t.Fatal(err)
	}
	first = f.claim(r.Report)
	checktest.NoError(t, f.RenewClaim(t.Context(), first))
	f.later("5 minutes")
	second := f.claim(r.Report)
	done := crash.SymbolOutcome{State: crash.SymbolsDone, Fields: names("late", "load", "main")}
	for what, err := range map[string]error{"renew": f.RenewClaim(t.Context(), first),
		"finish": f.FinishJob(t.Context(), first, done)} {
		if !errors.Is(err, symbols.ErrLostClaim) {
			t.Errorf("%s a lost claim: got %v, want %v", what, err, symbols.ErrLostClaim)
		}
	}
	if report, err := f.Report(t.Context(), r.Report); err != nil || report.Fields["StacktraceTop"] != "" {
		t.Errorf("got %q, %v; want nothing stored by the instance that was late", report.Fields["StacktraceTop"], err)
	}
	if err := f.RenewClaim(t.Context(), second); err != nil {
		t.Error(err)
	}
	f.later("5 minutes")
	f.claim(crash.OopsID{})
	if j := f.job(r.Report); j.State != crash.SymbolsFailed || j.Reason == "" {
		t.Errorf("after two deaths: got %s %q, want failed with a reason", j.State, j.Reason)
	}
}

// TestOrder checks that jobs come in order of a person's wish, then of reports, then of time.
func TestOrder(t *testing.T) {
	t.Parallel()
	f := start(t)
	var jobs []crash.CoreRequest
	for _, place := range []string{"aa", "bb", "cc", "dd"} {
		r := f.crashed("m1", place)
		f.asks(r, true)
		f.arrives(r, true)
		jobs = append(jobs, r)
	}
	f.crashed("m2", "cc")
	dbtest.Counted(t, f.Store.Store)
	checktest.NoError(t, f.PressJob(t.Context(), jobs[3].Report, "ada"))
	for _, i := range []int{3, 2, 0, 1} {
		f.claim(jobs[i].Report)
	}
}

// TestCoresRemoved checks that jobs end whose core was removed first.
func TestCoresRemoved(t *testing.T) {
	t.Parallel()
	f := start(t)
	r := f.crashed("m1", "aa")
	f.asks(r, true)
	f.arrives(r, true)
	checktest.NoError(t, f.CoresRemoved(t.Context(), []crash.OopsID{r.Report}))
	f.claim(crash.OopsID{})
	if j := f.job(r.Report); j.State != crash.SymbolsExpired || !j.CoreGone {
		t.Errorf("got %+v, want it expired", j)
	}
	if err := f.PressJob(t.Context(), r.Report, "ada"); crash.KindOf(err) != crash.Conflict {
		t.Errorf("symbolise again: got %v, want a conflict", err)
	}
	f.asks(f.crashed("m2", "aa"), true)
}

// waits makes the core of a crash arrive, and finishes its job with missing files.
func (f fixture) waits(r crash.CoreRequest, modules []crash.SymbolModule, missing ...string) {
	f.Helper()
	f.asks(r, true)
	f.arrives(r, true)
	f.finish(f.claim(r.Report), crash.SymbolOutcome{State: crash.SymbolsWaiting, Again: time.Hour,
		Reason: "Files are missing.", Missing: missing, Modules: modules})
}

// TestMissingSymbols checks the ranking of missing symbols: by reports, with every problem counted
// once.
func TestMissingSymbols(t *testing.T) {
	t.Parallel()
	f := start(t)
	if list, total, err := f.MissingSymbols(t.Context(), 10, 0); len(list) != 0 || total != 0 || err != nil {
		t.Fatalf("got %v, %d, %v; want none", list, total, err)
	}
	learn(t, symbols.NewBuilds(f.Store.Store), debuginfo.Fact{Path: "/usr/lib/libtide.so.1", Package: "libtide1",
		Version: "2.0", Architecture: "amd64", Build: "cd34"}, debuginfo.Fact{Path: "/usr/lib/libreef.so", Package: "libreef",
		Version: "1", Architecture: "amd64", Build: "9999"})
	searched := []crash.SymbolAttempt{{Source: "http://symbols.example", Outcome: "missing"}}
	lost := &crash.SymbolSearch{Searched: searched}
	modules := []crash.SymbolModule{{Path: "/usr/bin/tide", BuildID: "ab12", Executable: lost},
		{Path: "/lib/libtide.so.1", BuildID: "cd34", Executable: &crash.SymbolSearch{Found: true}, Debuginfo: lost},
		{Path: "/usr/lib/libreef.so", BuildID: "ef56", Executable: lost}}
	often, rare := f.crashed("m1", "aa"), f.crashed("m1", "bb")
	f.crashed("m2", "aa")
	f.crashed("m3", "aa")
	dbtest.Counted(t, f.Store.Store)
	f.waits(often, modules, "cd34/debuginfo", "ab12/executable")
	f.waits(rare, modules, "cd34/debuginfo", "ef56/executable")
	second := f.crashed("m4", "aa")
	second.Version = "2.0" // another version of the problem counts once
	dbtest.Counted(t, f.Store.Store)
	f.waits(second, modules, "cd34/debuginfo")
	dbtest.Exec(t, f.url, `insert into unknown_builds values ('`+rare.Report.String()+
		`', '/usr/lib/libsand.so', 'libsand', '3.1', 'amd64')`)
	dbtest.Exec(t, f.url, `update bucket_versions set release = 'Debian 12' where bucket_id = '\x`+
		rare.Problem.String()+`'`)

	want := []crash.MissingSymbol{
		{Kind: crash.MissingDebugFile, Path: "/lib/libtide.so.1", BuildID: "cd34", Package: "libtide1", Version: "2.0",
			Architecture: "amd64", Release: "Ubuntu 24.04", Reports: 5, Problems: 2, Searched: searched},
		{Kind: crash.MissingProgram, Path: "/usr/bin/tide", BuildID: "ab12", Architecture: "amd64",
			Release: "Ubuntu 24.04", Reports: 4, Problems: 1, Searched: searched},
		{Kind: crash.MissingBuild, Path: "/usr/lib/libsand.so", Package: "libsand", Version: "3.1", Architecture: "amd64",
			Release: "Debian 12", Reports: 1, Problems: 1},
		{Kind: crash.MissingProgram, Path: "/usr/lib/libreef.so", BuildID: "ef56", Package: "libreef",
			Architecture: "amd64", Release: "Debian 12", Reports: 1, Problems: 1, Searched: searched},
	}
	list, total, err := f.MissingSymbols(t.Context(), 10, 0)
	if err != nil || total != 4 {
		t.Fatalf("got %d, %v; want 4", total, err)
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if list, total, err = f.MissingSymbols(t.Context(), 1, 1); err != nil || total != 4 {
		t.Fatalf("got %d, %v; want 4", total, err)
	}
	if diff := cmp.Diff(want[1:2], list); diff != "" {
		t.Errorf("second: %s", diff)
	}

	// The problem gets its names: nothing waits for it any more.
	f.later("1 hour")
	f.finish(f.claim(often.Report), crash.SymbolOutcome{State: crash.SymbolsDone, Fields: names("parse", "load", "main")})
	list, _, err = f.MissingSymbols(t.Context(), 10, 0)
	if err != nil || len(list) != 3 || list[0].Reports != 1 {
		t.Errorf("after the names are known: got %+v, %v; want only what the rare problem waits for", list, err)
	}
}

// TestSymbolQueue checks the order and the filter of the queue.
func TestSymbolQueue(t *testing.T) {
	t.Parallel()
	f := start(t)
	var jobs []crash.CoreRequest
	for _, place := range []string{"aa", "bb", "cc", "dd", "ee"} {
		r := f.crashed("m1", place)
		f.asks(r, true)
		f.arrives(r, true)
		jobs = append(jobs, r)
	}
	f.crashed("m2", "cc")
	dbtest.Counted(t, f.Store.Store)
	f.finish(f.claim(jobs[2].Report), crash.SymbolOutcome{State: crash.SymbolsFailed, Reason: "It is not a core."})
	f.claim(jobs[0].Report)
	checktest.NoError(t, f.PressJob(t.Context(), jobs[4].Report, "ada"))
	queue := func(state crash.SymbolState, limit, offset int) (ids []crash.OopsID) {
		t.Helper()
		rows := dbtest.Must(f.SymbolQueue(t.Context(), state, limit, offset))(t)
		for _, row := range rows {
			if row.Problem == (crash.BucketID{}) || row.Title == "" || !row.Core || row.Architecture != "amd64" {
				t.Errorf("got %+v, want a core with its problem", row)
			}
			ids = append(ids, row.Report)
		}
		return ids
	}
	for _, c := range []struct {
		state         crash.SymbolState
		limit, offset int
		want          []crash.OopsID
	}{
		{"", 10, 0, []crash.OopsID{jobs[0].Report, jobs[4].Report, jobs[1].Report, jobs[3].Report}},
		{"", 2, 1, []crash.OopsID{jobs[4].Report, jobs[1].Report}},
		{crash.SymbolsFailed, 10, 0, []crash.OopsID{jobs[2].Report}},
		{crash.SymbolsDone, 10, 0, nil},
	} {
		if diff := cmp.Diff(c.want, queue(c.state, c.limit, c.offset)); diff != "" {
			t.Errorf("state %q from %d: %s", c.state, c.offset, diff)
		}
	}
	totals := dbtest.Must(f.SymbolTotals(t.Context()))(t)
	want := map[crash.SymbolState]int64{crash.SymbolsQueued: 3, crash.SymbolsRunning: 1, crash.SymbolsFailed: 1}
	if diff := cmp.Diff(want, totals.States); diff != "" || totals.Oldest.IsZero() {
		t.Errorf("totals: %s, oldest %v", diff, totals.Oldest)
	}
}

func buildsOf(t *testing.T, b *symbols.Builds, report crash.Fields, paths ...string) map[string]debuginfo.BuildID {
	t.Helper()
	return dbtest.Must(b.BuildsOf(t.Context(), report, paths))(t)
}

func learn(t *testing.T, b *symbols.Builds, facts ...debuginfo.Fact) {
	t.Helper()
	checktest.NoError(t, b.Learn(t.Context(), facts))
}

// A build is known only for the exact package, version and architecture, and if nothing contradicts.
func TestBuilds(t *testing.T) {
	t.Parallel()
	b := symbols.NewBuilds(dbtest.New(t))
	const library, program = "/lib/x86_64-linux-gnu/libtide.so.1", "/usr/bin/tidewatch"
	report := crash.Fields{"ExecutablePath": program, "Package": "tidewatch 1.0", "Architecture": "amd64",
		"Dependencies": "libtide1 2.0\nlibc6 2.36\n"}
	if got := buildsOf(t, b, report, library, program); len(got) > 0 {
		t.Errorf("got %v before anything was learned", got)
	}
	learn(t, b, debuginfo.Fact{Path: debuginfo.NormalPath(library), Package: "libtide1", Version: "2.0",
		Architecture: "amd64", Build: "aa01"},
		debuginfo.Fact{Path: program, Package: "tidewatch", Version: "1.0", Build: "aa02"}) // incomplete
	one := map[string]debuginfo.BuildID{library: "aa01"}
	if diff := cmp.Diff(one, buildsOf(t, b, report, library, program)); diff != "" {
		t.Error(diff)
	}
	for name, other := range map[string]crash.Fields{
		"version":      {"Package": "tidewatch 1.0", "Architecture": "amd64", "Dependencies": "libtide1 2.0-1\n"},
		"package":      {"Package": "tidewatch 1.0", "Architecture": "amd64", "Dependencies": "libtide2 2.0\n"},
		"architecture": {"Package": "tidewatch 1.0", "Architecture": "i386", "Dependencies": "libtide1 2.0\n"},
		"modified": {"Package": "tidewatch 1.0", "Architecture": "amd64",
			"Dependencies": "libtide1 2.0 [modified: lib/libtide.so.1]\n"},
	} {
		if got := buildsOf(t, b, other, library); len(got) > 0 {
			t.Errorf("another %s: got %v", name, got)
		}
	}

	// A core tells about the program, and about the library, whose package is known by now.
	newer := crash.Fields{"ExecutablePath": program, "Package": "tidewatch 1.1", "Architecture": "amd64",
		"Dependencies": "libtide1 2.1\nlibc6 2.36\n"}
	loaded := []debuginfo.Loaded{{Path: program, Build: "bb01"}, {Path: library, Build: "bb02"},
		{Path: "/usr/lib/libother.so", Build: "bb03"}}
	for range 2 {
		checktest.NoError(t, b.LearnFromCore(t.Context(), newer, loaded))
	}
	want := map[string]debuginfo.BuildID{program: "bb01", library: "bb02"}
	if diff := cmp.Diff(want, buildsOf(t, b, newer, library, program, "/usr/lib/libother.so")); diff != "" {
		t.Error(diff)
	}

	// Two builds of one version contradict each other.
	loaded[0].Build = "bb04"
	checktest.NoError(t, b.LearnFromCore(t.Context(), newer, loaded))
	delete(want, program)
	if diff := cmp.Diff(want, buildsOf(t, b, newer, library, program)); diff != "" {
		t.Error(diff)
	}
}

// TestLongBuilds learns facts with texts of every length that is stored, which do not compress. A core from
// outside may hold such texts.
func TestLongBuilds(t *testing.T) {
	t.Parallel()
	b := symbols.NewBuilds(dbtest.New(t))
	for n := 100; n <= 2000; n += 100 {
		var long strings.Builder
		for long.Len() < n {
			long.WriteString(rand.Text())
		}
		text := long.String()[:n]
		learn(t, b, debuginfo.Fact{Path: "/" + text[1:], Package: text, Version: text, Architecture: text,
			Build: debuginfo.BuildID(text)})
	}
}

// wants checks who has asked for a core of a problem.
func (f fixture) wants(problem crash.BucketID, person string) {
	f.Helper()
	p, err := f.ProblemSymbols(f.Context(), problem)
	if err != nil || p.Wanted.Person != person || (person == "") != p.Wanted.Asked.IsZero() {
		f.Errorf("got %+v, %v; want that %q asked", p.Wanted, err, person)
	}
}

// TestWantedCore checks that a machine is asked for a core that a person wants although one has
// arrived or many were asked in vain, and that one core fulfils the wish.
func TestWantedCore(t *testing.T) {
	t.Parallel()
	f := start(t)
	first := f.crashed("m1", "aa")
	dbtest.Counted(t, f.Store.Store)
	f.asks(first, true)
	f.arrives(first, true)
	f.finish(f.claim(first.Report), crash.SymbolOutcome{State: crash.SymbolsPartial, Reason: "Names are missing.",
		Fields: names("??", "main")})
	f.asks(f.crashed("m2", "aa"), false)
	f.wants(first.Problem, "")
	for _, person := range []string{"ada", "bob"} {
		checktest.NoError(t, f.WantCore(t.Context(), first.Problem, person))
		f.wants(first.Problem, "ada")
	}
	r := f.crashed("m3", "aa")
	f.asks(r, true)
	checktest.NoError(t, f.UnwantCore(t.Context(), first.Problem, "bob"))
	f.wants(first.Problem, "")
	f.asks(f.crashed("m4", "aa"), false)
	checktest.NoError(t, f.WantCore(t.Context(), first.Problem, "ada"))
	f.arrives(r, true) // although a core of this version had arrived
	f.wants(first.Problem, "")
	f.asks(f.crashed("m5", "aa"), false)
	if j := f.job(r.Report); j.State != crash.SymbolsQueued {
		t.Errorf("got state %s, want queued", j.State)
	}

	// The limit of unanswered requests begins anew, and holds again.
	for i := range 10 {
		f.asks(f.crashed(fmt.Sprint("m", i), "bb"), true)
	}
	late := f.crashed("m10", "bb")
	dbtest.Counted(t, f.Store.Store)
	f.asks(late, false)
	checktest.NoError(t, f.WantCore(t.Context(), late.Problem, "ada"))
	for i := range 10 {
		f.asks(f.crashed(fmt.Sprint("n", i), "bb"), true)
	}
	f.asks(late, false)
	f.seen() // no instance can symbolise
	f.later("2 hours")
	f.asks(late, false)
	f.seen("amd64")
	f.asks(late, true)
}

// TestWantedCoreOfMerged checks that the wish applies to every bucket of a problem, but not once
// the names are known.
func TestWantedCoreOfMerged(t *testing.T) {
	t.Parallel()
	f := start(t)
	head, member := f.crashed("m1", "aa"), f.crashed("m1", "bb")
	dbtest.Counted(t, f.Store.Store)
	f.merge(head.Problem, member.Problem)
	f.asks(member, false)
	checktest.NoError(t, f.WantCore(t.Context(), member.Problem, "ada"))
	f.wants(head.Problem, "ada")
	f.asks(member, true)
	f.arrives(member, true)
	f.finish(f.claim(member.Report), crash.SymbolOutcome{State: crash.SymbolsDone,
		Fields: names("parse", "load", "main")})
	checktest.NoError(t, f.WantCore(t.Context(), member.Problem, "ada"))
	f.asks(f.crashed("m3", "bb"), false)
}

// TestMissingOfProblem checks which files a problem waits for.
func TestMissingOfProblem(t *testing.T) {
	t.Parallel()
	f := start(t)
	r := f.crashed("m1", "aa")
	dbtest.Counted(t, f.Store.Store)
	lost := &crash.SymbolSearch{}
	f.waits(r, []crash.SymbolModule{{Path: "/usr/bin/tide", BuildID: "ab12", Frames: 1, Executable: lost},
		{Path: "/usr/lib/idle.so", BuildID: "cd34", Executable: lost}}, "ab12/executable", "cd34/executable")
	dbtest.Exec(t, f.url, `insert into unknown_builds values ('`+r.Report.String()+
		`', '/usr/lib/libsand.so', '', '', 'amd64')`)
	p, err := f.ProblemSymbols(t.Context(), r.Problem)
	if err != nil || fmt.Sprint(p.Missing) != "[/usr/bin/tide /usr/lib/libsand.so]" ||
		p.Job.State != crash.SymbolsWaiting {
		t.Errorf("got %v in state %s, %v; want the program and the library", p.Missing, p.Job.State, err)
	}
}

func (f fixture) merge(into, from crash.BucketID) {
	f.Helper()
	if _, err := db.NewDecisions(f.Store.Store).Merge(f.Context(), into, []crash.BucketID{from}, "ada", ""); err != nil {
		f.Fatal(err)
	}
}
