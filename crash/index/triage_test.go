package index_test

import (
	"testing"

	"mishap/crash"
	"mishap/crash/index"
)

// TestSetTriage checks that lists follow the manual status, and that it stays when counts change.
func TestSetTriage(t *testing.T) {
	t.Parallel()
	b := index.New()
	count := func(n byte, reports int64) {
		b.Update(func(u *index.Updater) {
			u.SetBucket(index.Bucket{ID: id(n), Head: id(n), Package: "reef", Reports: reports})
			u.SetCell(id(n), 9000, []byte("24.04"), []byte("1"), []byte("amd64"), []byte("amd64"), reports)
		})
	}
	for n := range byte(4) {
		count(n, int64(n)+1)
	}
	count(4, 0) // not in the list
	want := func(when string, muted index.MutedChoice, problems, hidden int64) {
		t.Helper()
		f := index.Filter{Since: 9000, Until: 9000, Muted: muted}
		for _, f.Package = range []string{"", "reef"} { // with and without a look at each problem
			rows, totals := b.All(f, nil)
			if totals.Problems != problems || totals.Hidden != hidden || int64(len(rows)) != problems {
				t.Errorf("%s, %q: got %d rows, %+v; want %d problems and %d hidden", when, muted, len(rows), totals, problems,
					hidden)
			}
		}
	}
	want("at first", index.MutedHidden, 4, 0)
	muted, marked := &index.Triage{Muted: true}, &index.Triage{WontFix: true}
	b.SetTriage(map[crash.BucketID]*index.Triage{id(1): muted, id(2): muted, id(3): marked, id(4): muted, id(99): muted})
	want("muted", index.MutedHidden, 2, 2)
	want("muted", index.MutedShown, 4, 0)
	want("muted", index.MutedOnly, 2, 0)
	count(1, 7)
	count(5, 1)
	want("after counting", index.MutedHidden, 3, 2)
	rows, _ := b.All(index.Filter{Since: 9000, Until: 9000, Muted: index.MutedOnly}, nil)
	b.SetTriage(map[crash.BucketID]*index.Triage{id(2): muted})
	want("unmuted", index.MutedHidden, 4, 1)
	if len(rows) != 2 || !rows[0].Muted() || !rows[1].Muted() {
		t.Errorf("rows returned earlier have changed: %v", rows)
	}
}
