package views

import (
	"time"

	"mishap/crash"
)

// ReportPage is one report, for people who are signed in.
type ReportPage struct {
	Shell        Shell
	Report       crash.StoredReport
	Newer, Older crash.OopsID // neighbours in the bucket; zero: there is none
	Why          WhyPart
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
