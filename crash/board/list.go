package board

import (
	"cmp"
	"slices"
	"strings"

	"mishap/crash"
)

// Column is what a list is sorted by.
type Column string

// The columns.
const (
	ByCount    Column = "count"
	ByMachines Column = "machines"
	ByPackage  Column = "package"
	ByFirst    Column = "first"
	ByLast     Column = "last"
	ByProblem  Column = "problem"
	ByBug      Column = "bug"
)

// Filter chooses problems and what is counted of them. The zero values mean all.
type Filter struct {
	Since, Until Day // both included
	Release      crash.Release
	Package      string // binary or source package
	Packages     string // several, parted by blanks: the problem's binary or source package is one of them
	Some         bool   // Packages counts, even when it names none
	Version      string
	Architecture string
	Type         string // problem type
	State        string // a [crash.StateWord], "none" (no bug) or "bug" (any)
	New          bool   // only problems that were seen first in these days; with a version, first in that version
	Sort         Column // empty: ByCount
	Ascending    bool   // the other way round than is natural for the column
}

// Row is one problem in a list.
type Row struct {
	*Problem
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
}

// Place is where a list goes on: behind the row of this problem, or, when that is in the list no longer, behind this many
// rows.
type Place struct {
	Behind int
	ID     crash.BucketID
}

// List returns at most limit rows behind a place (nil: from the start). match, when there is one, says which problems are in
// the list at all; lists without it are remembered until something changes.
func (b *Board) List(f Filter, match func(*Problem) bool, after *Place, limit int) Page {
	list := b.list(f, match)
	start := 0
	if after != nil {
		start = min(max(after.Behind, 0), len(list.rows))
		if i := slices.IndexFunc(list.rows, func(r Row) bool { return r.ID == after.ID }); i >= 0 {
			start = i + 1
		}
	}
	end := min(start+max(limit, 0), len(list.rows))
	return Page{Rows: list.rows[start:end:end], First: start + 1, Totals: list.totals, More: end < len(list.rows)}
}

// All returns all rows of a list, which are not to be changed.
func (b *Board) All(f Filter, match func(*Problem) bool) ([]Row, Totals) {
	list := b.list(f, match)
	return list.rows, list.totals
}

type list struct {
	rows   []Row
	totals Totals
}

func (b *Board) list(f Filter, match func(*Problem) bool) *list {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if match == nil {
		if l := b.cache.get(b.change, f); l != nil {
			return l
		}
	}
	l := b.make(f, match)
	if match == nil {
		b.cache.put(b.change, f, l)
	}
	return l
}

// make goes through all problems. The board is held still.
func (b *Board) make(f Filter, match func(*Problem) bool) *list {
	l := &list{}
	days := b.window(f)
	var packages map[string]bool
	if f.Some {
		packages = map[string]bool{}
		for name := range strings.FieldsSeq(f.Packages) {
			packages[name] = true
		}
	}
	type earlier struct {
		place int
		count int64
	}
	var before []earlier // of the problems that were seen in the days before: they too had a rank
	for _, p := range b.order {
		if !f.admits(p, packages) || match != nil && !match(p) {
			continue
		}
		count, past := days.count(p)
		if past > 0 {
			place := -1
			if count > 0 {
				place = len(l.rows)
			}
			before = append(before, earlier{place, past})
		}
		if count > 0 {
			l.rows = append(l.rows, Row{Problem: p, Count: count})
			l.totals.Problems++
			l.totals.Reports += count
		}
	}
	slices.SortFunc(before, func(a, b earlier) int { return cmp.Compare(b.count, a.count) })
	for rank, e := range before {
		if e.place >= 0 {
			l.rows[e.place].Before = rank + 1
		}
	}
	slices.SortFunc(l.rows, byCount)
	for i := range l.rows {
		l.rows[i].Rank = i + 1
	}
	f.sort(l.rows)
	return l
}

func byCount(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), slices.Compare(a.ID[:], b.ID[:]))
}

// admits looks at all of the filter but the days.
func (f Filter) admits(p *Problem, packages map[string]bool) bool {
	switch {
	case f.Package != "" && p.Package != f.Package && p.Source != f.Package,
		packages != nil && !packages[p.Package] && !packages[p.Source],
		f.Type != "" && p.Type != f.Type,
		f.New && f.Version != "" && p.FirstVersion != f.Version,
		f.New && f.Version == "" && DayOf(p.FirstSeen) < f.Since:
		return false
	}
	switch f.State {
	case "":
		return true
	case "none":
		return p.Bug == 0
	case "bug":
		return p.Bug != 0
	}
	return string(p.State) == f.State
}

// sort brings rows, which are sorted by count, into the order of a column.
func (f Filter) sort(rows []Row) {
	compare := func(a, b Row) int { return 0 }
	switch f.Sort {
	case ByMachines:
		compare = func(a, b Row) int { return cmp.Compare(b.Systems, a.Systems) }
	case ByPackage:
		compare = func(a, b Row) int { return cmp.Compare(a.Package, b.Package) }
	case ByFirst:
		compare = func(a, b Row) int { return b.FirstSeen.Compare(a.FirstSeen) }
	case ByLast:
		compare = func(a, b Row) int { return b.LastSeen.Compare(a.LastSeen) }
	case ByProblem:
		compare = func(a, b Row) int { return cmp.Compare(a.Signature, b.Signature) }
	case ByBug:
		compare = func(a, b Row) int {
			return cmp.Or(cmp.Compare(standing(a.State), standing(b.State)), cmp.Compare(b.Bug, a.Bug))
		}
	default:
		if f.Ascending {
			slices.Reverse(rows)
		}
		return
	}
	if f.Ascending {
		natural := compare
		compare = func(a, b Row) int { return natural(b, a) }
	}
	slices.SortStableFunc(rows, compare)
}

// standing sorts what needs a person first.
func standing(w crash.StateWord) int {
	order := [...]crash.StateWord{crash.StateRegression, crash.StateOpen, crash.StateDisappeared, crash.StateUnread, crash.StatePrivate, crash.StateClosed, crash.StateFixed}
	if i := slices.Index(order[:], w); i >= 0 {
		return i
	}
	return len(order)
}

// Problem finds a problem by its id, or by that of a bucket which was merged into it.
func (b *Board) Problem(id crash.BucketID) (*Problem, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	l := b.leaves[id]
	if l == nil {
		return nil, false
	}
	p, ok := b.problems[l.Head]
	return p, ok
}
