package index

import "mishap/crash"

// Column is what a list is sorted by.
type Column string

// The columns.
const (
	ByCount   Column = "count"
	ByPackage Column = "package"
	ByFirst   Column = "first"
	ByLast    Column = "last"
	ByProblem Column = "problem"
	ByBug     Column = "bug"
)

// Filter says which reports count and which problems a list has, from the address of a page or an
// API call to the index and to SQL. Zero values mean all. Filters are comparable, so that they can
// be keys of caches.
//
// The index supports all fields but Complete. Other users of a filter say which fields they
// support, and refuse a filter that has more (see [Filter.OfReports]).
type Filter struct {
	// Which reports count.

	Since, Until        Day // both included
	Release             crash.Release
	Version             string
	Architecture        string // of the machine
	PackageArchitecture string // of the package
	Complete            bool   // only those with something to read in them, which lists of single reports can tell

	// Which problems are listed. With a release, the first and last report and the versions of a
	// problem are those of that release. New and Sort use these, too.

	Package  string // binary or source package
	Source   string // source package
	Packages string // several, separated by blanks: the problem's binary or source package is one of them
	Some     bool   // Packages counts, even when it names none
	Type     string // problem type
	State    string // a [crash.StateWord], "none" (no bug) or "bug" (any)
	New      bool   // the oldest report is of these days; with a version: that is the problem's lowest version
	Query    string // of the match that goes with the filter; a list with a match and no text is not cached

	Sort      Column // empty: ByCount
	Ascending bool   // the other way round than is natural for the column
}

// OfReports returns the part of the filter that chooses single reports, whatever problem they
// belong to.
func (f Filter) OfReports() Filter {
	return Filter{
		Since: f.Since, Until: f.Until, Release: f.Release, Version: f.Version,
		Architecture: f.Architecture, PackageArchitecture: f.PackageArchitecture, Complete: f.Complete,
	}
}

// all reports whether the filter lists every problem of which a report counts. The set of packages
// is left to the caller.
func (f Filter) all() bool {
	return f.Package == "" && f.Source == "" && f.Type == "" && !f.New && f.State == "" && !f.Complete
}

// admits reports whether a problem is listed, if a report of it counts. packages is the set that
// Packages names, nil for all.
func (f Filter) admits(p *Problem, packages map[string]bool) bool {
	switch {
	case f.Complete, // the index does not know the contents of reports
		f.Package != "" && p.Package != f.Package && p.Source != f.Package,
		f.Source != "" && p.Source != f.Source,
		packages != nil && !packages[p.Package] && !packages[p.Source],
		f.Type != "" && p.Type != f.Type,
		f.New && f.Version != "" && p.In(f.Release).LowestVersion != f.Version,
		f.New && f.Version == "" && DayOf(p.In(f.Release).First.At) < f.Since:
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
