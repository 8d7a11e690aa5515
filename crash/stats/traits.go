package stats

import (
	"cmp"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Trait is a property of the machine in a report that is not counted otherwise: "Kernel
// 6.8.0-41-generic".
type Trait struct {
	Kind  string // "Kernel", "Desktop", "Library"
	Value string
}

// Facet returns the field and the value whose reports have the trait.
func (t Trait) Facet() (FacetField, string) {
	if t.Kind == "Package" {
		name, version, _ := strings.Cut(t.Value, " ")
		return PackageFacet(name), version
	}
	if t.Kind == "Virtual machine" {
		return "VirtualMachine", t.Value
	}
	return FacetField(strings.ToLower(t.Kind)), t.Value
}

// maxTraits is the largest number of traits of one report, and maxTraitText the largest length of a
// value in code points.
const (
	maxTraits    = 2000
	maxTraitText = 150
)

// Traits returns the properties of the machine in a report: kernel, desktop, session, virtual
// machine, and the packages that the crashed one depends on, with their versions.
func Traits(f crash.Fields) []Trait {
	var traits []Trait
	add := func(kind, value string) {
		if value = crash.Truncate(strings.TrimSpace(value), maxTraitText); value != "" && len(traits) < maxTraits {
			traits = append(traits, Trait{kind, value})
		}
	}
	if words := strings.Fields(f["Uname"]); len(words) > 1 {
		add("Kernel", words[1])
	}
	add("Desktop", f["CurrentDesktop"])
	for line := range pytext.Lines(f["ProcEnviron"]) {
		if session, ok := strings.CutPrefix(line, "XDG_SESSION_TYPE="); ok {
			add("Session", session)
		}
	}
	add("Virtual machine", f["VirtualMachine"])
	for line := range pytext.Lines(f["Dependencies"]) {
		if words := strings.Fields(line); len(words) > 1 {
			add("Package", words[0]+" "+words[1])
		}
	}
	return traits
}

// StandOut is a trait that is more frequent in reports of a problem than in other reports of the
// same package.
type StandOut struct {
	Trait
	Here, There int // numbers of reports with the trait
}

const (
	minDifference = 0.3 // smallest difference of shares that is conspicuous
	maxStandOuts  = 12
)

// TooFewToCompare reports whether no difference between so many reports could be evidence, not even
// of a single trait that all here have and none there.
func TooFewToCompare(here, there int) bool {
	return !Significant(MoreFrequent(float64(here), float64(here), 0, float64(there)), 1)
}

// StandsOut compares the traits of a problem's reports with those of other reports of the package.
// Each element of here and there has the traits of one report. It returns the traits that are more
// frequent here than chance explains, the largest difference first.
func StandsOut(here, there [][]Trait) []StandOut {
	counts := map[Trait]*StandOut{}
	count := func(reports [][]Trait, add func(*StandOut)) {
		for _, traits := range reports {
			seen := map[Trait]bool{}
			for _, t := range traits {
				if seen[t] {
					continue
				}
				seen[t] = true
				if counts[t] == nil {
					counts[t] = &StandOut{Trait: t}
				}
				add(counts[t])
			}
		}
	}
	count(here, func(s *StandOut) { s.Here++ })
	count(there, func(s *StandOut) { s.There++ })
	distance := func(s StandOut) float64 {
		return float64(s.Here)/float64(len(here)) - float64(s.There)/float64(len(there))
	}
	n, m := float64(len(here)), float64(len(there))
	least := make([]float64, 0, len(counts)) // p if as many as possible of the reports with the trait were here
	for _, s := range counts {
		most := min(float64(s.Here+s.There), n)
		least = append(least, MoreFrequent(most, n, float64(s.Here+s.There)-most, m))
	}
	comparisons := possible(least)
	var out []StandOut
	for _, s := range counts {
		if distance(*s) >= minDifference &&
			Significant(MoreFrequent(float64(s.Here), n, float64(s.There), m), comparisons) {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b StandOut) int {
		return cmp.Or(cmp.Compare(distance(b), distance(a)), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Value, b.Value))
	})
	return out[:min(len(out), maxStandOuts)]
}
