// Package index holds all problems in memory, so that lists of problems need no database query. For
// each problem it contains the texts that lists and searches use, and the number of reports by day,
// version, release and architectures. It does no input or output: package db fills it and updates
// it.
package index

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/privacy"
)

// Index holds all problems. It is safe for concurrent use. Values that lists return stay unchanged
// when the index changes. An Index that [Index.Without] returned omits some problems.
type Index struct {
	*data
	hidden    map[crash.BucketID]bool // heads and other buckets that it omits; nil: none
	hiddenKey string                  // identifies hidden in the cache; empty: none
}

// data is what an index shares with those that omit problems of it. Buckets are numbered in the order in which they
// were added; at is a variable for such a number.
type data struct {
	mu        sync.RWMutex
	change    uint64 // increases with every change that may affect a list
	versions  Numbers[string]
	origins   Numbers[origin]
	releases  Numbers[string]
	releaseOf []uint16 // by number of an origin: the number of its release
	programs  Numbers[Program]
	ofProgram [][]int32           // by number of a program: buckets that have it, or had it
	byPackage map[string][]uint32 // programs in a binary or source package
	states    Numbers[crash.StateWord]
	labels    *labels // of facts
	buckets   []*[chunk]bucket
	scan      []listScan        // of each bucket
	table     []int32           // see [data.slot]
	joined    map[int32]*joined // problems of several buckets, by their head
	systems   map[int32]int64   // machines of problems of several buckets, by their head
	alike     alike
	problems  int
	days      []dayCounts          // sorted by day
	types     map[string]bool      // present and past problem types
	cache     *cache.Cache[uint64] // by change number
	counting  sync.Pool            // of *counting
}

// chunk is the number of buckets in one array. There are several, so that adding buckets copies none.
const chunk = 4096

// New returns an empty index.
func New() *Index {
	d := &data{
		versions: NewNumbers[string](), origins: NewNumbers[origin](), releases: NewNumbers[string](), labels: newLabels(),
		programs: NewNumbers[Program](), states: NewNumbers[crash.StateWord](), table: make([]int32, 8),
		joined: map[int32]*joined{}, systems: map[int32]int64{}, byPackage: map[string][]uint32{},
		types: map[string]bool{},
		cache: cache.New[uint64](maxCacheBytes, 0),
	}
	d.states.Number(crash.StateNone) // 0
	return &Index{data: d}
}

// bucket returns the bucket with a number.
func (d *data) bucket(at int32) *bucket { return &d.buckets[at/chunk][at%chunk] }

// slot returns the place of an id in the hash table: that of a bucket's number, from 1, or an empty one, which contains
// 0. A map would take five times the memory. Ids are hashes themselves.
func (d *data) slot(id crash.BucketID) *int32 {
	mask := uint64(len(d.table) - 1) //nolint:gosec // not negative
	i := binary.LittleEndian.Uint64(id[:]) ^ binary.BigEndian.Uint64(id[len(id)-8:])
	for ; ; i++ {
		if at := &d.table[i&mask]; *at == 0 || d.bucket(*at-1).id == id {
			return at
		}
	}
}

// problem returns the number of a problem.
func (d *data) problem(id crash.BucketID) (at int32, ok bool) {
	at = *d.slot(id) - 1
	return at, at >= 0 && d.scan[at].head == at
}

// known returns the number of a bucket that was added.
func (d *data) known(id crash.BucketID) (at int32, ok bool) {
	at = *d.slot(id) - 1
	return at, at >= 0 && d.scan[at].head != unknown
}

// eachProblem yields the numbers of problems, unless the index omits them.
func (ix *Index) eachProblem(yield func(int32) bool) {
	for i, s := range ix.scan {
		if at := int32(i); s.head == at && !ix.hides(at) && !yield(at) {
			return
		}
	}
}

// hides reports whether the index omits a problem.
func (ix *Index) hides(at int32) bool { return ix.hidden != nil && ix.hidden[ix.bucket(at).id] }

