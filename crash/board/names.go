package board

import (
	"cmp"
	"slices"
	"strings"
)

// maxNames is how many names are offered for a beginning.
const maxNames = 20

// PackagesThatBegin returns names of binary and source packages that begin with a text, whatever the case of letters, those
// with the most reports first.
func (b *Board) PackagesThatBegin(text string) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	reports := map[string]int64{}
	for _, p := range b.order {
		for _, name := range []string{p.Package, p.Source} {
			if name != "" && len(name) >= len(text) && strings.EqualFold(name[:len(text)], text) {
				reports[name] += p.Reports
			}
		}
	}
	names := make([]string, 0, len(reports))
	for name := range reports {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(reports[b], reports[a]), strings.Compare(a, b)) })
	return names[:min(len(names), maxNames)]
}

// fold makes what searches look through.
func (p *Problem) fold() {
	signature := strings.ToLower(p.Signature)
	p.signature = len(signature)
	p.folded = signature + "\x00" + strings.ToLower(strings.Join([]string{p.Title, p.Name, p.Package, p.Source, p.Executable, p.FirstVersion, p.LastVersion}, "\x00"))
}

// Folded is all that words of a search are looked for in, as small letters: signature, title, name, package, source package,
// program, first and last version, with a NUL between them.
func (p *Problem) Folded() string {
	if p.folded == "" { // not of a board
		other := *p
		other.fold()
		return other.folded
	}
	return p.folded
}

// FoldedSignature is the signature as small letters.
func (p *Problem) FoldedSignature() string {
	if p.folded == "" {
		return strings.ToLower(p.Signature)
	}
	return p.folded[:p.signature]
}
