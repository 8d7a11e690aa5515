package index

import (
	"cmp"
	"slices"
	"strings"

	"mishap/crash"
)

// Facet is a field of the query language, with its values in the problems of a list.
type Facet struct {
	Field  string
	Values []FacetValue // of the most problems first; at most maxFacetValues
	More   int          // number of further values
}

// FacetValue is a value of a field, with the number of problems of a list that have it.
type FacetValue struct {
	Value    string
	Problems int64
}

const maxFacetValues = 8

// Facets returns the values that can narrow a list further, by field: release and version, of the reports that the
// filter counts, type, state, bug, assignee and tag. It omits fields that the filter itself selects. The arguments
// and the caching are those of [Index.List].
func (ix *Index) Facets(f Filter, match func(*Problem) bool) []Facet {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	l := ix.list(f, match, match != nil || f.Query != "")
	if match != nil && f.Query == "" {
		return ix.facets(f, match, l)
	}
	type facetsKey Filter
	return cached(ix, facetsKey(f), func() []Facet { return ix.facets(f, match, l) })
}

// facets computes the facets of a list. The caller holds ix.mu for reading.
func (ix *Index) facets(f Filter, match func(*Problem) bool, l *list) []Facet {
	w := ix.window(f)
	releases, versions := newTally(len(ix.releases.values)), newTally(len(ix.versions.values))
	types, states := newTally(len(ix.programs.values)), newTally(len(ix.states.values))
	assignees, tags := map[string]int64{}, map[string]int64{}
	withBug, nobody := int64(0), int64(0)
	listedIn := ix.listedIn(f, match)
	v, visible := newView(), newView()
	var p *Problem // as the reader sees it; nil: only its counts matter
	for at := range l.problems {
		for b := range ix.bucketsOf(at) {
			for _, c := range within(b.cells, f.Since, f.Until) {
				if c.n > 0 && w.matches(c) {
					releases.mark(uint32(ix.releaseOf[c.origin]))
					versions.mark(c.version)
				}
			}
		}
		if f.New || f.ByFacts {
			p = f.seen(ix.view(at, v), visible)
		}
		releases.add(func(n uint32) bool { return listedIn(p, n) })
		versions.add(func(n uint32) bool { return !f.New || p.In(f.Release).LowestVersion() == ix.versions.values[n] })
		b, m := ix.bucket(at), ix.more(at)
		types.problems[b.program]++
		states.problems[b.state]++
		if m.bug != 0 {
			withBug++
		}
		if m.people == nil || f.Public {
			nobody++
			continue
		}
		if !slices.Contains(fields["assignee"].values, strings.ToLower(m.people.Name)) {
			assignees[cmp.Or(m.people.Name, "none")]++
		}
		for tag := range strings.FieldsSeq(m.people.TagList) {
			if !slices.Contains(fields["tag"].values, tag) {
				tags[tag]++
			}
		}
	}
	assignees["none"] += nobody
	var typeNames, stateNames []string
	for _, of := range ix.programs.values {
		typeNames = append(typeNames, of.Type)
	}
	for _, word := range ix.states.values {
		stateNames = append(stateNames, string(word))
	}
	addTrackerNames(assignees)
	selected := map[string]string{"release": string(f.Release), "version": f.Version, "type": f.Type, "state": f.State}
	var facets []Facet
	for _, of := range []struct {
		field  string
		counts map[string]int64
	}{
		{"release", releases.byName(ix.releases.values)}, {"version", versions.byName(ix.versions.values)},
		{"type", types.byName(typeNames)}, {"state", states.byName(stateNames)},
		{"bug", map[string]int64{"any": withBug, "none": l.totals.Problems - withBug}},
		{"assignee", assignees}, {"tag", tags},
	} {
		if facet := newFacet(of.field, of.counts, Names{ix, f.Public}); selected[of.field] == "" && len(facet.Values) > 0 {
			facets = append(facets, facet)
		}
	}
	return facets
}

// listedIn returns a function that reports whether the list of a filter still has a problem with the release of a
// number. With a release, versions and days are those of the release.
func (ix *Index) listedIn(f Filter, match func(*Problem) bool) func(p *Problem, release uint32) bool {
	if !f.New && !f.ByFacts {
		return func(*Problem, uint32) bool { return true }
	}
	in := make([]func(*Problem) bool, len(ix.releases.values))
	for n, release := range ix.releases.values {
		in[n] = matchIn(crash.Release(release), match)
	}
	return func(p *Problem, n uint32) bool {
		narrowed := Filter{Release: crash.Release(ix.releases.values[n]), Since: f.Since, Version: f.Version, New: f.New}
		return narrowed.admits(p, nil) && (match == nil || in[n](p))
	}
}

// tally counts problems by numbers, each problem once for a number.
type tally struct {
	problems []int64
	marked   []bool
	numbers  []uint32 // of the current problem
}

func newTally(n int) *tally { return &tally{problems: make([]int64, n), marked: make([]bool, n)} }

// mark notes a number of the current problem.
func (t *tally) mark(n uint32) {
	if !t.marked[n] {
		t.marked[n], t.numbers = true, append(t.numbers, n)
	}
}

// add counts the current problem for its numbers for which ok returns true, and begins the next one.
func (t *tally) add(ok func(uint32) bool) {
	for _, n := range t.numbers {
		if t.marked[n] = false; ok(n) {
			t.problems[n]++
		}
	}
	t.numbers = t.numbers[:0]
}

func (t *tally) byName(names []string) map[string]int64 {
	counts := map[string]int64{}
	for n, problems := range t.problems {
		if problems > 0 {
			counts[names[n]] += problems
		}
	}
	return counts
}

// addTrackerNames adds the problems of "~name" to those of "name", for which a query finds both.
func addTrackerNames(counts map[string]int64) {
	nobody := counts["none"]
	sums := map[string]int64{}
	for name, n := range counts {
		sums[strings.ToLower(strings.TrimPrefix(name, "~"))] += n
	}
	for name := range counts {
		if !strings.HasPrefix(name, "~") {
			counts[name] = sums[strings.ToLower(name)]
		}
	}
	if counts["none"] = nobody; len(counts) == 1 { // nobody takes care of any problem
		delete(counts, "none")
	}
}

// newFacet returns a facet of the values that a query can find and the reader sees.
func newFacet(field string, counts map[string]int64, seen Names) Facet {
	facet := Facet{Field: field}
	for value, n := range counts {
		if n > 0 && value != "" && !strings.Contains(value, "*") && seen.visible(value) {
			facet.Values = append(facet.Values, FacetValue{value, n})
		}
	}
	slices.SortFunc(facet.Values, func(a, b FacetValue) int {
		return cmp.Or(cmp.Compare(b.Problems, a.Problems), strings.Compare(a.Value, b.Value))
	})
	facet.More = max(len(facet.Values)-maxFacetValues, 0)
	facet.Values = facet.Values[:len(facet.Values)-facet.More]
	return facet
}
