package index

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/crash/privacy"
)

// Facts say when and in which versions a problem was seen, in all releases or in one. The zero Facts
// are those of a problem that was never seen.
type Facts struct {
	labels *labels // nil: never seen
	facts
}

// facts are [Facts] without their labels. They have no pointers, see [Numbers].
type facts struct {
	first, last                   moment
	lowest, highest               uint32 // labels of versions
	lowestRelease, highestRelease uint32 // labels
}

// moment is a [crash.Occurrence] whose texts are labels.
type moment struct {
	micro            int64 // since 1970
	version, release uint32
}

// First returns the occurrence of the oldest report.
func (f Facts) First() crash.Occurrence { return f.occurrence(f.first) }

// Last returns the occurrence of the newest report.
func (f Facts) Last() crash.Occurrence { return f.occurrence(f.last) }

func (f Facts) occurrence(m moment) crash.Occurrence {
	if f.labels == nil {
		return crash.Occurrence{}
	}
	return crash.Occurrence{At: time.UnixMicro(m.micro).UTC(), Version: f.labels.get(m.version).text,
		Release: crash.Release(f.labels.get(m.release).text)}
}

// LowestVersion returns the lowest version by dpkg's order, or "" if no version is comparable.
func (f Facts) LowestVersion() string { return f.labels.get(f.lowest).text }

// HighestVersion returns the highest version by dpkg's order, or "" if no version is comparable.
func (f Facts) HighestVersion() string { return f.labels.get(f.highest).text }

// LowestRelease returns the lowest release, or "" if no report has one.
func (f Facts) LowestRelease() crash.Release {
	return crash.Release(f.labels.get(f.lowestRelease).text)
}

// HighestRelease returns the highest release, or "" if no report has one.
func (f Facts) HighestRelease() crash.Release {
	return crash.Release(f.labels.get(f.highestRelease).text)
}

// key returns a version as [dpkg.Key] encodes it, or "" if dpkg rejects the version.
func (f Facts) key(version uint32) string { return f.labels.get(version).key }

// In returns the facts of one release or, for the empty release, of all.
func (l *Bucket) In(release crash.Release) Facts {
	if release == "" {
		return l.Facts
	}
	in := func(f *facts) bool { return l.labels.get(f.first.release).text == string(release) }
	if len(l.releases) == 0 && in(&l.facts) {
		return l.Facts
	}
	for i := range l.releases {
		if in(&l.releases[i]) {
			return Facts{l.labels, l.releases[i]}
		}
	}
	return Facts{}
}

// Releases returns the releases in which the problem was seen, in no particular order. Reports
// without a release have the empty one.
func (l *Bucket) Releases() []crash.Release {
	var names []crash.Release
	for _, f := range l.byRelease() {
		names = append(names, Facts{l.labels, f}.LowestRelease())
	}
	return names
}

// byRelease returns the facts of each release.
func (l *Bucket) byRelease() []facts {
	switch {
	case l.releases != nil:
		return l.releases
	case l.labels == nil:
		return nil
	}
	return []facts{l.facts}
}

// setFacts sets the facts of all releases and of each. The bucket keeps the slice.
func (l *Bucket) setFacts(labels *labels, releases []facts) {
	l.Facts, l.releases = Facts{}, nil
	for i, f := range releases {
		if i == 0 {
			l.Facts = Facts{labels, f}
		} else {
			l.add(f)
		}
	}
	if len(releases) > 1 {
		l.releases = releases
	}
}

// joinReleases combines the facts of several buckets for each release. The result is sorted by the
// name of the release.
func joinReleases(labels *labels, some []facts) []facts {
	name := func(f facts) string { return labels.get(f.lowestRelease).text }
	slices.SortStableFunc(some, func(a, b facts) int { return cmp.Compare(name(a), name(b)) })
	var joined []facts
	for _, f := range some {
		n := len(joined)
		if n == 0 || joined[n-1].lowestRelease != f.lowestRelease {
			joined = append(joined, f)
			continue
		}
		both := Facts{labels, joined[n-1]}
		both.add(f)
		joined[n-1] = both.facts
	}
	return joined
}

// add extends f to cover more facts, which have the same labels. The order of several calls does not
// matter.
func (f *Facts) add(more facts) {
	other := Facts{f.labels, more}
	if other.First().Compare(f.First()) < 0 {
		f.first = other.first
	}
	if other.Last().Compare(f.Last()) > 0 {
		f.last = other.last
	}
	if v := other.LowestVersion(); v != "" && (f.lowest == 0 || dpkg.Order(v, f.LowestVersion()) < 0) {
		f.lowest = other.lowest
	}
	if dpkg.Order(other.HighestVersion(), f.HighestVersion()) > 0 {
		f.highest = other.highest
	}
	if r := other.LowestRelease(); r != "" && (f.lowestRelease == 0 || r.Compare(f.LowestRelease()) < 0) {
		f.lowestRelease = other.lowestRelease
	}
	if r := other.HighestRelease(); r != "" && r.Compare(f.HighestRelease()) > 0 {
		f.highestRelease = other.highestRelease
	}
}

// public returns the facts as visitors see them. They equal f if no version or release contains
// private data.
func (f Facts) public() Facts {
	for _, label := range []*uint32{
		&f.first.version, &f.first.release, &f.last.version, &f.last.release,
		&f.lowest, &f.highest, &f.lowestRelease, &f.highestRelease,
	} {
		*label = f.labels.get(*label).public
	}
	return f
}

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
