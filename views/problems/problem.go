// Package problems renders lists, searches, problems, reports, packages and releases, and decisions about
// problems.
package problems

import (
	"bytes"
	"cmp"
	"context"
	"io"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/similar"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// ProblemPage holds the page of one problem.
type ProblemPage struct {
	Shell    layout.Shell
	Bucket   crash.Bucket
	Pager    *layout.Pager // through the list from which the visitor came; nil: there was none
	Status   StatusView
	Grouping GroupingView
	Impact   Impact
	Chart    templ.Component // reports by day; nil: none
	Versions VersionTable
	Fixes    FixesPart
	// From is the signature of the merged bucket whose address led here; empty: the problem's own address did.
	From       string
	First      crash.Occurrence // in the selected release, or anywhere
	Last       crash.Occurrence
	Decisions  DecisionsView
	Stack      *Stack       // nil for visitors, and if no report is stored
	Steps      Steps        // from the report of Stack
	Symbols    *SymbolsView // nil: nobody asked for a core, or for visitors
	Notes      NotesView
	People     PeopleView // of nobody for visitors
	Family     Family     // of nobody for visitors
	Similar    []similar.Problem
	Breakdowns []Breakdown
	Facets     FacetsView
	Filter     ReportFilterForm
	Reports    *ReportList       // nil for visitors
	Filings    []bugs.FilingPart // its filings; empty: there is none, or the person may not see it
}

// Draw renders a chart once for all pages that show it. The chart of a year is most of the size of
// the page of a problem, and that of all releases would take 7% of the processor time of a front page.
func Draw(ctx context.Context, chart templ.Component) (templ.Component, error) {
	var b bytes.Buffer
	if err := chart.Render(ctx, &b); err != nil {
		return nil, err
	}
	return drawn(b.String()), nil
}

// drawn is rendered HTML. Unlike templ.Raw, it reveals its size to caches.
type drawn string

// Render implements [templ.Component].
func (d drawn) Render(_ context.Context, w io.Writer) error {
	_, err := io.WriteString(w, string(d))
	return err
}

// duplicate returns the older problem of which a new one without a bug may be a duplicate, or nil.
func (p ProblemPage) duplicate() *similar.Problem {
	since, _ := crash.LastDays(p.Shell.Now, crash.PeriodWeek.Days())
	if p.Bucket.Bug.Number != 0 || p.Bucket.FirstSeen.Before(since) {
		return nil
	}
	return similar.DuplicateOf(p.Bucket, p.Similar)
}

func (p ProblemPage) heading() string { return heading(p.Bucket) }

// heading returns the name of the problem, else the title that its signature gives, else that of the newest report,
// else its signature.
func heading(b crash.Bucket) string {
	return crash.OneLine(cmp.Or(b.Name, grouping.PanicTitle(b.Rule, b.Signature), b.Title,
		layout.ReadSignature(b).String()))
}

// DocumentTitle returns the title for tabs and bookmarks: "tidewatch crashed with SIGSEGV in
// main()".
func DocumentTitle(b crash.Bucket) string { return layout.Cut(heading(b), 120) }

// maxShareReleases is the number of releases that ShareLabel names.
const maxShareReleases = 2
