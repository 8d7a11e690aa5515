package problems

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views/bugs"
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

	// Of a search.
	Search index.Query
	Facets []index.Facet

	// From is the address of the list, for the way from problem to problem; empty: that of Choice.
	From string

	// Cached while rows are rendered.
	via     string // query of the addresses of problems
	highest int64  // largest count of a row
}

// groupColumns returns the number of columns that a list in groups has at every width, so without the sparkline.
func (p ListPage) groupColumns() string {
	n := 4
	for _, more := range []bool{p.maySelect(), p.showsMachines(), p.showsFirst()} {
		if more {
			n++
		}
	}
	return strconv.Itoa(n)
}

// showsFirst reports whether the list has the column First seen.
func (p ListPage) showsFirst() bool {
	return p.Shell.Look.Has(layout.ColumnFirst) || p.Choice.Sort == index.ByFirst
}

// showsMachines reports whether the list has the column Machines.
func (p ListPage) showsMachines() bool { return p.Shell.Look.Has(layout.ColumnMachines) }

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

// whoopsieSetting returns the line of whoopsie's configuration that makes it send reports here.
func (p ListPage) whoopsieSetting() string { return "CRASH_DB_URL=" + p.IngestURL }

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
		p.via = layout.WithVia("", cmp.Or(p.From, p.Choice.URL()))
	}
	return id.Path() + p.via
}

// ListRow is one problem with its bug.
type ListRow struct {
	*crash.Problem
	First, Last crash.Occurrence // in the selected release, or anywhere
	Bug         bugs.BugPart
	Rank        int        // by reports, independent of the order of the list
	Past        int64      // its reports in the preceding period of the same length
	Compared    bool       // Past is known
	New         bool       // first seen in the past week
	Rise        stats.Rise // see [stats.Rising]; zero unless Rising
	Rising      bool
	Spark       layout.Sparkline
	People      *index.People // nil: nobody, no tags, or for visitors
	Held        bool          // false for visitors
}

func (r *ListRow) countTitle(c ListChoice, now time.Time) string {
	rank := "Rank " + strconv.Itoa(r.Rank) + " by reports"
	if !r.Compared {
		return rank
	}
	return rank + "; " + crash.Counted(r.Past, "report", "reports") + " in the " +
		crash.Counted(c.length(now), "day", "days") + " before"
}

// rowProgram returns the name under which a row shows a problem: its program, else its package.
func rowProgram(b *crash.Bucket, s layout.Signature) string {
	if s.Program != "" {
		return s.Program
	}
	return b.Package
}

// rowFrameCount is the number of functions that a row shows. Its tooltip has the whole signature.
const rowFrameCount = 8

func rowFrames(s layout.Signature) string {
	frames := s.Frames[:min(len(s.Frames), rowFrameCount)]
	if len(frames) == 0 && s.Program == "" {
		return "(blank signature)"
	}
	return strings.Join(frames, " → ")
}

// seenTitle describes a report in full: "2026-09-02 14:03:07 UTC, Ubuntu 24.04 (noble), 1.4.9-2".
func seenTitle(seen crash.Occurrence) string {
	if seen.At.IsZero() {
		return ""
	}
	return layout.Exact(seen.At) + ", " + layout.FullRelease(seen.Release) + ", " + layout.OrUnknown(seen.Version)
}

// shortAgo formats how long before now t was, for a narrow column: "3 min", "5 h", "2 d", "2 Sep".
func shortAgo(t, now time.Time) string {
	ago := layout.Ago(t, now)
	if ago == "just now" {
		return "now"
	}
	return strings.TrimSuffix(ago, " ago")
}

// share returns part/whole as the width of a bar, in percent. A part above 0 is always visible.
func share(part, whole int64) string {
	percent := 100 * float64(part) / float64(max(whole, 1))
	if part > 0 {
		percent = max(percent, 2)
	}
	return fmt.Sprintf("%.0f%%", min(percent, 100))
}

const machinesEver = "Machines that ever had the problem, in any release"

// SearchTitle is the title of the page of a search.
func SearchTitle(query string) string { return "Search: " + query }

// KeysTitle is the title of the page that lists all keys, and what words mean.
const KeysTitle = "Keys and words"

// keyTable lists the keys that js/keys.js handles.
var keyTable = [][2]string{
	{"/", "Go to the search box"},
	{"j", "Next row, or next problem of the list"},
	{"k", "Previous row, or previous problem"},
	{"o", "Open the row"},
	{"c", "Review the bug of the row, or of this problem"},
	{"Shift+C", "Create that bug"},
	{"l", "Link a bug to the row and the selected rows, or to this problem"},
	{"a", "Assign the selected rows, the row or this problem"},
	{"i", "Assign the selected rows, the row or this problem to yourself"},
	{"m", "Mute the row, the selected rows, or this problem"},
	{"d", "Merge duplicates: the selected rows, or others with the row or this problem"},
	{"t", "Merge this problem with its twins"},
	{"w", "Won’t fix the row, the selected rows, or this problem"},
	{"f", "Mark the row, the selected rows, or this problem as fixed in a version"},
	{"e", "Embargo this problem, or lift its embargo"},
	{"n", "Write a note about this problem; Ctrl+Enter saves it"},
	{",", "Show the stack of the next newer report"},
	{".", "Show the stack of the next older report"},
	{"u", "Undo what the message says"},
	{"x", "Select or deselect the row"},
	{"?", "Show or close this list; Escape closes it, too"},
}
