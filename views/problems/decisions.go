package problems

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/similar"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// PathMerge is the address of the page that merges problems, after a preview.
const PathMerge = "/problems/merge"

// MergeURL returns the address of the preview of merging these problems.
func MergeURL(ids []crash.BucketID) string { return bugs.DecideURL("merge", ids) }

// DecisionsView holds the history of a problem and the possible decisions, for its page.
type DecisionsView struct {
	Bucket    crash.Bucket
	Decisions []crash.Decision // newest first
	Triage    []crash.Mark     // newest first
	MayDecide bool
	CSRFToken string
	Now       time.Time
}

func (v DecisionsView) shown() bool {
	return len(v.Decisions)+len(v.Triage) > 0 || v.Bucket.Members > 1
}

func (v DecisionsView) path(what string) string { return v.Bucket.ID.Path() + "/" + what }

func (v DecisionsView) undo() layout.PostFormArgs {
	return layout.PostFormArgs{Action: v.path("undo"), CSRFToken: v.CSRFToken, Class: "inline"}
}

func who(d crash.Decision) string {
	switch {
	case d.Person != "":
		return d.Person
	case d.Cause == crash.CauseSymbolised:
		return "symbolised"
	case d.Cause == crash.CauseRegrouped:
		return "regrouped"
	}
	return "mishap"
}

// decisionWord returns the first word of an entry.
func decisionWord(d crash.Decision) string {
	switch {
	case d.Cause == crash.CauseSymbolised:
		return "symbolised"
	case d.Cause == crash.CauseRegrouped && d.Kind == crash.DecisionMerged:
		return "regrouped"
	}
	return audit.Verb(decisionActions[d.Kind])
}

// decisionActions are the actions of the audit log by the kinds of decisions.
var decisionActions = map[crash.DecisionKind]string{crash.DecisionMerged: "problem.merge",
	crash.DecisionRenamed: "problem.rename", crash.DecisionSplit: "problem.split"}

// progress describes how many stored reports have been moved. It is empty if all have been.
func progress(d crash.Decision) string {
	if d.Kind != crash.DecisionSplit {
		return ""
	}
	verb := " split off"
	if !d.Stands() {
		verb = " moved back"
	}
	out := crash.Counted(d.Moved, "report", "reports") + verb
	if !d.Finished {
		out += "; " + crash.Count(d.LookedAt) + " examined so far"
	}
	if d.Waits {
		out += "; waiting for an archive that cannot be reached"
	}
	return out
}

// RenamePage holds the form that renames a problem.
type RenamePage struct {
	Shell   layout.Shell
	Bucket  crash.Bucket
	Name    string // as it was typed
	Reason  string
	Problem string // what is wrong with it; empty: nothing
}

func (p RenamePage) form() layout.PostFormArgs {
	return layout.PostFormArgs{ID: "rename", Action: p.Bucket.ID.Path() + "/rename", CSRFToken: p.Shell.CSRFToken,
		Class: "decide"}
}

// FindMergePage holds the form that asks for the problem to merge with.
type FindMergePage struct {
	Shell   layout.Shell
	Bucket  crash.Bucket
	Text    string // as it was typed
	Problem string // what is wrong with it; empty: nothing
	Similar []similar.Problem
}

// step returns the attributes of a form or link that leads to an address. In a dialog, it stays there.
func (p FindMergePage) step(url string) templ.Attributes {
	if !p.Shell.InDialog {
		return nil
	}
	return layout.ToDialog(url)
}

// MergePage holds the preview of a merge.
type MergePage struct {
	Shell    layout.Shell
	Sides    []MergeSide
	Head     crash.BucketID // the head of the merged problem
	Reports  int64          // of the merged problem
	Machines int64          // distinct machines of the merged problem
	Bugs     []crash.Bug    // bugs of the merged problem
	Problem  string         // why merging failed; empty: it did not

	Embargoes bool // some of the problems are embargoed, so the merged one will be
}

// MergeSide is one of the problems to be merged.
type MergeSide struct {
	crash.Bucket
	Parts []SignaturePart
	Muted *crash.Mark // nil: not muted
}

// SignaturePart is a part of a signature in a comparison.
type SignaturePart struct {
	Text    string
	Differs bool // at least one other signature lacks it
}

