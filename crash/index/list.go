package index

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/privacy"
	"mishap/crash/stats"
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
	limit = max(limit, 0)
	start := 0
	if after != nil {
		start = max(after.Position, 0)
	}
	l := ix.list(f, match, start < maxTop-limit)
	if after != nil {
		i := ix.position(l, after.ID)
		if i < 0 && l.cut() {
			l = ix.list(f, match, false)
			i = ix.position(l, after.ID)
		}
		if start = min(start, len(l.found)); i >= 0 {
			start = i + 1
		}
	}
	if start+limit > len(l.found) && l.cut() {
		l = ix.list(f, match, false)
	}
	end := min(start+limit, len(l.found))
	return Page{Rows: ix.rows(l, l.found[start:end]), First: start + 1, Totals: l.totals,
		More: end < int(l.totals.Problems), Past: l.past}
}

// position returns the position of a problem in a list, or -1.
func (ix *Index) position(l *list, id crash.BucketID) int {
	at, ok := ix.problem(id)
	return slices.IndexFunc(l.found, func(e found) bool { return ok && e.at == at })
}

// All returns all rows of a list.
func (ix *Index) All(f Filter, match func(*Problem) bool) ([]Row, Totals) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	l := ix.list(f, match, false)
	return ix.rows(l, l.found), l.totals
}

// maxTop is the number of rows of the lists that most pages show a part of.
const maxTop = 1000

// list is the result of a filter. It is valid until the index changes.
type list struct {
	window  window
	release crash.Release // its facts are those of the rows; empty: all releases
	found   []found       // the first rows, or all
	listed  bitset        // the problems of the list; nil if the list is that of a filter only
	past    bool          // something was counted in the preceding period
	totals  Totals
}

// problems yields the numbers of the problems of a list, in no particular order. A list without listed must have all
// rows.
func (l *list) problems(yield func(int32) bool) {
	if l.listed == nil {
		for _, e := range l.found {
			if !yield(e.at) {
				return
			}
		}
	}
	l.listed.each(yield)
}

// cut reports whether the list lacks rows.
func (l *list) cut() bool { return len(l.found) < int(l.totals.Problems) }

// found is a row in a compact form without pointers.
type found struct {
	count int64
	at    int32 // number of the problem
	rank  int32
}

// rows converts found rows. The caller holds ix.mu for reading.
func (ix *Index) rows(l *list, some []found) []Row {
	rows := make([]Row, len(some))
	for i, e := range some {
		p := ix.copy(e.at)
		_, past := ix.countAll(&l.window, e.at)
		rows[i] = Row{Problem: p, Facts: p.In(l.release), Count: e.count, Past: past, Rank: int(e.rank)}
	}
	return rows
}

// list returns the list of a filter, cached if possible. With top, it may lack all but maxTop rows. The caller holds
// ix.mu for reading.
func (ix *Index) list(f Filter, match func(*Problem) bool, top bool) *list {
	if match != nil && f.Query == "" { // the filter alone does not determine the list
		return ix.newList(f, match, top)
	}
	type listKey struct {
		Filter
		top bool
	}
	return cached(ix, listKey{f, top}, func() *list { return ix.newList(f, match, top) })
}

// counting is memory for a list: the numbers of reports of each bucket, which are 0 between lists, and rows to sort.
type counting struct {
	count, past []int64
	rows, space []keyed
}

// keyed is a row with its sort key.
type keyed struct {
	key      uint64
	at, rank int32
}

