package watch_test

import (
	"strings"
	"testing"

	"mishap/crash"
	"mishap/tracker/trackertest"
)

// TestSectionOfClosedBug checks that the section is updated once after the bug was closed, also if that
// would not be worth a mail otherwise, and as before if the bug is opened again. What a person writes
// stays.
func TestSectionOfClosedBug(t *testing.T) {
	t.Parallel()
	f := newSectionFixture(t)
	for range 9 {
		f.inVersion(1, "1.0-1")
	}
	f.rounds(f.w, 2)
	if f.changes() != 1 {
		t.Fatalf("got %d changes, want 1", f.changes())
	}
	f.inVersion(1, "1.0-1") // one more report
	f.rounds(f.w, 2)
	if f.changes() != 1 {
		t.Fatalf("one report more: got %d changes, want 1", f.changes())
	}
	f.lp.Change(f.number, func(b *trackertest.Bug) { b.Status = "Fix Released" })
	f.rounds(f.w, 3)
	if got := f.description(); f.changes() != 2 || !strings.Contains(got, "11 reports") {
		t.Errorf("closed: got %d changes, want 2, and\n%s", f.changes(), got)
	}
	f.news()
	f.rounds(f.reader(f.instance(), everyRound), 2)
	if f.changes() != 2 {
		t.Errorf("after that: got %d changes, want 2", f.changes())
	}
	f.lp.Change(f.number, func(b *trackertest.Bug) { b.Status = "New" })
	f.rounds(f.w, 2)
	if f.changes() != 3 {
		t.Errorf("opened again: got %d changes, want 3", f.changes())
	}
	f.edit(func(s string) string { return strings.Replace(s, "Probable fix:", "Fixed by me:", 1) })
	edited := f.description()
	f.news()
	f.lp.Change(f.number, func(b *trackertest.Bug) { b.Status = "Fix Released" })
	f.rounds(f.w, 2)
	if f.description() != edited || f.section().Stopped != crash.SectionChanged {
		t.Errorf("edited and closed: got %+v and\n%s", f.section(), f.description())
	}
}
