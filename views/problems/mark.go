package problems

import (
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// PathEmbargoed is the address of the page of all embargoed problems.
const PathEmbargoed = "/embargoed"

// MarkPath returns the address of the page that sets an embargo or a hold, or lifts it.
func MarkPath(kind crash.MarkKind, id crash.BucketID) string { return id.Path() + "/" + string(kind) }

// UndoMark returns the form of a message that does the opposite: set or lift.
func UndoMark(kind crash.MarkKind, id crash.BucketID, do string) *layout.Undo {
	return &layout.Undo{Action: MarkPath(kind, id), Field: "do", Value: do}
}

const holdMeans = "Nothing of its reports and core dumps is removed because of its age."

// MarkForm holds the form that sets an embargo or a hold, or lifts it.
type MarkForm struct {
	Shell     layout.Shell
	Kind      crash.MarkKind
	Bucket    crash.Bucket
	Mark      *crash.Mark // the standing one, to be lifted; nil: none
	Reason    string      // as typed
	Problem   string      // what is wrong with the reason; empty: nothing
	Sees      bool        // the person sees the problem while it is embargoed
	Tracker   string
	Now       time.Time
	CSRFToken string
}

// Heading returns the heading of the page.
func (p MarkForm) Heading() string {
	switch {
	case p.Kind == crash.MarkHold && p.Mark != nil:
		return "Lift the hold of this problem"
	case p.Kind == crash.MarkHold:
		return "Hold this problem"
	case p.Mark != nil:
		return "Lift the embargo of this problem"
	}
	return "Embargo this problem"
}

func (p MarkForm) hint() string {
	switch {
	case p.Kind == crash.MarkHold && p.Mark != nil:
		return "Reports, private fields and core dumps that are too old will be removed within a day."
	case p.Kind == crash.MarkHold:
		return "While a problem is held, retention removes nothing of it: no reports, no private fields, no daily counts " +
			"and no core dumps."
	case p.Mark != nil:
		return "Everyone sees the problem again, with all its reports, notes and history. Its bugs at " + p.Tracker +
			" do not change: to publish a private bug, change it there."
	}
	return "Use this for a suspected security issue. Everyone without the private right for the package sees nothing of " +
		"an embargoed problem: no page, count, notice or search result. A bug created for it at " + p.Tracker +
		" is private, and mishap adds nothing to its bugs."
}

// markName returns the word for setting a mark, as buttons show it.
func markName(kind crash.MarkKind) string {
	if kind == crash.MarkHold {
		return "Hold"
	}
	return "Embargo"
}

// markBy says who set an embargo or a hold; an empty name stands for mishap itself.
func markBy(m crash.Mark) string {
	person := m.Person
	if person == "" {
		person = "mishap"
	}
	if m.Kind == crash.MarkHold {
		return "Held by " + person
	}
	return "Embargoed by " + person
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
