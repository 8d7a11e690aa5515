package stats

import (
	"cmp"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
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

// lineAfter returns the rest of the first line that begins with prefix.
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

// maxFacetValues is the largest number of values that a facet names.
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
