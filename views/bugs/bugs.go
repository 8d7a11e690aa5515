// Package bugs renders bugs: a problem's bug on lists and pages, filing one, links, and the ledger of
// filings.
package bugs

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/views/layout"
)

// BugsView holds the bugs of a problem, for its page.
type BugsView struct {
	Bucket    crash.BucketID
	Cell      BugPart     // the bug that counts, or the ways to get one
	Upstream  BugPart     // the same of the upstream project's tracker; State BugNothing: nothing to say
	Bugs      []crash.Bug // all bugs, that one first
	MayLink   bool
	SignedIn  bool   // signed-in people see who linked them
	Tracker   string // name of the tracker
	CSRFToken string
	Now       time.Time
}

func (p BugsView) form(action string, bug int64) layout.PostFormArgs {
	return layout.PostFormArgs{
		ID: action + "-" + strconv.FormatInt(bug, 10), Action: p.Bucket.Path() + "/" + action, CSRFToken: p.CSRFToken,
		Class: "inline", Decides: true,
	}
}

func bugStatus(b crash.Bug) string {
	known := b.State
	if b.Master != nil {
		known = *b.Master
	}
	switch {
	case known.Read.IsZero():
		return "not read yet"
	case known.Hidden || b.State.Hidden:
		return "private or deleted"
	case known.Private || b.State.Private:
		return "private"
	}
	words := make([]string, len(known.Tasks))
	for i, t := range known.Tasks {
		if b.Place.Project != "" && t.Name == b.Place.Project { // the name of the bug says so
			t.Name = ""
		}
		words[i] = taskText(t)
	}
	if b.Place.Upstream {
		words = append(words, fixText(crash.FoundBug{Fixes: known.Fixes}))
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "; ")
}

