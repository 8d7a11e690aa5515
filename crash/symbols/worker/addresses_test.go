package worker_test

import (
	"os"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/symboltest"
	"mishap/crash/symbols/worker"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

func (f fixture) nameAddresses() {
	f.Helper()
	dbtest.Counted(f.T, f.store.Store)
	if err := f.NameAddresses(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// learn says which build of tiny a version of its package has.
func (f fixture) learn(version string, id debuginfo.BuildID) {
	f.Helper()
	err := f.builds.Learn(f.Context(), []debuginfo.Fact{{Path: "/usr/bin/tiny", Package: "tide", Version: version,
		Architecture: "amd64", Build: id}})
	if err != nil {
		f.Fatal(err)
	}
}

// TestNameAddresses checks that reports without a core wait for the builds of their version and for
// the files of these builds, and that all reports with the same addresses get the names then.
func TestNameAddresses(t *testing.T) {
	t.Parallel()
	f := start(t)
	id := debuginfo.BuildID(symboltest.BuildID(t, "tiny"))

	// The addresses of a stack come from a core of another problem.
	f.add("root/usr/bin/tiny", "symbols/tiny.debug")
	other := f.crashed("m0")
	f.sends(other, asSent(symboltest.Core(t, "tiny")))
	f.round()
	report, err := f.store.Report(t.Context(), other.Report)
	if err != nil {
		t.Fatal(err)
	}
	addresses := symboltest.TinyAddresses(t, report.Fields["Stacktrace"])

	older, newer := f.crashedAt("m1", "2.0", addresses), f.crashedAt("m2", "3.0", addresses)
	newest := f.crashedAt("m3", "3.0", addresses)
	f.nameAddresses()
	j := f.wantJob(older, crash.SymbolsWaiting, "It is not known which builds the machine had of tiny.")
	if !j.Addresses || len(j.Modules) != 1 || j.Modules[0].Path != "/usr/bin/tiny" || !j.NotBefore.IsZero() {
		t.Errorf("got %+v, want a job without a core that waits for a build of its only module", j)
	}
	if wanted, err := f.store.RequestCore(t.Context(), newer, f.cores.ID()); !wanted || err != nil {
		t.Errorf("a core: got %v, %v; want it asked for while the addresses have no names", wanted, err)
	}

	f.learn("2.0-1", id) // a neighbouring version
	f.wantJob(older, crash.SymbolsWaiting, "")
	f.learn("2.0", "aaaa")
	f.wantJob(older, crash.SymbolsQueued, "")
	f.nameAddresses()
	f.wantJob(older, crash.SymbolsWaiting, "Files with function names are missing: /usr/bin/tiny.")

	f.learn("3.0", id)
	f.nameAddresses()
	dbtest.Counted(t, f.store.Store)
	b, err := f.store.Bucket(t.Context(), older.Problem)
	if err != nil || b.Signature != "/usr/bin/tiny:11:parse:row:load:_start" || b.Reports != 4 {
		t.Errorf("got %q with %d reports, %v; want all in the problem with names", b.Signature, b.Reports, err)
	}
	report, err = f.store.Report(t.Context(), f.wantJob(newest, crash.SymbolsDone, "").Report)
	if err != nil || report.Fields[crash.SymbolisedBy] != "mishap 1, from addresses" ||
		!strings.HasPrefix(report.Fields["Stacktrace"], "#0  parse () at tiny.c:") {
		t.Errorf("got by %q %v and\n%s", report.Fields[crash.SymbolisedBy], err, report.Fields["Stacktrace"])
	}
	if wanted, err := f.store.RequestCore(t.Context(), f.crashedAt("m4", "2.0", addresses), f.cores.ID()); wanted ||
		err != nil {
		t.Errorf("a core: got %v, %v; want none asked for after the addresses have names", wanted, err)
	}
	result, err := upkeep.Check(t.Context(), f.store.Store, crash.CheckScope{Most: 10}, func() {})
	if err != nil || len(result.Differences) > 0 {
		t.Errorf("check: got %v, %+v", err, result.Differences)
	}
}

// TestNoDebugger checks that an instance without gdb leaves addresses to others.
func TestNoDebugger(t *testing.T) {
	f := start(t)
	f.add("root/usr/bin/tiny", "symbols/tiny.debug")
	f.learn("1.0", debuginfo.BuildID(symboltest.BuildID(t, "tiny")))
	report := f.crashed("m0")
	path := os.Getenv("PATH")
	t.Setenv("PATH", "")
	f.nameAddresses()
	f.wantJob(report, crash.SymbolsQueued, "")
	t.Setenv("PATH", path)
	f.nameAddresses()
	f.wantJob(report, crash.SymbolsDone, "")
}

// A remark can begin with the name of a file, in any script.
func TestSentence(t *testing.T) {
	t.Parallel()
	for remark, want := range map[string]string{
		"": "", "it ended": "It ended.", "ørsted.so: damaged": "Ørsted.so: damaged.",
	} {
		if got := worker.Sentence(remark); got != want {
			t.Errorf("%q: got %q, want %q", remark, got, want)
		}
	}
}
