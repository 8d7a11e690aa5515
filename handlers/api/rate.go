package api

import (
	"math"
	"slices"
	"time"

	"mishap/crash/stats"
)

// The constants of the formula that stops phased updates. They equal those of errors.ubuntu.com,
// because a program depends on the result; docs/api.md explains the formula.
const (
	maxCrashDays  = 15 // maximum number of days with crashes, for each version
	minCrashes    = 3  // minimum of crashes today for an increase
	minutesPerDay = 24 * 60
	minDifference = 1 // crashes above the number expected by now
)

// rateQuestion is the question of package-rate-of-crashes.
type rateQuestion struct {
	date            time.Time // last day of the old version, and end of its mean
	percentage      float64   // share of machines that receive the new version
	phased          bool      // whether percentage is set
	excludeProposed bool
}

// verdict is the answer in the old fields. The pointers are nil for unknown values.
type verdict struct {
	increase   bool
	difference *float64
	average    *float64
	days       *int
}

// evaluate compares today's crashes of the new version with the number expected by now from the
// old version.
func evaluate(days []stats.VersionDay, q rateQuestion, now time.Time) verdict {
	now = now.UTC()
	newer := newest(days, func(d stats.VersionDay) int64 { return d.New })
	older := newest(days, func(d stats.VersionDay) int64 {
		if d.Day.After(q.date) {
			return 0
		}
		return d.Old
	})
	today, ok := find(newer, now.Truncate(24*time.Hour))
	if !ok {
		return verdict{}
	}
	crashes := today.New
	if q.excludeProposed {
		if crashes -= today.NewProposed; crashes == 0 {
			return verdict{}
		}
	}
	difference := float64(crashes)
	if len(older) == 0 {
		return verdict{increase: true, difference: &difference}
	}
	first := older[len(older)-1].Day
	var counts []float64
	for day := first; day.Before(q.date); day = day.AddDate(0, 0, 1) {
		d, _ := find(older, day)
		n := d.Old
		if q.excludeProposed {
			n -= d.OldProposed
		}
		counts = append(counts, float64(n))
	}
	if crashes < minCrashes || len(counts) == 0 {
		return verdict{}
	}
	mean, deviation := meanAndDeviation(counts)
	expected := math.RoundToEven(mean + deviation)
	if q.phased {
		expected = expected * q.percentage / 100
	}
	minutes := float64(now.Hour()*60 + now.Minute())
	difference -= expected * (minutes / minutesPerDay)
	if !(difference > minDifference) {
		return verdict{}
	}
	period := len(counts)
	return verdict{increase: true, difference: &difference, average: &expected, days: &period}
}

// newest returns the latest days that have a count, newest first, at most maxCrashDays.
func newest(days []stats.VersionDay, count func(stats.VersionDay) int64) []stats.VersionDay {
	var out []stats.VersionDay
	for _, d := range slices.Backward(days) {
		if count(d) > 0 && len(out) < maxCrashDays {
			out = append(out, d)
		}
	}
	return out
}

func find(days []stats.VersionDay, day time.Time) (stats.VersionDay, bool) {
	i := slices.IndexFunc(days, func(d stats.VersionDay) bool { return d.Day.Equal(day) })
	if i < 0 {
		return stats.VersionDay{}, false
	}
	return days[i], true
}

// meanAndDeviation returns the mean and the standard deviation of a whole population.
func meanAndDeviation(counts []float64) (mean, deviation float64) {
	for _, n := range counts {
		mean += n
	}
	mean /= float64(len(counts))
	var squares float64
	for _, n := range counts {
		squares += (n - mean) * (n - mean)
	}
	return mean, math.Sqrt(squares / float64(len(counts)))
}
