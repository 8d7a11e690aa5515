package db

import (
	"slices"
	"time"
)

// activeDays is for how many days a machine counts as active from a day on which it sent a report, that day included: the
// 90 days of the existing service's "users".
const activeDays = 90

// span is a stretch of days on which a machine is active, both included.
type daySpan struct{ from, until time.Time }

// mergeDays adds days with a report to the spans of one machine and release, which neither overlap nor touch, and neither
// do those that come back. The spans are sorted.
func mergeDays(spans []daySpan, days []time.Time) []daySpan {
	all := slices.Clone(spans)
	for _, d := range days {
		all = append(all, daySpan{d, d.AddDate(0, 0, activeDays-1)})
	}
	slices.SortFunc(all, func(a, b daySpan) int { return a.from.Compare(b.from) })
	merged := all[:0]
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && !s.from.After(merged[last].until.AddDate(0, 0, 1)) {
			if s.until.After(merged[last].until) {
				merged[last].until = s.until
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// spanChange is what mergeDays changed: rows to write and to take away, and by how much the number of active machines
// changes from a day on.
type spanChange struct {
	gone, come []daySpan
	active     map[time.Time]int64
}

func changeOfSpans(before, after []daySpan) spanChange {
	c := spanChange{active: map[time.Time]int64{}}
	for _, s := range before {
		if !slices.Contains(after, s) {
			c.gone = append(c.gone, s)
			c.active[s.from]--
			c.active[s.until.AddDate(0, 0, 1)]++
		}
	}
	for _, s := range after {
		if !slices.Contains(before, s) {
			c.come = append(c.come, s)
			c.active[s.from]++
			c.active[s.until.AddDate(0, 0, 1)]--
		}
	}
	return c
}
