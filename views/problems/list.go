package problems

import (
	"cmp"
	"slices"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/views/layout"
)

// ListPage holds the front page: the most common problems.
type ListPage struct {
	Shell     layout.Shell
	Choice    ListChoice
	Saved     []crash.SavedSearch // of the person, and those that others share
	Tracker   string              // name of the bug tracker
	Releases  []crash.Release     // for the filter
	Types     []string            // problem types, for the filter
	Machines  []string            // architectures of packages, for the filter
	Rates     Rates
	Notice    string // why something is missing; empty: nothing is
	Totals    crash.ProblemTotals
	Hidden    int64 // muted problems that the list omits
	Rows      []ListRow
	First     int    // number of the first row; 1 on the first page
	Next      string // address of the next page; empty: there is none
	Size      int    // rows per page
	IngestURL string // address to which machines send reports

	// Cached while rows are rendered.
	via     string // query of the addresses of problems
	highest int64  // largest count of a row
}

// maySelect reports whether the person may select rows, for an action on all of them.
func (p ListPage) maySelect() bool {
	return p.Shell.FilingOn && p.Shell.User.MayTriageSome()
}

// sorted returns the aria-sort attribute of a column that shows the given values, if the list is
// sorted by one of them.
func (p ListPage) sorted(values ...index.Column) templ.Attributes {
	by := cmp.Or(p.Choice.Sort, index.ByCount)
	if !slices.Contains(values, by) {
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

// sortClass marks the link to the value that the list is sorted by.
func (p ListPage) sortClass(by index.Column) string {
	if cmp.Or(p.Choice.Sort, index.ByCount) == by {
		return "sorted"
	}
	return ""
}

// most returns the count that fills a bar.
func (p *ListPage) most() int64 {
	if p.highest == 0 {
		p.highest = 1
		for i := range p.Rows {
			p.highest = max(p.highest, p.Rows[i].Count)
		}
	}
	return p.highest
}

// importCommand imports report files.
const importCommand = "mishap import FILE.crash"

// whoopsieSetting returns the line of whoopsie's configuration that makes it send reports here.
func (p ListPage) whoopsieSetting() string { return "CRASH_DB_URL=" + p.IngestURL }

// curlExample returns a command that sends a report by hand.
func (p ListPage) curlExample() string {
	return "curl --data-binary @report.bson " + p.IngestURL + "/my-machine"
}

// Name returns the name of the list for links back to it.
func (c ListChoice) Name() string {
	if c.Query != "" {
		return "search: " + layout.Cut(c.Query, 80)
	}
	return "most common problems"
}

// problemPath returns the address of a problem in the list. It includes a search for everyone,
// other lists only for signed-in people: there are more visitors, and they share one cached page
// per problem.
func (p *ListPage) problemPath(id crash.BucketID) string {
	if p.Choice.Query == "" && !p.Shell.SignedIn() {
		return id.Path()
	}
	if p.via == "" {
		p.via = layout.WithVia("", p.Choice.URL())
	}
	return id.Path() + p.via
}
