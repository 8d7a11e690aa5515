// Package index holds all problems in memory, so that lists of problems need no database query. For
// each problem it contains the texts that lists and searches use, and the number of reports by day,
// version, release and architectures. It does no input or output: package db fills it and updates
// it.
package index

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"mishap/crash"
	"mishap/crash/cache"
)

// Index holds all problems. It is safe for concurrent use. Values that lists return stay unchanged
// when the index changes. An Index that [Index.Without] returned omits some problems.
type Index struct {
	*data
	hidden    map[crash.BucketID]bool // heads and other buckets that it omits; nil: none
	hiddenKey string                  // identifies hidden in the cache; empty: none
}

// data is what an index shares with those that omit problems of it.
type data struct {
	mu        sync.RWMutex
	change    uint64 // increases with every change that may affect a list
	versions  Numbers[string]
	origins   Numbers[origin]
	releases  Numbers[string]
	releaseOf []uint16          // by number of an origin: the number of its release
	labels    *labels           // of facts
	texts     map[string]string // shared copies of texts that many buckets have
	buckets   []bucket
	bucketAt  map[crash.BucketID]int32 // positions in buckets
	order     []*Problem               // all, in no particular order
	scan      []listScan               // parallel to order
	places    map[crash.BucketID]int32 // positions of problems in order
	types     map[string]bool          // present and past problem types
	cache     *cache.Cache[uint64]     // by change number

	byPackage map[string][]int32 // positions of the present and past buckets of a binary or source package
}

// New returns an empty index.
func New() *Index {
	return &Index{data: &data{
		versions: NewNumbers[string](), origins: NewNumbers[origin](), releases: NewNumbers[string](), labels: newLabels(),
		texts: map[string]string{}, bucketAt: map[crash.BucketID]int32{}, places: map[crash.BucketID]int32{},
		byPackage: map[string][]int32{}, types: map[string]bool{}, cache: cache.New[uint64](maxCacheBytes, 0),
	}}
}

// bucket returns a bucket, or nil if it is unknown. It is valid until the next one is added.
func (d *data) bucket(id crash.BucketID) *bucket {
	if at, ok := d.bucketAt[id]; ok {
		return &d.buckets[at]
	}
	return nil
}

// inPackage yields the buckets that are or were in a binary or source package, each once, unless the
// index omits their problem.
func (ix *Index) inPackage(name string) iter.Seq[*bucket] {
	return func(yield func(*bucket) bool) {
		seen := map[int32]bool{}
		for _, at := range ix.byPackage[name] {
			if l := &ix.buckets[at]; !seen[at] && !ix.hidden[l.Head] {
				if seen[at] = true; !yield(l) {
					return
				}
			}
		}
	}
}

func (d *data) problem(id crash.BucketID) *Problem {
	if at, ok := d.places[id]; ok {
		return d.order[at]
	}
	return nil
}

func (d *data) bucketsOf(p *Problem) iter.Seq[*bucket] {
	return func(yield func(*bucket) bool) {
		if !yield(&d.buckets[p.head]) {
			return
		}
		for _, at := range p.merged {
			if !yield(&d.buckets[at]) {
				return
			}
		}
	}
}

// MaxSignature is the number of code points of a signature that the index stores.
const MaxSignature = 1000

// Bucket is what the index knows about one bucket. If it was merged into another bucket, that is
// its Head. A stored Bucket is immutable; changes replace it.
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

	releases  []facts // of each release; nil: one release at most
	folded    string  // see [Problem.Folded]
	signature int32   // length of the signature in folded
	untitled  int32   // length of folded without the title
	public    *Bucket // as visitors see it; nil: identical
}

// Problem is a bucket with all buckets merged into it. Its texts are those of the head; Reports is
// the sum; Systems, versions and days cover all buckets. A problem with one bucket shares the data
// of that bucket.
type Problem struct {
	*Bucket
	State  crash.StateWord // see [Index.SetStates]
	Bug    int64           // 0: none
	People *People         // nil: nobody takes care of it, and it has no tags
	Triage *Triage         // see [Index.SetTriage]; nil: nothing was decided

	head   int32   // position of its bucket in Index.buckets
	merged []int32 // positions of the buckets merged into it
	place  int32   // in Index.order
}

// Named returns the bucket of the problem, with what its names and titles are made of.
func (p *Problem) Named() crash.Bucket {
	return crash.Bucket{
		ID: p.ID, Signature: p.Signature, Rule: p.Rule, Provisional: p.Provisional, ProblemType: p.Type, Title: p.Title,
		Name: p.Name, Executable: p.Executable, Package: p.Package, SourcePackage: p.Source,
	}
}

// bucket is a Bucket with its days.
type bucket struct {
	*Bucket
	systems int64  // of its problem, if it is the head of several buckets
	cells   []cell // sorted by day, origin and version
	changed uint64 // the last change of anything in it; see [Index.Changed]
}

