package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/similar"
	"mishap/crash/version"
)

// maxNames is the largest number of names that a completion offers.
const maxNames = 20

// Packages returns names of binary and source packages with the prefix text, ignoring case. Names
// with the most reports come first.
func (n Names) Packages(text string) []string {
	return n.withPrefix(text, func(p *Problem) []string { return []string{p.Package, p.Source} })
}

// Sources works like [Names.Packages], for source packages only.
func (n Names) Sources(text string) []string {
	return n.withPrefix(text, func(p *Problem) []string { return []string{p.Source} })
}

// Programs works like [Names.Packages], for names of programs without directory.
func (n Names) Programs(text string) []string {
	return n.withPrefix(text, func(p *Problem) []string {
		return []string{p.Executable[strings.LastIndexByte(p.Executable, '/')+1:]}
	})
}

// Functions works like [Names.Packages], for functions in signatures.
func (n Names) Functions(text string) []string {
	if text == "" {
		return nil
	}
	lower := ":" + strings.ToLower(text)
	return n.withPrefix(text, func(p *Problem) (found []string) {
		if !bytes.Contains(p.foldedSignature(), []byte(lower)) {
			return nil
		}
		_, functions, _ := strings.Cut(p.Signature, ":")
		for functions != "" {
			var f string
			if f, functions = similar.NextPart(functions); strings.Trim(f, "0123456789") != "" { // not a signal
				found = append(found, f)
			}
		}
		return found
	})
}

// Versions returns versions with the prefix text, in descending order. With a binary or source package,
// it returns versions in which problems of the package were seen; otherwise all versions, in dpkg's
// order.
func (n Names) Versions(text, pkg string) []string {
	if !n.visible(pkg) {
		return nil
	}
	ix := n.ix
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	known, orders := ix.visible().versions, map[string]version.Order{}
	if pkg != "" {
		known = nil
		for at := range ix.inPackage(pkg) {
			for _, c := range ix.bucket(at).cells {
				v := ix.versions.values[c.version]
				if _, ok := orders[v]; !ok {
					orders[v] = crash.Release(ix.origins.values[c.origin].release).VersionOrder()
					known = append(known, v)
				}
			}
		}
	}
	found := crash.Pick(known, func(v string) bool {
		return v != "" && strings.HasPrefix(v, text) && n.visible(v)
	})
	slices.SortFunc(found, func(x, y string) int { return version.Total(orders[y], y, orders[x], x) })
	return found[:min(len(found), maxNames)]
}

func (n Names) withPrefix(text string, of func(*Problem) []string) []string {
	return n.ranked(text, of, func(p *Problem) int64 { return p.Reports })
}

// mostUsed ranks names by the number of problems that have them.
func (n Names) mostUsed(text string, of func(*Problem) []string) []string {
	return n.ranked(text, of, func(*Problem) int64 { return 1 })
}

func (n Names) ranked(text string, of func(*Problem) []string, weight func(*Problem) int64) []string {
	ix := n.ix
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	weights := map[string]int64{}
	v, visible := newView(), newView()
	for at := range ix.eachProblem {
		p := Filter{Public: n.public}.seen(ix.view(at, v), visible)
		for _, name := range of(p) {
			if name != "" && n.visible(name) && len(name) >= len(text) && strings.EqualFold(name[:len(text)], text) {
				weights[name] += weight(p)
			}
		}
	}
	var names []string // the best so far: there can be many more
	for name, w := range weights {
		i, _ := slices.BinarySearchFunc(names, name, func(a, b string) int {
			return cmp.Or(cmp.Compare(w, weights[a]), strings.Compare(a, b))
		})
		if i < maxNames {
			names = slices.Insert(names, i, name)
			names = names[:min(len(names), maxNames)]
		}
	}
	return names
}

// folded returns the text in which searches look for words, in lower case: signature, name, package, source package,
// program, lowest and highest version of all releases, and title, separated by NUL.
func (l *Bucket) folded() []byte {
	var text []byte
	if l.space != nil {
		if text = *l.space; len(text) > 0 {
			return text
		}
	}
	lowest, highest := l.labels.get(l.versions[0]).text, l.labels.get(l.versions[1]).text
	for i, part := range [...]string{l.Signature, l.Name, l.Package, l.Source, l.Executable, lowest, highest, l.Title} {
		if i > 0 {
			text = append(text, 0)
		}
		text = appendLower(text, part)
	}
	if l.space != nil {
		*l.space = text
	}
	return text
}

// foldedSignature returns the signature in lower case.
func (l *Bucket) foldedSignature() []byte {
	signature, _, _ := bytes.Cut(l.folded(), []byte{0})
	return signature
}

