package index

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"mishap/crash"
)

// span is days from since to until.
type span struct{ since, until Day }

// ProblemDays returns how many different problems were counted on each of the days from since to until. The result is
// cached and must not be changed.
func (b *Index) ProblemDays(since, until Day) []int64 {
	if until < since {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return cached(b, span{since, until}, func() []int64 { return b.problemDays(since, until) })
}

func (b *Index) problemDays(since, until Day) []int64 {
	days := make([]int64, int(until-since)+1)
	seen := make([]int, len(days)) // by the place of the problem that was counted last on the day, from 1
	for i := range b.scan {
		b.scan[i].each(since, until, func(c cell) {
			if at := c.day - since; seen[at] != i+1 && c.n > 0 {
				seen[at] = i + 1
				days[at]++
			}
		})
	}
	return days
}

// Traced is how many reports of some problems there were on a day from machines of one release and architecture: of problems
// that are named, and of those that are known by addresses only.
type Traced struct {
	Day           Day
	Release       crash.Release
	Architecture  string
	Named, Failed int64
}

// TracedDays counts crashes of the problems with these grouping rules on the days from since to until, the latest first,
// then by release and architecture. The result is cached and must not be changed.
func (b *Index) TracedDays(since, until Day, rules []crash.Rule) []Traced {
	if until < since {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	type traced struct {
		span
		rules string
	}
	return cached(b, traced{span{since, until}, fmt.Sprintf("%q", rules)}, func() []Traced { return b.tracedDays(since, until, rules) })
}

func (b *Index) tracedDays(since, until Day, rules []crash.Rule) []Traced {
	type count struct{ named, failed int64 }
	counts := make([][]count, len(b.places.values)) // by place and day
	first := map[place]int{}                        // of places that differ in the package's architecture only
	same := make([]int, len(b.places.values))
	for i, p := range b.places.values {
		p.pkg = ""
		if _, ok := first[p]; !ok {
			first[p] = i
		}
		same[i] = first[p]
	}
	for i, p := range b.order {
		if p.Type != "Crash" || !slices.Contains(rules, p.Rule) {
			continue
		}
		b.scan[i].each(since, until, func(c cell) {
			at := same[c.place]
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
				p := b.places.values[at]
				list = append(list, Traced{
					Day: since + Day(i), Release: crash.Release(p.release), Architecture: p.machine,
					Named: n.named, Failed: n.failed,
				})
			}
		}
	}
	keys := map[crash.Release]string{}
	for _, p := range b.places.values {
		keys[crash.Release(p.release)] = crash.Release(p.release).Key()
	}
	slices.SortFunc(list, func(x, y Traced) int {
		return cmp.Or(cmp.Compare(y.Day, x.Day), cmp.Compare(keys[x.Release], keys[y.Release]), cmp.Compare(x.Release, y.Release), cmp.Compare(x.Architecture, y.Architecture))
	})
	return list
}

// ReleaseDays returns how often a problem was seen on each of the days from since to until, by release.
func (b *Index) ReleaseDays(id crash.BucketID, since, until Day) map[crash.Release][]int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	days := map[crash.Release][]int64{}
	p := b.problems[id]
	if p == nil || until < since {
		return days
	}
	b.scan[p.place].each(since, until, func(c cell) {
		release := crash.Release(b.places.values[c.place].release)
		counts := days[release]
		if counts == nil {
			counts = make([]int64, int(until-since)+1)
			days[release] = counts
		}
		counts[c.day-since] += int64(c.n)
	})
	return days
}

// each calls back for every cell of some days.
func (s *scan) each(since, until Day, call func(cell)) {
	if s.last < since || s.first > until || s.last < s.first {
		return
	}
	each(s.cells, since, until, call)
	if s.more != nil {
		for _, l := range s.more.leaves {
			each(l.cells, since, until, call)
		}
	}
}

func each(cells []cell, since, until Day, call func(cell)) {
	i := sort.Search(len(cells), func(i int) bool { return cells[i].day >= since })
	for ; i < len(cells) && cells[i].day <= until; i++ {
		call(cells[i])
	}
}
