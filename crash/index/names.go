package index

import (
	"cmp"
	"slices"
	"strings"

	"mishap/crash/dpkg"
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
	return n.withPrefix(text, func(p *Problem) []string {
		if !strings.Contains(p.FoldedSignature(), lower) {
			return nil
		}
		return strings.FieldsFunc(p.Signature, func(r rune) bool { return r == ':' })[1:]
	})
}

// Versions returns versions with the prefix text, in descending dpkg order. With a binary or source
// package, it returns versions in which problems of the package were seen; otherwise all versions.
func (n Names) Versions(text, pkg string) []string {
	if !n.visible(pkg) {
		return nil
	}
	ix := n.ix
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var found []string
	if pkg == "" {
		for _, version := range ix.visible().versions {
			if version != "" && strings.HasPrefix(version, text) && n.visible(version) {
				found = append(found, version)
			}
		}
	} else {
		seen := map[uint32]bool{}
		for l := range ix.inPackage(pkg) {
			for _, c := range l.cells {
				if version := ix.versions.values[c.version]; !seen[c.version] && version != "" &&
					strings.HasPrefix(version, text) && n.visible(version) {
					found = append(found, version)
				}
				seen[c.version] = true
			}
		}
	}
	slices.SortFunc(found, func(x, y string) int { return cmp.Or(dpkg.Compare(y, x), strings.Compare(y, x)) })
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
	var visible Problem
	for _, p := range ix.order {
		if ix.hidden[p.ID] {
			continue
		}
		p = Filter{Public: n.public}.seen(p, &visible)
		for _, name := range of(p) {
			if name != "" && n.visible(name) && len(name) >= len(text) && strings.EqualFold(name[:len(text)], text) {
				weights[name] += weight(p)
			}
		}
	}
	names := make([]string, 0, len(weights))
	for name := range weights {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), strings.Compare(a, b))
	})
	return names[:min(len(names), maxNames)]
}

// fold sets the text that searches use. A signature in lower case shares its memory.
func (l *Bucket) fold() {
	signature := strings.ToLower(l.Signature)
	untitled := signature + "\x00" + strings.ToLower(strings.Join([]string{
		l.Name, l.Package, l.Source, l.Executable, l.LowestVersion(), l.HighestVersion()}, "\x00"))
	l.folded = untitled + "\x00" + strings.ToLower(l.Title)
	l.signature, l.untitled = int32(len(signature)), int32(len(untitled)) //nolint:gosec // short
	if signature == l.Signature {
		l.Signature = l.folded[:len(signature)]
	}
}

// Folded returns the text in which searches look for words, in lower case: signature, name,
// package, source package, program, lowest and highest version, and title, separated by NUL.
func (p *Problem) Folded() string {
	if p.folded == "" { // not stored in an index
		other := *p.Bucket
		other.fold()
		return other.folded
	}
	return p.folded
}

// FoldedSignature returns the signature in lower case.
func (p *Problem) FoldedSignature() string {
	if p.folded == "" {
		return strings.ToLower(p.Signature)
	}
	return p.folded[:p.signature]
}

// shareTexts replaces texts that many buckets have by shared copies.
func (ix *Index) shareTexts(l *Bucket) {
	share(ix.texts, &l.Rule)
	for _, text := range []*string{&l.Type, &l.Executable, &l.Package, &l.Source} {
		share(ix.texts, text)
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

// OfPackages returns at most limit problems whose head has one of these binary or source packages,
// those with the most reports of the head first.
func (ix *Index) OfPackages(names []string, limit int, admits func(*Problem) bool) []*Problem {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var some []*bucket
	for _, name := range names {
		for l := range ix.inPackage(name) {
			if (l.Package == name || l.Source == name) && l.ID == l.Head && admits(ix.problem(l.ID)) {
				some = append(some, l)
			}
		}
	}
	slices.SortFunc(some, func(x, y *bucket) int {
		return cmp.Or(cmp.Compare(y.Reports, x.Reports), slices.Compare(x.ID[:], y.ID[:]))
	})
	some = slices.Compact(some)
	some = some[:min(len(some), limit)]
	problems := make([]*Problem, len(some))
	for i := range problems {
		problems[i] = ix.problem(some[i].ID)
	}
	return problems
}
