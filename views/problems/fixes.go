package problems

import (
	"net/url"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// PathFixes is the path of the list of fixes.
const PathFixes = "/fixes"

// FixesTitle is the title of that page.
const FixesTitle = "Fix watch"

// FixesPart holds the fixes of one problem.
type FixesPart struct {
	Fixes []stats.FixWatch // empty: none is watched
	List  string           // path and query of the list with others of the package; empty: none
}

// WatchedRow is a fix in a list, with its problem.
type WatchedRow struct {
	Fix    stats.FixWatch
	Bucket crash.Bucket
}

// FixesChoice is what the list of fixes is limited to.
type FixesChoice struct {
	Mine    bool // packages that the person follows
	Package string
	Verdict stats.FixVerdict // empty: all
}

// URL returns the path and query of the list.
func (c FixesChoice) URL() string {
	if q := c.Query(); q != "" {
		return PathFixes + "?" + q
	}
	return PathFixes
}

// Query returns the query of the list.
func (c FixesChoice) Query() string {
	q := url.Values{}
	if c.Mine {
		q.Set("of", "mine")
	}
	if c.Package != "" {
		q.Set("package", c.Package)
	}
	if c.Verdict != "" {
		q.Set("verdict", string(c.Verdict))
	}
	return q.Encode()
}

func (c FixesChoice) with(v stats.FixVerdict) string {
	c.Verdict = v
	return c.URL()
}

// FixesPage is the list of fixes.
type FixesPage struct {
	Shell  layout.Shell
	Choice FixesChoice
	Counts map[stats.FixVerdict]int64 // without the choice of a verdict
	Rows   []WatchedRow
	More   int64 // fixes that the page does not show
}

func (p FixesPage) total() (n int64) {
	for _, some := range p.Counts {
		n += some
	}
	return n
}

// verdictClass is the class of the state of a verdict.
func verdictClass(v stats.FixVerdict) string {
	switch v {
	case stats.FixWorks:
		return "state state-done"
	case stats.FixFails, stats.FixFewer:
		return "state state-warn"
	case stats.FixRarer, stats.FixEarly, stats.FixUnused:
	}
	return "state state-wait"
}

// fixedBy says who names the version with the fix.
func fixedBy(w stats.FixWatch) string {
	if w.Manual {
		return "as a person says"
	}
	return "as the bug says"
}
