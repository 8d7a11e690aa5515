package stats_test

import (
	"testing"

	"mishap/crash/stats"
)

func TestRising(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		week, before int64
		others       int
		want         bool
	}{
		{0, 0, 0, false}, {1, 0, 0, false}, {4, 0, 0, false}, {5, 0, 0, true}, {12, 10, 0, false},
		{30, 12, 0, true}, {1300, 1000, 0, false}, // certain, but slight
		{1600, 1000, 0, true}, {5, 50, 0, false},
		{30, 12, 20, false}, {40, 12, 20, true}, // one of 21 problems
	} {
		all := []stats.Rise{{Week: test.week, Before: test.before}}
		for range test.others {
			all = append(all, stats.Rise{Week: 50, Before: 50})
		}
		for range 1000 { // too few reports to tell: they do not count as comparisons
			all = append(all, stats.Rise{Week: 2, Before: 1})
		}
		if got := stats.Rising(all)[0]; got != test.want {
			t.Errorf("%d after %d, with %d others: got %t, want %t", test.week, test.before, test.others, got, test.want)
		}
	}
}