// newList computes the list of a filter from all problems. The caller holds ix.mu for reading.
func (ix *Index) newList(f Filter, match func(*Problem) bool, top bool) *list {
	l := &list{release: f.Release, window: ix.window(f)}
	if f.hides() {
		return l
	}
	n := ix.startCounting()
	defer ix.endCounting(n)
	ix.count(&l.window, n)
	within := matchIn(f.Release, match)
	packages := f.packages()
	plain := match == nil && packages == nil && f.all()
	if !plain || f.Query != "" {
		l.listed = make(bitset, (len(ix.scan)+63)/64)
	}
	v, visible := newView(), newView()
	for i, count := range n.count {
		if count == 0 && (n.past[i] == 0 || l.past) {
			continue
		}
		scan := &ix.scan[i]
		at := int32(i)
		if scan.head != at || f.Muted == MutedOnly && !scan.muted {
			continue
		}
		if !plain {
			if p := f.seen(ix.view(at, v), visible); !f.admits(p, packages) || within != nil && !within(p) {
				continue
			}
		}
		if scan.muted && f.Muted == MutedHidden {
			if count > 0 {
				l.totals.Hidden++
			}
			continue
		}
		l.past = l.past || n.past[i] > 0
		if count > 0 {
			n.rows = append(n.rows, keyed{key: uint64(^uint32(min(count, 1<<32-1)))<<32 | uint64(scan.key), at: at})
			l.totals.Problems++
			l.totals.Reports += count
			if l.listed != nil {
				l.listed.add(i)
			}
		}
	}
	key := ix.columnKey(f)
	if top && key == nil && !f.Ascending {
		n.rows = n.most(maxTop)
	}
	ix.sort(n, key, f.Ascending)
	if top {
		n.rows = n.rows[:min(len(n.rows), maxTop)]
	}
	l.found = make([]found, len(n.rows))
	for i, row := range n.rows {
		l.found[i] = found{count: n.count[row.at], at: row.at, rank: row.rank}
	}
	return l
}

func (d *data) startCounting() *counting {
	n, ok := d.counting.Get().(*counting)
	if !ok {
		n = new(counting)
	}
	if add := len(d.scan) - len(n.count); add > 0 {
		n.count, n.past = append(n.count, make([]int64, add)...), append(n.past, make([]int64, add)...)
	}
	return n
}

func (d *data) endCounting(n *counting) {
	clear(n.count)
	clear(n.past)
	n.rows = n.rows[:0]
	d.counting.Put(n)
}

// count adds up the reports of each problem in a window, and in the preceding period.
func (ix *Index) count(w *window, n *counting) {
	if w.version == -1 {
		for _, day := range ix.between(w.past, w.until) {
			sums := n.count
			if day.day < w.since {
				sums = n.past
			}
			for i, at := range day.at {
				if w.places == nil || w.places[day.origins[i]] {
					sums[at] += int64(day.n[i])
				}
			}
		}
	} else if w.version >= 0 {
		for i := range ix.scan {
			n.count[i], n.past[i] = w.count(ix.bucket(int32(i)).cells)
		}
	}
	for head, j := range ix.joined {
		for _, at := range j.members {
			n.count[head], n.past[head] = n.count[head]+n.count[at], n.past[head]+n.past[at]
			n.count[at], n.past[at] = 0, 0
		}
	}
	for _, at := range ix.hiddenProblems() {
		n.count[at], n.past[at] = 0, 0
	}
}

// between returns the counts of days from since to until.
func (d *data) between(since, until Day) []dayCounts {
	from := sort.Search(len(d.days), func(i int) bool { return d.days[i].day >= since })
	to := sort.Search(len(d.days), func(i int) bool { return d.days[i].day > until })
	return d.days[from:max(from, to)]
}

