package stats_test

import (
	"testing"

	"mishap/crash/stats"
)

func TestRising(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		now, before int64
		want        bool
	}{
		{0, 0, false}, {1, 0, false}, {3, 0, false}, {12, 0, true}, {12, 10, false}, {30, 12, true},
		{1300, 1000, false}, // certain, but slight
		{1600, 1000, true}, {5, 50, false},
	} {
		if got := stats.Rising(test.now, test.before); got != test.want {
			t.Errorf("%d after %d: got %t, want %t", test.now, test.before, got, test.want)
		}
	}
}