// inPackage yields the buckets that are or were in a binary or source package, each once, unless the
// index omits their problem.
func (ix *Index) inPackage(name string) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		seen := map[int32]bool{}
		for _, n := range ix.byPackage[name] {
			for _, at := range ix.ofProgram[n] {
				if head := ix.scan[at].head; !seen[at] && !ix.hides(head) {
					if seen[at] = true; !yield(at) {
						return
					}
				}
			}
		}
	}
}

// bucketsOf yields the buckets of a problem, its head first.
func (d *data) bucketsOf(head int32) iter.Seq[*bucket] {
	return func(yield func(*bucket) bool) {
		if !yield(d.bucket(head)) {
			return
		}
		if j := d.joined[head]; j != nil {
			for _, at := range j.members {
				if !yield(d.bucket(at)) {
					return
				}
			}
		}
	}
}

// MaxSignature is the number of code points of a signature that the index stores.
const MaxSignature = 1000

// Bucket is what the index knows about one bucket. If it was merged into another bucket, that is
// its Head. The index stores it in a compact form and returns copies.
type Bucket struct {
	ID, Head                    crash.BucketID
	Signature                   string
	Rule                        crash.GroupingRule
	Provisional                 bool
	Type                        string
	Title, Name                 string
	Executable, Package, Source string
	Reports, Systems            int64
	Facts                       // of all releases; set by the index

	releases    []facts        // of each release; nil: one release at most
	versions    [2]uint32      // labels of the lowest and the highest version of all releases
	public      *Bucket        // as visitors see it; nil: identical, apart from the title
	hiddenTitle bool           // visitors do not see the title
	space       *[]byte        // for the text that searches use; nil: not shared with other buckets
	prepared    *privacy.Texts // see [Bucket.Prepare]
}

// Problem is a bucket with all buckets merged into it. Its texts are those of the head; Reports is
// the sum; Systems, versions and days cover all buckets. It is a copy: later changes of the index do
// not affect it.
type Problem struct {
	*Bucket
	State  crash.StateWord // see [Index.SetStates]
	Bug    int64           // 0: none
	People *People         // nil: nobody takes care of it, and it has no tags
	Triage *Triage         // see [Index.SetTriage]; nil: nothing was decided

	at int32 // number of its bucket
}

// Named returns the bucket of the problem, with what its names and titles are made of.
func (p *Problem) Named() crash.Bucket {
	return crash.Bucket{
		ID: p.ID, Signature: p.Signature, Rule: p.Rule, Provisional: p.Provisional, ProblemType: p.Type, Title: p.Title,
		Name: p.Name, Executable: p.Executable, Package: p.Package, SourcePackage: p.Source,
	}
}

// bucket is a stored [Bucket] with its days and, if it is the head of a problem, the state of that. There are
// millions, so what most do not have is in more, and what many share is numbered.
type bucket struct {
	id               crash.BucketID
	text             string // signature, title and name, separated by NUL
	reports, systems int64
	facts            facts
	releases         []facts // see [Bucket]
	cells            []cell  // sorted by day, origin and version
	more             *more
	changed          uint64 // the last change of anything in it; see [Index.Changed]
	program          uint32
	state            uint8
	provisional      bool
}

const unknown = -1

// Program is what buckets of one program have in common.
type Program struct {
	Rule                              crash.GroupingRule
	Type, Executable, Package, Source string
}

// more is what few buckets have. It is immutable.
type more struct {
	public *Bucket // as visitors see the bucket; nil: see [Bucket]
	bug    int64
	people *People
	triage *Triage
}

// joined is a problem of several buckets. It is immutable.
type joined struct {
	members  []int32 // without the head
	reports  int64
	facts    facts
	releases []facts
	public   *Bucket
}

// listScan is the part of a bucket that scans over all buckets read. It is separate because these are limited by memory
// access.
type listScan struct {
	key   uint32 // first bytes of the id
	head  int32
	muted bool // see [Problem.Muted]
}

