package board

import (
	"strings"

	"mishap/crash/redact"
)

// Public returns the problem as visitors see it, redacted as bugs are. Nearly always that is p itself.
func (p *Problem) Public() *Problem {
	if p.public == nil {
		return p
	}
	other := *p
	other.Leaf = p.public
	return &other
}

// hide prepares the leaf as visitors see it, after fold. Most leaves need no other one, which is cheap to find out.
func (l *Leaf) hide() {
	l.public = nil
	texts := redact.Texts{Title: l.Title, Signature: l.Signature, Executable: l.Executable, Name: l.Name}
	public := texts
	versions := len(l.FirstVersion) + len(l.LastVersion) + len("\x00\x00")
	if !redact.Quiet(l.folded[:max(0, len(l.folded)-versions)]) {
		public = texts.Public()
	}
	other := *l
	other.Title, other.Signature, other.Executable, other.Name = public.Title, public.Signature, public.Executable, public.Name
	other.Type, other.Package, other.Source = redact.Label(l.Type), redact.Label(l.Package), redact.Label(l.Source)
	other.FirstVersion, other.LastVersion = redact.Label(l.FirstVersion), redact.Label(l.LastVersion)
	other.FirstRelease, other.LastRelease = redact.Label(l.FirstRelease), redact.Label(l.LastRelease)
	if public == texts && other.Type == l.Type && other.Package == l.Package && other.Source == l.Source && other.FirstVersion == l.FirstVersion &&
		other.LastVersion == l.LastVersion && other.FirstRelease == l.FirstRelease && other.LastRelease == l.LastRelease {
		return
	}
	other.Signature = cut(other.Signature)
	other.fold()
	l.public = &other
}

// Names finds names that begin with a text. Those for visitors are taken from what visitors see.
type Names struct {
	board  *Board
	public bool
}

// Names returns the names of the board, for visitors or for people who may read reports.
func (b *Board) Names(public bool) Names { return Names{b, public} }

// seen is the problem as whoever asks sees it.
func (n Names) seen(p *Problem) *Problem {
	if n.public {
		return p.Public()
	}
	return p
}

// visible reports whether whoever asks sees a version or another label.
func (n Names) visible(label string) bool {
	return !n.public || redact.Label(label) == label && !strings.Contains(label, redact.Removed)
}
