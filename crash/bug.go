package crash

import "time"

// Bug is a bug in the external tracker, as far as it is known here.
type Bug struct {
	Number int64
	Title  string
	URL    string // address of its page for people
	How    LinkHow
	By     string // name of the person who filed or linked it
	At     time.Time
	State  BugState  // what the tracker says of it
	Master *BugState // of the bug that it repeats; nil: it repeats none

	MasterURL string // page of the bug that it repeats
}

// LinkHow says how a bug came to a bucket.
type LinkHow string

// The ways.
const (
	Filed  LinkHow = "filed"  // by mishap
	Linked LinkHow = "linked" // by hand
)

// FilingState is where a filing stands; docs/filing.md draws the machine.
type FilingState string

// The states. Filed, Refused and Abandoned are final; a person may have the latter two tried again.
const (
	FilingQueued    FilingState = "queued"    // the intent is stored; nothing has been sent
	FilingSending   FilingState = "filing"    // a worker has claimed it; the request may be at the tracker
	FilingUncertain FilingState = "uncertain" // it was perhaps filed; the tracker will be searched
	FilingFiled     FilingState = "filed"     // the bug number is known
	FilingRefused   FilingState = "refused"   // the tracker said no, Reason has its words
	FilingAbandoned FilingState = "abandoned" // a person gave it up, Reason has why
)

// Intent is what a person wants filed: everything that will be sent, fixed when they press Create.
type Intent struct {
	Bucket      BucketID
	Person      string // name of the account that pressed
	Target      string // path below the API root: "/ubuntu/+source/tidewatch"
	Title       string // one line, at most 200 characters
	Description string // at most 50,000 characters; holds Marker
	Tags        []string
	Marker      string // permanent problem address, by which the bug is found again

	Edited          bool            // a person has gone over the text; it is kept when the filing is tried again
	InformationType InformationType // who will see the bug
	Subscribe       bool            // Person wants the tracker's mail about it
}

// Filing is one intent and where it stands.
type Filing struct {
	Intent
	ID        int64
	State     FilingState
	Bug       int64  // number, when filed
	Problem   string // stable word for what went wrong last ("tracker_credentials"); empty: nothing
	Reason    string // the same as a sentence: why refused, or why it has to wait
	Attempts  int    // how often it was sent, or may have been
	Created   time.Time
	Updated   time.Time
	NotBefore time.Time // when the next step is due
}

// Renewable reports whether a person may have it tried again with new contents: it was refused or abandoned, or it waits
// to be tried again anyway.
func (f Filing) Renewable() bool {
	return f.State == FilingRefused || f.State == FilingAbandoned || f.State == FilingQueued && f.Problem != ""
}