// dayCounts are the numbers of reports on a day, of each bucket and origin, so that a list reads its days only. They
// are sorted by bucket, without zeros. A number too large for 16 bits has several entries. Slices are parallel, since
// that takes less memory.
type dayCounts struct {
	day     Day
	at      []int32
	n       []uint16
	origins []uint16
}

// viewed is memory for a problem. Scans over all problems use it again for each.
type viewed struct {
	Problem
	bucket Bucket
	folded []byte
}

// view sets v to a problem.
func (d *data) view(at int32, v *viewed) *Problem {
	b := d.bucket(at)
	program := &d.programs.values[b.program]
	signature, rest, _ := strings.Cut(b.text, "\x00")
	title, name, _ := strings.Cut(rest, "\x00")
	v.bucket = Bucket{
		ID: b.id, Head: b.id, Signature: signature, Rule: program.Rule, Provisional: b.provisional, Type: program.Type,
		Title: title, Name: name, Executable: program.Executable, Package: program.Package, Source: program.Source,
		Reports: b.reports, Systems: b.systems, Facts: Facts{d.labels, b.facts}, releases: b.releases, space: v.bucket.space,
		hiddenTitle: title != "" && !privacy.PublicTitle(program.Rule),
	}
	v.Problem = Problem{Bucket: &v.bucket, State: d.states.values[b.state], at: at}
	if m := b.more; m != nil {
		v.Bug, v.People, v.Triage, v.bucket.public = m.bug, m.people, m.triage, m.public
	}
	if j := d.joined[at]; j != nil {
		v.bucket.Reports, v.bucket.Systems, v.bucket.public = j.reports, d.systems[at], j.public
		v.bucket.Facts, v.bucket.releases = Facts{d.labels, j.facts}, j.releases
	}
	if v.bucket.facts == (facts{}) { // never seen
		v.bucket.labels = nil
	}
	v.bucket.versions = [2]uint32{v.bucket.lowest, v.bucket.highest}
	v.folded = v.folded[:0]
	return &v.Problem
}

// newView returns memory for [data.view].
func newView() *viewed {
	v := new(viewed)
	v.bucket.space = &v.folded
	return v
}

// copy returns a copy of a problem.
func (d *data) copy(at int32) *Problem { return d.view(at, new(viewed)) }

// cell is the number of reports of a bucket on a day, in 12 bytes, since there are millions of
// cells.
type cell struct {
	version uint32
	n       uint32
	day     Day
	origin  uint16
}

// origin is the release and the architectures of a report. Origins are numbered; see Index.origins.
type origin struct{ release, machine, pkg string } // architectures of the machine and of the package

// inRelease returns a number for the version and the release of a cell: that of the release is in the
// lowest 16 bits.
func (d *data) inRelease(c cell) uint64 {
	return uint64(c.version)<<16 | uint64(d.releaseOf[c.origin])
}

func (a cell) compare(b cell) int {
	switch {
	case a.day != b.day:
		return int(a.day) - int(b.day)
	case a.origin != b.origin:
		return int(a.origin) - int(b.origin)
	}
	return cmp.Compare(a.version, b.version)
}

// Day is a UTC day, counted from 2000-01-01, as in PostgreSQL.
type Day uint16

// LastDay is later than all days on which reports count.
const LastDay Day = 1<<16 - 1

var firstDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DayOf returns the day of t. Times outside 2000–2179 become the nearest day.
func DayOf(t time.Time) Day {
	return Day(min(max(t.UTC().Sub(firstDay)/(24*time.Hour), 0), 1<<16-1))
}

// Time returns the midnight at which the day begins.
func (d Day) Time() time.Time { return firstDay.AddDate(0, 0, int(d)) }

// Len returns the number of problems.
func (ix *Index) Len() int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.problems - len(ix.hiddenProblems())
}

