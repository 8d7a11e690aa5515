// Package bugs renders bugs: a problem's bug on lists and pages, filing one, links, and the ledger of
// filings.
package bugs

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/views/layout"
)

// BugState selects what the bug cell of a bucket shows.
type BugState string

// The states.
const (
	BugNothing    BugState = ""           // filing is switched off, or the person may not file
	BugLinked     BugState = "linked"     // the bug
	BugCreate     BugState = "create"     // the Create form
	BugSignIn     BugState = "sign in"    // a link to the sign-in page
	BugImpossible BugState = "impossible" // no bug can be filed, see Reason
	BugCreating   BugState = "creating"   // the bug is being sent
	BugChecking   BugState = "checking"   // outcome unknown: the tracker is searched
	BugWaiting    BugState = "waiting"    // the tracker is unavailable, see Reason; mishap files the bug later
	BugRefused    BugState = "refused"    // the tracker refused the bug, see Reason
)

// BugPart holds the bug cell of one bucket, on lists and on the page of the problem.
type BugPart struct {
	Bucket    crash.BucketID
	Signature string
	State     BugState
	Bug       crash.Bug
	Status    crash.Status
	Manual    crash.ManualStatus // as lists show it: without persons and reasons
	Reason    string
	MayFile   bool   // the person may create and retry
	Review    bool   // the person may review the bug before it is filed
	Connect   string // page for connecting the tracker, if the bug waits for that and the person may do it
	CSRFToken string // token for the form
	Next      string // local path to return to after signing in
	Copy      string // distinguishes several cells of one bucket on a page, in lower case
	Whole     bool   // the cell is part of a status, which answers replace as a whole
	InList    bool   // the cell is in a list, see ListBug
	Tracker   string // name of the tracker
	Link      string // page that links a bug; empty: the cell does not offer that
}

// CellID returns the id of the element that holds the cell.
func (p BugPart) CellID() string {
	if p.Copy != "" {
		return "bug-" + p.Bucket.String() + "-" + p.Copy
	}
	return "bug-" + p.Bucket.String()
}

var copyName = regexp.MustCompile(`^[a-z]{1,20}$`)

// CopyIn returns text if it is a valid [BugPart.Copy], else an empty string.
func CopyIn(text string) string {
	if copyName.MatchString(text) {
		return text
	}
	return ""
}

// CopyTargeted returns the copy of the cell of a bucket that the request header HX-Target names.
func CopyTargeted(header string, id crash.BucketID) string {
	rest, _ := strings.CutPrefix(header, "div#bug-"+id.String()+"-")
	rest, _ = strings.CutSuffix(rest, "-now")
	rest, _ = strings.CutSuffix(rest, rowSuffix)
	return CopyIn(rest)
}

// rowSuffix ends the id of the content of a cell in a list.
const rowSuffix = "-row"

// ListTargeted reports whether the request header HX-Target names a cell in a list.
func ListTargeted(header string) bool { return strings.HasSuffix(header, rowSuffix) }

// inList returns the cell as lists show it.
func (p BugPart) inList() BugPart {
	p.InList = true
	return p
}

func (p BugPart) nowID() string {
	if p.InList {
		return p.rowID()
	}
	return p.CellID() + "-now"
}

// rowID is nowID in a list.
func (p BugPart) rowID() string { return p.CellID() + rowSuffix }

// createLabel returns the label of the button that creates the bug.
func (p BugPart) createLabel() string {
	if p.Whole && p.Tracker != "" {
		return "Create bug in " + p.Tracker
	}
	return "Create"
}

// linkBelow reports whether the link to another bug stands below the list of bugs, on the page of the
// problem, instead of in the cell.
func (p BugPart) linkBelow() bool { return p.Whole && p.Link != "" && p.State == BugLinked }

func (p BugPart) path() string { return p.Bucket.Path() + "/bug" }

// sent returns the signature as forms send it. The server decodes it once, so a signature with a
// percent sign means the same to this form and to scripts that encode their requests.
func (p BugPart) sent() string { return url.PathEscape(p.Signature) }

// changing reports whether the cell will soon change by itself. A cell that waits for the tracker
// is not refreshed, because its button would be replaced while a person presses it.
func (p BugPart) changing() bool { return p.State == BugCreating || p.State == BugChecking }

func (p BugPart) form() layout.PostFormArgs {
	return layout.PostFormArgs{
		ID: p.CellID() + "-form", Action: layout.PathCreateBug, CSRFToken: p.CSRFToken, Class: "create-bug",
		InPlace: true, Target: p.target(), Swap: p.swap(), Failed: "#" + p.nowID(),
	}
}

// target returns the selector of the element that answers replace.
func (p BugPart) target() string {
	if p.Whole {
		return layout.StatusTarget
	}
	return "#" + p.nowID()
}

func (p BugPart) swap() string {
	if p.Whole {
		return layout.Morph
	}
	return "outerHTML"
}

// refresh returns the attributes that make the cell reload itself.
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
