package views

import (
	"time"

	"mishap/crash"
	"mishap/views/text"
)

// EmbargoPath returns the address of the page that embargoes a problem, or lifts its embargo.
func EmbargoPath(id crash.BucketID) string { return id.Path() + "/embargo" }

// UndoEmbargo returns the form of a message that does the opposite: set or lift.
func UndoEmbargo(id crash.BucketID, do string) *Undo {
	return &Undo{Action: EmbargoPath(id), Field: "do", Value: do}
}

// EmbargoForm holds the form that embargoes a problem, or lifts its embargo.
type EmbargoForm struct {
	Shell     Shell
	Bucket    crash.Bucket
	Embargo   *crash.Embargo // nil: not embargoed
	Sees      bool           // the person sees the problem while it is embargoed
	Tracker   string
	Reason    string // as typed
	Problem   string // what is wrong with the reason; empty: nothing
	Now       time.Time
	CSRFToken string
}

// Heading returns the heading of the page.
func (p EmbargoForm) Heading() string {
	if p.Embargo != nil {
		return text.LiftTitle
	}
	return text.EmbargoTitle
}

func (p EmbargoForm) form() PostFormArgs {
	return PostFormArgs{ID: "embargo", Action: EmbargoPath(p.Bucket.ID), CSRFToken: p.CSRFToken}
}
