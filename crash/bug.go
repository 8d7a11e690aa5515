package crash

import (
	"time"
)

// Bug is a bug in the external tracker, with what mishap knows about it.
type Bug struct {
	Number int64
	Title  string
	URL    string // address of its page for people
	How    LinkHow
	By     string // name of the person who filed or linked it
	At     time.Time
	State  BugState  // what the tracker said about it
	Master *BugState // state of the bug that it duplicates; nil: it is not a duplicate

	MasterURL string // page of the bug that it duplicates

	// What mishap has written to the bug by itself. Only the list of a problem's bugs has them.
	Updates []BugUpdate // comments, newest first
	Section *BugSection // nil: not read
}

// LinkHow says how a bug was linked to a bucket.
type LinkHow string

// The ways in which a bug is linked.
const (
	Filed  LinkHow = "filed"  // by mishap
	Linked LinkHow = "linked" // by hand
)

// FilingState is the state of a filing; docs/filing.md draws the state machine.
type FilingState string

// The filing states. Filed, Refused and Abandoned are final, but a person may retry a filing that
// was refused or abandoned.
const (
	FilingQueued    FilingState = "queued"    // the intent is stored; nothing has been sent
	FilingSending   FilingState = "filing"    // a worker has claimed it; the tracker may have the request
	FilingUncertain FilingState = "uncertain" // the outcome is unknown; the tracker will be searched
	FilingFiled     FilingState = "filed"     // the bug number is known
	FilingRefused   FilingState = "refused"   // the tracker refused; Reason has its message
	FilingAbandoned FilingState = "abandoned" // a person gave up; Reason says why
)

// Intent is a bug that a person wants to file: everything that mishap will send, fixed when they
// press Create.
type Intent struct {
	Bucket      BucketID
	Person      string // name of the account that pressed Create
	Target      string // path below the API root: "/ubuntu/+source/tidewatch"
	Title       string // one line, at most 200 characters
	Description string // at most 50,000 characters; contains Marker
	Tags        []string
	Marker      string // permanent problem address, by which a search finds the bug

	Edited          bool            // a person has edited the text; a retry does not replace it
	InformationType InformationType // who can see the bug
	Subscribe       bool            // Person wants mail from the tracker about it
	Own             int64           // id of the user whose own account at the tracker files it; 0: the application's
}

// Filing is an intent and the progress of filing it.
type Filing struct {
	Intent
	ID        int64
	State     FilingState
	Bug       int64  // number, when filed
	Problem   string // code of the last error ("tracker_credentials"); empty: none
	Reason    string // the same as a sentence: why it was refused, or why it waits
	Attempts  int    // number of times it was sent, or may have been
	Created   time.Time
	Updated   time.Time
	NotBefore time.Time // when the next step is due

	SentBy   int64  // id of the user with whose own account it was sent last; 0: the application's, or never
	SentAs   string // name of that account at the tracker; empty: the application's, or never
	Fallback string // why the application's account files it instead of the person's own; empty: it does not
}

// Renewable reports whether a person may retry the filing with new contents: it was refused or
// abandoned, or it is waiting for a retry.
func (f Filing) Renewable() bool {
	return f.State == FilingRefused || f.State == FilingAbandoned || f.State == FilingQueued && f.Problem != ""
}

// NamedBug is a bug that was filed before the functions of its problem had names.
type NamedBug struct {
	Number int64
	Bucket Bucket // with the names
}

// FoundBug is a bug that a search of the tracker returned, for a person to judge.
type FoundBug struct {
	Number int64
	Title  string   // one line
	Status string   // the tracker's term
	Closed bool     // no more work will be done, for whatever reason
	Fixed  string   // day on which a fix was released, "2026-03-02"; empty: none
	Fixes  []BugFix // package versions with the fix, where the tracker says so
	URL    string   // page for people
}
