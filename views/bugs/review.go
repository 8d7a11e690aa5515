package bugs

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/similar"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// ReviewPage holds a bug before it is filed: similar problems and bugs, the form, and a preview. It
// is a page of its own, or a part of another page.
type ReviewPage struct {
	Shell        layout.Shell
	InPart       bool // part of another page
	Bug          BugPart
	Heading      string   // heading of the problem
	Source       string   // source package of the problem; empty: unknown
	Sources      []string // other possible source packages
	Distribution string   // "ubuntu"
	Tracker      string   // name of the tracker
	To           ReviewTarget
	FileAs       FilingChoice

	Draft    crash.Draft
	Section  string // what mishap adds to a public bug and updates; empty: nothing
	Problems crash.DraftProblems
	Problem  string // why the bug cannot be filed; empty: it can
	Notice   string // notice, such as that entered text was restored
	Fileable bool   // show the form

	Advice    stats.Advice
	Embargoed bool              // the problem is: its bug will be private
	Suspected string            // why memory may have been corrupted; empty: no sign of it
	Similar   []similar.Problem // with a bug
	Unfiled   []similar.Problem // without
	Search    *ReviewSearch     // nil: loaded separately
	Preview   *ReviewPreview    // nil: not requested
	Request   string            // the request that would be sent, without secrets; empty: not requested
}

// ReviewTarget is where a bug goes, and what bugs have there.
type ReviewTarget struct {
	Name      string // of the tracker and the project, as the form returns it
	Where     string // "tidewatch in ubuntu"
	Launchpad bool   // people can subscribe, use their own accounts, and file against the distribution as a whole
	Tags      bool
	Private   string // who sees private bugs: "only members of the project"; empty: there are none
	Search    string // address of the tracker's own search; empty: mishap searches, or there is none

	MaxTitle, MaxDescription int // characters
}

// ReviewSearch holds the bugs that a search of the tracker found.
type ReviewSearch struct {
	Bug     BugPart
	Tracker string
	Words   string // the search terms
	Where   string // "tidewatch" or "ubuntu"
	Bugs    []crash.FoundBug
	Problem string // why the search failed; empty: it did not
}

// ReviewPreview holds the bug as the tracker will show it.
type ReviewPreview struct {
	Draft   crash.Draft // with the description that will be sent
	Target  string      // "tidewatch in ubuntu"
	Marker  string      // line that was appended; empty: it was there
	Private []string    // parts of the text that look private
}

// FieldUpstream is the field of forms and addresses that says that a bug is for the upstream project.
const FieldUpstream = "upstream"

func reviewPath(p BugPart) string { return p.Bucket.Path() + "/review" }

// reviewURL returns reviewPath with the copy of the cell that will change.
func reviewURL(p BugPart) string {
	query := map[string]string{"copy": p.Copy}
	if p.Upstream {
		query[FieldUpstream] = "1"
	}
	return layout.Address(reviewPath(p), query)
}

func (p ReviewPage) form() layout.PostFormArgs {
	return layout.PostFormArgs{
		ID: "review-form", Action: p.action(), CSRFToken: p.Bug.CSRFToken, Class: "review-form",
		Part: true, Target: "#review-panel", Errors: "#review-trouble",
	}
}

// action is the address of the form, which says whether the bug is for the upstream project.
func (p ReviewPage) action() string {
	bug := p.Bug
	bug.Copy = "" // a field has it
	return reviewURL(bug)
}

func linkForm(p BugPart, number int64) layout.PostFormArgs {
	return layout.PostFormArgs{
		ID: "link-instead-" + strconv.FormatInt(number, 10), Action: p.Bucket.Path() + "/link",
		CSRFToken: p.CSRFToken, Class: "link-form",
	}
}

func runes(s string) string { return crash.Count(int64(utf8.RuneCountInString(s))) }

func (p ReviewPage) tags() string { return strings.Join(p.Draft.Tags, " ") }

// described returns the aria-describedby attribute of a field, naming the element with its errors.
func (p ReviewPage) described(field crash.DraftField) templ.Attributes {
	if p.Problems[field] == "" {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": problemID(field)}
}

// listed returns the attribute that gives the package field its suggestions.
func (p ReviewPage) listed() templ.Attributes {
	if len(p.Sources) == 0 {
		return nil
	}
	return templ.Attributes{"list": "review-sources"}
}

func (p ReviewPage) title() string {
	if p.Bug.Upstream {
		return "Forward upstream"
	}
	return "Review bug"
}

func (p ReviewPage) targetLegend() string {
	if p.To.Launchpad {
		return "File against"
	}
	return "Source package"
}

// private is what the tracker calls private bugs.
func (p ReviewPage) private() string {
	if p.To.Launchpad {
		return "Private security"
	}
	return "Private"
}

// suspectedWord is the advice for a crash that may be exploitable.
func (p ReviewPage) suspectedWord() string {
	if p.To.Private == "" {
		return "Possibly a security issue"
	}
	return "Private recommended"
}

// privateMeans says who can read a private bug.
func (p ReviewPage) privateMeans() string {
	if !p.To.Launchpad {
		return strings.ToUpper(p.To.Private[:1]) + p.To.Private[1:] + " can read it."
	}
	return "Only " + forPeople(p.Distribution) + "’s security team and subscribers of the bug can read it, until one " +
		"of them makes it public."
}

func problemID(field crash.DraftField) string { return "review-problem-" + string(field) }

// piece is a part of a bug's text: plain text, or an address that the tracker turns into a link.
type piece struct {
	text string
	link string
}

var address = regexp.MustCompile(`\b(?:https?|ftp)://[^\s<>"]+`)

// maxLinks is the number of addresses of a text that become links.
const maxLinks = 500

// pieces splits a text as the tracker shows it: addresses become links, without the punctuation
// after them.
func pieces(text string) []piece {
	var out []piece
	last := 0
	for _, m := range address.FindAllStringIndex(text, maxLinks) {
		link := strings.TrimRight(text[m[0]:m[1]], `.,;:!?)'`)
		if m[0] > last {
			out = append(out, piece{text: text[last:m[0]]})
		}
		out = append(out, piece{text: link, link: link})
		last = m[0] + len(link)
	}
	if last < len(text) {
		out = append(out, piece{text: text[last:]})
	}
	return out
}

func adviceState(kind stats.AdviceKind) string {
	if kind == stats.AdviceReady {
		return "advice advice-ready"
	}
	return "advice"
}

func similarStatus(b crash.Bucket) string {
	if b.Status.Tracker != "" || b.Status.Word == crash.StateUnknown {
		return b.Status.Tracker
	}
	return string(b.Status.Word)
}

// forPeople returns the usual spelling of a distribution's name: "Ubuntu".
func forPeople(distribution string) string {
	if distribution == "" {
		return ""
	}
	return strings.ToUpper(distribution[:1]) + distribution[1:]
}

// fixText describes in which versions a bug is fixed, else since when: "fixed in 1.5-1 (noble)".
func fixText(b crash.FoundBug) string {
	var versions []string
	for _, f := range b.Fixes {
		version := f.Version
		if f.Series != "" {
			version += " (" + f.Series + ")"
		}
		if !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	switch {
	case len(versions) > 0:
		return "fixed in " + strings.Join(versions, ", ")
	case b.Fixed != "":
		return "fix released " + b.Fixed
	}
	return ""
}
