package stats

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/pytext"
	"mishap/crash/version"
)

// FacetField names a property of reports whose values can be compared: one of [FacetFields], the
// version of a package that the crashed one depends on ("package:libc6"), or the name of any field
// of a report ("VirtualMachine").
type FacetField string

// The fields with names of their own.
const (
	FacetRelease      FacetField = "release"
	FacetVersion      FacetField = "version"
	FacetArchitecture FacetField = "architecture"
	FacetKernel       FacetField = "kernel"
	FacetDesktop      FacetField = "desktop"
	FacetSession      FacetField = "session"
	FacetLocale       FacetField = "locale"
	FacetCPU          FacetField = "cpu"
)

// FacetFields lists the fields with names of their own.
var FacetFields = []FacetField{FacetKernel, FacetDesktop, FacetSession, FacetLocale, FacetCPU, FacetRelease,
	FacetVersion, FacetArchitecture}

// facetPackage begins the names of fields with the version of a package.
const facetPackage = "package:"

// Package returns the package whose version the field is, or "" if it is another field.
func (f FacetField) Package() string {
	name, _ := strings.CutPrefix(string(f), facetPackage)
	if name == string(f) {
		return ""
	}
	return name
}

// PackageFacet returns the field with the version of a package.
func PackageFacet(name string) FacetField { return FacetField(facetPackage + name) }

// Sources returns the fields of a report that the value is made of, and whether it is only an excerpt
// of them, which more people may see. There are none if the value is a column of lists.
func (f FacetField) Sources() (fields []string, excerpt bool) {
	switch f {
	case FacetRelease, FacetVersion, FacetArchitecture:
		return nil, false
	case FacetKernel:
		return []string{"Uname"}, true
	case FacetDesktop:
		return []string{"CurrentDesktop"}, true
	case FacetSession, FacetLocale:
		return []string{"ProcEnviron"}, true
	case FacetCPU:
		return []string{"ProcCpuinfoMinimal", "ProcCpuinfo"}, true
	case "VirtualMachine":
		return []string{"VirtualMachine"}, true
	}
	if f.Package() != "" {
		return []string{"Dependencies"}, false
	}
	return []string{string(f)}, false
}

// ValueIn returns the value of the field in a report, without line breaks and at most 150 characters
// long. It is empty if the report does not have the field.
func (f FacetField) ValueIn(s crash.Summary, fields crash.Fields) string {
	var value string
	switch {
	case f == FacetRelease:
		value = string(s.Release)
	case f == FacetVersion:
		value = s.Version
	case f == FacetArchitecture:
		value = s.Architecture
	case f == FacetKernel:
		if words := strings.Fields(fields["Uname"]); len(words) > 1 {
			value = words[1]
		}
	case f == FacetDesktop:
		value = fields["CurrentDesktop"]
	case f == FacetSession:
		value = lineAfter(fields["ProcEnviron"], "XDG_SESSION_TYPE=")
	case f == FacetLocale:
		value = lineAfter(fields["ProcEnviron"], "LANG=")
	case f == FacetCPU:
		value = processor(fields)
	case f.Package() != "":
		for line := range pytext.Lines(fields["Dependencies"]) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == f.Package() {
				value = words[1]
				break
			}
		}
	default:
		value = fields[string(f)]
	}
	return crash.Shorten(strings.Join(strings.Fields(crash.Truncate(value, 10*maxTraitText)), " "), maxTraitText)
}

func lineAfter(text, prefix string) string {
	for line := range pytext.Lines(text) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return rest
		}
	}
	return ""
}

