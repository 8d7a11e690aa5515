package index

import "mishap/crash"

// Around returns the rows next to that of a problem in a list (nil: there is none), its place in the list, from 1 (0: it is not
// in the list), and how many rows there are.
func (b *Index) Around(f Filter, match func(*Problem) bool, id crash.BucketID) (before, after *Row, place, of int) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	p := b.problems[id]
	l := b.list(f, match)
	if p == nil {
		return nil, nil, 0, len(l.found)
	}
	for i, e := range l.found {
		if b.order[e.at] != p {
			continue
		}
		if i > 0 {
			before = &b.rows(l, l.found[i-1:i])[0]
		}
		if i+1 < len(l.found) {
			after = &b.rows(l, l.found[i+1:i+2])[0]
		}
		return before, after, i + 1, len(l.found)
	}
	return nil, nil, 0, len(l.found)
}

// Span is how often a problem was seen in a version of its package in a release, and on which days first and last, as far back
// as the index knows days.
type Span struct {
	Release     crash.Release
	Version     string
	First, Last Day
	Reports     int64
}

// Spans returns the spans of a problem, in no order.
func (b *Index) Spans(id crash.BucketID) []Span {
	b.mu.RLock()
	defer b.mu.RUnlock()
	p := b.problems[id]
	if p == nil {
		return nil
	}
	var spans spans
	b.scan[p.place].each(0, 1<<16-1, func(c cell) { spans.add(b, c) })
	return spans.list
}

// SourceSpans returns the spans in which some versions of a source package were seen, over all its problems, in no order.
func (b *Index) SourceSpans(source string, versions ...string) []Span {
	b.mu.RLock()
	defer b.mu.RUnlock()
	wanted := map[uint32]bool{}
	for _, version := range versions {
		if n, ok := b.versions.of[version]; ok {
			wanted[n] = true
		}
	}
	var spans spans
	seen := map[*leaf]bool{}
	for _, l := range b.byPackage[source] {
		if l.Source != source || seen[l] {
			continue
		}
		seen[l] = true
		each(l.cells, 0, 1<<16-1, func(c cell) {
			if wanted[c.version] {
				spans.add(b, c)
			}
		})
	}
	return spans.list
}

// spans puts cells together.
type spans struct {
	at   map[spanKey]int
	list []Span
}

type spanKey struct {
	version uint32
	release string
}

func (s *spans) add(b *Index, c cell) {
	if s.at == nil {
		s.at = map[spanKey]int{}
	}
	k := spanKey{c.version, b.places.values[c.place].release}
	i, ok := s.at[k]
	if !ok {
		i = len(s.list)
		s.at[k] = i
		s.list = append(s.list, Span{Release: crash.Release(k.release), Version: b.versions.values[c.version], First: c.day, Last: c.day})
	}
	span := &s.list[i]
	span.First, span.Last = min(span.First, c.day), max(span.Last, c.day)
	span.Reports += int64(c.n)
}
