package index

import (
	"cmp"
	"slices"
	"strings"

	"mishap/crash/dpkg"
)

// maxNames is how many names are offered for a beginning.
const maxNames = 20

// Packages returns names of binary and source packages that begin with a text, whatever the case of letters, those
// with the most reports first.
func (n Names) Packages(text string) []string {
	return n.begin(text, func(p *Problem) []string { return []string{p.Package, p.Source} })
}

// Sources is [Names.Packages] for source packages.
func (n Names) Sources(text string) []string {
	return n.begin(text, func(p *Problem) []string { return []string{p.Source} })
}

// Programs is [Names.Packages] for the names of programs, without their folders.
func (n Names) Programs(text string) []string {
	return n.begin(text, func(p *Problem) []string { return []string{p.Executable[strings.LastIndexByte(p.Executable, '/')+1:]} })
}

// Functions is [Names.Packages] for the functions of signatures.
func (n Names) Functions(text string) []string {
	if text == "" {
		return nil
	}
	lower := ":" + strings.ToLower(text)
	return n.begin(text, func(p *Problem) []string {
		if !strings.Contains(p.FoldedSignature(), lower) {
			return nil
		}
		return strings.FieldsFunc(p.Signature, func(r rune) bool { return r == ':' })[1:]
	})
}

// Versions returns versions that begin with a text, the highest in dpkg's order first: those that problems of a
// binary or source package were seen in, or, without a package, all that there are.
func (n Names) Versions(text, pkg string) []string {
	b := n.ix
	b.mu.RLock()
	defer b.mu.RUnlock()
	var found []string
	if pkg == "" {
		for _, version := range b.versions.values {
			if version != "" && strings.HasPrefix(version, text) && n.visible(version) {
				found = append(found, version)
			}
		}
	} else {
		seen := map[uint32]bool{}
		for _, l := range b.byPackage[pkg] {
			for _, c := range l.cells {
				if version := b.versions.values[c.version]; !seen[c.version] && version != "" && strings.HasPrefix(version, text) && n.visible(version) {
					found = append(found, version)
				}
				seen[c.version] = true
			}
		}
	}
	slices.SortFunc(found, func(x, y string) int { return cmp.Or(dpkg.Compare(y, x), strings.Compare(y, x)) })
	return found[:min(len(found), maxNames)]
}

func (n Names) begin(text string, of func(*Problem) []string) []string {
	b := n.ix
	b.mu.RLock()
	defer b.mu.RUnlock()
	reports := map[string]int64{}
	for _, p := range b.order {
		p = n.seen(p)
		for _, name := range of(p) {
			if name != "" && n.visible(name) && len(name) >= len(text) && strings.EqualFold(name[:len(text)], text) {
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

// fold makes what searches look through. A signature that has small letters only takes no place of its own.
func (l *Leaf) fold() {
	if l.Facts == nil { // not of a index
		l.Facts = noFacts
	}
	signature := strings.ToLower(l.Signature)
	l.folded = strings.Join([]string{signature, strings.ToLower(strings.Join([]string{
		l.Title, l.Name, l.Package, l.Source, l.Executable, l.LowestVersion, l.HighestVersion}, "\x00"))}, "\x00")
	l.signature = len(signature)
	if signature == l.Signature {
		l.Signature = l.folded[:len(signature)]
	}
}

// Folded is all that words of a search are looked for in, as small letters: signature, title, name, package, source package,
// program, lowest and highest version, with a NUL between them.
func (p *Problem) Folded() string {
	if p.folded == "" { // not of a index
		other := *p.Leaf
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

// once gives the texts that many buckets have the same place.
func (b *Index) once(l *Leaf) {
	share(b.texts, &l.Rule)
	for _, text := range []*string{&l.Type, &l.Executable, &l.Package, &l.Source} {
		share(b.texts, text)
	}
	for _, f := range l.Releases {
		b.onceFacts(f)
	}
}

func share[T ~string](texts map[string]string, text *T) {
	known, ok := texts[string(*text)]
	if !ok {
		known = string(*text)
		texts[known] = known
	}
	*text = T(known)
}

// OfPackages returns at most limit problems whose own bucket has one of these binary or source packages, those whose bucket
// has the most reports first.
func (b *Index) OfPackages(names []string, limit int, admits func(*Problem) bool) []*Problem {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var some []*leaf
	seen := map[*leaf]bool{}
	most := func() {
		slices.SortFunc(some, func(x, y *leaf) int {
			return cmp.Or(cmp.Compare(y.Reports, x.Reports), slices.Compare(x.ID[:], y.ID[:]))
		})
		some = some[:min(len(some), limit)]
	}
	for _, name := range names {
		for _, l := range b.byPackage[name] {
			if (l.Package != name && l.Source != name) || l.ID != l.Head || seen[l] || !admits(b.problems[l.ID]) {
				continue
			}
			seen[l] = true
			if some = append(some, l); len(some) >= 4*limit {
				most()
			}
		}
	}
	most()
	problems := make([]*Problem, len(some))
	for i := range problems {
		problems[i] = b.problems[some[i].ID]
	}
	return problems
}