func (p MergePage) form() layout.PostFormArgs {
	return layout.PostFormArgs{ID: "merge", Action: PathMerge, CSRFToken: p.Shell.CSRFToken, Class: "decide",
		Dialog: p.Shell.InDialog}
}

func (p MergePage) anyMuted() bool {
	return slices.ContainsFunc(p.Sides, func(side MergeSide) bool { return side.Muted != nil })
}

// NewMergeSides returns the problems with their signatures compared. It marks the parts that not
// all signatures have.
func NewMergeSides(buckets []crash.Bucket) []MergeSide {
	sides := make([]MergeSide, len(buckets))
	in := map[string]int{}
	for i, b := range buckets {
		sides[i].Bucket = b
		s := layout.ReadSignature(b)
		seen := map[string]bool{}
		for _, text := range append([]string{s.Program, s.Signal}, s.Frames...) {
			if text == "" {
				continue
			}
			sides[i].Parts = append(sides[i].Parts, SignaturePart{Text: text})
			if !seen[text] {
				seen[text] = true
				in[text]++
			}
		}
	}
	for i := range sides {
		for j := range sides[i].Parts {
			sides[i].Parts[j].Differs = in[sides[i].Parts[j].Text] < len(buckets)
		}
	}
	return sides
}

// SplitPage holds the form that takes reports out of a problem, by a condition or by selection.
type SplitPage struct {
	Shell   layout.Shell
	Bucket  crash.Bucket
	Terms   []crash.Term // as typed; always as many as there are lines in the form
	Problem string       // what is wrong with Terms; empty: nothing
	Preview *SplitPreview
	Reports ReportList // reports to select from
	Chosen  map[crash.OopsID]bool
}

// SplitPreview holds what a condition would take out.
type SplitPreview struct {
	crash.SplitPreview
	Bodies    crash.Bodies // of the problem
	Condition crash.Condition
	Into      string // signature of the new problem
}

// staying says how many reports meet no condition about functions.
func staying(b crash.Bodies) string {
	return crash.Count(b.All-b.Stored) + " of " + crash.Counted(b.All, "report", "reports") + " are not in full and stay."
}

func (p SplitPage) path() string { return p.Bucket.ID.Path() + "/split" }

func (p SplitPage) form(id string) layout.PostFormArgs {
	return layout.PostFormArgs{ID: id, Action: p.path(), CSRFToken: p.Shell.CSRFToken, Class: "decide"}
}

func termLabel(f crash.TermField) string {
	switch f {
	case crash.TermFrame:
		return "function in the stack is"
	case crash.TermFrom:
		return "version is at least"
	case crash.TermBelow:
		return "version is below"
	case crash.TermPackage, crash.TermExecutable, crash.TermArchitecture, crash.TermRelease:
	}
	return string(f) + " is"
}

func reasonAndReports(reason string, reports int64) string {
	return reason + ", " + crash.Counted(reports, "report", "reports")
}

func undoneBy(person string) string { return "undone by " + person }

// PathEmbargoed is the address of the page of all embargoed problems.
const PathEmbargoed = "/embargoed"

// UndoMark returns the form of a message that does the opposite: set or lift.
func UndoMark(kind crash.MarkKind, id crash.BucketID, do string) *layout.Undo {
	return &layout.Undo{Action: triagePath(kind, id), Field: "do", Value: do}
}

// EmbargoedPage lists the embargoed problems that a person may see.
type EmbargoedPage struct {
	Shell    layout.Shell
	Problems []MarkedProblem
}

// MarkedProblem is an embargo or a hold with the problem that it covers.
type MarkedProblem struct {
	crash.Mark
	Problem crash.Bucket
}

// noteText renders the text of a note. Names of accounts after an at sign link to the problems of
// that person. It adds no white space, which notes preserve.
func (v NotesView) noteText(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		at := 0
		for _, m := range crash.Mentions(text) {
			name, ok := v.Names[m.Name]
			if !ok {
				continue
			}
			if _, err := io.WriteString(w, templ.EscapeString(text[at:m.Start])+`<a class="mention" href="`+
				templ.EscapeString(assigneeURL(name))+`">`+templ.EscapeString(text[m.Start:m.End])+`</a>`); err != nil {
				return err
			}
			at = m.End
		}
		_, err := io.WriteString(w, templ.EscapeString(text[at:]))
		return err
	})
}
