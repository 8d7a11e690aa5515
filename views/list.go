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

// ListPage is the front page: the most common problems.
type ListPage struct {
	Shell     Shell
	Choice    ListChoice
	Releases  []crash.Release // to choose from
	Types     []string        // problem types to choose from
	Machines  []string        // architectures of packages to choose from
	Rates     RateChart
	Notice    string // what cannot be shown yet
	Totals    crash.ProblemTotals
	Rows      []ListRow
	First     int    // place of the first row; 1 on the first page
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
	First, Last crash.Occurrence // in the release that the list is narrowed to, or anywhere
	Bug         BugPart
	Rank        int // by reports, whatever the list is sorted by
	Before      int // its rank in as many days before; 0: it was not seen then
	Spark       Sparkline
}

// moved says how the rank changed, as a sign and in words; empty when it did not.
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

// sorted is what aria-sort says of a column; nothing when the list is not sorted by it.
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

// seenOn says when, for windows too narrow to show it; empty when that is not known.
func seenOn(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Date(t, now) + ", " + Ago(t, now)
}

// most is the count that fills a bar.
func (p ListPage) most() int64 {
	var most int64 = 1
	for i := range p.Rows {
		most = max(most, p.Rows[i].Count)
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
