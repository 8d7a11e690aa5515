package stats

import (
	"cmp"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// Trait is something that a report says of its machine, beyond what is counted: "Kernel 6.8.0-41-generic".
type Trait struct {
	Kind  string // "Kernel", "Desktop", "Library"
	Value string
}

// maxTraits bounds what is taken of one report, and maxTraitText each of it, in code points.
const (
	maxTraits    = 2000
	maxTraitText = 150
)

// Traits are what a report says of its machine: kernel, desktop, session, graphics, and the packages that its own depends
// on, with their versions.
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

// StandOut is a trait that reports of a problem have more often than other reports of the same package.
type StandOut struct {
	Trait
	Here, There int // how many reports have it
}

// What stands out: at least so many reports were looked at on both sides, and the shares differ by so much.
const (
	leastSample   = 5
	leastDistance = 0.3
	mostStandOuts = 12
)

// StandsOut compares the traits of reports of a problem with those of other reports of the same package, each report's
// traits one element, and returns what stands out, the most telling first. It says nothing when there are too few.
func StandsOut(here, there [][]Trait) []StandOut {
	if len(here) < leastSample || len(there) < leastSample {
		return nil
	}
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
	var out []StandOut
	for _, s := range counts {
		if distance(*s) >= leastDistance {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b StandOut) int {
		return cmp.Or(cmp.Compare(distance(b), distance(a)), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Value, b.Value))
	})
	return out[:min(len(out), mostStandOuts)]
}
