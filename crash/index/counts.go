package index

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"mishap/crash"
	"mishap/crash/stats"
)

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
func (ix *Index) TracedDays(since, until Day, rules []crash.GroupingRule) []Traced {
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

func (ix *Index) tracedDays(since, until Day, rules []crash.GroupingRule) []Traced {
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

type window struct {
	since, until, past Day    // past: first day of the preceding period of equal length
	version            int64  // -1: all
	places             []bool // by number of the origin; nil: all
}

func (ix *Index) window(f Filter) window {
	length := int(f.Until) - int(f.Since) + 1
	past := Day(max(int(f.Since)-length, 0)) //nolint:gosec // smaller than Since
	w := window{since: f.Since, until: f.Until, past: past, version: -1}
	if f.Version != "" {
		w.version = -2
		if n, ok := ix.versions.of[f.Version]; ok {
			w.version = int64(n)
		}
	}
	if f.Release != "" || f.Architecture != "" || f.PackageArchitecture != "" {
		w.places = make([]bool, len(ix.origins.values))
		for i, p := range ix.origins.values {
			w.places[i] = (f.Release == "" || string(f.Release) == p.release) &&
				(f.Architecture == "" || f.Architecture == p.machine) &&
				(f.PackageArchitecture == "" || f.PackageArchitecture == p.pkg)
		}
	}
	return w
}

func (w *window) matches(c cell) bool {
	return (w.places == nil || w.places[c.origin]) && (w.version == -1 || w.version == int64(c.version))
}

// count returns the number of reports in the window, and in the preceding period. It starts at the
// end, since lists mostly cover the latest days.
func (w *window) count(cells []cell) (count, past int64) {
	n := len(cells) - 1
	for n >= 0 && cells[n].day > w.until {
		n--
	}
	all := w.places == nil && w.version == -1
	for ; n >= 0 && cells[n].day >= w.since; n-- {
		if c := cells[n]; all || w.matches(c) {
			count += int64(c.n)
		}
	}
	for ; n >= 0 && cells[n].day >= w.past; n-- {
		if c := cells[n]; all || w.matches(c) {
			past += int64(c.n)
		}
	}
	return count, past
}

// setDays updates the scan of a problem after its days or buckets have changed.
func (d *data) setDays(p *Problem) {
	s := &d.scan[p.place]
	s.cells, s.merged, s.first, s.last = d.buckets[p.head].cells, len(p.merged) > 0, 1<<16-1, 0
	for l := range d.bucketsOf(p) {
		s.extend(l.cells)
	}
}

func (s *listScan) extend(cells []cell) {
	if n := len(cells); n > 0 {
		s.first, s.last = min(s.first, cells[0].day), max(s.last, cells[n-1].day)
	}
}

// countAll returns the number of reports of the problem at a place, in the window and in the preceding
// period. It includes the buckets merged into the problem.
func (d *data) countAll(w *window, place int) (count, past int64) {
	s := &d.scan[place]
	if s.last < w.past || s.first > w.until || s.last < s.first {
		return 0, 0
	}
	count, past = w.count(s.cells)
	if s.merged {
		for _, at := range d.order[place].merged {
			c, p := w.count(d.buckets[at].cells)
			count, past = count+c, past+p
		}
	}
	return count, past
}

// Days returns the number of reports of a problem on each day from since to until. It ignores the
// days of the filter.
func (ix *Index) Days(p *Problem, f Filter, since, until Day) []int64 {
	if until < since {
		return nil
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	w := ix.window(f)
	days := make([]int64, int(until-since)+1)
	for l := range ix.bucketsOf(p) {
		each(l.cells, since, until, func(c cell) {
			if w.matches(c) {
				days[c.day-since] += int64(c.n)
			}
		})
	}
	return days
}

// maxOtherNames is the number of unknown names that lists offer in addition to the known ones.
// Machines can send any name.
const maxOtherNames = 5

// knownTypes and knownArchitectures list the names that apport and its hooks send.
var (
	knownTypes = []string{
		"Bug", "Crash", "Hang", "KernelCrash", "KernelOops", "Package", "RecoverableProblem", "Repair", "Snap",
	}
	knownArchitectures = []string{
		"all", "amd64", "amd64v3", "arm64", "armel", "armhf", "i386", "ia64", "loong64", "mips", "mips64el", "mipsel",
		"powerpc", "ppc64", "ppc64el", "riscv64", "s390x", "sparc", "sparc64",
	}
)

// KnownArchitecture reports whether name is the architecture of a port of Debian or Ubuntu.
func KnownArchitecture(name string) bool { return slices.Contains(knownArchitectures, name) }

// bounded returns the known names among all, sorted, followed by at most maxOtherNames others.
func bounded(all map[string]bool, known []string) []string {
	var list, others []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(known, name) {
			list = append(list, name)
		} else if name != "" && len(others) < maxOtherNames {
			others = append(others, name)
		}
	}
	return append(list, others...)
}

// Types returns the present and past problem types: those of apport, followed by a few others.
func (ix *Index) Types() []string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return bounded(ix.visible().types, knownTypes)
}

// Architectures returns the present and past architectures of machines with counted reports:
// Debian's, followed by a few others.
func (ix *Index) Architectures() []string {
	return ix.originNames(func(p origin) string { return p.machine })
}

// PackageArchitectures works like Architectures, for the architectures of packages.
func (ix *Index) PackageArchitectures() []string {
	return ix.originNames(func(p origin) string { return p.pkg })
}

func (ix *Index) originNames(name func(origin) string) []string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	all := map[string]bool{}
	for _, p := range ix.visible().origins {
		all[name(p)] = true
	}
	return bounded(all, knownArchitectures)
}

// Neighbours returns the rows before and after a problem in a list, or nil if there is none. place
// is its position, counted from 1, or 0 if the list does not contain it; of is the length of the
// list.
func (ix *Index) Neighbours(
	f Filter, match func(*Problem) bool, id crash.BucketID,
) (before, after *Row, place, of int) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	p := ix.problem(id)
	l := ix.list(f, match)
	if p == nil {
		return nil, nil, 0, len(l.found)
	}
	for i, e := range l.found {
		if ix.order[e.at] != p {
			continue
		}
		if i > 0 {
			before = &ix.rows(l, l.found[i-1:i])[0]
		}
		if i+1 < len(l.found) {
			after = &ix.rows(l, l.found[i+1:i+2])[0]
		}
		return before, after, i + 1, len(l.found)
	}
	return nil, nil, 0, len(l.found)
}

// InVersion is a version of a package in one release.
type InVersion struct {
	Release crash.Release
	Version string
}

// PackageReports returns the numbers of reports of a binary package by release and version, over all
// its problems and the days of the index. The result is cached; callers must not modify it.
func (ix *Index) PackageReports(name string) map[InVersion]int64 {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	type packageReports string
	return cached(ix, packageReports(name), func() map[InVersion]int64 {
		counts := map[uint64]int64{}
		for l := range ix.inPackage(name) {
			if l.Package == name {
				for _, c := range l.cells {
					counts[ix.inRelease(c)] += int64(c.n)
				}
			}
		}
		reports := map[InVersion]int64{}
		for at, n := range counts {
			reports[InVersion{crash.Release(ix.releases.values[at&(1<<16-1)]), ix.versions.values[at>>16]}] = n
		}
		return reports
	})
}

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
