package index

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/redact"
)

// Public returns the problem as visitors see it: redacted like bugs, without assignee, tags and
// holds. In most cases, that is p itself.
func (p *Problem) Public() *Problem {
	if p.public == nil && p.People == nil && !p.Held() {
		return p
	}
	other := *p
	other.People = nil
	if p.Held() {
		triage := *p.Triage
		triage.Held = false
		other.Triage = &triage
	}
	if p.public != nil {
		other.Bucket = p.public
	}
	return &other
}

// setPublic computes the bucket as visitors see it; call fold first. Most buckets contain nothing
// private, which is fast to detect.
func (l *Bucket) setPublic() {
	l.public = nil
	texts := redact.Texts{Title: l.Title, Signature: l.Signature, Executable: l.Executable, Name: l.Name}
	public := texts
	versions := len(l.LowestVersion()) + len(l.HighestVersion()) + len("\x00\x00")
	if !redact.Quiet(l.folded[:max(0, len(l.folded)-versions)]) {
		public = texts.Public()
	}
	other := *l
	other.Title, other.Signature, other.Executable, other.Name = public.Title, public.Signature, public.Executable,
		public.Name
	other.Type, other.Package, other.Source = redact.Label(l.Type), redact.Label(l.Package), redact.Label(l.Source)
	other.Facts, other.releases = l.Facts.public(), l.publicReleases()
	if public == texts && other.Type == l.Type && other.Package == l.Package && other.Source == l.Source &&
		other.Facts == l.Facts && slices.Equal(other.releases, l.releases) {
		return
	}
	other.Signature = crash.Truncate(other.Signature, MaxSignature)
	other.fold()
	l.public = &other
}

// publicReleases returns the facts of each release as visitors see them.
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

// view returns the problem as the user of n sees it.
func (n Names) view(p *Problem) *Problem {
	if n.public {
		return p.Public()
	}
	return p
}

// visible reports whether the user of n can see a version or another label.
func (n Names) visible(label string) bool {
	return !n.public || redact.Label(label) == label && !strings.Contains(label, redact.Removed)
}
