package index

import (
	"sync/atomic"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/crash/privacy"
)

// Numbers numbers distinct values from 0, in the order in which they were added. Facts that refer to
// values by number have no pointers, which the garbage collector would follow.
type Numbers[T comparable] struct {
	of     map[T]uint32
	values []T
}

// NewNumbers returns Numbers without values.
func NewNumbers[T comparable]() Numbers[T] { return Numbers[T]{of: map[T]uint32{}} }

// Number returns the number of a value. It adds the value if it is new.
func (n *Numbers[T]) Number(value T) uint32 {
	if at, ok := n.of[value]; ok {
		return at
	}
	return n.add(value)
}

// Value returns the value with a number that Number returned.
func (n *Numbers[T]) Value(number uint32) T { return n.values[number] }

// add stores a new value and returns its number.
func (n *Numbers[T]) add(value T) uint32 {
	at := uint32(len(n.values)) //nolint:gosec // as many do not fit into memory
	n.of[value] = at
	n.values = append(n.values, value)
	return at
}

// labels numbers the versions and releases in facts. Facts contain numbers instead of texts, so
// that the garbage collector need not follow a dozen pointers for each of a million facts. Adding a
// label requires the lock of the index; reading one does not.
type labels struct {
	of  map[string]uint32
	all atomic.Pointer[[]label] // by number; a longer list replaces it
}

// label is a version or a release. The label with the number 0 is empty.
type label struct {
	text   string
	key    string // sorts in dpkg's order; empty: not a version that dpkg accepts
	public uint32 // number of the label as visitors see it
}

func newLabels() *labels {
	l := &labels{of: map[string]uint32{"": 0}}
	l.all.Store(&[]label{{}})
	return l
}

// number returns the number of a text. It adds the text if it is new.
func (l *labels) number(text string) uint32 {
	if n, ok := l.of[text]; ok {
		return n
	}
	public := privacy.RedactLabel(text)
	if public == text {
		return l.add(text, l.next())
	}
	n, ok := l.of[public]
	if !ok {
		n = l.add(public, l.next())
	}
	return l.add(text, n)
}

// next returns the number that the next label gets.
func (l *labels) next() uint32 { return uint32(len(*l.all.Load())) } //nolint:gosec // as many do not fit into memory

func (l *labels) add(text string, public uint32) uint32 {
	n := l.next()
	added := label{text: text, public: public}
	if dpkg.Valid(text) {
		added.key = string(dpkg.Key(text))
	}
	longer := append(*l.all.Load(), added)
	l.all.Store(&longer)
	l.of[text] = n
	return n
}

// get returns a label. Without labels, all are empty.
func (l *labels) get(n uint32) label {
	if l == nil {
		return label{}
	}
	return (*l.all.Load())[n]
}

// facts returns the facts of one release.
func (l *labels) facts(s crash.SeenSpan) facts {
	f := facts{first: l.moment(s.First), last: l.moment(s.Last),
		lowest: l.number(s.Versions.Lowest), highest: l.number(s.Versions.Highest)}
	f.lowestRelease, f.highestRelease = f.first.release, f.first.release
	return f
}

func (l *labels) moment(o crash.Occurrence) moment {
	return moment{micro: o.At.UnixMicro(), version: l.number(o.Version), release: l.number(string(o.Release))}
}
