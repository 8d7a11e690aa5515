package views

import (
	"time"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/views/text"
)

// PathPrivacy is the address of the page about the fields of reports and how long they are stored.
const PathPrivacy = "/admin/privacy"

// PrivacyPage holds the table of classes, retention, and runs over stored reports.
type PrivacyPage struct {
	Shell      Shell
	Rows       []privacy.Row
	Unlisted   privacy.Class
	Secrets    []string // parts of names that make an unlisted field secret
	Removals   []privacy.Removal
	CountsFrom time.Time // first day whose counts have not expired; zero: none have
	Held       int64     // counted reports of held problems
	Holds      []HeldProblem
	Runs       []privacy.Run // newest first
	Problem    string        // why a run could not be started; empty: nothing
}

// HeldProblem is a hold with the problem that it covers.
type HeldProblem struct {
	crash.Hold
	Problem crash.Bucket
}

// running reports whether a run has not ended.
func (p PrivacyPage) running() bool { return len(p.Runs) > 0 && p.Runs[0].Finished.IsZero() }

func (p PrivacyPage) form(what string) PostFormArgs {
	return PostFormArgs{ID: "privacy-" + what, Action: PathPrivacy + "/" + what, CSRFToken: p.Shell.CSRFToken,
		Class: "inline"}
}

// changed returns the rows that the configuration has changed.
func (p PrivacyPage) changed() []privacy.Row {
	var rows []privacy.Row
	for _, r := range p.Rows {
		if r.Changed() {
			rows = append(rows, r)
		}
	}
	return rows
}

// shownNames is the largest number of fields of one class that a run lists.
const shownNames = 20

func shownFields(counts map[string]int64) []privacy.FieldCount {
	all := privacy.Sorted(counts)
	return all[:min(len(all), shownNames)]
}

// HoldPath returns the address of the page that holds a problem, or lifts its hold.
func HoldPath(id crash.BucketID) string { return id.Path() + "/hold" }

// UndoHold returns the form of a message that does the opposite: set or lift.
func UndoHold(id crash.BucketID, do string) *Undo {
	return &Undo{Action: HoldPath(id), Field: "do", Value: do}
}

// HoldForm holds the form that holds a problem, or lifts its hold.
type HoldForm struct {
	Shell     Shell
	Bucket    crash.Bucket
	Hold      *crash.Hold // nil: not held
	Reason    string      // as typed
	Problem   string      // what is wrong with the reason; empty: nothing
	Now       time.Time
	CSRFToken string
}

// Heading returns the heading of the page.
func (p HoldForm) Heading() string {
	if p.Hold != nil {
		return text.HoldLiftTitle
	}
	return text.HoldTitle
}

func (p HoldForm) form() PostFormArgs {
	return PostFormArgs{ID: "hold", Action: HoldPath(p.Bucket.ID), CSRFToken: p.CSRFToken}
}