// Folded returns the text in which searches look for words.
func (p *Problem) Folded() string { return string(p.folded()) }

// FoldedSignature returns the signature in lower case.
func (p *Problem) FoldedSignature() string { return string(p.foldedSignature()) }

// appendLower appends a text in lower case. It changes eight bytes at a time, since most texts are ASCII.
func appendLower(to []byte, text string) []byte {
	const each, high = 0x0101010101010101, 0x8080808080808080
	from := len(to)
	to = append(to, text...)
	word := to[from:]
	for ; len(word) >= 8; word = word[8:] {
		x := binary.LittleEndian.Uint64(word)
		if x&high != 0 {
			return append(to[:from], strings.ToLower(text)...)
		}
		capital := (x + each*(0x80-'A')) &^ (x + each*(0x80-'Z'-1)) & high
		binary.LittleEndian.PutUint64(word, x|capital>>2)
	}
	for i, c := range word {
		if c >= 0x80 {
			return append(to[:from], strings.ToLower(text)...)
		}
		if 'A' <= c && c <= 'Z' {
			word[i] = c + 'a' - 'A'
		}
	}
	return to
}

// People says who takes care of a problem, and lists its tags. Only people who may read reports see
// it. A nil *People means nobody, and no tags.
type People struct {
	crash.Assigned
	TagList string // sorted, separated by blanks
}

// Assignee returns who takes care of the problem.
func (p *Problem) Assignee() crash.Assigned {
	if p.People == nil {
		return crash.Assigned{}
	}
	return p.People.Assigned
}

// Tags returns the tags of the problem, sorted.
func (p *Problem) Tags() []string {
	if p.People == nil {
		return nil
	}
	return strings.Fields(p.People.TagList)
}

// AssignedTo reports whether one of the names, whatever their case, takes care of the problem.
// Names at the tracker begin with a tilde.
func (p *Problem) AssignedTo(names []string) bool {
	return p.People != nil && slices.ContainsFunc(names, func(name string) bool {
		return name != "" && strings.EqualFold(name, p.People.Name)
	})
}

func samePeople(a, b *People) bool { return a == b || a != nil && b != nil && *a == *b }

// Tags returns the tags with the prefix text, those on the most problems first. Visitors see none.
func (n Names) Tags(text string) []string { return n.mostUsed(text, (*Problem).Tags) }

// Assignees returns the names of assignees with the prefix text, those with the most problems
// first. A text without a tilde also finds names at the tracker, which begin with one. Visitors see
// none.
func (n Names) Assignees(text string) []string {
	of := func(p *Problem) []string { return []string{p.Assignee().Name} }
	if strings.HasPrefix(text, "~") {
		return n.mostUsed(text, of)
	}
	return append(n.mostUsed(text, of), n.mostUsed("~"+text, of)...)
}

// Triage is the part of a problem's manual status that lists show. It is immutable.
type Triage struct {
	Muted, WontFix bool
	Held           bool            // nothing of it is removed because of its age
	Embargoed      bool            // only some people see it
	Until          crash.MuteUntil // of a mute
	Fixes          []crash.Mark    // standing entries with versions marked as fixed, without persons and reasons
}

// MutedChoice says what a list does with muted problems.
type MutedChoice string

// The choices. Lists for people hide muted problems unless the person wants them.
const (
	MutedShown  MutedChoice = ""
	MutedHidden MutedChoice = "hidden"
	MutedOnly   MutedChoice = "only"
)

// Muted reports whether the problem is muted.
func (p *Problem) Muted() bool { return p.Triage != nil && p.Triage.Muted }

// Held reports whether nothing of the problem is removed because of its age.
func (p *Problem) Held() bool { return p.Triage != nil && p.Triage.Held }

// SetTriage sets the manual status of all problems. Problems without an entry have none. Rows that
// were returned earlier keep the old status.
func (ix *Index) SetTriage(all map[crash.BucketID]*Triage) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	changed := false
	for i, scan := range ix.scan {
		at := int32(i)
		if scan.head != at {
			continue
		}
		b, m := ix.bucket(at), ix.more(at)
		t := all[b.id]
		if m.triage.equal(t) {
			continue
		}
		m.triage = t
		b.setMore(m)
		ix.scan[i].muted = t != nil && t.Muted
		changed = true
	}
	if changed {
		ix.change++
	}
}

func (t *Triage) equal(other *Triage) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.Muted == other.Muted && t.Held == other.Held && t.Embargoed == other.Embargoed &&
		t.Until.Equal(other.Until) && t.WontFix == other.WontFix &&
		slices.EqualFunc(t.Fixes, other.Fixes, func(a, b crash.Mark) bool { return a.ID == b.ID }) // entries never change
}

