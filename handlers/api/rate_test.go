package api

import (
	"math"
	"testing"
	"time"

	"mishap/crash/stats"
)

// at returns a time on the day that the tests of the formula use.
func at(hour, minute int) time.Time { return time.Date(2026, 5, 18, hour, minute, 59, 0, time.UTC) }

// history returns the older version's crashes on the days before, latest first, and the newer
// version's today.
func history(today int64, before ...int64) []stats.VersionDay {
	days := []stats.VersionDay{{Day: at(0, 0).Truncate(24 * time.Hour), New: today, Machines: 100}}
	for i, n := range before {
		days = append([]stats.VersionDay{{Day: days[0].Day.AddDate(0, 0, -1), Old: n, Machines: 100 - int64(i)}}, days...)
	}
	return days
}

// TestJudge covers the nine steps of §9.3.
func TestJudge(t *testing.T) {
	t.Parallel()
	date := at(0, 0).Truncate(24 * time.Hour)
	noon := at(12, 0)
	for _, tt := range []struct {
		name       string
		days       []stats.VersionDay
		q          rateQuestion
		now        time.Time
		increase   bool
		difference float64 // only if there is an increase
		average    float64 // -1: null
		period     int     // -1: null
	}{
		{"1: the new version has no days", history(0, 5, 5), rateQuestion{date: date}, noon, false, 0, -1, -1},
		{"3: none today", history(9, 5)[:1], rateQuestion{date: date}, noon, false, 0, -1, -1},
		{"3: today is UTC's", history(9, 1), rateQuestion{date: date}, at(23, 59).Add(time.Hour), false, 0, -1, -1},
		{"4: no old days, even one crash is more", history(1), rateQuestion{date: date}, noon, true, 1, -1, -1},
		{"2: old days after the date do not count", history(4, 5), rateQuestion{date: date.AddDate(0, 0, -2)}, noon, true, 4,
			-1, -1},
		{"6: two crashes are few", history(2, 1), rateQuestion{date: date}, noon, false, 0, -1, -1},
		{"6: three are not", history(3, 1), rateQuestion{date: date}, noon, true, 2.5, 1, 1},
		{"9: exactly one above is not worth it", history(3, 4), rateQuestion{date: date}, noon, false, 0, -1, -1},
		{"7: mean and deviation", history(9, 2, 4, 4, 4, 5, 5, 7, 9), rateQuestion{date: date}, noon, true, 9 - 3.5, 7, 8},
		{"5: days without crashes are 0", []stats.VersionDay{
			{Day: date.AddDate(0, 0, -4), Old: 8}, {Day: date, New: 9, Old: 50},
		}, rateQuestion{date: date}, noon, true, 9 - 2.5, 5, 4}, // 8,0,0,0: mean 2, deviation 3.46, 5.46 → 5
		// 2 + 1.095 = 3.095
		{"7: half to even down", history(9, 1, 2, 1, 2, 4), rateQuestion{date: date}, noon, true, 9 - 1.5, 3, 5},
		{"8: early in the day", history(3, 9, 9), rateQuestion{date: date}, at(1, 0), true, 3 - 9*60./1440, 9, 2},
		{"8: seconds do not count", history(3, 9), rateQuestion{date: date}, at(0, 0), true, 3, 9, 1},
		{"7: a tenth of the machines", history(3, 10), rateQuestion{date: date, phased: true, percentage: 10}, noon, true,
			2.5, 1, 1},
		{"7: a percentage of 0", history(3, 10), rateQuestion{date: date, phased: true}, noon, true, 3, 0, 1},
		{"9: the date is the only old day", []stats.VersionDay{{Day: date, New: 9, Old: 5}}, rateQuestion{date: date}, noon,
			false, 0, -1, -1},
		{"3: all of today is proposed", []stats.VersionDay{{Day: date, New: 9, NewProposed: 9}},
			rateQuestion{date: date, excludeProposed: true}, noon, false, 0, -1, -1},
		{"3: some of today is", []stats.VersionDay{{Day: date, New: 9, NewProposed: 7}},
			rateQuestion{date: date, excludeProposed: true}, noon, true, 2, -1, -1},
		{"5: proposed is left out of the old days too", []stats.VersionDay{
			{Day: date.AddDate(0, 0, -1), Old: 20, OldProposed: 18}, {Day: date, New: 9},
		}, rateQuestion{date: date, excludeProposed: true}, noon, true, 8, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := evaluate(tt.days, tt.q, tt.now)
			if got.increase != tt.increase {
				t.Fatalf("increase: got %v, want %v", got.increase, tt.increase)
			}
			if tt.increase && (got.difference == nil || math.Abs(*got.difference-tt.difference) > 1e-9) {
				t.Errorf("difference: got %v, want %v", deref(got.difference), tt.difference)
			}
			if average := deref(got.average); average != tt.average {
				t.Errorf("average: got %v, want %v", average, tt.average)
			}
			period := -1
			if got.days != nil {
				period = *got.days
			}
			if period != tt.period {
				t.Errorf("days: got %v, want %v", period, tt.period)
			}
		})
	}
}

func deref(x *float64) float64 {
	if x == nil {
		return -1
	}
	return *x
}

// TestNewestDays checks that only the 15 newest days count.
func TestNewestDays(t *testing.T) {
	t.Parallel()
	before := make([]int64, 20)
	for i := range before {
		before[i] = 2
		if i >= maxCrashDays {
			before[i] = 1000
		}
	}
	got := evaluate(history(9, before...), rateQuestion{date: at(0, 0).Truncate(24 * time.Hour)}, at(12, 0))
	if !got.increase || *got.average != 2 || *got.days != maxCrashDays {
		t.Errorf("got %+v, want the 15 newest days only", got)
	}
}

func TestRoundHalfToEven(t *testing.T) {
	t.Parallel()
	date := at(0, 0).Truncate(24 * time.Hour)
	for _, tt := range []struct{ high, want int64 }{{5, 5}, {6, 6}, {7, 7}} {
		// Two days with n and 0 crashes have the mean n/2 and the deviation n/2.
		days := []stats.VersionDay{{Day: date.AddDate(0, 0, -2), Old: tt.high}, {Day: date, New: 99}}
		if got := evaluate(days, rateQuestion{date: date}, at(12, 0)); *got.average != float64(tt.want) {
			t.Errorf("%d: got %v, want %d", tt.high, *got.average, tt.want)
		}
	}
	// 2.5 rounds to 2 and 3.5 to 4. Counts of one and four on two days have the mean 2.5.
	for mean, want := range map[float64]float64{0.5: 0, 1.5: 2, 2.5: 2, 3.5: 4} {
		if got := math.RoundToEven(mean); got != want {
			t.Errorf("%v: got %v, want %v", mean, got, want)
		}
	}
}
