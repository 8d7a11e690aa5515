package index

import "mishap/crash"

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

// Span is the number of reports of a problem in one version and release, with the first and last
// day. It is limited to the days of the index.
type Span struct {
	Release     crash.Release
	Version     string
	First, Last Day
	Reports     int64
}

// Spans returns the spans of a problem, in no particular order.
func (ix *Index) Spans(id crash.BucketID) []Span {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	place, ok := ix.places[id]
	if !ok || ix.hidden[id] {
		return nil
	}
	var spans spans
	ix.each(int(place), 0, 1<<16-1, func(c cell) { spans.add(ix, c) })
	return spans.list
}

// SourceSpans returns the spans of some versions of a source package, over all its problems, in no
// particular order.
func (ix *Index) SourceSpans(source string, versions ...string) []Span {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	wanted := map[uint32]bool{}
	for _, version := range versions {
		if n, ok := ix.versions.of[version]; ok {
			wanted[n] = true
		}
	}
	var spans spans
	seen := map[int32]bool{}
	for _, at := range ix.byPackage[source] {
		l := &ix.buckets[at]
		if l.Source != source || seen[at] || ix.hidden[l.Head] {
			continue
		}
		seen[at] = true
		each(l.cells, 0, 1<<16-1, func(c cell) {
			if wanted[c.version] {
				spans.add(ix, c)
			}
		})
	}
	return spans.list
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
		seen := map[int32]bool{}
		for _, at := range ix.byPackage[name] {
			if l := &ix.buckets[at]; l.Package == name && !seen[at] && !ix.hidden[l.Head] {
				seen[at] = true
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

// spans collects cells into spans.
type spans struct {
	at   map[spanKey]int
	list []Span
}

type spanKey struct {
	version uint32
	release string
}

func (s *spans) add(ix *Index, c cell) {
	if s.at == nil {
		s.at = map[spanKey]int{}
	}
	k := spanKey{c.version, ix.origins.values[c.origin].release}
	i, ok := s.at[k]
	if !ok {
		i = len(s.list)
		s.at[k] = i
		s.list = append(s.list, Span{Release: crash.Release(k.release), Version: ix.versions.values[c.version], First: c.day,
			Last: c.day})
	}
	span := &s.list[i]
	span.First, span.Last = min(span.First, c.day), max(span.Last, c.day)
	span.Reports += int64(c.n)
}
