package board

import (
	"cmp"
	"slices"
	"strings"
	"sync"

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
		start = min(max(after.Behind, 0), len(list.found))
		if i := slices.IndexFunc(list.found, func(e found) bool { return e.p.ID == after.ID }); i >= 0 {
			start = i + 1
		}
	}
	end := min(start+max(limit, 0), len(list.found))
	return Page{Rows: list.rowsOf(list.found[start:end]), First: start + 1, Totals: list.totals, More: end < len(list.found)}
}

// All returns all rows of a list, which are not to be changed.
func (b *Board) All(f Filter, match func(*Problem) bool) ([]Row, Totals) {
	list := b.list(f, match)
	list.once.Do(func() { list.rows = list.rowsOf(list.found) })
	return list.rows, list.totals
}

// list is a list as it is remembered.
type list struct {
	found  []found
	past   []int64 // how often each problem was seen in the days before, ascending: for the ranks that they had
	totals Totals
	once   sync.Once
	rows   []Row // of all that was found
}

// found is a row before it is given out.
type found struct {
	p           *Problem
	count, past int64
	key         uint64
	rank        int
}

func (l *list) rowsOf(some []found) []Row {
	rows := make([]Row, len(some))
	for i, e := range some {
		rows[i] = Row{Problem: e.p, Count: e.count, Rank: e.rank}
		if e.past > 0 {
			above, _ := slices.BinarySearch(l.past, e.past+1)
			rows[i].Before = len(l.past) - above + 1
		}
	}
	return rows
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
	plain := match == nil && packages == nil && f.all()
	for i, p := range b.order {
		if !plain && (!f.admits(p, packages) || match != nil && !match(p)) {
			continue
		}
		count, past := days.all(b.scan[i])
		if past > 0 {
			l.past = append(l.past, past)
		}
		if count > 0 {
			l.found = append(l.found, found{p: p, count: count, past: past, key: b.scan[i].key})
			l.totals.Problems++
			l.totals.Reports += count
		}
	}
	slices.Sort(l.past)
	slices.SortFunc(l.found, byCount)
	for i := range l.found {
		l.found[i].rank = i + 1
	}
	f.sort(l.found)
	return l
}

func byCount(a, b found) int {
	switch {
	case a.count != b.count:
		return cmp.Compare(b.count, a.count)
	case a.key != b.key:
		return cmp.Compare(a.key, b.key)
	}
	return slices.Compare(a.p.ID[:], b.p.ID[:])
}

// all reports whether the filter leaves no problem out but by its days.
func (f Filter) all() bool { return f.Package == "" && f.Type == "" && !f.New && f.State == "" }

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
func (f Filter) sort(rows []found) {
	compare := func(a, b found) int { return 0 }
	switch f.Sort {
	case ByMachines:
		compare = func(a, b found) int { return cmp.Compare(b.p.Systems, a.p.Systems) }
	case ByPackage:
		compare = func(a, b found) int { return cmp.Compare(a.p.Package, b.p.Package) }
	case ByFirst:
		compare = func(a, b found) int { return b.p.FirstSeen.Compare(a.p.FirstSeen) }
	case ByLast:
		compare = func(a, b found) int { return b.p.LastSeen.Compare(a.p.LastSeen) }
	case ByProblem:
		compare = func(a, b found) int { return cmp.Compare(a.p.Signature, b.p.Signature) }
	case ByBug:
		compare = func(a, b found) int {
			return cmp.Or(cmp.Compare(standing(a.p.State), standing(b.p.State)), cmp.Compare(b.p.Bug, a.p.Bug))
		}
	default:
		if f.Ascending {
			slices.Reverse(rows)
		}
		return
	}
	if f.Ascending {
		natural := compare
		compare = func(a, b found) int { return natural(b, a) }
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