// Public returns the problem as visitors see it: redacted like bugs, without assignee, tags and
// holds. In most cases, that is p itself.
func (p *Problem) Public() *Problem {
	if p.isPublic() {
		return p
	}
	return p.publicIn(new(viewed))
}

func (p *Problem) isPublic() bool {
	return p.public == nil && !p.hiddenTitle && p.People == nil && !p.Held()
}

// publicIn sets v to the problem as visitors see it and returns it.
func (p *Problem) publicIn(v *viewed) *Problem {
	bucket, space := *p.Bucket, v.bucket.space
	if p.public != nil {
		bucket = *p.public
		bucket.Reports, bucket.Systems = p.Reports, p.Systems
	} else if p.hiddenTitle {
		bucket.Title = ""
	}
	bucket.public, bucket.hiddenTitle, bucket.space = nil, false, space
	v.Problem, v.bucket, v.folded = *p, bucket, v.folded[:0]
	v.Bucket, v.People = &v.bucket, nil
	if p.Held() {
		triage := *p.Triage
		triage.Held = false
		v.Triage = &triage
	}
	return &v.Problem
}

// seen returns a problem as the list's reader sees it. It may use v, so that a scan of all
// problems allocates no memory.
func (f Filter) seen(p *Problem, v *viewed) *Problem {
	if !f.Public || p.isPublic() {
		return p
	}
	return p.publicIn(v)
}

// Prepare cuts the signature, and compares the texts with what visitors see of them. [Updater.SetBucket] does so too,
// but locks the index.
func (l *Bucket) Prepare() {
	l.Signature = crash.Truncate(l.Signature, MaxSignature)
	texts := l.texts()
	public := texts
	named := strings.Join([]string{l.Signature, l.Name, l.Package, l.Source, l.Executable}, "\x00")
	if !privacy.Quiet(strings.ToLower(named)) || !privacy.Quiet("\x00"+strings.ToLower(l.Title)) {
		public = texts.Public()
	} else if !privacy.PublicTitle(l.Rule) {
		public.Title = ""
	}
	l.prepared = &public
}

func (l *Bucket) texts() privacy.Texts {
	return privacy.Texts{Title: l.Title, Signature: l.Signature, Executable: l.Executable, Name: l.Name, Rule: l.Rule}
}

// publicCopy returns the bucket as visitors see it, or nil if only the title is different. Most buckets contain nothing
// private, which is fast to detect.
func (l *Bucket) publicCopy() *Bucket {
	if l.prepared == nil {
		l.Prepare()
	}
	texts, public := l.texts(), *l.prepared
	other := *l
	other.prepared = nil
	other.Title, other.Signature, other.Executable, other.Name = public.Title, public.Signature, public.Executable,
		public.Name
	other.Type, other.Package = privacy.RedactLabel(l.Type), privacy.RedactLabel(l.Package)
	other.Source = privacy.RedactLabel(l.Source)
	other.Facts, other.releases = l.Facts.public(), l.publicReleases()
	if !privacy.PublicTitle(l.Rule) {
		texts.Title = ""
	}
	if public == texts && other.Type == l.Type && other.Package == l.Package && other.Source == l.Source &&
		other.Facts == l.Facts && slices.Equal(other.releases, l.releases) {
		return nil
	}
	other.Signature = crash.Truncate(other.Signature, MaxSignature)
	other.versions = [2]uint32{other.lowest, other.highest}
	return &other
}

func (l *Bucket) publicReleases() []facts {
	public := slices.Clone(l.releases)
	for i, f := range public {
		public[i] = Facts{l.labels, f}.public().facts
	}
	return public
}

// ForVisitors returns the row as visitors see it.
func (r Row) ForVisitors() Row {
	r.Problem, r.Facts = r.Public(), r.public()
	return r
}

// Names completes names. For visitors, it uses only what they can see.
type Names struct {
	ix     *Index
	public bool
}

// Names returns a completer of names: for visitors if public is true, otherwise for people who may
// read reports.
func (ix *Index) Names(public bool) Names { return Names{ix, public} }

func (n Names) visible(label string) bool {
	return !n.public || privacy.RedactLabel(label) == label && !strings.Contains(label, privacy.Removed)
}

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

// LowestVersion returns the lowest version, or "" if no version is comparable.
func (f Facts) LowestVersion() string { return f.labels.get(f.lowest).text }

// HighestVersion returns the highest version, or "" if no version is comparable.
func (f Facts) HighestVersion() string { return f.labels.get(f.highest).text }

// LowestRelease returns the lowest release, or "" if no report has one.
func (f Facts) LowestRelease() crash.Release {
	return crash.Release(f.labels.get(f.lowestRelease).text)
}

