package symbols_test

import (
	"fmt"
	"testing"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

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
		if err := f.WantCore(t.Context(), first.Problem, person); err != nil {
			t.Fatal(err)
		}
		f.wants(first.Problem, "ada")
	}
	r := f.crashed("m3", "aa")
	f.asks(r, true)
	if err := f.UnwantCore(t.Context(), first.Problem, "bob"); err != nil {
		t.Fatal(err)
	}
	f.wants(first.Problem, "")
	f.asks(f.crashed("m4", "aa"), false)
	if err := f.WantCore(t.Context(), first.Problem, "ada"); err != nil {
		t.Fatal(err)
	}
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
	if err := f.WantCore(t.Context(), late.Problem, "ada"); err != nil {
		t.Fatal(err)
	}
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
	if err := f.WantCore(t.Context(), member.Problem, "ada"); err != nil {
		t.Fatal(err)
	}
	f.wants(head.Problem, "ada")
	f.asks(member, true)
	f.arrives(member, true)
	f.finish(f.claim(member.Report), crash.SymbolOutcome{State: crash.SymbolsDone,
		Fields: names("parse", "load", "main")})
	if err := f.WantCore(t.Context(), member.Problem, "ada"); err != nil {
		t.Fatal(err)
	}
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
