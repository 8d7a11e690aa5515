package watch_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker/trackertest"
)

// nameless stores a crash without function names, and returns the address signature and the id.
func (f *fixture) nameless(place string) (string, crash.OopsID) {
	f.t.Helper()
	f.process++
	address := "/usr/bin/tidewatch:11:/usr/bin/tidewatch+" + place
	f.report(crashtest.Native(crashtest.Set("StacktraceTop", "?? ()\n?? ()"),
		crashtest.Set("Stacktrace", "#0  0x1 in ?? ()"),
		crashtest.Set("StacktraceAddressSignature", address), crashtest.Process(60_000+f.process)))
	report, err := f.db.RepresentativeReport(f.t.Context(), crash.BucketIDOf(address))
	if err != nil {
		f.t.Fatal(err)
	}
	return address, report.ID
}

// name symbolises a report. The names contain a name of a person.
func (f *fixture) name(id crash.OopsID) {
	f.t.Helper()
	stack := "#0  0x0000000000001139 in parse (row=0x0) at /home/janekowalska/tide.c:1\n" +
		"#1  0x0000000000001177 in load () at tide.c:2\n#2  0x00000000000011a0 in main () at tide.c:3"
	err := db.NewDecisions(f.db).NameReport(f.t.Context(), id, crash.Fields{"SymbolisedBy": "mishap",
		"StacktraceTop": "parse (row=0x0) at /home/janekowalska/tide.c:1\nload () at tide.c:2\nmain () at tide.c:3",
		"Stacktrace":    stack}, true, func(context.Context, pgx.Tx, bool, string) error { return nil })
	if err != nil {
		f.t.Fatal(err)
	}
	dbtest.Counted(f.t, f.db)
}

// TestCommentWithNames checks that a bug that was filed without function names gets one comment
// with them, if comments are switched on.
func TestCommentWithNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	first, firstID := f.nameless("1139")
	second, _ := f.nameless("2000")
	closed, closedID := f.nameless("3000")
	numbers := []int64{f.file(i, first), f.file(i, second), f.file(i, closed)}
	f.lp.Change(numbers[2], func(b *trackertest.Bug) { b.Status = "Invalid" })
	later := f.problem(4) // a bug filed with names
	numbers = append(numbers, f.file(i, later))
	f.rule(crash.UpdateRule{Pattern: crash.EveryPackage, Again: true})
	round(t, w)
	for _, n := range numbers {
		if got := f.comments(n); len(got) != 0 {
			t.Fatalf("bug %d, before there are names: got %q", n, got)
		}
	}
	f.rule(crash.UpdateRule{Pattern: crash.EveryPackage, Again: false})
	f.name(firstID)
	f.name(closedID)
	round(t, w)
	if got := f.comments(numbers[0]); len(got) != 0 {
		t.Fatalf("switched off: got %q, want no comment", got)
	}
	if due, err := bugs.New(i.store).NamedBugs(t.Context()); err != nil || len(due) != 1 || due[0].Number != numbers[0] {
		t.Fatalf("due: got %v, %v; want the open bug", due, err)
	}
	f.rule(crash.UpdateRule{Pattern: crash.EveryPackage, Again: true})
	for range 3 {
		round(t, w)
	}
	got := f.comments(numbers[0])
	if len(got) != 1 || !strings.Contains(got[0], "Signature: /usr/bin/tidewatch:11:parse:load:main") ||
		!strings.Contains(got[0], "#1  load at tide.c:2") || !strings.Contains(got[0], "https://mishap.example/problem/") {
		t.Fatalf("switched on: got %q, want one comment with the signature, the stack and the address", got)
	}
	if strings.Contains(got[0], "janekowalska") || strings.Contains(got[0], "row=0x0") {
		t.Errorf("got %q, want it redacted", got[0])
	}
	for _, n := range numbers[1:] {
		if got := f.comments(n); len(got) != 0 {
			t.Errorf("bug %d: got %q, want no comment on a bug that is closed, still nameless, or had names", n, got)
		}
	}
}
