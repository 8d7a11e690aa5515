package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// TestDistinctMachines checks that a machine that sent reports from several releases counts once on each
// day, in any selection of releases and of their days.
func TestDistinctMachines(t *testing.T) {
	t.Parallel()
	s := dbtest.Open(t, dbtest.URL(t))
	const jammy, noble, resolute = "Ubuntu 22.04", "Ubuntu 24.04", "Ubuntu 26.04"
	day := func(n int) time.Time { return crash.Midnight(today).AddDate(0, 0, n-9) }
	for i, r := range []struct {
		machine, release string
		day              int
	}{
		{"one", jammy, 2}, {"one", noble, 5}, {"one", resolute, 7}, {"two", noble, 3}, {"three", jammy, 6},
	} {
		save(t, s, record(t, day(r.day).Add(time.Hour), r.machine, crash.Fields{"DistroRelease": r.release,
			"ProcStatus": fmt.Sprint("Pid:\t", i)}))
	}
	since, until := day(1), day(8)
	all := problems.Days{Since: since, Until: until}
	for name, test := range map[string]struct {
		releases map[crash.Release]problems.Days
		want     []int64
	}{
		"all":  {map[crash.Release]problems.Days{jammy: all, noble: all, resolute: all}, []int64{0, 1, 2, 2, 2, 3, 3, 3}},
		"two":  {map[crash.Release]problems.Days{noble: all, resolute: all}, []int64{0, 0, 1, 1, 2, 2, 2, 2}},
		"one":  {map[crash.Release]problems.Days{jammy: all}, []int64{0, 1, 1, 1, 1, 2, 2, 2}},
		"none": {nil, make([]int64, 8)},
		"a part": {map[crash.Release]problems.Days{
			jammy: {Since: day(-9), Until: day(4)}, noble: {Since: day(5), Until: day(99)}},
			[]int64{0, 1, 1, 1, 2, 2, 2, 2}},
	} {
		got, err := problems.New(s).DistinctMachines(t.Context(), test.releases, since, until)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
