package index

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"mishap/crash"
)

// span is the range of days from since to until, both included.
type span struct{ since, until Day }

// ProblemDays returns the number of distinct problems on each day from since to until. The result
// is cached; callers must not modify it.
func (ix *Index) ProblemDays(since, until Day) []int64 {
	if until < since {
		return nil
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return cached(ix, span{since, until}, func() []int64 { return ix.problemDays(since, until) })
}

func (ix *Index) problemDays(since, until Day) []int64 {
	days := make([]int64, int(until-since)+1)
	seen := make([]int, len(days)) // position of the last problem counted on that day, from 1
	hidden := ix.hiddenPlaces()
	for i := range ix.scan {
		if hidden != nil && hidden[i] {
			continue
		}
		ix.each(i, since, until, func(c cell) {
			if at := c.day - since; seen[at] != i+1 && c.n > 0 {
				seen[at] = i + 1
				days[at]++
			}
		})
	}
	return days
}

// Traced is the number of reports on a day, from machines of one release and architecture: of
// problems with function names, and of those with addresses only.
type Traced struct {
	Day           Day
	Release       crash.Release
	Architecture  string
	Named, Failed int64
}

// TracedDays counts crashes of problems with the given grouping rules on each day from since to
// until. The result is sorted by day, latest first, then by release and architecture. It is cached;
// callers must not modify it.
func (ix *Index) TracedDays(since, until Day, rules []crash.Rule) []Traced {
	if until < since {
		return nil
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	type traced struct {
		span
		rules string
	}
	key := traced{span{since, until}, fmt.Sprintf("%q", rules)}
	return cached(ix, key, func() []Traced { return ix.tracedDays(since, until, rules) })
}

func (ix *Index) tracedDays(since, until Day, rules []crash.Rule) []Traced {
	type count struct{ named, failed int64 }
	counts := make([][]count, len(ix.origins.values)) // by origin and day
	first := map[origin]int{}                         // of origins that differ only in the package's architecture
	same := make([]int, len(ix.origins.values))
	for i, p := range ix.origins.values {
		p.pkg = ""
		if _, ok := first[p]; !ok {
			first[p] = i
		}
		same[i] = first[p]
	}
	for i, p := range ix.order {
		if ix.hidden[p.ID] || p.Type != "Crash" || !slices.Contains(rules, p.Rule) {
			continue
		}
		ix.each(i, since, until, func(c cell) {
			at := same[c.origin]
			days := counts[at]
			if days == nil {
				days = make([]count, int(until-since)+1)
				counts[at] = days
			}
			if p.Provisional {
				days[c.day-since].failed += int64(c.n)
			} else {
				days[c.day-since].named += int64(c.n)
			}
		})
	}
	var list []Traced
	for at, days := range counts {
		for i, n := range days {
			if n.named+n.failed > 0 {
				p := ix.origins.values[at]
				list = append(list, Traced{
					Day: since + Day(i), Release: crash.Release(p.release), Architecture: p.machine,
					Named: n.named, Failed: n.failed,
				})
			}
		}
	}
	keys := map[crash.Release]string{}
	for _, p := range ix.origins.values {
		keys[crash.Release(p.release)] = crash.Release(p.release).Key()
	}
	slices.SortFunc(list, func(x, y Traced) int {
		return cmp.Or(cmp.Compare(y.Day, x.Day), cmp.Compare(keys[x.Release], keys[y.Release]),
			cmp.Compare(x.Release, y.Release), cmp.Compare(x.Architecture, y.Architecture))
	})
	return list
}

// ReleaseDays returns the number of reports of a problem on each day from since to until, by
// release.
func (ix *Index) ReleaseDays(id crash.BucketID, since, until Day) map[crash.Release][]int64 {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	days := map[crash.Release][]int64{}
	place, ok := ix.places[id]
	if !ok || ix.hidden[id] || until < since {
		return days
	}
	ix.each(int(place), since, until, func(c cell) {
		release := crash.Release(ix.origins.values[c.origin].release)
		counts := days[release]
		if counts == nil {
			counts = make([]int64, int(until-since)+1)
			days[release] = counts
		}
		counts[c.day-since] += int64(c.n)
	})
	return days
}

// each calls call for every cell from since to until of the problem at a place, including those of the
// buckets merged into it.
func (d *data) each(place int, since, until Day, call func(cell)) {
	s := &d.scan[place]
	if s.last < since || s.first > until || s.last < s.first {
		return
	}
	each(s.cells, since, until, call)
	if s.merged {
		for _, at := range d.order[place].merged {
			each(d.buckets[at].cells, since, until, call)
		}
	}
}

func each(cells []cell, since, until Day, call func(cell)) {
	i := sort.Search(len(cells), func(i int) bool { return cells[i].day >= since })
	for ; i < len(cells) && cells[i].day <= until; i++ {
		call(cells[i])
	}
}
