// Package board keeps all problems in memory, so that lists of them are made without asking the database: what lists and
// searches say of a problem, and how often it was seen on each day, by release, version and architecture. It knows nothing
// of where that comes from: package db fills it and keeps it up to date.
package board

import (
	"sync"
	"time"

	"mishap/crash"
)

// Board is all problems. It is safe for concurrent use; what a list returns stays as it is while the board goes on.
type Board struct {
	mu       sync.RWMutex
	change   uint64 // grows with everything that may change a list
	words    words
	texts    map[string]string // of buckets, those that many have; each once
	leaves   map[crash.BucketID]*leaf
	problems map[crash.BucketID]*Problem
	order    []*Problem      // all, in no order that means anything
	scan     []scan          // the same, in the same places
	types    map[string]bool // of problems that there are or were
	machines map[uint16]bool // architectures that there are or were
	cache    cache

	byPackage map[string][]*leaf // buckets that have or had the binary or source package
}

// New makes an empty board.
func New() *Board {
	return &Board{
		words: newWords(), texts: map[string]string{}, leaves: map[crash.BucketID]*leaf{}, problems: map[crash.BucketID]*Problem{},
		byPackage: map[string][]*leaf{}, types: map[string]bool{}, machines: map[uint16]bool{},
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
	FirstSeen, LastSeen         time.Time
	FirstVersion, LastVersion   string
	FirstKey, LastKey           string // of these versions, in dpkg's order; empty: none
	FirstRelease, LastRelease   crash.Release

	folded    string // see [Problem.Folded]
	signature int    // how much of it is the signature
}

// Problem is a bucket with all that was merged into it. The texts are those of its head; Reports and Systems are sums, the
// versions and days those of all. A problem of one bucket shares what is known of that.
type Problem struct {
	*Leaf
	State crash.StateWord // how it stands to its bug, see [Board.SetStates]
	Bug   int64           // 0: none

	leaves []*leaf
	place  int // in Board.order
}

// leaf is a bucket with its days.
type leaf struct {
	*Leaf
	cells []cell // by day, release, version, architecture
	loose bool   // cells are not in order yet
}

// scan is what counting needs of a problem, apart from all else: whoever goes through all of them waits for memory.
type scan struct {
	own         *leaf   // the head
	more        []*leaf // what was merged into it
	key         uint64  // the beginning of the id
	first, last Day     // with a report; last < first: none
}

// cell is how often a bucket was seen on a day, in 16 bytes.
type cell struct {
	version uint32
	n       uint32
	day     Day
	release uint16
	machine uint16 // architecture
}

func (a cell) compare(b cell) int {
	switch {
	case a.day != b.day:
		return int(a.day) - int(b.day)
	case a.release != b.release:
		return int(a.release) - int(b.release)
	case a.version != b.version:
		if a.version < b.version {
			return -1
		}
		return 1
	}
	return int(a.machine) - int(b.machine)
}

// Day is a UTC day, counted from 2000-01-01 as PostgreSQL does.
type Day uint16

var firstDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DayOf is the day of a time; what lies outside of 2000–2179 becomes the nearest day.
func DayOf(t time.Time) Day {
	return Day(min(max(t.UTC().Sub(firstDay)/(24*time.Hour), 0), 1<<16-1)) //nolint:gosec // bounded
}

// Time is the midnight with which the day begins.
func (d Day) Time() time.Time { return firstDay.AddDate(0, 0, int(d)) }

// words keeps each release, version and architecture once.
type words struct {
	numbers map[string]uint32
	texts   []string
}

func newWords() words { return words{numbers: map[string]uint32{"": 0}, texts: []string{""}} }

// number is that of a text, which becomes known by it.
func (w *words) number(text []byte) uint32 {
	if n, ok := w.numbers[string(text)]; ok {
		return n
	}
	n := uint32(len(w.texts)) //nolint:gosec // as many words do not fit into memory
	s := string(text)
	w.numbers[s] = n
	w.texts = append(w.texts, s)
	return n
}

// Len is how many problems there are.
func (b *Board) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.order)
}