// most returns the rows with the highest counts: at least as many as wanted if there are, but not many more unless
// their counts are equal or high.
func (n *counting) most(wanted int) []keyed {
	const high = 1 << 12
	var with [high]int // numbers of rows by count
	countOf := func(row keyed) int { return int(min(n.count[row.at], high-1)) }
	for _, row := range n.rows {
		with[countOf(row)]++
	}
	lowest := high - 1
	for sum := with[lowest]; sum < wanted && lowest > 0; sum += with[lowest] {
		lowest--
	}
	return slices.DeleteFunc(n.rows, func(row keyed) bool { return countOf(row) < lowest })
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
	v, visible := newView(), newView()
	for _, id := range ids {
		at, ok := ix.problem(id)
		if !ok || ix.hidden[id] || ix.scan[at].muted && f.Muted == MutedHidden || !ix.scan[at].muted && f.Muted == MutedOnly {
			continue
		}
		if seen := f.seen(ix.view(at, v), visible); !f.admits(seen, packages) || match != nil && !match(seen) {
			continue
		}
		if count, _ := ix.countAll(&days, at); count > 0 {
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
	at, ok := ix.known(id)
	if !ok {
		return nil, false
	}
	head := ix.scan[at].head
	if ix.scan[head].head != head || ix.hides(head) {
		return nil, false
	}
	return ix.copy(head), true
}

// Column is the sort order of a list.
type Column string

// The columns of a list.
const (
	ByCount   Column = "count"
	ByPackage Column = "package"
	ByFirst   Column = "first"
	ByLast    Column = "last"
	ByProblem Column = "problem"
	ByBug     Column = "bug"
)

// Filter selects the reports that count and the problems that a list contains. Handlers read it
// from addresses and API calls, and pass it to the index and to SQL. Zero values select everything.
// Filters are comparable, so that caches can use them as keys.
//
// The index supports all fields except Complete. Other users of a filter document the fields that
// they support, and reject filters with other fields (see [Filter.OfReports]).
type Filter struct {
	// Fields that select reports.

	Since, Until        Day // both included
	Release             crash.Release
	Version             string
	Architecture        string // of the machine
	PackageArchitecture string // of the package
	Complete            bool   // only reports with content to read; supported by lists of single reports only

	// Fields that select problems. With a release, they test the first and last report and the
	// versions in that release, as do New and Sort.

	Package    string // binary or source package
	Source     string // source package
	Packages   string // names separated by blanks, one of which must be the problem's binary or source package
	ByPackages bool   // only problems of Packages, none if that is empty
	Type       string // problem type
	State      string // a [crash.StateWord], "none" (no bug) or "bug" (any)
	New        bool   // the oldest report is in these days; with a version: it is the problem's lowest version
	Muted      MutedChoice
	Query      string // identifies the match function; a list with a match but without Query is not cached
	ByFacts    bool   // the match tests versions or days, which depend on Release

	// Public makes the list one for visitors: it selects and sorts problems by what visitors see of
	// them, see [Problem.Public]. A label that visitors do not see selects nothing.
	Public bool

	Sort      Column // empty: ByCount
	Ascending bool   // reverses the natural order of the column
}

// OfReports returns the part of the filter that selects single reports, regardless of their
// problem.
func (f Filter) OfReports() Filter {
	return Filter{
		Since: f.Since, Until: f.Until, Release: f.Release, Version: f.Version,
		Architecture: f.Architecture, PackageArchitecture: f.PackageArchitecture, Complete: f.Complete,
	}
}

// all reports whether the filter lists every problem with a counted report. It ignores Packages,
// which the caller handles.
func (f Filter) all() bool {
	return f.Package == "" && f.Source == "" && f.Type == "" && !f.New && f.State == "" && !f.Complete
}

// hides reports whether the filter is for visitors and names a label that they do not see.
func (f Filter) hides() bool {
	if !f.Public {
		return false
	}
	for _, label := range []string{string(f.Release), f.Version, f.Architecture, f.PackageArchitecture, f.Package,
		f.Source, f.Packages, f.Type} {
		if privacy.RedactLabel(label) != label {
			return true
		}
	}
	return false
}

func (f Filter) packages() map[string]bool {
	if !f.ByPackages {
		return nil
	}
	names := map[string]bool{}
	for name := range strings.FieldsSeq(f.Packages) {
		names[name] = true
	}
	return names
}

// admits reports whether a problem is listed if it has a counted report. packages is the set that
// Packages names, or nil for all.
func (f Filter) admits(p *Problem, packages map[string]bool) bool {
	switch {
	case f.Complete, // the index does not contain the reports' contents
		f.Package != "" && p.Package != f.Package && p.Source != f.Package,
		f.Source != "" && p.Source != f.Source,
		packages != nil && !packages[p.Package] && !packages[p.Source],
		f.Type != "" && p.Type != f.Type,
		f.New && f.Version != "" && p.In(f.Release).LowestVersion() != f.Version,
		f.New && f.Version == "" && DayOf(p.In(f.Release).First().At) < f.Since:
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

// digit is the number of key bits that one pass of the radix sort uses.
const digit = 11

// radix sorts rows by ascending keys; it is stable. It returns the sorted rows, which may be in space, and the other
// memory.
func radix(from, to []keyed) (sorted, space []keyed) {
	if cap(to) < len(from) {
		to = make([]keyed, cap(from))
	}
	to = to[:len(from)]
	all, some := ^uint64(0), uint64(0) // bits that all keys have, and that any key has
	for i := range from {
		all, some = all&from[i].key, some|from[i].key
	}
	for shift := 0; shift < 64; shift += digit {
		const mask = 1<<digit - 1
		if (all^some)>>shift&mask == 0 {
			continue // all keys have the same digit
		}
		var ends [1<<digit + 1]int
		for i := range from {
			ends[from[i].key>>shift&mask+1]++
		}
		for i := 1; i < len(ends); i++ {
			ends[i] += ends[i-1]
		}
		for i := range from {
			at := &ends[from[i].key>>shift&mask]
			to[*at] = from[i]
			*at++
		}
		from, to = to, from
	}
	return from, to
}

// sort sorts the rows by the key of a column or, if it is nil, by count, and sets their ranks.
func (ix *Index) sort(n *counting, key func(at int32) uint64, ascending bool) {
	n.rows, n.space = radix(n.rows, n.space)
	rows := n.rows
	for from := 0; from < len(rows); { // rows whose keys, parts of the counts and ids, are equal
		to := from + 1
		for to < len(rows) && rows[to].key == rows[from].key {
			to++
		}
		if to > from+1 {
			slices.SortFunc(rows[from:to], func(x, y keyed) int {
				a, b := ix.bucket(x.at), ix.bucket(y.at)
				return cmp.Or(cmp.Compare(n.count[y.at], n.count[x.at]), slices.Compare(a.id[:], b.id[:]))
			})
		}
		from = to
	}
	for i := range rows {
		rows[i].rank = int32(i + 1)
		if key != nil {
			rows[i].key = key(rows[i].at)
			if ascending {
				rows[i].key = ^rows[i].key
			}
		}
	}
	if key != nil {
		n.rows, n.space = radix(n.rows, n.space)
	} else if ascending {
		slices.Reverse(rows)
	}
}

// columnKey returns the sort key of a column, in its natural order, or nil for the count.
func (ix *Index) columnKey(f Filter) func(at int32) uint64 {
	v := newView()
	switch f.Sort {
	case ByPackage, ByProblem:
		places := ix.textOrder(Filter{Sort: f.Sort, Public: f.Public})
		return func(at int32) uint64 { return uint64(places[at]) }
	case ByFirst:
		return func(at int32) uint64 { return latest(ix.view(at, v).In(f.Release).First().At.UnixMicro()) }
	case ByLast:
		return func(at int32) uint64 { return latest(ix.view(at, v).In(f.Release).Last().At.UnixMicro()) }
	case ByBug:
		return func(at int32) uint64 {
			bug := ix.more(at).bug
			word := ix.states.values[ix.bucket(at).state]
			return uint64(stateRank(word, bug))<<56 | ^uint64(bug)<<8>>8 //nolint:gosec // small, and not negative
		}
	case ByCount:
	}
	return nil
}

// latest returns a sort key of a time, for descending order.
func latest(micro int64) uint64 { return ^(uint64(micro) ^ 1<<63) } //nolint:gosec // the sign becomes the highest bit

// textOrder returns for each problem its rank by package or signature, as the reader of
// the list sees them. Equal texts have equal ranks.
func (ix *Index) textOrder(f Filter) []uint32 {
	type textOrder struct{ Filter }
	type text struct {
		text string
		at   int32
	}
	return cached(ix, textOrder{f}, func() []uint32 {
		texts := make([]text, 0, ix.problems)
		v, visible := newView(), newView()
		for at := range ix.eachProblem {
			p := f.seen(ix.view(at, v), visible)
			one := text{p.Signature, at}
			if f.Sort == ByPackage {
				one.text = p.Package
			}
			texts = append(texts, one)
		}
		slices.SortFunc(texts, func(x, y text) int { return strings.Compare(x.text, y.text) })
		order := make([]uint32, len(ix.scan))
		n := uint32(0)
		for i, t := range texts {
			if i > 0 && t.text != texts[i-1].text {
				n++
			}
			order[t.at] = n
		}
		return order
	})
}

// maxCacheBytes is the memory limit of cached lists and counts.
const maxCacheBytes = 32 << 20

// cached returns the cached value of a key, or calls read, which must not fail. Each change of the
// index empties the cache. The caller holds ix.mu for reading and must not modify the value.
func cached[V any](ix *Index, key any, read func() V) V {
	if ix.hiddenKey != "" {
		key = hiddenCacheKey{ix.hiddenKey, key}
	}
	v, _ := cache.Get(ix.cache, ix.change, key, func() (V, error) { return read(), nil })
	return v
}

// CacheSize returns the memory of cached lists and counts, in bytes, and their number.
func (ix *Index) CacheSize() (size int64, entries int) { return ix.cache.Bytes(), ix.cache.Len() }

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
	seen := make([]int, len(ix.scan)) // of each problem: the last day on which it was counted, from 1
	for _, day := range ix.between(since, until) {
		for _, at := range day.at {
			if head := ix.scan[at].head; seen[head] != int(day.day)+1 && !ix.hides(head) {
				seen[head] = int(day.day) + 1
				days[day.day-since]++
			}
		}
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
	const named, failed = 1, 2
	kinds := make([]uint8, len(ix.scan)) // of problems with these rules
	for at := range ix.eachProblem {
		l := ix.bucket(at)
		if of := ix.programs.values[l.program]; of.Type == "Crash" && slices.Contains(rules, of.Rule) {
			if kinds[at] = named; l.provisional {
				kinds[at] = failed
			}
		}
	}
	for _, day := range ix.between(since, until) {
		for i, at := range day.at {
			kind := kinds[ix.scan[at].head]
			if kind == 0 {
				continue
			}
			days := counts[same[day.origins[i]]]
			if days == nil {
				days = make([]count, int(until-since)+1)
				counts[same[day.origins[i]]] = days
			}
			if kind == failed {
				days[day.day-since].failed += int64(day.n[i])
			} else {
				days[day.day-since].named += int64(day.n[i])
			}
		}
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
	at, ok := ix.problem(id)
	if !ok || ix.hidden[id] || until < since {
		return days
	}
	ix.each(at, since, until, func(c cell) {
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

// each calls call for every cell of a problem from since to until, including those of the
// buckets merged into it.
func (d *data) each(at int32, since, until Day, call func(cell)) {
	for l := range d.bucketsOf(at) {
		for _, c := range within(l.cells, since, until) {
			call(c)
		}
	}
}

// within returns the cells from since to until.
func within(cells []cell, since, until Day) []cell {
	from := sort.Search(len(cells), func(i int) bool { return cells[i].day >= since })
	to := sort.Search(len(cells), func(i int) bool { return cells[i].day > until })
	return cells[from:max(from, to)]
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

// countAll returns the number of reports of a problem, in the window and in the preceding
// period. It includes the buckets merged into the problem.
func (d *data) countAll(w *window, at int32) (count, past int64) {
	for l := range d.bucketsOf(at) {
		c, p := w.count(l.cells)
		count, past = count+c, past+p
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
	ix.each(p.at, since, until, func(c cell) {
		if w.matches(c) {
			days[c.day-since] += int64(c.n)
		}
	})
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
	l := ix.list(f, match, true)
	i := ix.position(l, id)
	if l.cut() && (i < 0 || i+1 == len(l.found)) {
		l = ix.list(f, match, false)
		i = ix.position(l, id)
	}
	of = int(l.totals.Problems)
	if i < 0 {
		return nil, nil, 0, of
	}
	if i > 0 {
		before = &ix.rows(l, l.found[i-1:i])[0]
	}
	if i+1 < len(l.found) {
		after = &ix.rows(l, l.found[i+1:i+2])[0]
	}
	return before, after, i + 1, of
}

// InVersion is a version of a package in one release.
type InVersion struct {
	Release crash.Release
	Version string
}

// PackageReports returns the numbers of reports of a binary package by release and version, over all
// its problems and the days from since to until. The result is cached; callers must not modify it.
func (ix *Index) PackageReports(name string, since, until Day) map[InVersion]int64 {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	type packageReports struct {
		name string
		span
	}
	return cached(ix, packageReports{name, span{since, until}}, func() map[InVersion]int64 {
		counts := map[uint64]int64{}
		for at := range ix.inPackage(name) {
			if l := ix.bucket(at); ix.programs.values[l.program].Package == name {
				for _, c := range within(l.cells, since, until) {
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
		n := whole.startCounting()
		defer whole.endCounting(n)
		begin := today - week + 1
		whole.count(&window{since: begin, until: today, past: begin - week, version: -1}, n)
		var rising []int32
		var all []stats.Rise
		for i := range n.count {
			if n.count[i]+n.past[i] == 0 {
				continue
			}
			if at := int32(i); whole.seenBefore(at, begin) {
				rising, all = append(rising, at), append(all, stats.Rise{Week: n.count[i], Before: n.past[i]})
			}
		}
		found := map[crash.BucketID]stats.Rise{}
		for i, rises := range stats.Rising(all) {
			if rises {
				found[whole.bucket(rising[i]).id] = all[i]
			}
		}
		return found
	})
}

// seenBefore reports whether a problem was seen before a day.
func (d *data) seenBefore(at int32, day Day) bool {
	for l := range d.bucketsOf(at) {
		if len(l.cells) > 0 && l.cells[0].day < day {
			return true
		}
	}
	return false
}
