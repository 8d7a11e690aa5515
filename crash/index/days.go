package index

import (
	"maps"
	"slices"
	"sort"
)

// window counts days by a filter.
type window struct {
	since, until, past Day    // past: the first of as many days before
	version            int64  // -1: all
	places             []bool // that are wanted; nil: all
}

// window turns the filter's words into numbers. A version that no cell has gives a number that none has.
func (b *Index) window(f Filter) window {
	length := int(f.Until) - int(f.Since) + 1
	w := window{since: f.Since, until: f.Until, past: Day(max(int(f.Since)-length, 0)), version: -1} //nolint:gosec // smaller than Since
	if f.Version != "" {
		w.version = -2
		if n, ok := b.versions.of[f.Version]; ok {
			w.version = int64(n)
		}
	}
	if f.Release != "" || f.Architecture != "" || f.PackageArchitecture != "" {
		w.places = make([]bool, len(b.places.values))
		for i, p := range b.places.values {
			w.places[i] = (f.Release == "" || string(f.Release) == p.release) && (f.Architecture == "" || f.Architecture == p.machine) &&
				(f.PackageArchitecture == "" || f.PackageArchitecture == p.pkg)
		}
	}
	return w
}

func (w *window) takes(c cell) bool {
	return (w.places == nil || w.places[c.place]) && (w.version == -1 || w.version == int64(c.version))
}

// count sums up the days of a bucket, and as many days before these. It comes from the end, since lists mostly look at the
// latest days.
func (w *window) count(cells []cell) (count, past int64) {
	n := len(cells) - 1
	for n >= 0 && cells[n].day > w.until {
		n--
	}
	all := w.places == nil && w.version == -1
	for ; n >= 0 && cells[n].day >= w.since; n-- {
		if c := cells[n]; all || w.takes(c) {
			count += int64(c.n)
		}
	}
	for ; n >= 0 && cells[n].day >= w.past; n-- {
		if c := cells[n]; all || w.takes(c) {
			past += int64(c.n)
		}
	}
	return count, past
}

// update notes the days of a problem, after they have changed.
func (s *scan) update(p *Problem, head *leaf) {
	s.cells, s.more, s.first, s.last = head.cells, nil, 1<<16-1, 0
	s.reach(head.cells)
	if len(p.leaves) < 2 {
		return
	}
	s.more = &more{}
	for _, l := range p.leaves {
		if l != head {
			s.more.leaves = append(s.more.leaves, l)
			s.reach(l.cells)
		}
	}
}

func (s *scan) reach(cells []cell) {
	if n := len(cells); n > 0 {
		s.first, s.last = min(s.first, cells[0].day), max(s.last, cells[n-1].day)
	}
}

// all counts a problem, with whatever was merged into it.
func (w *window) all(s *scan) (count, past int64) {
	if s.last < w.past || s.first > w.until || s.last < s.first {
		return 0, 0
	}
	count, past = w.count(s.cells)
	if s.more != nil {
		for _, l := range s.more.leaves {
			c, p := w.count(l.cells)
			count, past = count+c, past+p
		}
	}
	return count, past
}

// Days returns how often a problem was seen on each of the days from since to until, as the filter counts; its own days do
// not matter.
func (b *Index) Days(p *Problem, f Filter, since, until Day) []int64 {
	if until < since {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	w := b.window(f)
	days := make([]int64, int(until-since)+1)
	for _, l := range p.leaves {
		i := sort.Search(len(l.cells), func(i int) bool { return l.cells[i].day >= since })
		for _, c := range l.cells[i:] {
			if c.day > until {
				break
			}
			if w.takes(c) {
				days[c.day-since] += int64(c.n)
			}
		}
	}
	return days
}

// What lists offer besides the names that everybody knows: anybody can send other ones.
const maxOtherNames = 5

// knownTypes and knownArchitectures are the names that apport and its hooks send.
var (
	knownTypes = []string{
		"Bug", "Crash", "Hang", "KernelCrash", "KernelOops", "Package", "RecoverableProblem", "Repair", "Snap",
	}
	knownArchitectures = []string{
		"all", "amd64", "amd64v3", "arm64", "armel", "armhf", "i386", "ia64", "loong64", "mips", "mips64el", "mipsel", "powerpc", "ppc64",
		"ppc64el", "riscv64", "s390x", "sparc", "sparc64",
	}
)

// KnownArchitecture reports whether a name is that of a port of Debian or Ubuntu.
func KnownArchitecture(name string) bool { return slices.Contains(knownArchitectures, name) }

// bounded returns the known names that are among all, in order, and behind them the first few others.
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

// Types are the problem types that there are or were: those of apport, and a few others at the end.
func (b *Index) Types() []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return bounded(b.types, knownTypes)
}

// Architectures are those of machines whose reports are or were counted in problems: Debian's, and a few others at the end.
func (b *Index) Architectures() []string {
	return b.placeNames(func(p place) string { return p.machine })
}

// PackageArchitectures is Architectures for those of packages.
func (b *Index) PackageArchitectures() []string {
	return b.placeNames(func(p place) string { return p.pkg })
}

func (b *Index) placeNames(name func(place) string) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	all := map[string]bool{}
	for _, p := range b.places.values {
		all[name(p)] = true
	}
	return bounded(all, knownArchitectures)
}
