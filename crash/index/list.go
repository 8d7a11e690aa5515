package index

import (
	"slices"

	"mishap/crash"
)

// Row is one problem in a list.
type Row struct {
	*Problem
	Facts       // of the filter's release; Row.Problem.Facts covers all releases
	Count int64 // number of reports that the filter counts
	Past  int64 // the same in the preceding period of equal length
	Rank  int   // by Count, from 1
}

// Totals are the totals of a whole list.
type Totals struct {
	Problems, Reports int64
	Hidden            int64 // problems that are not in the list only because they are muted
}

// Page is a part of a list.
type Page struct {
	Rows   []Row
	First  int // position of the first row in the list, from 1
	Totals Totals
	More   bool // more rows follow
	Past   bool // something was counted in the preceding period, so counts can be compared
}

// Cursor is the position where a list continues: after the row of this problem or, if the list no
// longer contains it, after this number of rows.
type Cursor struct {
	Position int
	ID       crash.BucketID
}

// List returns at most limit rows after a cursor, or from the start if it is nil. If match is not
// nil, it selects the problems of the list. Lists are cached until the index changes; those with a
// match only if the filter has a Query.
func (ix *Index) List(f Filter, match func(*Problem) bool, after *Cursor, limit int) Page {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	list := ix.list(f, match)
	start := 0
	if after != nil {
		start = min(max(after.Position, 0), len(list.found))
		if i := slices.IndexFunc(list.found, func(e found) bool { return ix.order[e.at].ID == after.ID }); i >= 0 {
			start = i + 1
		}
	}
	end := min(start+max(limit, 0), len(list.found))
	return Page{Rows: ix.rows(list, list.found[start:end]), First: start + 1, Totals: list.totals,
		More: end < len(list.found), Past: list.past}
}

// All returns all rows of a list. The caller must not modify them.
func (ix *Index) All(f Filter, match func(*Problem) bool) ([]Row, Totals) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	list := ix.list(f, match)
	all := func() allRows { return ix.rows(list, list.found) }
	if !f.cacheable(match) {
		return all(), list.totals
	}
	return cached(ix, f, all), list.totals
}

// list is the result of a filter. It is valid until the index changes.
type list struct {
	release crash.Release // its facts are those of the rows; empty: all releases
	found   []found
	past    bool // something was counted in the preceding period
	totals  Totals
}

// found is a row in a compact form without pointers, which sorts fast.
type found struct {
	count, past int64
	key         uint64 // first bytes of the id
	at          int32  // position of the problem in Index.order
	rank        int32
}

// rows converts found rows. The caller holds ix.mu for reading.
func (ix *Index) rows(l *list, some []found) []Row {
	rows := make([]Row, len(some))
	for i, e := range some {
		p := ix.order[e.at]
		rows[i] = Row{Problem: p, Facts: p.In(l.release), Count: e.count, Past: e.past, Rank: int(e.rank)}
	}
	return rows
}

// cacheable reports whether the filter alone determines the list.
func (f Filter) cacheable(match func(*Problem) bool) bool { return match == nil || f.Query != "" }

// list returns the list of a filter, cached if possible. The caller holds ix.mu for reading.
func (ix *Index) list(f Filter, match func(*Problem) bool) *list {
	if !f.cacheable(match) {
		return ix.newList(f, match)
	}
	return cached(ix, f, func() *list { return ix.newList(f, match) })
}

// newList computes the list of a filter from all problems. The caller holds ix.mu for reading.
func (ix *Index) newList(f Filter, match func(*Problem) bool) *list {
	l := &list{release: f.Release}
	if f.hides() {
		return l
	}
	days := ix.window(f)
	match = matchIn(f.Release, match)
	packages := f.packages()
	plain := match == nil && packages == nil && f.all()
	hidden := ix.hiddenPlaces()
	var visible Problem
	for i := range ix.scan {
		if hidden != nil && hidden[i] {
			continue
		}
		muted := ix.scan[i].muted
		if f.Muted == MutedOnly && !muted {
			continue
		}
		if !plain {
			if p := f.seen(ix.order[i], &visible); !f.admits(p, packages) || match != nil && !match(p) {
				continue
			}
		}
		count, past := ix.countAll(&days, i)
		if muted && f.Muted == MutedHidden {
			if count > 0 {
				l.totals.Hidden++
			}
			continue
		}
		l.past = l.past || past > 0
		if count > 0 {
			l.found = append(l.found, found{count: count, past: past, key: ix.scan[i].key, at: int32(i)})
			l.totals.Problems++
			l.totals.Reports += count
		}
	}
	ix.rank(l.found)
	for i := range l.found {
		l.found[i].rank = int32(i + 1)
	}
	ix.sort(l.found, f)
	return l
}

// Listed returns which of the problems the list of a filter has. Its cost depends on their number
// only. It ignores ids that are unknown.
func (ix *Index) Listed(f Filter, match func(*Problem) bool, ids []crash.BucketID) map[crash.BucketID]bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	listed := map[crash.BucketID]bool{}
	if f.hides() {
		return listed
	}
	days, packages := ix.window(f), f.packages()
	match = matchIn(f.Release, match)
	var visible Problem
	for _, id := range ids {
		p := ix.problem(id)
		if p == nil || p.Muted() && f.Muted == MutedHidden || !p.Muted() && f.Muted == MutedOnly {
			continue
		}
		if seen := f.seen(p, &visible); !f.admits(seen, packages) || match != nil && !match(seen) {
			continue
		}
		if count, _ := ix.countAll(&days, int(p.place)); count > 0 {
			listed[id] = true
		}
	}
	return listed
}

// matchIn returns a match that sees the facts of one release.
func matchIn(release crash.Release, match func(*Problem) bool) func(*Problem) bool {
	if release == "" || match == nil {
		return match
	}
	var view Problem
	var bucket Bucket
	return func(p *Problem) bool {
		view, bucket = *p, *p.Bucket
		view.Bucket, bucket.Facts = &bucket, p.In(release)
		return match(&view)
	}
}

// Problem returns a problem by its id, or by the id of a bucket merged into it.
func (ix *Index) Problem(id crash.BucketID) (*Problem, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	l := ix.bucket(id)
	if l == nil || ix.hidden[l.Head] {
		return nil, false
	}
	p := ix.problem(l.Head)
	return p, p != nil
}
