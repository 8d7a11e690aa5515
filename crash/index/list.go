package index

import (
	"slices"
	"strings"

	"mishap/crash"
)

// Row is one problem in a list.
type Row struct {
	*Problem
	*Facts       // of the filter's release; those of all releases are Row.Problem.Facts
	Count  int64 // how often it was seen, as the filter counts
	Rank   int   // by Count, from 1
	Before int   // its rank in as many days before; 0: it was not seen then
}

// Totals are the sums over a whole list.
type Totals struct{ Problems, Reports int64 }

// Page is a part of a list.
type Page struct {
	Rows   []Row
	First  int // place of the first row in the list, from 1
	Totals Totals
	More   bool // there are rows behind these
	Past   bool // something was counted in as many days before, so that ranks of then mean something
}

// Place is where a list goes on: behind the row of this problem, or, when that is in the list no longer, behind this many
// rows.
type Place struct {
	Behind int
	ID     crash.BucketID
}

// List returns at most limit rows behind a place (nil: from the start). match, when there is one, says which problems are in
// the list at all. Lists are cached until the index changes; those with a match only if the filter has a Query.
func (b *Index) List(f Filter, match func(*Problem) bool, after *Place, limit int) Page {
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := b.list(f, match)
	start := 0
	if after != nil {
		start = min(max(after.Behind, 0), len(list.found))
		if i := slices.IndexFunc(list.found, func(e found) bool { return b.order[e.at].ID == after.ID }); i >= 0 {
			start = i + 1
		}
	}
	end := min(start+max(limit, 0), len(list.found))
	return Page{Rows: b.rows(list, list.found[start:end]), First: start + 1, Totals: list.totals, More: end < len(list.found), Past: len(list.past) > 0}
}

// All returns all rows of a list, which are not to be changed.
func (b *Index) All(f Filter, match func(*Problem) bool) ([]Row, Totals) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := b.list(f, match)
	all := func() allRows { return b.rows(list, list.found) }
	if !f.cacheable(match) {
		return all(), list.totals
	}
	return cached(b, f, all), list.totals
}

// list is the result of a filter. It is valid until the index changes.
type list struct {
	release crash.Release // whose facts the rows have; empty: those of all releases
	found   []found
	past    []int64 // how often each problem was seen in the days before, ascending: for the ranks that they had
	totals  Totals
}

// found is a row before it is given out. It has no pointers, so that sorting many is quick.
type found struct {
	count, past int64
	key         uint64 // the beginning of the id
	at          int32  // place of the problem in Index.order
	rank        int32
}

// rows are some of what was found, as they are given out. The index is held still.
func (b *Index) rows(l *list, some []found) []Row {
	rows := make([]Row, len(some))
	for i, e := range some {
		p := b.order[e.at]
		rows[i] = Row{Problem: p, Facts: p.In(l.release), Count: e.count, Rank: int(e.rank)}
		if e.past > 0 {
			above, _ := slices.BinarySearch(l.past, e.past+1)
			rows[i].Before = len(l.past) - above + 1
		}
	}
	return rows
}

// cacheable reports whether the filter alone says what is in the list.
func (f Filter) cacheable(match func(*Problem) bool) bool { return match == nil || f.Query != "" }

// list returns the list of a filter, cached if possible. The caller holds b.mu for reading.
func (b *Index) list(f Filter, match func(*Problem) bool) *list {
	if !f.cacheable(match) {
		return b.newList(f, match)
	}
	return cached(b, f, func() *list { return b.newList(f, match) })
}

// newList goes through all problems. The caller holds b.mu for reading.
func (b *Index) newList(f Filter, match func(*Problem) bool) *list {
	l := &list{release: f.Release}
	days := b.window(f)
	narrowed := matchIn(f.Release, match)
	var packages map[string]bool
	if f.Some {
		packages = map[string]bool{}
		for name := range strings.FieldsSeq(f.Packages) {
			packages[name] = true
		}
	}
	plain := match == nil && packages == nil && f.all()
	for i := range b.scan {
		if !plain {
			if p := b.order[i]; !f.admits(p, packages) || match != nil && !narrowed(p) {
				continue
			}
		}
		count, past := days.all(&b.scan[i])
		if past > 0 {
			l.past = append(l.past, past)
		}
		if count > 0 {
			l.found = append(l.found, found{count: count, past: past, key: b.scan[i].key, at: int32(i)})
			l.totals.Problems++
			l.totals.Reports += count
		}
	}
	slices.Sort(l.past)
	b.rank(l.found)
	for i := range l.found {
		l.found[i].rank = int32(i + 1)
	}
	b.sort(l.found, f)
	return l
}

// matchIn makes match see the facts of one release.
func matchIn(release crash.Release, match func(*Problem) bool) func(*Problem) bool {
	if release == "" || match == nil {
		return match
	}
	var view Problem
	var leaf Leaf
	return func(p *Problem) bool {
		view, leaf = *p, *p.Leaf
		view.Leaf, leaf.Facts = &leaf, p.In(release)
		if leaf.public != nil {
			public := *leaf.public
			public.Facts = public.In(release)
			leaf.public = &public
		}
		return match(&view)
	}
}

// Problem finds a problem by its id, or by that of a bucket which was merged into it.
func (b *Index) Problem(id crash.BucketID) (*Problem, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	l := b.leaves[id]
	if l == nil {
		return nil, false
	}
	p, ok := b.problems[l.Head]
	return p, ok
}
