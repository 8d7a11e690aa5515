package problems

import (
	"cmp"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// ReportPage holds the page of one report, for signed-in people.
type ReportPage struct {
	Shell    layout.Shell
	Report   crash.StoredReport // with the fields that the person may read
	Hidden   []string           // names of the others
	Pager    layout.Pager       // links to the next and the previous report
	Grouping GroupingView
	Stack    *Stack       // its trace
	Symbols  *SymbolsView // nil: nobody asked for a core
	// Comparable is whether the stack can be compared with that of the representative report, which is
	// another one.
	Comparable bool
	Core       int64 // size in bytes of the core dump that the person may download; 0: none
}

func (p ReportPage) path(ending string) string { return ReportPath(p.Report.ID) + ending }

// problemPath returns the address of the problem, with the list from which the visitor came.
func (p ReportPage) problemPath() string {
	if strings.HasPrefix(p.Pager.Via, "/problem/") || strings.HasPrefix(p.Pager.Via, "/user/") {
		return p.Report.Bucket.Path()
	}
	return layout.WithVia(p.Report.Bucket.Path(), p.Pager.Via)
}

// arrived returns the time of the report's arrival.
func (p ReportPage) arrived() time.Time { return p.Report.ID.Received() }

// heading returns the heading of the page.
func (p ReportPage) heading() string {
	if p.Report.Title == "" && p.Report.ProblemType != "" {
		return p.Report.ProblemType + " of " + reportTitle(p.Report.Summary)
	}
	return reportTitle(p.Report.Summary)
}

// unbucketed explains why the report is in no problem.
func (p ReportPage) unbucketed() string {
	if p.Report.Unbucketed == "" {
		return "It contains nothing to group it by."
	}
	return p.Report.Unbucketed
}

// where describes the version of the package and the system.
func (p ReportPage) where() string {
	return reportOn(p.Report.Version, string(p.Report.Release), p.Report.Architecture)
}

// reportOn names a version, its release and its architecture.
func reportOn(version, release, architecture string) string {
	if release != "" {
		version += " on " + release
	}
	if architecture != "" {
		version += ", " + architecture
	}
	return version
}

// PrivateOf says that private data of a package is hidden, and whom to ask.
func PrivateOf(source string) string {
	return "Only people with the right to private data of " + cmp.Or(source, "all packages") + " can see this. " +
		"Somebody who is an administrator here can give it to you."
}
