// Package index keeps all problems in memory, so that lists of them are made without asking the database: what lists and
// searches say of a problem, and how often it was seen on each day, by release, version and architectures. It knows nothing
// of where that comes from: package db fills it and keeps it up to date.
package index

import (
	"cmp"
	"sync"
	"time"

	"mishap/crash"
	"mishap/crash/cache"
)

// Index is all problems. It is safe for concurrent use; what a list returns stays as it is while the index goes on.
type Index struct {
	mu       sync.RWMutex
	change   uint64 // grows with everything that may change a list
	versions numbers[string]
	places   numbers[place]
	texts    map[string]string // of buckets, those that many have; each once
	leaves   map[crash.BucketID]*leaf
	problems map[crash.BucketID]*Problem
	order    []*Problem           // all, in no order that means anything
	scan     []scan               // the same, in the same places
	types    map[string]bool      // of problems that there are or were
	cache    *cache.Cache[uint64] // by change

	byPackage map[string][]*leaf // buckets that have or had the binary or source package
}

// New makes an empty index.
func New() *Index {
	return &Index{
		versions: newNumbers[string](), places: newNumbers[place](), texts: map[string]string{}, leaves: map[crash.BucketID]*leaf{}, problems: map[crash.BucketID]*Problem{},
		byPackage: map[string][]*leaf{}, types: map[string]bool{}, cache: cache.New[uint64](maxCacheBytes),
	}
}

// MaxSignature is how many code points of a signature are kept.
const MaxSignature = 1000

// Leaf is what is known of one bucket. A bucket that was merged into another has that one as its head. Once told, it does not
// change: it gives way to another one.
type Leaf struct {
	ID, Head                    crash.BucketID
	Signature                   string
	Rule                        crash.Rule
	Provisional                 bool
	Type                        string
	Title, Name                 string
	Executable, Package, Source string
	Reports, Systems            int64
	Releases                    []*Facts // by release, each once
	*Facts                               // of all releases; the index sets it

	folded    string // see [Problem.Folded]
	signature int    // how much of it is the signature
	public    *Leaf  // as visitors see it; nil: as it is
}

// Problem is a bucket with all that was merged into it. The texts are those of its head; Reports and Systems are sums, the
// versions and days those of all. A problem of one bucket shares what is known of that.
type Problem struct {
	*Leaf
	State crash.StateWord // how it stands, see [Index.SetStates]
	Bug   int64           // 0: none

	leaves []*leaf
	place  int // in Index.order
}

// leaf is a bucket with its days.
type leaf struct {
	*Leaf
	cells   []cell // by day, place, version
	loose   bool   // cells are not in order yet
	changed uint64 // the change by which anything of it last changed, see [Index.Changed]
}

// scan is what counting needs of a problem, apart from all else: whoever goes through all of them waits for memory.
type scan struct {
	cells       []cell // those of the head
	key         uint64 // the beginning of the id
	more        *more  // nil: nothing was merged into it
	first, last Day    // with a report; last < first: none
}

// more are the buckets of a problem besides its head.
type more struct{ leaves []*leaf }

// cell is how often a bucket was seen on a day, in 12 bytes: there are millions.
type cell struct {
	version uint32
	n       uint32
	day     Day
	place   uint16
}

// place is where a report comes from. Places have numbers; see Index.places.
type place struct{ release, machine, pkg string } // machine, pkg: architectures of the machine and of the package

func (a cell) compare(b cell) int {
	switch {
	case a.day != b.day:
		return int(a.day) - int(b.day)
	case a.place != b.place:
		return int(a.place) - int(b.place)
	}
	return cmp.Compare(a.version, b.version)
}

// Day is a UTC day, counted from 2000-01-01 as PostgreSQL does.
type Day uint16

var firstDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DayOf is the day of a time; what lies outside of 2000–2179 becomes the nearest day.
func DayOf(t time.Time) Day {
	return Day(min(max(t.UTC().Sub(firstDay)/(24*time.Hour), 0), 1<<16-1))
}

// Time is the midnight with which the day begins.
func (d Day) Time() time.Time { return firstDay.AddDate(0, 0, int(d)) }

// numbers keeps each of some values once, and numbers them from 0.
type numbers[T comparable] struct {
	of     map[T]uint32
	values []T
}

func newNumbers[T comparable]() numbers[T] { return numbers[T]{of: map[T]uint32{}} }

// add is the number of a value, which becomes known by it.
func (n *numbers[T]) add(value T) uint32 {
	at := uint32(len(n.values)) //nolint:gosec // as many do not fit into memory
	n.of[value] = at
	n.values = append(n.values, value)
	return at
}

// Len is how many problems there are.
func (b *Index) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.order)
}
