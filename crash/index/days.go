package index

import (
	"maps"
	"slices"
	"sort"
)

// window selects the cells that a filter counts.
type window struct {
	since, until, past Day    // past: first day of the preceding period of equal length
	version            int64  // -1: all
	places             []bool // by number of the origin; nil: all
}

// window returns the window of a filter. An unknown version becomes a number that no cell has.
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
		i := sort.Search(len(l.cells), func(i int) bool { return l.cells[i].day >= since })
		for _, c := range l.cells[i:] {
			if c.day > until {
				break
			}
			if w.matches(c) {
				days[c.day-since] += int64(c.n)
			}
		}
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