// Without returns an index of the same problems without some: its answers are those of an index
// that never had them. ids must contain all buckets of these problems. It returns ix itself if there
// are none.
func (ix *Index) Without(ids []crash.BucketID) *Index {
	if len(ids) == 0 {
		return ix
	}
	sorted := slices.SortedFunc(slices.Values(ids), func(a, b crash.BucketID) int { return slices.Compare(a[:], b[:]) })
	other := &Index{data: ix.data, hidden: make(map[crash.BucketID]bool, len(ids))}
	var key strings.Builder
	for _, id := range slices.Compact(sorted) {
		other.hidden[id] = true
		key.Write(id[:])
	}
	other.hiddenKey = key.String()
	return other
}

type hiddenCacheKey struct {
	hidden string
	key    any
}

// hiddenProblems returns the numbers of the problems that the index omits. The caller holds ix.mu for reading.
func (ix *Index) hiddenProblems() []int32 {
	var heads []int32
	for id := range ix.hidden {
		if at, ok := ix.problem(id); ok {
			heads = append(heads, at)
		}
	}
	return heads
}

type visibleNames struct {
	types    map[string]bool
	versions []string
	origins  []origin
}

// visible returns the names in problems that are not hidden. Without hidden problems, these are all
// that were ever added. The caller holds ix.mu for reading and must not modify the result.
func (ix *Index) visible() visibleNames {
	all := visibleNames{types: ix.types, versions: ix.versions.values, origins: ix.origins.values}
	if ix.hidden == nil {
		return all
	}
	type visibleKey struct{}
	return cached(ix, visibleKey{}, func() visibleNames {
		v := visibleNames{types: map[string]bool{}}
		versions, origins := make([]bool, len(all.versions)), make([]bool, len(all.origins))
		for i, scan := range ix.scan {
			if scan.head == unknown || ix.hides(scan.head) {
				continue
			}
			l := ix.bucket(int32(i))
			if name := ix.programs.values[l.program].Type; name != "" {
				v.types[name] = true
			}
			for _, c := range l.cells {
				versions[c.version], origins[c.origin] = true, true
			}
		}
		for i, seen := range versions {
			if seen {
				v.versions = append(v.versions, all.versions[i])
			}
		}
		for i, seen := range origins {
			if seen {
				v.origins = append(v.origins, all.origins[i])
			}
		}
		return v
	})
}

// Occurrences returns the versions and releases in which a problem was seen, in no particular
// order, for the days of the index. It omits versions of merged buckets of other packages, which
// are not comparable.
func (ix *Index) Occurrences(p *Problem, today Day) []crash.VersionSeen {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	seen := occurrences{ix: ix, today: today}
	for l := range ix.bucketsOf(p.at) {
		seen.add(l.cells, ix.programs.values[l.program].Package == p.Package, nil)
	}
	return seen.result()
}

// OccurrencesUntil returns the same as they were at the end of a day.
func (ix *Index) OccurrencesUntil(p *Problem, day Day) []crash.VersionSeen {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	seen := occurrences{ix: ix, today: day}
	for l := range ix.bucketsOf(p.at) {
		seen.add(within(l.cells, 0, day), ix.programs.values[l.program].Package == p.Package, nil)
	}
	return seen.result()
}

// Spans returns the versions and releases in which a problem was seen, like [Index.Occurrences], but also
// versions of other packages, and no numbers for the past week.
func (ix *Index) Spans(id crash.BucketID) []crash.VersionSeen {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	at, ok := ix.problem(id)
	if !ok || ix.hidden[id] {
		return nil
	}
	seen := occurrences{ix: ix}
	for l := range ix.bucketsOf(at) {
		seen.add(l.cells, true, nil)
	}
	return seen.result()
}

// SourceSpans returns the same for some versions of a source package, over all its problems.
func (ix *Index) SourceSpans(source string, versions ...string) []crash.VersionSeen {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	wanted := map[uint32]bool{}
	for _, version := range versions {
		if n, ok := ix.versions.of[version]; ok {
			wanted[n] = true
		}
	}
	seen := occurrences{ix: ix}
	for at := range ix.inPackage(source) {
		if l := ix.bucket(at); ix.programs.values[l.program].Source == source {
			seen.add(l.cells, true, wanted)
		}
	}
	return seen.result()
}