// taskText describes a task: "tidewatch (Ubuntu): Triaged, High, for grace, 24.04.3".
func taskText(t crash.BugTask) string {
	out := t.Status
	if t.Name != "" {
		out = t.Name + ": " + out
	}
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

// BugLookup holds the bug that a person wants to link, and what the tracker says of it.
type BugLookup struct {
	Text    string // as typed
	Problem string // what is wrong with Text; empty: nothing
	Number  int64  // number of the bug in Text; 0: none yet
	Name    string // what people call it
	Found   crash.BugReading
	Warning string // why the tracker did not describe the bug; empty: it did

	Publishes bool // the bug is public, and a problem that gets it is embargoed

	// The source packages of the bug and those that crashed, without those of the bug; Crashed is empty unless both
	// are known and differ.
	For, Crashed []string
}

// otherPackage says that the bug is for another package, or nothing.
func (b BugLookup) otherPackage() string {
	if len(b.Crashed) == 0 {
		return ""
	}
	return "This bug is for the source " + crash.Plural(int64(len(b.For)), "package ", "packages ") +
		crash.JoinAnd(b.For) + ", but " + crash.JoinAnd(b.Crashed) + " crashed."
}

// anyway reports whether there is a reason not to link the bug.
func (b BugLookup) anyway() bool { return b.Warning != "" || len(b.Crashed) > 0 }

// linkTrouble is the id of the element that shows why a bug was not linked.
const linkTrouble = "link-trouble"

func (b BugLookup) title() string {
	if b.Found.Private {
		return "(a private bug)"
	}
	return b.Found.Title
}

func (b BugLookup) state() string {
	var words []string
	for _, t := range b.Found.Tasks {
		words = append(words, taskText(t))
	}
	if b.Found.DuplicateOf != 0 {
		words = append(words, "duplicate of bug "+crash.BugText(b.Found.DuplicateOf))
	}
	return strings.Join(words, "; ")
}

// BugProblemsPage holds the problems that have one bug.
type BugProblemsPage struct {
	Shell   layout.Shell
	Name    string // what people call the bug
	Buckets []crash.Bucket
}

// BugUnlinked confirms that a bug has been unlinked.
func BugUnlinked(name string) string { return "Bug " + name + " unlinked." }

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
	Where     string // where the bug would go: "GNOME/mutter in gnome"; empty: unknown
	Reviewed  bool   // a person reviews each bug before it is sent
	Upstream  bool   // the bug is that of the upstream project
	Beside    bool   // another cell of the same status is changing, see changing
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

func (p BugPart) rowID() string { return p.CellID() + rowSuffix }

func (p BugPart) createLabel() string {
	label := "Create bug"
	if p.Reviewed {
		label = "Review bug"
	}
	if p.Manual.Embargo != nil {
		label = "Create private bug"
	}
	if p.Whole && p.Tracker != "" {
		label += " in " + p.Tracker
	}
	if p.Reviewed {
		return label + "…"
	}
	return label
}

// forwardLabel is the text of the link to the review of a bug for the upstream project.
func (p BugPart) forwardLabel() string {
	if p.State == BugCreate {
		return "Forward upstream…"
	}
	return "Review…"
}

// createTitle says what the button does.
func (p BugPart) createTitle() string {
	if p.Where == "" {
		return "Create a bug for this problem"
	}
	return "Create a bug for this problem: " + p.Where
}

// EveryoneSees says that an embargoed problem gets no bug in a tracker without private ones.
func EveryoneSees(tracker string) string {
	return "The problem is embargoed, and everyone sees bugs in " + tracker + ". Tell the project in private, and link " +
		"its bug later."
}

// undecided reports whether filing a bug is the next step: nobody has decided otherwise.
func (p BugPart) undecided() bool {
	m := p.Manual
	return m.Muted == nil && m.WontFix == nil && m.Embargo == nil && (len(m.Fixes) == 0 || m.SeenAgain())
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
func (p BugPart) changing() bool { return p.Changing() || p.Beside }

// Changing reports whether the bug is being filed.
func (p BugPart) Changing() bool { return p.State == BugCreating || p.State == BugChecking }

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

// listWord returns the status of a problem in lists, and the class of the word. Lists show no word
// for what is normal.
func listWord(p *BugPart) (word, class string) {
	switch word := p.Status.Word; word {
	case crash.StateOpen:
		return strings.ToLower(p.Status.Tracker), ""
	case crash.StateRegression:
		return string(word), "word-bad"
	case crash.StateFixed:
		return fixedWord(p.Status), "word-good"
	case crash.StateDisappeared, crash.StateGone, crash.StateClosed, crash.StatePrivate, crash.StateTests:
		return string(word), ""
	case crash.StateNone, crash.StateUnknown, crash.StateNew, crash.StateUnfiled, crash.StateNameless:
	}
	return "", ""
}

// fixedWord returns "fixed in 1.0.4-0ubuntu2", or "fixed" if the version is unknown or differs
// among releases.
func fixedWord(s crash.Status) string {
	version := ""
	for _, r := range s.Releases {
		if r.Fix == "" || version != "" && r.Fix != version {
			return "fixed"
		}
		version = r.Fix
	}
	if version == "" {
		return "fixed"
	}
	return "fixed in " + version
}

// rowMenuPath returns the address that the menu of a row leads to without scripts.
func rowMenuPath(p *BugPart) string {
	if p.Review {
		return reviewURL(*p)
	}
	return p.Bucket.Path() + "/link"
}

func rowMenuLabel(p *BugPart) string {
	if p.Review {
		return "Review…"
	}
	return "Link a bug…"
}

// manualWord is a word about the manual status in lists.
type manualWord struct{ word, title, class string }

// manualWords returns the words for lists. None is ever green: that is for the derived status.
func manualWords(m crash.ManualStatus) []manualWord {
	var words []manualWord
	if m.Muted != nil {
		words = append(words, manualWord{"muted", m.Muted.Text(false), "word-muted"})
	}
	if m.WontFix != nil {
		words = append(words, manualWord{"won’t fix", m.WontFix.Text(false), ""})
	}
	for i, f := range m.Fixes {
		switch {
		case m.SeenAgain() && f.Again > 0:
			return append(words, manualWord{"not fixed?", f.Text(false), "word-warn"})
		case i == len(m.Fixes)-1:
			words = append(words, manualWord{"marked fixed", f.Text(false), ""})
		}
	}
	return words
}

// The usual conditions of a mute, as values of the buttons of the form.
const (
	PresetWeek       = "week"
	PresetMonth      = "month"
	PresetNewer      = "newer"
	PresetRegression = "regression"
	PresetForever    = "forever"
	PresetEnter      = "enter" // the conditions in the fields, else a week
)
