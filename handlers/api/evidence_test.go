package api

import (
	"math"
	"testing"
	"time"

	"mishap/crash/stats"
)

func TestEvidence(t *testing.T) {
	t.Parallel()
	date := at(0, 0).Truncate(24 * time.Hour)
	q := rateQuestion{date: date}
	same := newEvidence(history(5, 10), q, at(12, 0))
	if same.Ratio == nil || *same.Ratio.Interval[0] > 1 || *same.Ratio.Interval[1] < 1 {
		t.Errorf("equal rates: got %+v, want an interval around 1", same.Ratio)
	}
	worse := newEvidence(history(100, 10), q, at(12, 0))
	if *worse.Ratio.Interval[0] <= 1 {
		t.Errorf("ten times the rate: got %+v, want an interval above 1", worse.Ratio)
	}
	// The exact interval of a count of 10 is 4.795 to 18.39; of 0 it is 0 to 3.689.
	if got := *worse.Old.Interval; math.Abs(got[0]/10-4.795) > .05 || math.Abs(got[1]/10-18.39) > .05 {
		t.Errorf("10 crashes on 100 machines: got %v, want 47.95 to 183.9", got)
	}
	few := newEvidence(history(10, 10), rateQuestion{date: date, phased: true, percentage: 10}, at(12, 0))
	if few.New.Machines != 5 || *few.Ratio.Interval[0] <= 1 {
		t.Errorf("a tenth of the machines: got %+v, %+v, want higher rates", few.New, few.Ratio)
	}
	none := newEvidence(history(3), q, at(12, 0))
	if none.Ratio != nil || none.Old.Rate != nil || none.Old.Interval != nil {
		t.Errorf("no old version: got %+v, want no evidence", none)
	}
	// A day without a row has the machines of the previous day.
	gap := []stats.VersionDay{{Day: date.AddDate(0, 0, -4), Old: 1, Machines: 50}, {Day: date, New: 1, Machines: 70}}
	if got := newEvidence(gap, q, at(12, 0)); got.Old.Machines != 200 || got.New.Machines != 35 {
		t.Errorf("gap: got %v and %v machine-days, want 200 and 35: with today counted as half a day", got.Old.Machines,
			got.New.Machines)
	}
}

// TestSettled compares with values computed by hand: ten crashes on 2000 machine-days against five
// on 4000.
func TestSettled(t *testing.T) {
	t.Parallel()
	got := evidence{New: rate{Crashes: 10, Machines: 2000}, Old: rate{Crashes: 5, Machines: 4000}}.withRates()
	near := func(name string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	near("new", *got.New.Rate, 5, 0)
	near("old", *got.Old.Rate, 1.25, 0)
	near("new, from", got.New.Interval[0], 4.795/2, .01) // exact interval of 10: 4.795 to 18.391
	near("new, to", got.New.Interval[1], 18.391/2, .01)
	near("old, from", got.Old.Interval[0], 1.6235/4, .01) // exact interval of 5: 1.6235 to 11.668
	near("old, to", got.Old.Interval[1], 11.668/4, .01)
	near("ratio", *got.Ratio.Ratio, 4, 1e-9)
	// The exact interval of a share of 10 in 15 is 0.38380 to 0.88176.
	near("ratio, from", *got.Ratio.Interval[0], .38380/.61620*2, .001)
	near("ratio, to", *got.Ratio.Interval[1], .88176/.11824*2, .01)
	first := evidence{New: rate{Crashes: 10, Machines: 2000}, Old: rate{Machines: 4000}}.withRates()
	if r := first.Ratio; r.Ratio != nil || r.Interval[1] != nil || *r.Interval[0] <= 1 {
		t.Errorf("no crash before: got %+v, want no limit", r)
	}
	zero := evidence{New: rate{Crashes: 0, Machines: 1000}}.withRates()
	near("none, from", zero.New.Interval[0], 0, 0)
	near("none, to", zero.New.Interval[1], 3.689, .05)
	if zero.Ratio != nil || zero.Old.Rate != nil {
		t.Errorf("without old machines: got %+v, want no evidence", zero)
	}
}
