package views

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/stats"
)

// Limits of the tracker that the form counts against, in characters.
const (
	titleLimit       = 200
	descriptionLimit = 50_000
)

// ReviewPage is a bug before it is filed: what is known already, the bug as it will be, and what it will look like. It is a
// page of its own, or a part that is opened on another page.
type ReviewPage struct {
	Shell        Shell
	InPart       bool // opened on another page
	Bug          BugPart
	Heading      string   // of the problem
	Source       string   // source package of the problem; empty: not known
	Sources      []string // others that may be meant instead
	Distribution string   // "ubuntu"
	Tracker      string   // name of the tracker, for people

	Draft    crash.Draft
	Problems crash.DraftProblems
	Problem  string // what stands in the way of the whole; empty: nothing
	Notice   string // good to know: what was typed before is back
	Fileable bool   // the form is shown

	Advice    stats.Advice
	Suspected string // why memory may have been corrupted; empty: nothing says so
	Similar   []grouping.SimilarProblem
	Search    *ReviewSearch  // nil: asked for separately
	Preview   *ReviewPreview // nil: not asked for
}

// ReviewSearch is what the tracker knows.
type ReviewSearch struct {
	Bug     BugPart
	Tracker string
	Words   string // what was searched for
	Where   string // "tidewatch" or "ubuntu"
	Bugs    []crash.FoundBug
	Problem string // why it is not known; empty: it is
}

// ReviewPreview is the bug as the tracker will show it.
type ReviewPreview struct {
	Draft   crash.Draft // with the description as it will be sent
	Target  string      // "tidewatch in ubuntu"
	Marker  string      // added as the last line; empty: it was there
	Private []string    // what looks private in what was typed
}

func reviewPath(p BugPart) string { return p.Bucket.Path() + "/review" }

// reviewURL is reviewPath with the copy of the cell that will change with it.
func reviewURL(p BugPart) string {
	if p.Copy != "" {
		return reviewPath(p) + "?copy=" + p.Copy
	}
	return reviewPath(p)
}

func (p ReviewPage) form() PostFormArgs {
	return PostFormArgs{
		ID: "review-form", Action: reviewPath(p.Bug), CSRFToken: p.Bug.CSRFToken, Class: "review-form",
		Part: true, Target: "#review-panel", Errors: "#review-trouble",
	}
}

func linkForm(p BugPart, number int64) PostFormArgs {
	return PostFormArgs{
		ID: "link-instead-" + strconv.FormatInt(number, 10), Action: p.Bucket.Path() + "/link", CSRFToken: p.CSRFToken, Class: "link-form",
	}
}

func runes(s string) string { return strconv.Itoa(utf8.RuneCountInString(s)) }

func (p ReviewPage) tags() string { return strings.Join(p.Draft.Tags, " ") }

// described names the element that says what is wrong with a field, for aria-describedby.
func (p ReviewPage) described(field crash.DraftField) templ.Attributes {
	if p.Problems[field] == "" {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": problemID(field)}
}

// listed gives the field of the package its list of offers.
func (p ReviewPage) listed() templ.Attributes {
	if len(p.Sources) == 0 {
		return nil
	}
	return templ.Attributes{"list": "review-sources"}
}

func problemID(field crash.DraftField) string { return "review-problem-" + string(field) }

// piece is a stretch of text of a bug: plain, or an address that the tracker makes a link of.
type piece struct {
	text string
	link string
}

var address = regexp.MustCompile(`\b(?:https?|ftp)://[^\s<>"]+`)

// maxLinks is how many addresses of one text become links.
const maxLinks = 500

// pieces parts a text as the tracker does when it shows it: addresses become links, without the punctuation that ends the
// sentence around them.
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

// similarStatus is where the bug of a similar problem stands.
func similarStatus(b crash.Bucket) string {
	if b.Status.Tracker != "" || b.Status.Word == crash.StateUnread {
		return b.Status.Tracker
	}
	return string(b.Status.Word)
}

// forPeople is the name of a distribution as its people write it: "Ubuntu".
func forPeople(distribution string) string {
	if distribution == "" {
		return ""
	}
	return strings.ToUpper(distribution[:1]) + distribution[1:]
}

// fixWords says in which versions a bug of the tracker is fixed, else since when: "fixed in 1.5-1 (noble)".
func fixWords(b crash.FoundBug) string {
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
