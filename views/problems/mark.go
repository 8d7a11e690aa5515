package problems

import (
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// MarkForm holds what the forms of [HoldForm] and [EmbargoForm] have in common.
type MarkForm struct {
	Shell     layout.Shell
	Bucket    crash.Bucket
	Reason    string // as typed
	Problem   string // what is wrong with the reason; empty: nothing
	Now       time.Time
	CSRFToken string
}

// markWords are the words of a form that marks a problem, or lifts its mark.
type markWords struct {
	name, action, title, hint, button string
	example                           string // of a reason
	lift                              bool
}

// HoldPath returns the address of the page that holds a problem, or lifts its hold.
func HoldPath(id crash.BucketID) string { return id.Path() + "/hold" }

// UndoHold returns the form of a message that does the opposite: set or lift.
func UndoHold(id crash.BucketID, do string) *layout.Undo {
	return &layout.Undo{Action: HoldPath(id), Field: "do", Value: do}
}

// HoldForm holds the form that holds a problem, or lifts its hold.
type HoldForm struct {
	MarkForm

	Hold *crash.Hold // nil: not held
}

// Heading returns the heading of the page.
func (p HoldForm) Heading() string { return p.words().title }

func (p HoldForm) words() markWords {
	w := markWords{name: "hold", action: HoldPath(p.Bucket.ID), lift: p.Hold != nil}
	if w.lift {
		w.title, w.hint, w.button = "Lift the hold of this problem", "Reports, private fields and core dumps that are "+
			"too old will be removed within a day.", "Lift the hold"
	} else {
		w.title, w.hint, w.button = "Hold this problem", "While a problem is held, retention removes nothing of it: no "+
			"reports, no private fields, no daily counts and no core dumps.", "Hold"
	}
	return w
}

// EmbargoPath returns the address of the page that embargoes a problem, or lifts its embargo.
func EmbargoPath(id crash.BucketID) string { return id.Path() + "/embargo" }

// UndoEmbargo returns the form of a message that does the opposite: set or lift.
func UndoEmbargo(id crash.BucketID, do string) *layout.Undo {
	return &layout.Undo{Action: EmbargoPath(id), Field: "do", Value: do}
}

// EmbargoForm holds the form that embargoes a problem, or lifts its embargo.
type EmbargoForm struct {
	MarkForm

	Embargo *crash.Embargo // nil: not embargoed
	Sees    bool           // the person sees the problem while it is embargoed
	Tracker string
}

// Heading returns the heading of the page.
func (p EmbargoForm) Heading() string { return p.words().title }

func (p EmbargoForm) words() markWords {
	w := markWords{name: "embargo", action: EmbargoPath(p.Bucket.ID), example: "such as: writes beyond a buffer",
		lift: p.Embargo != nil}
	if w.lift {
		w.title, w.hint, w.button = "Lift the embargo of this problem", "Everyone sees the problem again, with all its "+
			"reports, notes and history. Its bugs at "+p.Tracker+
			" do not change: to publish a private bug, change it there.", "Lift the embargo"
	} else {
		w.title, w.hint, w.button = "Embargo this problem", "Use this for a suspected security issue. Everyone without "+
			"the private right for the package sees nothing of an embargoed problem: no page, count, notice or search "+
			"result. A bug created for it at "+p.Tracker+" is private, and mishap adds nothing to its bugs.", "Embargo"
	}
	return w
}
