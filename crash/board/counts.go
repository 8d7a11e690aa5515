package board

import (
	"cmp"
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
	b.mu.RLock()
	defer b.mu.RUnlock()
	type key struct {
		day              Day
		release, machine uint16
	}
	counts := map[key]*Traced{}
	for _, p := range b.order {
		if p.Type != "Crash" || !slices.Contains(rules, p.Rule) {
			continue
		}
		p.each(since, until, func(c cell) {
			k := key{c.day, c.release, c.machine}
			t := counts[k]
			if t == nil {
				t = &Traced{Day: c.day, Release: crash.Release(b.words.texts[c.release]), Architecture: b.words.texts[c.machine]}
				counts[k] = t
			}
			if p.Provisional {
				t.Failed += int64(c.n)
			} else {
				t.Named += int64(c.n)
			}
		})
	}
	var list []Traced
	for _, t := range counts {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(x, y Traced) int {
		return cmp.Or(cmp.Compare(y.Day, x.Day), x.Release.Compare(y.Release), cmp.Compare(x.Architecture, y.Architecture))
	})
	return list
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
