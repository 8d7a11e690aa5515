package views

import (
	"net/url"

	"mishap/crash"
)

// BugState says what the bug cell of a bucket shows.
type BugState string

// The states.
const (
	BugNothing    BugState = ""           // filing is switched off, or the person may not file
	BugLinked     BugState = "linked"     // the bug
	BugCreate     BugState = "create"     // the form
	BugSignIn     BugState = "sign in"    // visitors
	BugImpossible BugState = "impossible" // cannot be filed: Reason
	BugCreating   BugState = "creating"   // the tracker is being asked
	BugChecking   BugState = "checking"   // perhaps filed: the tracker is searched
	BugWaiting    BugState = "waiting"    // the tracker is away: Reason; it is filed by itself later
	BugRefused    BugState = "refused"    // the tracker said no: Reason
)

// BugPart is the bug cell of one bucket, on lists and on the page of the bucket.
type BugPart struct {
	Bucket    crash.BucketID
	Signature string
	State     BugState
	Bug       crash.Bug
	Standing  crash.ProblemState // to that bug
	Reason    string
	MayFile   bool   // the person may press Create, and try again
	Review    bool   // the person may go over the bug before it is filed
	Connect   string // page on which the person can connect the tracker, when the bug waits for that; empty: it does not, or they may not
	CSRFToken string // for the form
	Next      string // local path to come back to after signing in
}

// cellID is the id of the element that holds the cell.
func (p BugPart) cellID() string { return "bug-" + p.Bucket.String() }

func (p BugPart) nowID() string { return p.cellID() + "-now" }

func (p BugPart) path() string { return p.Bucket.Path() + "/bug" }

// sent is the signature as forms send it. The server decodes it once, so that a signature with a percent sign in it means
// the same to this form and to scripts that encode what they send.
func (p BugPart) sent() string { return url.PathEscape(p.Signature) }

// changing reports whether the cell will be different soon by itself. One that waits for the tracker is left alone, or
// the button in it would go away under the finger.
func (p BugPart) changing() bool { return p.State == BugCreating || p.State == BugChecking }

func (p BugPart) form() PostFormArgs {
	return PostFormArgs{
		ID: p.cellID() + "-form", Action: "/api/1.0/create-bug-report/", CSRFToken: p.CSRFToken, Class: "create-bug",
		InPlace: true, Target: "#" + p.nowID(),
	}
}
