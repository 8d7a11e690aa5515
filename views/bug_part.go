package views

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/a-h/templ"

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
	Status    crash.Status
	Reason    string
	MayFile   bool   // the person may press Create, and try again
	Review    bool   // the person may go over the bug before it is filed
	Connect   string // page on which the person can connect the tracker, when the bug waits for that; empty: it does not, or they may not
	CSRFToken string // for the form
	Next      string // local path to come back to after signing in
	Copy      string // tells several cells of one bucket on one page apart, in small letters
	Whole     bool   // the cell is part of a status, which answers replace as a whole
}

// cellID is the id of the element that holds the cell.
func (p BugPart) cellID() string {
	if p.Copy != "" {
		return "bug-" + p.Bucket.String() + "-" + p.Copy
	}
	return "bug-" + p.Bucket.String()
}

var copyName = regexp.MustCompile(`^[a-z]{1,20}$`)

// CopyIn is the name of a copy of a cell as a request gives it, or empty if that is none.
func CopyIn(text string) string {
	if copyName.MatchString(text) {
		return text
	}
	return ""
}

// CopyTargeted is the copy of the cell of a bucket that the header HX-Target of a request names.
func CopyTargeted(header string, id crash.BucketID) string {
	rest, _ := strings.CutPrefix(header, "div#bug-"+id.String()+"-")
	rest, _ = strings.CutSuffix(rest, "-now")
	return CopyIn(rest)
}

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
		InPlace: true, Target: p.target(), Swap: p.swap(), Failed: "#" + p.nowID(),
	}
}

// target is what answers replace.
func (p BugPart) target() string {
	if p.Whole {
		return statusTarget
	}
	return "#" + p.nowID()
}

func (p BugPart) swap() string {
	if p.Whole {
		return morph
	}
	return "outerHTML"
}

// refresh has the cell ask for itself again.
func (p BugPart) refresh() templ.OrderedAttributes {
	trigger := "refresh"
	if p.changing() {
		trigger = "every 2s, refresh"
	}
	return templ.OrderedAttributes{
		{Key: "hx-get", Value: p.path()}, {Key: "hx-trigger", Value: trigger}, {Key: "hx-target", Value: p.target()},
		{Key: "hx-swap", Value: p.swap()}, {Key: "hx-sync", Value: "this:drop"},
		{Key: "hx-status:4xx", Value: "swap:none"}, {Key: "hx-status:5xx", Value: "swap:none"},
	}
}
