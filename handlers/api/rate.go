package api

import (
	"math"
	"slices"
	"time"

	"mishap/crash/stats"
)

// The formula by which phased updates are stopped. It is the old service's, number by number, since a program decides by
// it; docs/api.md has it in words.
const (
	newestDays     = 15 // how many days with crashes are looked at, of either version
	fewCrashes     = 3  // with fewer today there is no increase
	minutesPerDay  = 24 * 60
	worthMentioned = 1 // crashes above what was to be expected by now
)

// rateQuestion is what package-rate-of-crashes is asked.
type rateQuestion struct {
	date            time.Time // up to which days of the old version count, and which ends their mean
	percentage      float64   // of the machines that get the new version
	phased          bool      // percentage was given
	excludeProposed bool
}

// verdict is the answer in the old fields. The pointers are nil where nothing is said.
type verdict struct {
	increase   bool
	difference *float64
	average    *float64
	days       *int
}

// judge compares the crashes of the new version today with what those of the old one let one expect by this minute.
func judge(days []stats.VersionDay, q rateQuestion, now time.Time) verdict {
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
	if crashes < fewCrashes || len(counts) == 0 {
		return verdict{}
	}
	mean, deviation := meanAndDeviation(counts)
	expected := math.RoundToEven(mean + deviation)
	if q.phased {
		expected = expected * q.percentage / 100
	}
	minutes := float64(now.Hour()*60 + now.Minute())
	difference -= expected * (minutes / minutesPerDay)
	if !(difference > worthMentioned) {
		return verdict{}
	}
	period := len(counts)
	return verdict{increase: true, difference: &difference, average: &expected, days: &period}
}

// newest are the latest days that have a count, the latest first, at most fifteen.
func newest(days []stats.VersionDay, count func(stats.VersionDay) int64) []stats.VersionDay {
	var out []stats.VersionDay
	for _, d := range slices.Backward(days) {
		if count(d) > 0 && len(out) < newestDays {
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

// meanAndDeviation are the mean and the standard deviation of a whole population.
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
