package index_test

import (
	"testing"

	"mishap/crash"
	"mishap/crash/index"
)

// TestRising checks which days and problems are compared, and that everyone gets the same answer.
func TestRising(t *testing.T) {
	t.Parallel()
	const today = index.Day(9000)
	ix := index.New()
	id := func(name string) crash.BucketID { return crash.BucketIDOf(name) }
	ix.Update(func(u *index.Updater) {
		for name, days := range map[string]map[index.Day]int64{
			"rises":           {today: 20, today - 6: 20, today - 7: 5, today - 13: 5, today - 14: 900},
			"rose last week":  {today - 7: 20, today - 13: 20, today - 14: 10},
			"new":             {today: 20, today - 6: 20},
			"steady":          {today: 20, today - 7: 20},
			"merged, rises":   {today - 7: 5},
			"and its member":  {today: 30},
			"seen a year ago": {today - 300: 1, today: 40},
		} {
			b := index.Bucket{ID: id(name), Head: id(name), Reports: 100}
			if name == "and its member" {
				b.Head = id("merged, rises")
			}
			u.SetBucket(b)
			for day, n := range days {
				u.SetCell(b.ID, day, []byte("Ubuntu 24.04"), []byte("1"), nil, nil, n)
			}
		}
	})
	for _, ix := range []*index.Index{ix, ix.Without([]crash.BucketID{id("steady"), id("rises")})} {
		rising := ix.Rising(today)
		for name, week := range map[string]int64{"rises": 40, "merged, rises": 30, "seen a year ago": 40} {
			if rising[id(name)].Week != week {
				t.Errorf("%s: got %+v, want %d this week", name, rising[id(name)], week)
			}
		}
		if len(rising) != 3 {
			t.Errorf("got %d rising problems, want 3: %v", len(rising), rising)
		}
		if before := ix.Rising(today - 7); len(before) != 1 || before[id("rose last week")].Week != 40 {
			t.Errorf("a week ago: got %v", before)
		}
	}
}
