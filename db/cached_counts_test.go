package db_test

import (
	"testing"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// TestCachedCounts checks that an instance returns correct counts as soon as another one has
// counted more reports.
func TestCachedCounts(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s, other := dbtest.Open(t, url), dbtest.Open(t, url)
	count := func(s *db.Store, f problems.RateFilter) (reports, machines int64) {
		t.Helper()
		rates, err := problems.New(s).Rates(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rates {
			reports, machines = reports+r.Reports, max(machines, r.Machines)
		}
		return reports, machines
	}
	for i := 1; i <= 3; i++ {
		release := crash.Release("Ubuntu 24.04")
		if i == 3 {
			release = "Ubuntu 26.04"
		}
		crashed(t, s, i, "aa", "parse:load", crash.Fields{"DistroRelease": string(release)})
		for _, unit := range []*db.Store{s, other, s} {
			day := today.Add(time.Duration(i) * time.Hour) // on the same UTC day, so the arguments are equal
			if reports, machines := count(unit, problems.RateFilter{Since: day, Until: day}); reports != int64(i) ||
				machines != int64(min(i, 2)) {
				t.Errorf("round %d: got %d reports of %d machines, want %d of %d", i, reports, machines, i, min(i, 2))
			}
			if reports, _ := count(unit, problems.RateFilter{Since: day, Until: day, Release: "Ubuntu 26.04"}); reports != int64(
				max(0, i-2)) {
				t.Errorf("round %d: got %d reports of one release, want %d", i, reports, max(0, i-2))
			}
			if reports,
				_ := count(unit, problems.RateFilter{Since: day.AddDate(0, 0, -9), Until: day.AddDate(0, 0, -2)}); reports != 0 {
				t.Errorf("round %d: got %d reports of days before, want none", i, reports)
			}
			releases, err := problems.New(unit).Releases(t.Context(), crash.BuiltInReleases())
			if want, got := 1+i/3, len(releases.Ascending()); err != nil || got != want {
				t.Errorf("round %d: got %d releases, %v; want %d", i, got, err, want)
			}
		}
	}
}