// occurrences adds up cells by version and release.
type occurrences struct {
	ix          *Index
	today       Day
	keys        []uint64 // of versions and releases
	list        []crash.VersionSeen
	first, last []Day
}

// add adds cells of some versions, or of all if wanted is nil. Versions that cannot be compared with
// others count together.
func (o *occurrences) add(cells []cell, ordered bool, wanted map[uint32]bool) {
	const incomparable = 1 << 48         // instead of the number of a version
	week := Day(crash.PeriodWeek.Days()) //nolint:gosec // 7
	for _, c := range cells {
		if c.n == 0 || wanted != nil && !wanted[c.version] {
			continue
		}
		k, version := o.ix.inRelease(c), o.ix.versions.values[c.version]
		if !ordered {
			k, version = incomparable|k&(1<<16-1), ""
		}
		i := slices.Index(o.keys, k) // linear search: most problems have few versions
		if i < 0 {
			i = len(o.keys)
			o.keys = append(o.keys, k)
			release := crash.Release(o.ix.origins.values[c.origin].release)
			o.list = append(o.list, crash.VersionSeen{Release: release, Version: version})
			o.first, o.last = append(o.first, c.day), append(o.last, c.day)
		}
		o.list[i].Reports += int64(c.n)
		if c.day+week > o.today && c.day <= o.today {
			o.list[i].Week += int64(c.n)
		}
		o.first[i], o.last[i] = min(o.first[i], c.day), max(o.last[i], c.day)
	}
}

func (o *occurrences) result() []crash.VersionSeen {
	for i := range o.list {
		o.list[i].First, o.list[i].Last = o.first[i].Time(), o.last[i].Time()
	}
	return o.list
}

// Changed returns the ids of the problems that have changed since a change of the index, and the number of the
// latest change. Change 0 precedes all others.
func (ix *Index) Changed(since uint64) (changed []crash.BucketID, now uint64) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for at := range ix.eachProblem {
		for l := range ix.bucketsOf(at) {
			if l.changed > since {
				changed = append(changed, ix.bucket(at).id)
				break
			}
		}
	}
	return changed, ix.change
}

// Select returns the problems for which ok returns true, in no particular order. ok must not call
// methods of the index, or keep the problem.
func (ix *Index) Select(ok func(*Problem) bool) []*Problem {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var found []*Problem
	v := newView()
	for at := range ix.eachProblem {
		if ok(ix.view(at, v)) {
			found = append(found, ix.copy(at))
		}
	}
	return found
}

// State is the state of a problem, the number of its bug or 0, and who takes care of it.
type State struct {
	Word   crash.StateWord
	Bug    int64
	People *People
}

// SetStates sets the states of some problems. New problems have no state.
func (ix *Index) SetStates(states map[crash.BucketID]State) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	changed := false
	for id, s := range states {
		at, ok := ix.problem(id)
		if !ok {
			continue
		}
		b, m := ix.bucket(at), ix.more(at)
		word := uint8(ix.states.Number(s.Word)) //nolint:gosec // there are nine
		if b.state == word && m.bug == s.Bug && samePeople(m.people, s.People) {
			continue
		}
		b.state, m.bug, m.people = word, s.Bug, s.People
		b.setMore(m)
		changed = true
	}
	if changed {
		ix.change++
	}
}

// more returns what few buckets have.
func (d *data) more(at int32) more {
	if m := d.bucket(at).more; m != nil {
		return *m
	}
	return more{}
}

func (l *bucket) setMore(m more) {
	if l.more = nil; m != (more{}) {
		l.more = &m
	}
}

// stateRank returns the rank of a problem by state. States that need a person come first, problems
// without a bug last.
func stateRank(word crash.StateWord, bug int64) int {
	if bug == 0 {
		return len(crash.StateWords) + 1
	}
	if i := slices.Index(crash.StateWords, word); i >= 0 {
		return i
	}
	return len(crash.StateWords)
}

