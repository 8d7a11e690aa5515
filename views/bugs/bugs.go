package bugs

import (
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// BugsView holds the bugs of a problem, for its page.
type BugsView struct {
	Bucket    crash.BucketID
	Cell      BugPart     // the bug that counts, or the ways to get one
	Bugs      []crash.Bug // all bugs, that one first
	MayLink   bool
	SignedIn  bool   // signed-in people see who linked them
	Tracker   string // name of the tracker
	CSRFToken string
	Now       time.Time
}

func (p BugsView) form(action string, bug int64) layout.PostFormArgs {
	return layout.PostFormArgs{
		ID: action + "-" + strconv.FormatInt(bug, 10), Action: p.Bucket.Path() + "/" + action, CSRFToken: p.CSRFToken,
		Class: "inline", Part: true, Target: layout.StatusTarget, Swap: layout.Morph,
	}
}

// bugStatus describes the state of a bug in the tracker.
func bugStatus(b crash.Bug) string {
	known := b.State
	if b.Master != nil {
		known = *b.Master
	}
	switch {
	case known.Read.IsZero():
		return "not read yet"
	case known.Hidden || b.State.Hidden:
		return "private or deleted"
	case known.Private || b.State.Private:
		return "private"
	}
	words := make([]string, len(known.Tasks))
	for i, t := range known.Tasks {
		words[i] = taskText(t)
	}
	return strings.Join(words, "; ")
}

// taskText describes a task: "tidewatch (Ubuntu): Triaged, High, for grace, 24.04.3".
func taskText(t crash.BugTask) string {
	out := t.Name + ": " + t.Status
	if !t.Closed.IsZero() {
		out += " (" + t.Closed.UTC().Format("2006-01-02") + ")"
	}
	if t.Importance != "" && t.Importance != "Undecided" {
		out += ", " + t.Importance
	}
	if t.Assignee != "" {
		out += ", for " + t.Assignee
	}
	if t.Milestone != "" {
		out += ", " + t.Milestone
	}
	return out
}

// BugLookup holds the bug that a person wants to link, and what the tracker says of it.
type BugLookup struct {
	Text    string // as typed
	Problem string // what is wrong with Text; empty: nothing
	Number  int64  // number of the bug in Text; 0: none yet
	Found   crash.BugReading
	Warning string // why the tracker did not describe the bug; empty: it did

	Publishes bool // the bug is public, and a problem that gets it is embargoed
}

// LinkPage holds the page on which a person links a bug to a problem.
type LinkPage struct {
	BugLookup
	Shell  layout.Shell
	Bucket crash.Bucket
	Linked bool // the problem already has the bug

	InDialog bool // part of a dialog
	InList   bool // the dialog is on a page other than that of the problem
}

func (p LinkPage) path() string { return p.Bucket.ID.Path() + "/link" }

func (p LinkPage) confirm() layout.PostFormArgs {
	form := layout.PostFormArgs{ID: "confirm-link", Action: p.path(), CSRFToken: p.Shell.CSRFToken, Class: "closes-dialog",
		Part: true, Target: layout.StatusTarget, Swap: layout.Morph}
	if p.InList {
		form.Target, form.Swap = "#dialog", "none"
	}
	return form
}

func (b BugLookup) title() string {
	if b.Found.Private {
		return "(a private bug)"
	}
	return b.Found.Title
}

func (b BugLookup) state() string {
	var words []string
	for _, t := range b.Found.Tasks {
		words = append(words, taskText(t))
	}
	if b.Found.DuplicateOf != 0 {
		words = append(words, "duplicate of"+" bug "+strconv.FormatInt(b.Found.DuplicateOf, 10))
	}
	return strings.Join(words, "; ")
}

// BugProblemsPage holds the problems that have one bug.
type BugProblemsPage struct {
	Shell   layout.Shell
	Number  int64
	Buckets []crash.Bucket
}

// BugUnlinked confirms that a bug has been unlinked.
func BugUnlinked(number int64) string { return "Bug " + strconv.FormatInt(number, 10) + " unlinked." }

func anywayAfter(anyway bool) string {
	if anyway {
		return " anyway"
	}
	return ""
}