// listScan is the part of a problem that counting reads. It is separate because scans over all problems
// are limited by memory access.
type listScan struct {
	cells       []cell // cells of the head
	key         uint64 // first bytes of the id
	first, last Day    // days with a report; last < first: none
	merged      bool   // buckets were merged into it
	muted       bool   // see [Problem.Muted]
}

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
	return len(ix.order) - len(ix.hiddenPlaces())
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

// hiddenPlaces returns the positions of hidden problems in Index.order, or nil if there are none.
// The caller holds ix.mu for reading.
func (ix *Index) hiddenPlaces() map[int]bool {
	if ix.hidden == nil {
		return nil
	}
	places := make(map[int]bool, len(ix.hidden))
	for id := range ix.hidden {
		if place, ok := ix.places[id]; ok {
			places[int(place)] = true
		}
	}
	return places
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
		for _, l := range ix.buckets {
			if ix.hidden[l.Head] {
				continue
			}
			if l.Type != "" {
				v.types[l.Type] = true
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
	for l := range ix.bucketsOf(p) {
		seen.add(l.cells, l.Package == p.Package, nil)
	}
	return seen.result()
}

// Spans returns the versions and releases in which a problem was seen, like [Index.Occurrences], but also
// versions of other packages, and no numbers for the past week.
func (ix *Index) Spans(id crash.BucketID) []crash.VersionSeen {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	p := ix.problem(id)
	if p == nil || ix.hidden[id] {
		return nil
	}
	seen := occurrences{ix: ix}
	for l := range ix.bucketsOf(p) {
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
	for l := range ix.inPackage(source) {
		if l.Source == source {
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

// Changed returns the problems that have changed since a change of the index, and the number of the
// latest change. Change 0 precedes all others.
func (ix *Index) Changed(since uint64) (changed []*Problem, now uint64) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for _, p := range ix.order {
		if ix.hidden[p.ID] {
			continue
		}
		for l := range ix.bucketsOf(p) {
			if l.changed > since {
				changed = append(changed, p)
				break
			}
		}
	}
	return changed, ix.change
}

// Select returns the problems for which ok returns true, in no particular order. ok must not call
// methods of the index.
func (ix *Index) Select(ok func(*Problem) bool) []*Problem {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var found []*Problem
	for _, p := range ix.order {
		if !ix.hidden[p.ID] && ok(p) {
			found = append(found, p)
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
		p := ix.problem(id)
		if p == nil || p.State == s.Word && p.Bug == s.Bug && samePeople(p.People, s.People) {
			continue
		}
		other := *p // rows that were returned earlier keep the old state
		other.State, other.Bug = s.Word, s.Bug
		other.People = s.People
		ix.order[p.place] = &other
		changed = true
	}
	if changed {
		ix.change++
	}
}

// stateRank returns the rank of a problem by state. States that need a person come first, problems
// without a bug last.
func stateRank(p *Problem) int {
	if p.Bug == 0 {
		return len(crash.StateWords) + 1
	}
	if i := slices.Index(crash.StateWords, p.State); i >= 0 {
		return i
	}
	return len(crash.StateWords)
}

// Updater changes an index; see [Index.Update].
type Updater struct {
	ix      *Index
	heads   map[crash.BucketID]bool // problems to rebuild
	updated []int32                 // positions of the buckets that were added or replaced
	moved   map[int32]bool          // positions of buckets with other days
}

// Update calls change while it holds the lock of the index. Lists see either all of the changes or
// none.
func (ix *Index) Update(change func(*Updater)) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	u := &Updater{ix: ix, heads: map[crash.BucketID]bool{}, moved: map[int32]bool{}}
	change(u)
	u.finish()
}

// SetBucket adds a bucket, or replaces its data. seen has an entry for each release. The days of the
// bucket are not affected.
func (u *Updater) SetBucket(l Bucket, seen ...crash.SeenSpan) {
	l.Signature = crash.Truncate(l.Signature, MaxSignature)
	share(u.ix.texts, &l.Rule)
	for _, text := range []*string{&l.Type, &l.Executable, &l.Package, &l.Source} {
		share(u.ix.texts, text)
	}
	releases := make([]facts, len(seen))
	for i, span := range seen {
		releases[i] = u.ix.labels.facts(span)
	}
	l.setFacts(u.ix.labels, releases)
	l.fold()
	l.setPublic()
	at, known := u.ix.bucketAt[l.ID]
	before := &Bucket{}
	if known {
		before = u.ix.buckets[at].Bucket
		u.heads[before.Head] = true
	} else {
		at = int32(len(u.ix.buckets)) //nolint:gosec // as many do not fit into memory
		u.ix.bucketAt[l.ID], u.ix.buckets = at, append(u.ix.buckets, bucket{})
	}
	u.ix.buckets[at].Bucket = &l
	u.ix.buckets[at].changed = u.ix.change + 1
	u.addToPackage(at, before, l.Package)
	if l.Source != l.Package {
		u.addToPackage(at, before, l.Source)
	}
	u.heads[l.Head] = true
	u.updated = append(u.updated, at)
	if l.Type != "" {
		u.ix.types[l.Type] = true
	}
}

// SetSystems sets the number of distinct machines of a problem of several buckets. It ignores unknown
// buckets.
func (u *Updater) SetSystems(head crash.BucketID, n int64) {
	if at, ok := u.ix.bucketAt[head]; ok {
		u.ix.buckets[at].systems = n
		u.heads[head] = true
	}
}

func (u *Updater) addToPackage(at int32, before *Bucket, name string) {
	if name != "" && name != before.Package && name != before.Source {
		u.ix.byPackage[name] = append(u.ix.byPackage[name], at)
	}
}

// ClearDays removes the days of a bucket, before SetCell sets them again.
func (u *Updater) ClearDays(id crash.BucketID) {
	if at, ok := u.ix.bucketAt[id]; ok {
		l := &u.ix.buckets[at]
		l.cells = nil
		l.changed = u.ix.change + 1
		u.moved[at] = true
	}
}

// SetCell sets the number of reports of a bucket on a day. It ignores unknown buckets: their cells
// follow when they are added. machine and pkg are the architectures of the machine and of the
// package.
func (u *Updater) SetCell(id crash.BucketID, day Day, release, version, machine, pkg []byte, reports int64) {
	at, ok := u.ix.bucketAt[id]
	if !ok {
		return
	}
	l := &u.ix.buckets[at]
	l.changed = u.ix.change + 1
	c := cell{
		day: day, origin: u.originNumber(release, machine, pkg), version: u.versionNumber(version),
		n: uint32(min(max(reports, 0), 1<<32-1)),
	}
	i, found := slices.BinarySearchFunc(l.cells, c, cell.compare)
	if found {
		l.cells[i].n = c.n
		return
	}
	l.cells = slices.Insert(l.cells, i, c)
	u.moved[at] = true
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
	for id := range u.heads {
		u.ix.replace(id, members[id])
	}
	for at := range u.moved {
		l := &u.ix.buckets[at]
		l.cells = slices.Clone(l.cells) // without spare capacity
		if p := u.ix.problem(l.Head); p != nil {
			u.ix.setDays(p)
		}
	}
	u.ix.change++
}

// members returns the buckets of the changed problems: those that a problem had, and the updated ones.
func (u *Updater) members() map[crash.BucketID][]int32 {
	members, seen := map[crash.BucketID][]int32{}, map[int32]bool{}
	add := func(at int32) {
		if !seen[at] {
			seen[at] = true
			head := u.ix.buckets[at].Head
			members[head] = append(members[head], at)
		}
	}
	for id := range u.heads {
		if at, ok := u.ix.bucketAt[id]; ok {
			add(at)
		}
		if p := u.ix.problem(id); p != nil {
			add(p.head)
			for _, at := range p.merged {
				add(at)
			}
		}
	}
	for _, at := range u.updated {
		add(at)
	}
	return members
}

// replace stores the problem with this id, made of the buckets at the given positions. If the bucket of
// this id is not a head any more, it removes the problem.
func (ix *Index) replace(id crash.BucketID, members []int32) {
	at, ok := ix.bucketAt[id]
	old := ix.problem(id)
	if !ok || ix.buckets[at].Head != id {
		if old != nil {
			ix.remove(old)
		}
		return
	}
	head := &ix.buckets[at]
	head.changed = ix.change + 1
	p := &Problem{Bucket: head.Bucket, head: at}
	if len(members) > 1 {
		p.merged = slices.DeleteFunc(slices.Clone(members), func(member int32) bool { return member == at })
		p.Bucket = ix.sum(p)
	}
	if old != nil {
		p.State, p.Bug, p.Triage, p.place = old.State, old.Bug, old.Triage, old.place // until SetStates is called
		p.People = old.People
		ix.order[p.place] = p
	} else {
		p.place = int32(len(ix.order)) //nolint:gosec // as many do not fit into memory
		ix.order, ix.scan = append(ix.order, p), append(ix.scan, listScan{})
		ix.places[id] = p.place
	}
	ix.scan[p.place] = listScan{key: binary.BigEndian.Uint64(id[:]), muted: p.Muted()}
	ix.setDays(p)
}

// sum returns the texts of the head of a problem, with the counts and facts of all its buckets.
func (ix *Index) sum(p *Problem) *Bucket {
	sum := *p.Bucket
	sum.Systems = ix.buckets[p.head].systems
	var seen []facts
	for l := range ix.bucketsOf(p) {
		seen = append(seen, l.byRelease()...)
		if l.ID != p.ID {
			sum.Reports += l.Reports
		}
	}
	sum.setFacts(ix.labels, joinReleases(ix.labels, seen))
	sum.fold()
	sum.setPublic()
	return &sum
}

func (ix *Index) remove(p *Problem) {
	delete(ix.places, p.ID)
	last := len(ix.order) - 1
	moved := *ix.order[last]
	moved.place = p.place
	ix.order[p.place], ix.scan[p.place] = &moved, ix.scan[last]
	ix.order, ix.scan = ix.order[:last], ix.scan[:last]
	if int(p.place) < last {
		ix.places[moved.ID] = moved.place
	}
}