// HighestRelease returns the highest release, or "" if no report has one.
func (f Facts) HighestRelease() crash.Release {
	return crash.Release(f.labels.get(f.highestRelease).text)
}

// version returns the label of a version.
func (f Facts) version(number uint32) label { return f.labels.get(number) }

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
	l := f.labels
	if l.compareMoments(more.first, f.first) < 0 {
		f.first = more.first
	}
	if l.compareMoments(more.last, f.last) > 0 {
		f.last = more.last
	}
	if more.lowest != 0 && (f.lowest == 0 || l.compareVersions(more.lowest, f.lowest) < 0) {
		f.lowest = more.lowest
	}
	if l.compareVersions(more.highest, f.highest) > 0 {
		f.highest = more.highest
	}
	if more.lowestRelease != 0 && (f.lowestRelease == 0 || l.compareReleases(more.lowestRelease, f.lowestRelease) < 0) {
		f.lowestRelease = more.lowestRelease
	}
	if more.highestRelease != 0 && l.compareReleases(more.highestRelease, f.highestRelease) > 0 {
		f.highestRelease = more.highestRelease
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
	of       [version.Orders]map[string]uint32 // by text; labels of releases and of no version have the first order
	all      atomic.Pointer[[]label]           // by number; a longer list replaces it
	releases map[uint32]string                 // keys of the releases that were compared
}

type label struct {
	text   string
	key    string // of a version, see [version.Order.Key]; empty: not comparable
	order  version.Order
	public uint32 // number of the label as visitors see it
}

func newLabels() *labels {
	l := &labels{releases: map[uint32]string{}}
	for o := range l.of {
		l.of[o] = map[string]uint32{"": 0}
	}
	l.all.Store(&[]label{{}})
	return l
}

// number returns the number of a text: a release, or a version with that order. It adds the text if it
// is new.
func (l *labels) number(order version.Order, text string) uint32 {
	if n, ok := l.of[order][text]; ok {
		return n
	}
	public := privacy.RedactLabel(text)
	if public == text {
		return l.add(order, text, l.next())
	}
	n, ok := l.of[order][public]
	if !ok {
		n = l.add(order, public, l.next())
	}
	return l.add(order, text, n)
}

func (l *labels) next() uint32 { return uint32(len(*l.all.Load())) } //nolint:gosec // as many do not fit into memory

func (l *labels) add(order version.Order, text string, public uint32) uint32 {
	n := l.next()
	added := label{text: text, order: order, public: public}
	if order.Valid(text) {
		added.key = string(order.Key(text))
	}
	longer := append(*l.all.Load(), added)
	l.all.Store(&longer)
	l.of[order][text] = n
	return n
}

func (l *labels) get(n uint32) label {
	if l == nil {
		return label{}
	}
	return (*l.all.Load())[n]
}

// compareMoments works like [crash.Occurrence.Compare].
func (l *labels) compareMoments(a, b moment) int {
	if c := cmp.Compare(a.micro, b.micro); c != 0 {
		return c
	}
	return cmp.Or(l.compareVersions(a.version, b.version), cmp.Compare(l.get(a.release).text, l.get(b.release).text))
}

// compareVersions works like [version.Total].
func (l *labels) compareVersions(a, b uint32) int {
	if a == b {
		return 0
	}
	first, second := l.get(a), l.get(b)
	return cmp.Or(cmp.Compare(first.key, second.key), cmp.Compare(first.text, second.text))
}

// compareReleases works like [crash.Release.Compare]. It requires the lock of the index.
func (l *labels) compareReleases(a, b uint32) int {
	if a == b {
		return 0
	}
	return cmp.Or(cmp.Compare(l.releaseKey(a), l.releaseKey(b)), cmp.Compare(l.get(a).text, l.get(b).text))
}

func (l *labels) releaseKey(n uint32) string {
	key, ok := l.releases[n]
	if !ok {
		key = crash.Release(l.get(n).text).Key()
		l.releases[n] = key
	}
	return key
}

func (l *labels) facts(s crash.SeenSpan) facts {
	order := s.First.Release.VersionOrder()
	f := facts{first: l.moment(s.First), last: l.moment(s.Last),
		lowest: l.number(order, s.Versions.Lowest), highest: l.number(order, s.Versions.Highest)}
	f.lowestRelease, f.highestRelease = f.first.release, f.first.release
	return f
}

func (l *labels) moment(o crash.Occurrence) moment {
	return moment{micro: o.At.UnixMicro(), version: l.number(o.Release.VersionOrder(), o.Version),
		release: l.number(version.Dpkg, string(o.Release))}
}
