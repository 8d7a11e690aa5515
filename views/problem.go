package views

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/grouping"
)

// ProblemPage is one bucket.
type ProblemPage struct {
	Shell      Shell
	Bucket     crash.Bucket
	Way        *Way // through the list of problems by which the visitor came; nil: by none
	Status     StatusView
	Why        WhyPart
	Much       Much
	Chart      templ.Component // reports by day; nil: none
	Versions   VersionTable
	From       string           // signature of the merged problem whose address led here; empty: that of the problem itself did
	First      crash.Occurrence // in the release that is selected, or anywhere
	Last       crash.Occurrence
	Decisions  DecisionsView
	Stack      *Stack // nil for visitors, and when no report is stored
	Notes      NotesView
	Alike      []grouping.SimilarProblem
	Breakdowns []Breakdown
	Filter     ReportFilterForm
	Reports    *ReportList // nil for visitors
	Filing     *FilingPart // who asked for a bug and what became of it; nil: nobody has, or the person may not see it
}

// Draw draws a chart once for all pages that show it: one of a year of days is most of a page.
func Draw(ctx context.Context, c Chart, now time.Time) (templ.Component, error) {
	var b bytes.Buffer
	if err := ChartPart(c, now).Render(ctx, &b); err != nil {
		return nil, err
	}
	return drawn(b.String()), nil
}

// drawn is HTML as it was rendered before. Unlike templ.Raw it shows those who look how large it is.
type drawn string

// Render implements [templ.Component].
func (d drawn) Render(_ context.Context, w io.Writer) error {
	_, err := io.WriteString(w, string(d))
	return err
}

// beside reports whether anything stands beside the stack.
func (p ProblemPage) beside() bool { return p.Shell.SignedIn() || len(p.Alike) > 0 }

func (p ProblemPage) heading() string { return heading(p.Bucket, p.Shell.SignedIn()) }

// heading is the name that people gave the problem, else the title of the newest report. Visitors see it only where it says no more than the signature: the title of
// a traceback ends with the message of the exception, which may hold anything.
func heading(b crash.Bucket, signedIn bool) string {
	if b.Name != "" {
		return b.Name
	}
	if b.Title != "" && (signedIn || b.Rule == crash.RuleStacktrace) {
		return b.Title
	}
	return ReadSignature(b).String()
}

// DocumentTitle tells one problem from others in tabs and bookmarks: "tidewatch crashed with SIGSEGV in main()".
func DocumentTitle(b crash.Bucket, signedIn bool) string { return cut(heading(b, signedIn), 120) }
