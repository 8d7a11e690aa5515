package views

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/index"
)

// ListPage holds the front page: the most common problems.
type ListPage struct {
	Shell     Shell
	Choice    ListChoice
	Releases  []crash.Release // for the filter
	Types     []string        // problem types, for the filter
	Machines  []string        // architectures of packages, for the filter
	Rates     RateChart
	Notice    string // why something is missing; empty: nothing is
	Totals    crash.ProblemTotals
	Rows      []ListRow
	First     int    // number of the first row; 1 on the first page
	Next      string // address of the next page; empty: there is none
	Size      int    // rows per page
	IngestURL string // address to which machines send reports
}

// mayChoose reports whether the person may select rows, for an action on all of them.
func (p ListPage) mayChoose() bool {
	return p.Shell.FilingOn && p.Shell.User.Role.Allows(crash.RoleTriager)
}

// ListRow is one problem with its bug.
type ListRow struct {
	crash.Problem
	First, Last crash.Occurrence // in the selected release, or anywhere
	Bug         BugPart
	Rank        int // by reports, independent of the order of the list
	Before      int // its rank in the preceding period of the same length; 0: not seen then
	Spark       Sparkline
}

// moved describes the change of the rank, as a sign and in words; empty if it did not change.
func (r ListRow) moved() (sign, words string) {
	switch by := r.Before - r.Rank; {
	case r.Before == 0:
		return "new", "not seen in as many days before"
	case by > 0:
		return "▲" + strconv.Itoa(by), "up from rank " + strconv.Itoa(r.Before)
	case by < 0:
		return "▼" + strconv.Itoa(-by), "down from rank " + strconv.Itoa(r.Before)
	}
	return "", ""
}

// sorted returns the aria-sort attribute of a column, if the list is sorted by it.
func (p ListPage) sorted(by index.Column) templ.Attributes {
	if cmp.Or(p.Choice.Sort, index.ByCount) != by {
		return nil
	}
	natural := "descending"
	if by == index.ByPackage || by == index.ByProblem || by == index.ByBug {
		natural = "ascending"
	}
	if p.Choice.Ascending {
		natural = map[string]string{"ascending": "descending", "descending": "ascending"}[natural]
	}
	return templ.Attributes{"aria-sort": natural}
}

// seenOn returns the time as a tooltip, for windows too narrow to show it; empty if unknown.
func seenOn(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Date(t, now) + ", " + Ago(t, now)
}

// most returns the count that fills a bar.
func (p ListPage) most() int64 {
	var most int64 = 1
	for i := range p.Rows {
		most = max(most, p.Rows[i].Count)
	}
	return most
}

// share returns part/whole as the width of a bar, in percent. A part above 0 is always visible.
func share(part, whole int64) string {
	percent := 100 * float64(part) / float64(max(whole, 1))
	if part > 0 {
		percent = max(percent, 2)
	}
	return fmt.Sprintf("%.1f%%", min(percent, 100))
}

// curlExample returns a command that sends a report by hand.
func (p ListPage) curlExample() string {
	return "curl --data-binary @report.bson " + p.IngestURL + "/my-machine"
}
