package db_test

import (
	"fmt"
	"maps"
	"testing"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// wantSameIndex checks that an instance returns the same lists as an instance that has just
// started.
func wantSameIndex(t *testing.T, url string, s *db.Store) {
	t.Helper()
	followed, err := s.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := dbtest.Open(t, url).Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := index.Filter{Since: index.DayOf(today.AddDate(0, 0, -30)), Until: index.DayOf(today)}
	if got, want := totals(followed.List(f, nil, nil, 1000)), totals(loaded.List(f, nil, nil, 1000)); !maps.Equal(got,
		want) {
		t.Errorf("got the list %v, want %v", got, want)
	}
}

// totals returns, for each problem of a list, the number of reports in the period and in total.
func totals(p index.Page) map[string][2]int64 {
	sum := map[string][2]int64{}
	for _, r := range p.Rows {
		sum[r.Signature] = [2]int64{r.Count, r.Reports}
	}
	return sum
}

// TestOlderCopyRestored replaces the database of a running instance by an older copy. The instance
// then counts more reports than were lost before anyone looks at lists.
func TestOlderCopyRestored(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	early := dbtest.Open(t, url)
	for i := range 3 {
		crashed(t, early, i, "aa", "old:load", nil)
	}
	early.Close()
	restore := dbtest.Copy(t, url)

	s := dbtest.Open(t, url)
	for i := 10; i < 40; i++ { // machines, buckets and names that the copy does not have
		crashed(t, s, i, fmt.Sprint("b", i%7), fmt.Sprint("new:f", i%7), nil)
	}
	if _, err := s.IndexWithStates(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rates := func() (sum int64) {
		t.Helper()
		all, err := problems.New(s).Rates(t.Context(), problems.RateFilter{Since: today, Until: today})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			sum += r.Reports
		}
		return sum
	}
	if got := rates(); got != 33 {
		t.Errorf("before: got %d reports of today, want 33", got)
	}

	restore()
	var id crash.BucketID
	// Count more rounds than were lost. The lost reports are among these, because they are sent again.
	for i := 10; i < 60; i++ {
		if i%2 == 0 || i >= 40 {
			id = crashed(t, s, i, fmt.Sprint("b", i%7), fmt.Sprint("new:f", i%7), nil)
		}
	}
	wantSameIndex(t, url, s)
	if b := bucket(t, s, id); b.ID != id {
		t.Errorf("got bucket %v, want %v", b.ID, id)
	}
	if got, want := rates(), int64(3+15+20); got != want {
		t.Errorf("restored: got %d reports of today, want %d", got, want)
	}
	after, err := s.Revision(t.Context())
	if err != nil || after == before {
		t.Errorf("revision: got %q and %v after %q, want another one", after, err, before)
	}
	checkCounts(t, url)
}
