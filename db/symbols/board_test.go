package symbols_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
	"mishap/db/dbtest"
	"mishap/db/symbols"
)

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
	if err := f.PressJob(t.Context(), jobs[4].Report, "ada"); err != nil {
		t.Fatal(err)
	}
	queue := func(state crash.SymbolState, limit, offset int) (ids []crash.OopsID) {
		t.Helper()
		rows, err := f.SymbolQueue(t.Context(), state, limit, offset)
		if err != nil {
			t.Fatal(err)
		}
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
	totals, err := f.SymbolTotals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[crash.SymbolState]int64{crash.SymbolsQueued: 3, crash.SymbolsRunning: 1, crash.SymbolsFailed: 1}
	if diff := cmp.Diff(want, totals.States); diff != "" || totals.Oldest.IsZero() {
		t.Errorf("totals: %s, oldest %v", diff, totals.Oldest)
	}
}
