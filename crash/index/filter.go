package index

import (
	"strings"

	"mishap/crash"
	"mishap/crash/privacy"
)

// Column is the sort order of a list.
type Column string

// The columns of a list.
const (
	ByCount   Column = "count"
	ByPackage Column = "package"
	ByFirst   Column = "first"
	ByLast    Column = "last"
	ByProblem Column = "problem"
	ByBug     Column = "bug"
)

// Filter selects the reports that count and the problems that a list contains. Handlers read it
// from addresses and API calls, and pass it to the index and to SQL. Zero values select everything.
// Filters are comparable, so that caches can use them as keys.
//
// The index supports all fields except Complete. Other users of a filter document the fields that
// they support, and reject filters with other fields (see [Filter.OfReports]).
type Filter struct {
	// Fields that select reports.

	Since, Until        Day // both included
	Release             crash.Release
	Version             string
	Architecture        string // of the machine
	PackageArchitecture string // of the package
	Complete            bool   // only reports with content to read; supported by lists of single reports only

	// Fields that select problems. With a release, they test the first and last report and the
	// versions in that release, as do New and Sort.

	Package    string // binary or source package
	Source     string // source package
	Packages   string // names separated by blanks, one of which must be the problem's binary or source package
	ByPackages bool   // only problems of Packages, none if that is empty
	Type       string // problem type
	State      string // a [crash.StateWord], "none" (no bug) or "bug" (any)
	New        bool   // the oldest report is in these days; with a version: it is the problem's lowest version
	Muted      MutedChoice
	Query      string // identifies the match function; a list with a match but without Query is not cached

	// Public makes the list one for visitors: it selects and sorts problems by what visitors see of
	// them, see [Problem.Public]. A label that visitors do not see selects nothing.
	Public bool

	Sort      Column // empty: ByCount
	Ascending bool   // reverses the natural order of the column
}

// OfReports returns the part of the filter that selects single reports, regardless of their
// problem.
func (f Filter) OfReports() Filter {
	return Filter{
		Since: f.Since, Until: f.Until, Release: f.Release, Version: f.Version,
		Architecture: f.Architecture, PackageArchitecture: f.PackageArchitecture, Complete: f.Complete,
	}
}

// all reports whether the filter lists every problem with a counted report. It ignores Packages,
// which the caller handles.
func (f Filter) all() bool {
	return f.Package == "" && f.Source == "" && f.Type == "" && !f.New && f.State == "" && !f.Complete
}

// hides reports whether the filter is for visitors and names a label that they do not see.
func (f Filter) hides() bool {
	if !f.Public {
		return false
	}
	for _, label := range []string{string(f.Release), f.Version, f.Architecture, f.PackageArchitecture, f.Package,
		f.Source, f.Packages, f.Type} {
		if privacy.RedactLabel(label) != label {
			return true
		}
	}
	return false
}

// packages returns the set of Packages, or nil if the filter has none.
func (f Filter) packages() map[string]bool {
	if !f.ByPackages {
		return nil
	}
	names := map[string]bool{}
	for name := range strings.FieldsSeq(f.Packages) {
		names[name] = true
	}
	return names
}

// admits reports whether a problem is listed if it has a counted report. packages is the set that
// Packages names, or nil for all.
func (f Filter) admits(p *Problem, packages map[string]bool) bool {
	switch {
	case f.Complete, // the index does not contain the reports' contents
		f.Package != "" && p.Package != f.Package && p.Source != f.Package,
		f.Source != "" && p.Source != f.Source,
		packages != nil && !packages[p.Package] && !packages[p.Source],
		f.Type != "" && p.Type != f.Type,
		f.New && f.Version != "" && p.In(f.Release).LowestVersion() != f.Version,
		f.New && f.Version == "" && DayOf(p.In(f.Release).First().At) < f.Since:
		return false
	}
	switch f.State {
	case "":
		return true
	case "none":
		return p.Bug == 0
	case "bug":
		return p.Bug != 0
	}
	return string(p.State) == f.State
}
