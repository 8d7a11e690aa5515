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

// All returns all rows of a list.
func (ix *Index) All(f Filter, match func(*Problem) bool) ([]Row, Totals) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	list := ix.list(f, match)
	return ix.rows(list, list.found), list.totals
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

// list returns the list of a filter, cached if possible. The caller holds ix.mu for reading.
func (ix *Index) list(f Filter, match func(*Problem) bool) *list {
	if match != nil && f.Query == "" { // the filter alone does not determine the list
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

// radix sorts rows by ascending keys; it is stable. For 100,000 rows it takes a third of the time
// of slices.SortFunc.
func radix(rows []found, key func(*found) uint64) {
	if len(rows) < 2 {
		return
	}
	type keyed struct {
		key uint64
		row found
	}
	from, to := make([]keyed, len(rows)), make([]keyed, len(rows))
	all, some := ^uint64(0), uint64(0) // bits that all keys have, and that any key has
	for i := range rows {
		k := key(&rows[i])
		from[i] = keyed{k, rows[i]}
		all, some = all&k, some|k
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
	for i := range from {
		rows[i] = from[i].row
	}
}

func (ix *Index) rank(rows []found) {
	const shift = 64 - 2*digit
	radix(rows, func(e *found) uint64 { return e.key >> shift })
	radix(rows, func(e *found) uint64 { return ^uint64(e.count) }) //nolint:gosec // not negative
	compare := func(x, y found) int {
		return cmp.Or(cmp.Compare(x.key, y.key), slices.Compare(ix.order[x.at].ID[:], ix.order[y.at].ID[:]))
	}
	for from := 0; from < len(rows); { // rows whose ids have the same first bits
		to := from + 1
		for to < len(rows) && rows[to].count == rows[from].count && rows[to].key>>shift == rows[from].key>>shift {
			to++
		}
		if to > from+1 {
			slices.SortFunc(rows[from:to], compare)
		}
		from = to
	}
}

func (ix *Index) sort(rows []found, f Filter) {
	key := ix.columnKey(f)
	switch {
	case key == nil && f.Ascending:
		slices.Reverse(rows)
	case key != nil && f.Ascending:
		radix(rows, func(e *found) uint64 { return ^key(e) })
	case key != nil:
		radix(rows, key)
	}
}

// columnKey returns the sort key of a column, in its natural order, or nil for the count.
func (ix *Index) columnKey(f Filter) func(*found) uint64 {
	release := f.Release
	switch f.Sort {
	case ByPackage, ByProblem:
		places := ix.textOrder(Filter{Sort: f.Sort, Public: f.Public})
		return func(e *found) uint64 { return uint64(places[e.at]) }
	case ByFirst:
		return func(e *found) uint64 { return latest(ix.order[e.at].In(release).First().At.UnixMicro()) }
	case ByLast:
		return func(e *found) uint64 { return latest(ix.order[e.at].In(release).Last().At.UnixMicro()) }
	case ByBug:
		return func(e *found) uint64 {
			p := ix.order[e.at]
			return uint64(stateRank(p))<<56 | ^uint64(p.Bug)<<8>>8 //nolint:gosec // small, and not negative
		}
	case ByCount:
	}
	return nil
}

// latest returns a sort key of a time, for descending order.
func latest(micro int64) uint64 { return ^(uint64(micro) ^ 1<<63) } //nolint:gosec // the sign becomes the highest bit

// textOrder returns for each problem of b.order its rank by package or signature, as the reader of
// the list sees them. Equal texts have equal ranks.
func (ix *Index) textOrder(f Filter) []uint32 {
	type textOrder struct{ Filter }
	type text struct {
		text string
		at   int
	}
	return cached(ix, textOrder{f}, func() []uint32 {
		texts := make([]text, len(ix.order))
		var visible Problem
		for i, p := range ix.order {
			p = f.seen(p, &visible)
			texts[i] = text{p.Signature, i}
			if f.Sort == ByPackage {
				texts[i].text = p.Package
			}
		}
		slices.SortFunc(texts, func(x, y text) int { return strings.Compare(x.text, y.text) })
		order := make([]uint32, len(texts))
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
const maxCacheBytes = 128 << 20

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
	seen := make([]int, len(days)) // position of the last problem counted on that day, from 1
	hidden := ix.hiddenPlaces()
	for i := range ix.scan {
		if hidden != nil && hidden[i] {
			continue
		}
		ix.each(i, since, until, func(c cell) {
			if at := c.day - since; seen[at] != i+1 && c.n > 0 {
				seen[at] = i + 1
				days[at]++
			}
		})
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
	for i, p := range ix.order {
		if ix.hidden[p.ID] || p.Type != "Crash" || !slices.Contains(rules, p.Rule) {
			continue
		}
		ix.each(i, since, until, func(c cell) {
			at := same[c.origin]
			days := counts[at]
			if days == nil {
				days = make([]count, int(until-since)+1)
				counts[at] = days
			}
			if p.Provisional {
				days[c.day-since].failed += int64(c.n)
			} else {
				days[c.day-since].named += int64(c.n)
			}
		})
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
	place, ok := ix.places[id]
	if !ok || ix.hidden[id] || until < since {
		return days
	}
	ix.each(int(place), since, until, func(c cell) {
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

// each calls call for every cell from since to until of the problem at a place, including those of the
// buckets merged into it.
func (d *data) each(place int, since, until Day, call func(cell)) {
	s := &d.scan[place]
	if s.last < since || s.first > until || s.last < s.first {
		return
	}
	each(s.cells, since, until, call)
	if s.merged {
		for _, at := range d.order[place].merged {
			each(d.buckets[at].cells, since, until, call)
		}
	}
}

func each(cells []cell, since, until Day, call func(cell)) {
	i := sort.Search(len(cells), func(i int) bool { return cells[i].day >= since })
	for ; i < len(cells) && cells[i].day <= until; i++ {
		call(cells[i])
	}
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

// setDays updates the scan of a problem after its days or buckets have changed.
func (d *data) setDays(p *Problem) {
	s := &d.scan[p.place]
	s.cells, s.merged, s.first, s.last = d.buckets[p.head].cells, len(p.merged) > 0, 1<<16-1, 0
	for l := range d.bucketsOf(p) {
		if n := len(l.cells); n > 0 {
			s.first, s.last = min(s.first, l.cells[0].day), max(s.last, l.cells[n-1].day)
		}
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
		each(l.cells, since, until, func(c cell) {
			if w.matches(c) {
				days[c.day-since] += int64(c.n)
			}
		})
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
		for l := range ix.inPackage(name) {
			if l.Package == name {
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
		var places []int
		var all []stats.Rise
		begin := today - week + 1
		for i, s := range whole.scan {
			if s.first >= begin || s.last < begin-week { // new, or not seen
				continue
			}
			var counts [2]int64
			whole.each(i, begin-week, today, func(c cell) { counts[(today-c.day)/week] += int64(c.n) })
			if counts[0]+counts[1] > 0 {
				places, all = append(places, i), append(all, stats.Rise{Week: counts[0], Before: counts[1]})
			}
		}
		found := map[crash.BucketID]stats.Rise{}
		for i, rises := range stats.Rising(all) {
			if rises {
				found[whole.order[places[i]].ID] = all[i]
			}
		}
		return found
	})
}
