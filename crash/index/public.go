package index

import (
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/privacy"
)

// Public returns the problem as visitors see it: redacted like bugs, without assignee, tags and
// holds. In most cases, that is p itself.
func (p *Problem) Public() *Problem {
	if p.isPublic() {
		return p
	}
	return p.publicIn(new(Problem))
}

// isPublic reports whether visitors see all of the problem.
func (p *Problem) isPublic() bool { return p.public == nil && p.People == nil && !p.Held() }

// publicIn sets space to the problem as visitors see it and returns it.
func (p *Problem) publicIn(space *Problem) *Problem {
	*space = *p
	space.People = nil
	if p.Held() {
		triage := *p.Triage
		triage.Held = false
		space.Triage = &triage
	}
	if p.public != nil {
		space.Bucket = p.public
	}
	return space
}

// seen returns a problem as the list's reader sees it. It may use space, so that a scan of all
// problems allocates no memory.
func (f Filter) seen(p *Problem, space *Problem) *Problem {
	if !f.Public || p.isPublic() {
		return p
	}
	return p.publicIn(space)
}

// setPublic computes the bucket as visitors see it; call fold first. Most buckets contain nothing
// private, which is fast to detect. The folded text shares its memory unless a text is redacted.
func (l *Bucket) setPublic() {
	l.public = nil
	texts := privacy.Texts{Title: l.Title, Signature: l.Signature, Executable: l.Executable, Name: l.Name, Rule: l.Rule}
	public := texts
	versions := len(l.LowestVersion()) + len(l.HighestVersion()) + len("\x00\x00")
	if !privacy.Quiet(l.folded[:int(l.untitled)-versions]) || !privacy.Quiet(l.folded[l.untitled:]) {
		public = texts.Public()
	} else if !privacy.PublicTitle(l.Rule) {
		public.Title = ""
	}
	other := *l
	other.Title, other.Signature, other.Executable, other.Name = public.Title, public.Signature, public.Executable,
		public.Name
	other.Type, other.Package = privacy.RedactLabel(l.Type), privacy.RedactLabel(l.Package)
	other.Source = privacy.RedactLabel(l.Source)
	other.Facts, other.releases = l.Facts.public(), l.publicReleases()
	if slices.Equal(other.releases, l.releases) {
		other.releases = l.releases
	}
	untitled := texts
	untitled.Title = public.Title
	switch same := public == untitled && other.Type == l.Type && other.Package == l.Package && other.Source == l.Source &&
		other.Facts == l.Facts && slices.Equal(other.releases, l.releases); {
	case same && public == texts:
		return
	case same && public.Title == "":
		other.folded = l.folded[:l.untitled]
	default:
		other.Signature = crash.Truncate(other.Signature, MaxSignature)
		other.fold()
	}
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

// visible reports whether the user of n can see a version or another label.
func (n Names) visible(label string) bool {
	return !n.public || privacy.RedactLabel(label) == label && !strings.Contains(label, privacy.Removed)
}
