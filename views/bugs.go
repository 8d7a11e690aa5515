package views

import (
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// BugsView is the bugs of a problem as its page shows them.
type BugsView struct {
	Bucket    crash.BucketID
	Cell      BugPart     // the bug that counts, or how to get one
	Bugs      []crash.Bug // all of them, that one first
	MayLink   bool
	SignedIn  bool // who linked them is for people who are signed in
	CSRFToken string
	Now       time.Time
}

func (p BugsView) linkPath() string { return p.Bucket.Path() + "/link" }

func (p BugsView) form(action string, bug int64) PostFormArgs {
	return PostFormArgs{
		ID: action + "-" + strconv.FormatInt(bug, 10), Action: p.Bucket.Path() + "/" + action, CSRFToken: p.CSRFToken,
		Class: "inline", Part: true, Target: statusTarget, Swap: morph,
	}
}

// details is what is known of a bug besides its title: where it stands, and who linked it.
func (p BugsView) details(b crash.Bug) string {
	var words []string
	known := b.State
	if b.Master != nil {
		known = *b.Master
	}
	switch {
	case known.Read.IsZero():
		words = append(words, "not read yet")
	case known.Hidden || b.State.Hidden:
		words = append(words, "private, or gone")
	case known.Private || b.State.Private:
		words = append(words, "private")
	default:
		for _, t := range known.Tasks {
			words = append(words, taskWords(t))
		}
	}
	if p.SignedIn && b.By != "" {
		words = append(words, string(b.How)+" by "+b.By+", "+Ago(b.At, p.Now))
	}
	return strings.Join(words, "; ")
}

// taskWords is one task in words: "tidewatch (Ubuntu): Triaged, High, for grace, 24.04.3".
func taskWords(t crash.BugTask) string {
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

// LinkPage is where a bug is linked to a problem by hand.
type LinkPage struct {
	Shell   Shell
	Bucket  crash.Bucket
	Text    string // as it was typed
	Problem string // what is wrong with it; empty: nothing
	Number  int64  // which bug it means; 0: none yet
	Found   crash.BugReading
	Warning string // why the tracker does not say what bug that is; empty: it does
	Linked  bool   // the problem has it already
}

func (p LinkPage) path() string { return p.Bucket.ID.Path() + "/link" }

func (p LinkPage) confirm() PostFormArgs {
	return PostFormArgs{ID: "confirm-link", Action: p.path(), CSRFToken: p.Shell.CSRFToken, Part: true, Target: statusTarget, Swap: morph}
}

func (p LinkPage) foundTitle() string {
	if p.Found.Private {
		return "(a private bug)"
	}
	return p.Found.Title
}

func (p LinkPage) foundState() string {
	var words []string
	for _, t := range p.Found.Tasks {
		words = append(words, taskWords(t))
	}
	if p.Found.DuplicateOf != 0 {
		words = append(words, "repeats bug "+strconv.FormatInt(p.Found.DuplicateOf, 10))
	}
	return strings.Join(words, "; ")
}

// BugProblemsPage lists the problems that have one bug.
type BugProblemsPage struct {
	Shell   Shell
	Number  int64
	Buckets []crash.Bucket
}