// Updater changes an index; see [Index.Update].
type Updater struct {
	ix    *Index
	heads map[int32]bool // problems to rebuild
	added []int32        // buckets that were added or replaced
	moved bitset         // buckets with other days
	days  bitset         // those days
}

// Update calls change while it holds the lock of the index. Lists see either all of the changes or
// none.
func (ix *Index) Update(change func(*Updater)) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	u := &Updater{ix: ix, heads: map[int32]bool{}}
	change(u)
	u.finish()
}

// bitset is a set of small numbers.
type bitset []uint64 // a bit for each

func (s *bitset) add(n int) {
	if more := n/64 + 1 - len(*s); more > 0 {
		*s = append(*s, make([]uint64, more)...)
	}
	(*s)[n/64] |= 1 << (n % 64)
}

// each yields the numbers in order.
func (s bitset) each(yield func(int32) bool) {
	for i, some := range s {
		for ; some != 0; some &= some - 1 {
			if !yield(int32(i*64 + bits.TrailingZeros64(some))) { //nolint:gosec // added as such a number
				return
			}
		}
	}
}

// number returns the number of a bucket. It adds an unknown bucket if there is none.
func (d *data) number(id crash.BucketID) int32 {
	slot := d.slot(id)
	if *slot > 0 {
		return *slot - 1
	}
	at := int32(len(d.scan)) //nolint:gosec // as many do not fit into memory
	if at%chunk == 0 {
		d.buckets = append(d.buckets, new([chunk]bucket))
	}
	d.bucket(at).id = id
	d.scan = append(d.scan, listScan{key: binary.BigEndian.Uint32(id[:]), head: unknown})
	if *slot = at + 1; len(d.scan)*4 > len(d.table)*3 {
		d.resize(2 * len(d.table))
	}
	return at
}

func (d *data) resize(table int) {
	d.table = make([]int32, table)
	for i := range d.scan {
		n := int32(i)
		*d.slot(d.bucket(n).id) = n + 1
	}
}

// Expect prepares an empty index for a number of buckets.
func (u *Updater) Expect(buckets int64) {
	table := len(u.ix.table)
	for int64(table)*3 < buckets*4 {
		table *= 2
	}
	u.ix.resize(table)
}

// SetBucket adds a bucket, or replaces its data. seen has an entry for each release. The days of the
// bucket are not affected.
func (u *Updater) SetBucket(l Bucket, seen ...crash.SeenSpan) {
	if l.prepared == nil {
		l.Prepare()
	}
	u.setBucket(l, u.Program(l.program()), seen, (*Bucket).publicCopy)
}

func (l *Bucket) program() Program { return Program{l.Rule, l.Type, l.Executable, l.Package, l.Source} }

// Program returns the number of a program.
func (u *Updater) Program(p Program) uint32 {
	ix := u.ix
	if n, ok := ix.programs.of[p]; ok {
		return n
	}
	// The caller's texts may be parts of a larger one.
	n := ix.programs.add(Program{crash.GroupingRule(strings.Clone(string(p.Rule))), strings.Clone(p.Type),
		strings.Clone(p.Executable), strings.Clone(p.Package), strings.Clone(p.Source)})
	ix.ofProgram = append(ix.ofProgram, nil)
	for _, name := range []string{p.Package, p.Source} {
		if list := ix.byPackage[name]; name != "" && !slices.Contains(list, n) {
			ix.byPackage[name] = append(list, n)
		}
	}
	if p.Type != "" {
		ix.types[strings.Clone(p.Type)] = true
	}
	return n
}