// processor returns the model of the processor, from either field in which apport stores it.
func processor(fields crash.Fields) string {
	for _, name := range []string{"ProcCpuinfoMinimal", "ProcCpuinfo"} {
		for line := range pytext.Lines(fields[name]) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// FacetValue is one value of a field.
type FacetValue struct {
	Value       string // empty: the reports do not have the field
	Here, There int    // numbers of reports with the value, of the problem and of the rest of the package
}

// Facet compares the values of a field in the newest reports of a problem with those in other
// reports of its package.
type Facet struct {
	Field       FacetField
	Values      []FacetValue // the most frequent of the problem, most frequent first
	Others      int          // number of further values
	OthersHere  int          // reports of the problem with further values
	OthersThere int          // reports of the rest with values that are not in Values
	Here, There int          // numbers of reports examined
}

const maxFacetValues = 12

// NewFacet counts the values of a field, given the value in each report.
func NewFacet(field FacetField, here, there []string) Facet {
	counts := map[string]*FacetValue{}
	for _, value := range here {
		if counts[value] == nil {
			counts[value] = &FacetValue{Value: value}
		}
		counts[value].Here++
	}
	f := Facet{Field: field, Here: len(here), There: len(there)}
	for _, value := range there {
		if counts[value] == nil {
			f.OthersThere++
			continue
		}
		counts[value].There++
	}
	for _, v := range counts {
		f.Values = append(f.Values, *v)
	}
	slices.SortFunc(f.Values, func(a, b FacetValue) int {
		return cmp.Or(cmp.Compare(b.Here, a.Here), cmp.Compare(a.Value, b.Value))
	})
	if len(f.Values) > maxFacetValues {
		for _, v := range f.Values[maxFacetValues:] {
			f.Others++
			f.OthersHere += v.Here
			f.OthersThere += v.There
		}
		f.Values = f.Values[:maxFacetValues]
	}
	return f
}

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
	for _, kind := range []string{"Kernel", "Desktop", "Session", "Virtual machine"} {
		field, _ := Trait{Kind: kind}.Facet()
		add(kind, field.ValueIn(crash.Summary{}, f))
	}
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

// VersionSpan is the number of reports of a version of a package from one release, and the days of
// the first and the last.
type VersionSpan struct {
	Release     crash.Release
	Version     string
	First, Last time.Time // UTC days
	Reports     int64
}

// VersionRate is the rate of reports of a version, compared with the previous version in the
// release.
type VersionRate struct {
	VersionSpan
	Rate     MachineRate // from First to Last, per active machine of the release
	Previous RateRatio   // ratio to the rate of the previous version; unknown for the first one
}

// RateVersions compares each version with the previous one in its release, in the order of its packages.
// active contains the number of active machines of each release by day, beginning with since. The result
// is sorted by release and version, newest first.
func RateVersions(spans []VersionSpan, active map[crash.Release][]int64, since time.Time) []VersionRate {
	slices.SortFunc(spans, func(a, b VersionSpan) int {
		return cmp.Or(a.Release.Compare(b.Release), a.Release.VersionOrder().Compare(a.Version, b.Version),
			cmp.Compare(a.Version, b.Version))
	})
	rates := make([]VersionRate, len(spans))
	for i, span := range spans {
		var machines int64
		days := active[span.Release]
		for day := max(dayIndex(span.First, since), 0); day <= dayIndex(span.Last, since) && day < len(days); day++ {
			machines += days[day]
		}
		rates[i] = VersionRate{VersionSpan: span, Rate: NewMachineRate(span.Reports, float64(machines))}
		if i > 0 && spans[i-1].Release == span.Release {
			rates[i].Previous = rates[i].Rate.Times(rates[i-1].Rate).Among(len(spans) - 1)
		}
	}
	slices.Reverse(rates)
	return rates
}

func dayIndex(day, since time.Time) int { return int(day.Sub(since) / (24 * time.Hour)) }

// VersionKnown is a version of a package in use: counted reports of any problem came from it, in
// one release.
type VersionKnown struct {
	Release crash.Release
	Version string
	Arrived time.Time // when the first of these reports arrived
	Since   time.Time // UTC day of the oldest of these reports, by its own date
	Reports int64     // in the past year; only [Judge] and [WatchFixes] need it
	Recent  int64     // of these, in the past PaceDays days; only [WatchFixes] needs it
}

// Equal reports whether both are the same version of the same release, with equal times.
func (k VersionKnown) Equal(other VersionKnown) bool {
	return k.Release == other.Release && k.Version == other.Version && k.Arrived.Equal(other.Arrived) &&
		k.Since.Equal(other.Since)
}

// VersionsByRelease are versions of a package in use that are comparable.
type VersionsByRelease map[crash.Release][]VersionKnown

// ByRelease groups versions by release. It omits those that are not comparable.
func ByRelease(known []VersionKnown) VersionsByRelease {
	grouped := VersionsByRelease{}
	for _, k := range known {
		if k.Release.VersionOrder().Valid(k.Version) {
			grouped[k.Release] = append(grouped[k.Release], k)
		}
	}
	return grouped
}

// VersionStory shows a problem in the history of its package's versions.
type VersionStory struct {
	Counts []crash.VersionCount // newest version first; Reports 0: in use, but the problem was not seen
	After  []VersionKnown       // by release: the version after the last one with the problem
	Before []VersionKnown       // in the newest release: the version before the first one with the problem
	Newest []VersionKnown       // by release: the newest version in use, if higher than the last one with the problem
}

// NewVersionStory combines the versions in which a problem was seen with those that show where it
// begins and ends. In each release with the problem, these are the version after the last one, and
// the newest. In the newest release, it adds the version before the first one. known are the
// versions of the package in use. Versions that are not comparable are ignored.
func NewVersionStory(counts []crash.VersionCount, known []VersionKnown) VersionStory {
	seen := map[crash.Release]*version.Range{}
	for _, c := range counts {
		order := c.Release.VersionOrder()
		if c.Reports == 0 || !order.Valid(c.Version) {
			continue
		}
		if seen[c.Release] == nil {
			seen[c.Release] = &version.Range{}
		}
		seen[c.Release].Add(order, c.Version)
	}
	before, after, newest := map[crash.Release]VersionKnown{}, map[crash.Release]VersionKnown{},
		map[crash.Release]VersionKnown{}
	take := func(into map[crash.Release]VersionKnown, k VersionKnown, better int) {
		if old, ok := into[k.Release]; !ok || k.Release.VersionOrder().Compare(k.Version, old.Version)*better > 0 {
			into[k.Release] = k
		}
	}
	for _, k := range known {
		e, order := seen[k.Release], k.Release.VersionOrder()
		if e == nil || !order.Valid(k.Version) {
			continue
		}
		if order.Compare(k.Version, e.Lowest) < 0 {
			take(before, k, 1)
		}
		if order.Compare(k.Version, e.Highest) > 0 {
			take(after, k, -1)
			take(newest, k, 1)
		}
	}
	story := VersionStory{Counts: slices.Clone(counts), Before: sorted(before)[:min(len(before), 1)], After: sorted(after),
		Newest: sorted(newest)}
	for _, some := range [][]VersionKnown{story.Before, story.After, story.Newest} {
		for _, k := range some {
			story.Add(crash.VersionCount{Version: k.Version, Release: k.Release})
		}
	}
	return story
}

// Add inserts a version at its position, unless it is present.
func (s *VersionStory) Add(c crash.VersionCount) {
	same := func(o crash.VersionCount) bool { return o.Version == c.Version && o.Release == c.Release }
	if !slices.ContainsFunc(s.Counts, same) {
		s.Counts = append(s.Counts, c)
		slices.SortStableFunc(s.Counts, newestVersionFirst)
	}
}

func sorted(of map[crash.Release]VersionKnown) []VersionKnown {
	var all []VersionKnown
	for _, k := range of {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b VersionKnown) int { return b.Release.Compare(a.Release) })
	return all
}

// newestVersionFirst compares versions in descending order. Versions that are not comparable come last.
func newestVersionFirst(a, b crash.VersionCount) int {
	return cmp.Or(crash.CompareVersions(b.Release, b.Version, a.Release, a.Version),
		strings.Compare(a.Release.Key(), b.Release.Key()))
}
