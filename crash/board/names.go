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
