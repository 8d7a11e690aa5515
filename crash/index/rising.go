package index

import (
	"mishap/crash"
	"mishap/crash/stats"
)

// Rising returns the problems that are rising on a day; see [stats.Rising]. It compares all problems
// with each other, also those that this index omits. The result is cached; callers must not modify
// it.
func (ix *Index) Rising(today Day) map[crash.BucketID]stats.Rise {
	whole := &Index{data: ix.data}
	whole.mu.RLock()
	defer whole.mu.RUnlock()
	type rising Day
	week := Day(crash.PeriodWeek.Days()) //nolint:gosec // 7
	return cached(whole, rising(today), func() map[crash.BucketID]stats.Rise {
		var places []int
		var all []stats.Rise
		begin := today - week + 1
		for i, s := range whole.scan {
			if s.first >= begin || s.last < begin-week { // new, or not seen
				continue
			}
			var counts [2]int64
			whole.each(i, begin-week, today, func(c cell) { counts[(today-c.day)/week] += int64(c.n) })
			if counts[0]+counts[1] > 0 {
				places, all = append(places, i), append(all, stats.Rise{Week: counts[0], Before: counts[1]})
			}
		}
		found := map[crash.BucketID]stats.Rise{}
		for i, rises := range stats.Rising(all) {
			if rises {
				found[whole.order[places[i]].ID] = all[i]
			}
		}
		return found
	})
}
