package views

import (
	"fmt"

	"mishap/crash"
)

// ListPage is the front page: the most common problems.
type ListPage struct {
	Shell     Shell
	Choice    ListChoice
	Releases  []crash.Release // to choose from, in release order
	Totals    crash.ProblemTotals
	Rows      []ListRow
	First     int    // rank of the first row; 1 on the first page
	Next      string // address of the next page; empty: there is none
	Size      int    // how many rows a page has
	IngestURL string // where machines post reports
}

// mayChoose reports whether rows can be chosen to have something done to all of them.
func (p ListPage) mayChoose() bool {
	return p.Shell.FilingOn && p.Shell.User.Role.Allows(crash.RoleTriager)
}

// ListRow is one problem with its bug.
type ListRow struct {
	crash.Problem
	Bug BugPart
}

// most is the count that fills a bar.
func (p ListPage) most() int64 {
	var most int64 = 1
	for _, row := range p.Rows {
		most = max(most, row.Count)
	}
	return most
}

// share is part of whole as the width of a bar, in percent; something that is there is always seen.
func share(part, whole int64) string {
	percent := 100 * float64(part) / float64(max(whole, 1))
	if part > 0 {
		percent = max(percent, 2)
	}
	return fmt.Sprintf("%.1f%%", min(percent, 100))
}

// curlExample is how a report is posted by hand.
func (p ListPage) curlExample() string {
	return "curl --data-binary @report.bson " + p.IngestURL + "/my-machine"
}
