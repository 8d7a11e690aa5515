package views

import (
	"strings"
	"time"

	"mishap/crash"
)

// ReportPage holds the page of one report, for signed-in people.
type ReportPage struct {
	Shell   Shell
	Report  crash.StoredReport
	Way     Way // links to the next and the previous report
	Why     WhyPart
	Stack   *Stack       // its trace
	Symbols *SymbolsView // nil: nobody asked for a core
	Core    int64        // size in bytes of the core dump that the person may download; 0: none
}

func (p ReportPage) path(ending string) string { return ReportPath(p.Report.ID) + ending }

// problemPath returns the address of the problem, with the list from which the visitor came.
func (p ReportPage) problemPath() string {
	if strings.HasPrefix(p.Way.Via, "/problem/") || strings.HasPrefix(p.Way.Via, "/user/") {
		return p.Report.Bucket.Path()
	}
	return WithVia(p.Report.Bucket.Path(), p.Way.Via)
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
	words := p.Report.Version
	if p.Report.Release != "" {
		words += " on " + string(p.Report.Release)
	}
	if p.Report.Architecture != "" {
		words += ", " + p.Report.Architecture
	}
	return words
}
