package views

import (
	"fmt"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/grouping"
)

// PathMerge is where problems are merged, after a look at both sides.
const PathMerge = "/problems/merge"

// MergeURL is the page that shows what merging these problems would give.
func MergeURL(ids []crash.BucketID) string { return PathMerge + "?problems=" + JoinIDs(ids) }

// DecisionsView is the history of a problem on its page, and what can be decided about it.
type DecisionsView struct {
	Bucket    crash.Bucket
	Decisions []crash.Decision // the last first
	MayDecide bool
	CSRFToken string
	Now       time.Time
}

// shown reports whether there is anything to see.
func (v DecisionsView) shown() bool {
	return v.MayDecide || len(v.Decisions) > 0 || v.Bucket.Members > 1
}

func (v DecisionsView) path(what string) string { return v.Bucket.ID.Path() + "/" + what }

func (v DecisionsView) undo() PostFormArgs {
	return PostFormArgs{Action: v.path("undo"), CSRFToken: v.CSRFToken, Class: "inline"}
}

// mayUndo reports whether a decision can be taken back. What the grouping rules did can be, too: people decide last.
func (v DecisionsView) mayUndo(d crash.Decision) bool { return v.MayDecide && d.Stands() }

// who made a decision.
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

// decisionWord is the first word of an entry.
func decisionWord(d crash.Decision) string {
	switch {
	case d.Cause == crash.CauseSymbolised:
		return "symbolised"
	case d.Cause == crash.CauseRegrouped && d.Kind == crash.DecisionMerged:
		return "regrouped"
	case d.Kind == crash.DecisionSplit:
		return "taken out"
	}
	return string(d.Kind)
}

// progress says how far the stored reports have been moved; empty: that needs no saying.
func progress(d crash.Decision) string {
	if d.Kind != crash.DecisionSplit {
		return ""
	}
	verb := "taken out"
	if !d.Stands() {
		verb = "brought back"
	}
	out := Counted(d.Moved, "report", "reports") + " " + verb
	if !d.Finished {
		out += fmt.Sprintf("; %s looked through so far", Count(d.LookedAt))
	}
	return out
}

func decisionID(d crash.Decision) string { return strconv.FormatInt(d.ID, 10) }

// RenamePage gives a problem a name.
type RenamePage struct {
	Shell   Shell
	Bucket  crash.Bucket
	Name    string // as it was typed
	Reason  string
	Problem string // what is wrong with it; empty: nothing
}

func (p RenamePage) form() PostFormArgs {
	return PostFormArgs{ID: "rename", Action: p.Bucket.ID.Path() + "/rename", CSRFToken: p.Shell.CSRFToken, Class: "decide"}
}

// FindMergePage asks which problem one is to be merged with.
type FindMergePage struct {
	Shell   Shell
	Bucket  crash.Bucket
	Text    string // as it was typed
	Problem string // what is wrong with it; empty: nothing
	Similar []grouping.SimilarProblem
}

// MergePage shows what merging gives, before and after.
type MergePage struct {
	Shell    Shell
	Sides    []MergeSide
	Head     crash.BucketID // which is chosen to stand for all
	Reports  int64          // of the whole
	Machines int64          // distinct ones of the whole
	Bugs     []crash.Bug    // that it will have
	Problem  string         // what kept it from being done; empty: nothing
}

// MergeSide is one of the problems to be merged.
type MergeSide struct {
	crash.Bucket
	Parts []SignaturePart
}

// SignaturePart is a part of a signature beside others.
type SignaturePart struct {
	Text    string
	Differs bool // not every other one has it
}

func (p MergePage) form() PostFormArgs {
	return PostFormArgs{ID: "merge", Action: PathMerge, CSRFToken: p.Shell.CSRFToken, Class: "decide"}
}

func (p MergePage) ids() []crash.BucketID {
	ids := make([]crash.BucketID, len(p.Sides))
	for i, side := range p.Sides {
		ids[i] = side.ID
	}
	return ids
}

// NewMergeSides puts signatures side by side: what not all of them have is marked.
func NewMergeSides(buckets []crash.Bucket) []MergeSide {
	sides := make([]MergeSide, len(buckets))
	in := map[string]int{}
	for i, b := range buckets {
		sides[i].Bucket = b
		s := ReadSignature(b)
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

// SplitPage takes reports out of a problem, by a condition or by choosing them.
type SplitPage struct {
	Shell   Shell
	Bucket  crash.Bucket
	Terms   []crash.Term // as they were typed; always as many as there are lines in the form
	Problem string       // what is wrong with them; empty: nothing
	Preview *SplitPreview
	Reports ReportList // to choose from
	Chosen  map[crash.OopsID]bool
}

// SplitPreview is what a condition would take out.
type SplitPreview struct {
	crash.SplitPreview
	Condition crash.Condition
	Into      string // the signature of what they would go into
}

func (p SplitPage) path() string { return p.Bucket.ID.Path() + "/split" }

func (p SplitPage) form(id string) PostFormArgs {
	return PostFormArgs{ID: id, Action: p.path(), CSRFToken: p.Shell.CSRFToken, Class: "decide"}
}

// termLabel is what a field is called in forms.
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

// problemName is what a problem is called in a line of text.
func problemName(b crash.Bucket) string {
	switch {
	case b.Name != "":
		return b.Name
	case b.Title != "":
		return cut(b.Title, 200)
	}
	return cut(b.Signature, 200)
}
