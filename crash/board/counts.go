package board

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"mishap/crash"
)

// ProblemDays returns how many different problems were counted on each of the days from since to until.
func (b *Board) ProblemDays(since, until Day) []int64 {
	if until < since {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	days := make([]int64, int(until-since)+1)
	seen := make([]int, len(days)) // by the place of the problem that was counted last on the day, from 1
	for i, p := range b.order {
		p.each(since, until, func(c cell) {
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
// then by release and architecture.
func (b *Board) TracedDays(since, until Day, rules []crash.Rule) []Traced {
	if until < since {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	machines := slices.Sorted(maps.Keys(b.machines))
	if len(machines) == 0 {
		return nil
	}
	place := make([]int, int(machines[len(machines)-1])+1) // of an architecture in machines
	for i, m := range machines {
		place[m] = i
	}
	type count struct{ named, failed int64 }
	days := int(until-since) + 1
	byRelease := map[uint16][]count{} // by day and architecture
	var counts []count                // of release, which is mostly that of the cell before
	release := uint16(0)
	for _, p := range b.order {
		if p.Type != "Crash" || !slices.Contains(rules, p.Rule) {
			continue
		}
		p.each(since, until, func(c cell) {
			if counts == nil || release != c.release {
				release, counts = c.release, byRelease[c.release]
				if counts == nil {
					counts = make([]count, days*len(machines))
					byRelease[release] = counts
				}
			}
			n := &counts[int(c.day-since)*len(machines)+place[c.machine]]
			if p.Provisional {
				n.failed += int64(c.n)
			} else {
				n.named += int64(c.n)
			}
		})
	}
	var list []Traced
	for release, counts := range byRelease {
		for i, n := range counts {
			if n.named+n.failed > 0 {
				list = append(list, Traced{
					Day: since + Day(i/len(machines)), Release: crash.Release(b.words.texts[release]), //nolint:gosec // a day of the window
					Architecture: b.words.texts[machines[i%len(machines)]], Named: n.named, Failed: n.failed,
				})
			}
		}
	}
	slices.SortFunc(list, func(x, y Traced) int {
		return cmp.Or(cmp.Compare(y.Day, x.Day), x.Release.Compare(y.Release), cmp.Compare(x.Architecture, y.Architecture))
	})
	return list
}

// ReleaseDays returns how often a problem was seen on each of the days from since to until, by release.
func (b *Board) ReleaseDays(id crash.BucketID, since, until Day) map[crash.Release][]int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	days := map[crash.Release][]int64{}
	p := b.problems[id]
	if p == nil || until < since {
		return days
	}
	byRelease := map[uint16][]int64{}
	var counts []int64 // of release, which is mostly that of the cell before
	release := uint16(0)
	p.each(since, until, func(c cell) {
		if counts == nil || release != c.release {
			release, counts = c.release, byRelease[c.release]
			if counts == nil {
				counts = make([]int64, int(until-since)+1)
				byRelease[c.release] = counts
				days[crash.Release(b.words.texts[c.release])] = counts
			}
		}
		counts[c.day-since] += int64(c.n)
	})
	return days
}

// each calls back for every cell of some days.
func (p *Problem) each(since, until Day, call func(cell)) {
	for _, l := range p.leaves {
		i := sort.Search(len(l.cells), func(i int) bool { return l.cells[i].day >= since })
		for ; i < len(l.cells) && l.cells[i].day <= until; i++ {
			call(l.cells[i])
		}
	}
}
