package views

import (
	"strings"
	"time"

	"mishap/crash"
)

// ReportPage is one report, for people who are signed in.
type ReportPage struct {
	Shell  Shell
	Report crash.StoredReport
	Way    Way // to the next and the previous report
	Why    WhyPart
	Core   int64 // bytes of the core dump that the person may have; 0: none
}

func (p ReportPage) path(ending string) string { return ReportPath(p.Report.ID) + ending }

// problemPath leads to the problem, and keeps the list by which the visitor came.
func (p ReportPage) problemPath() string {
	if strings.HasPrefix(p.Way.Via, "/problem/") || strings.HasPrefix(p.Way.Via, "/user/") {
		return p.Report.Bucket.Path()
	}
	return WithVia(p.Report.Bucket.Path(), p.Way.Via)
}

// arrived is when the report came in.
func (p ReportPage) arrived() time.Time { return p.Report.ID.Received() }

// heading is the headline of the page.
func (p ReportPage) heading() string {
	if p.Report.Title == "" && p.Report.ProblemType != "" {
		return p.Report.ProblemType + " of " + reportTitle(p.Report.Summary)
	}
	return reportTitle(p.Report.Summary)
}

// unbucketed is why the report is in no problem.
func (p ReportPage) unbucketed() string {
	if p.Report.Unbucketed == "" {
		return "It carries nothing to group it by."
	}
	return p.Report.Unbucketed
}

// where is the version of the package, and what it ran on.
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
