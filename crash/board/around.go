package board

import "mishap/crash"

// Around returns the rows next to that of a problem in a list (nil: there is none), its place in the list, from 1 (0: it is not
// in the list), and how many rows there are.
func (b *Board) Around(f Filter, match func(*Problem) bool, id crash.BucketID) (before, after *Row, place, of int) {
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
// as the board knows days.
type Span struct {
	Release     crash.Release
	Version     string
	First, Last Day
	Reports     int64
}

// Spans returns the spans of a problem, in no order.
func (b *Board) Spans(id crash.BucketID) []Span {
	b.mu.RLock()
	defer b.mu.RUnlock()
	p := b.problems[id]
	if p == nil {
		return nil
	}
	type key struct {
		version uint32
		release string
	}
	at := map[key]int{}
	var spans []Span
	b.scan[p.place].each(0, 1<<16-1, func(c cell) {
		k := key{c.version, b.places.values[c.place].release}
		i, ok := at[k]
		if !ok {
			i = len(spans)
			at[k] = i
			spans = append(spans, Span{
				Release: crash.Release(k.release), Version: b.versions.values[c.version], First: c.day, Last: c.day,
			})
		}
		s := &spans[i]
		s.First, s.Last = min(s.First, c.day), max(s.Last, c.day)
		s.Reports += int64(c.n)
	})
	return spans
}