// setBucket sets a bucket whose signature is short enough. It returns its number.
func (u *Updater) setBucket(l Bucket, program uint32, seen []crash.SeenSpan, public func(*Bucket) *Bucket) int32 {
	ix := u.ix
	releases := make([]facts, len(seen))
	for i, span := range seen {
		releases[i] = ix.labels.facts(span)
	}
	l.setFacts(ix.labels, releases)
	at := ix.number(l.ID)
	head := at
	if l.Head != l.ID {
		head = ix.number(l.Head)
	}
	b, scan := ix.bucket(at), &ix.scan[at]
	known := scan.head != unknown
	if known {
		u.heads[scan.head] = true
	}
	if !known || b.program != program {
		ix.ofProgram[program] = append(ix.ofProgram[program], at)
	}
	if scan.head == at {
		ix.problems--
	}
	if head == at {
		ix.problems++
	}
	scan.head = head
	b.text, b.reports, b.systems = l.Signature+"\x00"+l.Title+"\x00"+l.Name, l.Reports, l.Systems
	b.facts, b.releases, b.provisional = l.facts, l.releases, l.Provisional
	b.program = program
	m := ix.more(at)
	m.public = public(&l)
	b.setMore(m)
	b.changed = ix.change + 1
	if known || head != at {
		u.heads[head] = true
	}
	u.added = append(u.added, at)
	return at
}

// SetSystems sets the number of distinct machines of a problem of several buckets. It ignores unknown
// buckets.
func (u *Updater) SetSystems(head crash.BucketID, n int64) {
	if at, ok := u.ix.known(head); ok {
		u.ix.systems[at] = n
		u.ix.bucket(at).changed = u.ix.change + 1
	}
}

// ClearDays removes the days of a bucket, before SetCell sets them again.
func (u *Updater) ClearDays(id crash.BucketID) {
	if at, ok := u.ix.known(id); ok {
		l := u.ix.bucket(at)
		for _, c := range l.cells {
			u.days.add(int(c.day))
		}
		l.cells = nil
		l.changed = u.ix.change + 1
		u.moved.add(int(at))
	}
}

// SetCell sets the number of reports of a bucket on a day. It ignores unknown buckets: their cells
// follow when they are added. machine and pkg are the architectures of the machine and of the
// package.
func (u *Updater) SetCell(id crash.BucketID, day Day, release, version, machine, pkg []byte, reports int64) {
	at, ok := u.ix.known(id)
	if !ok {
		return
	}
	l := u.ix.bucket(at)
	l.changed = u.ix.change + 1
	c := cell{
		day: day, origin: u.originNumber(release, machine, pkg), version: u.versionNumber(version),
		n: uint32(min(max(reports, 0), 1<<32-1)),
	}
	u.moved.add(int(at))
	u.days.add(int(day))
	i, found := slices.BinarySearchFunc(l.cells, c, cell.compare)
	if found {
		l.cells[i].n = c.n
		return
	}
	l.cells = slices.Insert(l.cells, i, c)
}

// versionNumber returns the number of a version. The lookup does not copy the text.
func (u *Updater) versionNumber(text []byte) uint32 {
	if n, ok := u.ix.versions.of[string(text)]; ok {
		return n
	}
	return u.ix.versions.add(string(text))
}

// originNumber returns the number of an origin. If there are more than 16 bits can number, the last
// number stands for the others.
func (u *Updater) originNumber(release, machine, pkg []byte) uint16 {
	n, ok := u.ix.origins.of[origin{string(release), string(machine), string(pkg)}]
	if !ok && len(u.ix.origins.values) < 1<<16 {
		n = u.ix.origins.add(origin{string(release), string(machine), string(pkg)})
		u.ix.releaseOf = append(u.ix.releaseOf, uint16(u.ix.releases.Number(string(release)))) //nolint:gosec // at most n
	} else if !ok {
		n = 1<<16 - 1
	}
	return uint16(n)
}

func (u *Updater) finish() {
	members := u.members()
	for head := range u.heads {
		u.ix.join(head, members[head])
	}
	for at := range u.moved.each {
		if l := u.ix.bucket(at); cap(l.cells) > len(l.cells) { // spare capacity takes memory
			l.cells = append(make([]cell, 0, len(l.cells)), l.cells...)
		}
	}
	u.setDays()
	u.ix.change++
}

