package db_test

import (
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// TestUnsupportedFilters checks that queries accept exactly the filters that they support.
func TestUnsupportedFilters(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	ctx, day := t.Context(), index.DayOf(time.Date(2025, 5, 1, 0, 0, 0, 0, time.UTC))
	reports := func(f index.Filter) error {
		_, _, err := problems.New(s).BucketReportsLike(ctx, crash.BucketID{}, f, crash.OopsID{}, 10)
		return err
	}
	problems := func(f index.Filter) error {
		_, err := problems.New(s).CommonProblems(ctx, f, true, true, 10)
		return err
	}
	for _, c := range []struct {
		list    func(index.Filter) error
		filter  index.Filter
		refused bool
	}{
		{reports, index.Filter{Since: day, Until: day, Release: "Ubuntu 24.04", Version: "1", Architecture: "amd64",
			Complete: true}, false},
		{reports, index.Filter{Package: "reef"}, true},
		{reports, index.Filter{New: true}, true},
		{problems, index.Filter{Since: day, Until: day, Package: "reef", Version: "1", New: true,
			PackageArchitecture: "amd64"}, false},
		{problems, index.Filter{Since: day, Until: day, ByPackages: true, Packages: "reef tide"}, false},
		{problems, index.Filter{Since: day, Until: day, ByPackages: true, Packages: "reef tide", Package: "reef"}, true},
		{problems, index.Filter{Since: day, Until: day, New: true}, true},
		{problems, index.Filter{Since: day, Until: day, State: "none"}, true},
	} {
		if err := c.list(c.filter); (err != nil) != c.refused {
			t.Errorf("%+v: got the error %v, want it refused: %t", c.filter, err, c.refused)
		}
	}
}
