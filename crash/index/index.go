// Package index holds all problems in memory, so that lists of problems need no database query. For
// each problem it contains the texts that lists and searches use, and the number of reports by day,
// version, release and architectures. It does no input or output: package db fills it and updates
// it.
package index

import (
	"cmp"
	"iter"
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
		byPackage: map[string][]int32{}, types: map[string]bool{}, cache: cache.New[uint64](maxCacheBytes),
	}}
}

// bucket returns a bucket, or nil if it is unknown. It is valid until the next one is added.
func (d *data) bucket(id crash.BucketID) *bucket {
	if at, ok := d.bucketAt[id]; ok {
		return &d.buckets[at]
	}
	return nil
}

// problem returns a problem, or nil if it is unknown.
func (d *data) problem(id crash.BucketID) *Problem {
	if at, ok := d.places[id]; ok {
		return d.order[at]
	}
	return nil
}

// bucketsOf returns the buckets of a problem, its head first.
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
	Rule                        crash.Rule
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

// bucket is a Bucket with its days.
type bucket struct {
	*Bucket
	systems  int64  // of its problem, if it is the head of several buckets
	cells    []cell // sorted by day, origin and version
	unsorted bool   // cells are not sorted yet
	changed  uint64 // the last change of anything in it; see [Index.Changed]
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
	if ix.hidden == nil {
		return len(ix.order)
	}
	n := 0
	for _, p := range ix.order {
		if !ix.hidden[p.ID] {
			n++
		}
	}
	return n
}