// members returns the buckets of the changed problems, without the heads: those that a problem had, and the added ones.
func (u *Updater) members() map[int32][]int32 {
	members, seen := map[int32][]int32{}, map[int32]bool{}
	add := func(at int32) {
		if head := u.ix.scan[at].head; head != at && !seen[at] {
			seen[at] = true
			members[head] = append(members[head], at)
		}
	}
	for head := range u.heads {
		if j := u.ix.joined[head]; j != nil {
			for _, at := range j.members {
				add(at)
			}
		}
	}
	for _, at := range u.added {
		add(at)
	}
	return members
}

// join makes a problem of a bucket and those that were merged into it. If the bucket is itself merged into another,
// it is no problem.
func (ix *Index) join(head int32, members []int32) {
	l := ix.bucket(head)
	delete(ix.joined, head)
	if ix.scan[head].head != head {
		l.setMore(more{public: ix.more(head).public})
		l.state, ix.scan[head].muted = 0, false
		return
	}
	l.changed = ix.change + 1
	if len(members) == 0 {
		return
	}
	sum := ix.copy(head).Bucket
	seen := slices.Clone(sum.byRelease())
	j := &joined{members: members, reports: l.reports}
	for _, at := range members {
		j.reports += ix.bucket(at).reports
		seen = append(seen, ix.copy(at).byRelease()...)
	}
	sum.setFacts(ix.labels, joinReleases(ix.labels, seen))
	j.facts, j.releases, j.public = sum.facts, sum.releases, sum.publicCopy()
	ix.joined[head] = j
}

// setDays updates the numbers of reports by day.
func (u *Updater) setDays() {
	var moved []int32
	for at := range u.moved.each {
		moved = append(moved, at)
	}
	fresh := make([]*dayCounts, len(u.days)*64)
	for day := range u.days.each {
		fresh[day] = &dayCounts{day: Day(day)} //nolint:gosec // added as a day
	}
	for _, at := range moved {
		for _, c := range u.ix.bucket(at).cells {
			if int(c.day) < len(fresh) && fresh[c.day] != nil {
				fresh[c.day].add(at, c.n, c.origin)
			}
		}
	}
	for _, f := range fresh {
		if f == nil {
			continue
		}
		i, ok := slices.BinarySearchFunc(u.ix.days, f.day, func(d dayCounts, day Day) int {
			return cmp.Compare(d.day, day)
		})
		if !ok {
			u.ix.days = slices.Insert(u.ix.days, i, dayCounts{day: f.day})
		}
		u.ix.days[i] = u.ix.days[i].merged(f, moved)
	}
}

// add adds the number of reports of one version. Buckets must be in order.
func (d *dayCounts) add(at int32, n uint32, origin uint16) {
	if last := len(d.at) - 1; last >= 0 && d.at[last] == at && d.origins[last] == origin {
		more := min(n, math.MaxUint16-uint32(d.n[last]))
		d.n[last] += uint16(more)
		n -= more
	}
	for n > 0 {
		part := min(n, math.MaxUint16)
		d.at, d.n, d.origins = append(d.at, at), append(d.n, uint16(part)), append(d.origins, origin)
		n -= part
	}
}

// merged returns the counts with others in place of those of the moved buckets, which are sorted.
func (d dayCounts) merged(others *dayCounts, moved []int32) dayCounts {
	n := len(d.at) + len(others.at)
	all := dayCounts{day: others.day, at: make([]int32, 0, n), n: make([]uint16, 0, n), origins: make([]uint16, 0, n)}
	take := func(from *dayCounts, i int) {
		all.at, all.n = append(all.at, from.at[i]), append(all.n, from.n[i])
		all.origins = append(all.origins, from.origins[i])
	}
	j := 0
	for i, at := range d.at {
		for len(moved) > 0 && moved[0] < at {
			moved = moved[1:]
		}
		for ; j < len(others.at) && others.at[j] < at; j++ {
			take(others, j)
		}
		if len(moved) == 0 || moved[0] != at {
			take(&d, i)
		}
	}
	for ; j < len(others.at); j++ {
		take(others, j)
	}
	return all
}
