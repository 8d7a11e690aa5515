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
	FacetGraphics     FacetField = "graphics"       // drivers: i915, nvidia and nvidia-550
	FacetModel        FacetField = "model"          // manufacturer and model of the machine
	FacetOrigin       FacetField = "origin"         // where packages are from that are not the distribution's
	FacetThirdParty   FacetField = "third-party"    // names of these packages
	FacetSeries       FacetField = "kernel-series"  // 6.8
	FacetFlavour      FacetField = "kernel-flavour" // generic
	FacetVirtual      FacetField = "VirtualMachine"
)

// FacetFields lists the fields with names of their own that pages offer.
var FacetFields = []FacetField{FacetKernel, FacetGraphics, FacetModel, FacetDesktop, FacetSession, FacetLocale,
	FacetCPU, FacetOrigin, FacetRelease, FacetVersion, FacetArchitecture}

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

// facetLabels names fields whose names are no words.
var facetLabels = map[FacetField]string{
	FacetCPU: "CPU", FacetGraphics: "Graphics driver", FacetModel: "Model", FacetOrigin: "Third-party source",
	FacetThirdParty: "Third-party package", FacetSeries: "Kernel series", FacetFlavour: "Kernel flavour",
	FacetVirtual: "Virtual machine",
}

// Label returns the name of the field for people.
func (f FacetField) Label() string {
	if label, ok := facetLabels[f]; ok {
		return label
	}
	if name := f.Package(); name != "" {
		return "Version of " + name
	}
	if slices.Contains(FacetFields, f) {
		return strings.ToUpper(string(f[:1])) + string(f[1:])
	}
	return string(f)
}

// Sources returns the fields of a report that the value is made of, and whether it is only an excerpt
// of them, which more people may see. There are none if the value is a column of lists.
func (f FacetField) Sources() (fields []string, excerpt bool) {
	switch f {
	case FacetRelease, FacetVersion, FacetArchitecture:
		return nil, false
	case FacetKernel, FacetSeries, FacetFlavour:
		return []string{"Uname"}, true
	case FacetDesktop:
		return []string{"CurrentDesktop"}, true
	case FacetSession, FacetLocale:
		return []string{"ProcEnviron"}, true
	case FacetCPU:
		return []string{"ProcCpuinfoMinimal", "ProcCpuinfo"}, true
	case FacetGraphics:
		return []string{"Lspci", "ProcModules", "NonfreeKernelModules", nvidiaField, "Dependencies"}, true
	case FacetModel:
		return []string{"MachineType"}, true
	case FacetOrigin, FacetThirdParty:
		return []string{"Dependencies", "Package"}, true
	case FacetVirtual:
		return []string{"VirtualMachine"}, true
	}
	if f.Package() != "" {
		return []string{"Dependencies"}, false
	}
	return []string{string(f)}, false
}

// ValueIn returns the values of the field in a report as one text. It is empty if the report does not
// have the field.
func (f FacetField) ValueIn(s crash.Summary, fields crash.Fields) string {
	return strings.Join(f.ValuesIn(s, fields), ", ")
}

// ValuesIn returns the different values of the field in a report, without line breaks and at most 150
// characters long. There are none if the report does not have the field.
func (f FacetField) ValuesIn(s crash.Summary, fields crash.Fields) []string {
	var values []string
	for _, value := range f.textsIn(s, fields) {
		value = crash.Shorten(strings.Join(strings.Fields(crash.Truncate(value, 10*maxTraitText)), " "), maxTraitText)
		if value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

func (f FacetField) textsIn(s crash.Summary, fields crash.Fields) (texts []string) {
	switch f { //nolint:exhaustive // the others have one text
	case FacetGraphics:
		return newGraphics(fields).values()
	case FacetOrigin:
		for _, d := range thirdParty(fields) {
			texts = append(texts, d.origin)
		}
		return texts
	case FacetThirdParty:
		for _, d := range thirdParty(fields) {
			texts = append(texts, d.name)
		}
		return texts
	}
	return []string{f.textIn(s, fields)}
}

func (f FacetField) textIn(s crash.Summary, fields crash.Fields) string {
	switch f { //nolint:exhaustive // the others are in textsIn, or names of fields
	case FacetRelease:
		return string(s.Release)
	case FacetVersion:
		return s.Version
	case FacetArchitecture:
		return s.Architecture
	case FacetKernel:
		return kernelOf(fields)
	case FacetSeries:
		return kernelSeries.FindString(kernelOf(fields))
	case FacetFlavour:
		return flavourOf(kernelOf(fields))
	case FacetDesktop:
		return fields["CurrentDesktop"]
	case FacetSession:
		return lineAfter(fields["ProcEnviron"], "XDG_SESSION_TYPE=")
	case FacetLocale:
		return lineAfter(fields["ProcEnviron"], "LANG=")
	case FacetCPU:
		return processor(fields)
	case FacetModel:
		return fields["MachineType"]
	}
	if name := f.Package(); name != "" {
		for _, d := range dependencies(fields) {
			if d.name == name {
				return d.version
			}
		}
		return ""
	}
	return fields[string(f)]
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

// NewFacet counts the values of a field, given the values in each report. A report without any counts
// for the empty value.
func NewFacet(field FacetField, here, there [][]string) Facet {
	counts := map[string]*FacetValue{}
	for _, value := range eachValue(here) {
		if counts[value] == nil {
			counts[value] = &FacetValue{Value: value}
		}
		counts[value].Here++
	}
	f := Facet{Field: field, Here: len(here), There: len(there)}
	for _, value := range eachValue(there) {
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

// eachValue returns all values of some reports.
func eachValue(of [][]string) (all []string) {
	for _, values := range of {
		if all = append(all, values...); len(values) == 0 {
			all = append(all, "")
		}
	}
	return all
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
