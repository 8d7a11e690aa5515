package stats_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash/stats"
)

func TestMovingRates(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 5, n, 0, 0, 0, 0, time.UTC) }
	got, sums := stats.MovingRates([]stats.DayRate{
		{Day: day(2), Reports: 4, Machines: 4}, {Day: day(4), Reports: 8, Machines: 8},
		{Day: day(9), Reports: 99, Machines: 1},
	}, day(1), day(5), 3, day(5).Add(12*time.Hour))
	if diff := cmp.Diff([]int64{0, 4, 4, 12, 8}, sums); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	want := []float64{0, 1, .5, .75, .5} // the last: 0, 8 and 0 reports of 4, 8 and, in half a day, 8 machines
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTrendText(t *testing.T) {
	t.Parallel()
	trend := func(now, before int64) stats.Trend {
		t := stats.Trend{Now: stats.NewMachineRate(now, 7000), Before: stats.NewMachineRate(before, 7000)}
		t.Change = t.Now.Times(t.Before)
		return t
	}
	for _, test := range []struct {
		trend stats.Trend
		want  string
	}{
		{trend(532, 554), "Machines sent 0.076 reports a day each this week (95 % CI 0.070–0.083), 4 % fewer than last " +
			"week: within normal variation."},
		{trend(1000, 500), "Machines sent 0.14 reports a day each this week (95 % CI 0.13–0.15), 100 % more than last " +
			"week: more than chance explains."},
		{trend(500, 500), "Machines sent 0.071 reports a day each this week (95 % CI 0.065–0.078), as many as last " +
			"week: within normal variation."},
		{stats.Trend{Now: stats.NewMachineRate(7, 70)}, "Machines sent 0.10 reports a day each this week (95 % CI " +
			"0.040–0.21); there is no data for last week."},
	} {
		if got := test.trend.Text(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
