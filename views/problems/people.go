package problems

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// Addresses for assigning several problems.
const (
	PathAssignChosen   = "/problems/assign"
	PathUnassignChosen = "/problems/unassign"
)

// tagTrouble is the id of the element that says why a tag was refused.
const tagTrouble = "tag-trouble"

// PeopleView holds who takes care of a problem, its tags, and whether the person follows it.
type PeopleView struct {
	Bucket    crash.BucketID // zero for visitors
	Source    string         // source package of the problem
	Assigned  crash.Assigned
	BugURL    string // of the bug whose assignee counts
	History   []crash.Assignment
	Tags      []crash.ProblemTag
	Follow    FollowPart
	Person    crash.User
	Tracker   string
	CSRFToken string
	Now       time.Time
}

func (v PeopleView) mayChange() bool { return v.Person.MayTriage(v.Source) }

func (v PeopleView) mine() bool { return v.Assigned.Name != "" && v.Assigned.Name == v.Person.Name }

func (v PeopleView) form(id, action string) layout.PostFormArgs {
	return layout.PostFormArgs{ID: id, Action: v.Bucket.Path() + action, CSRFToken: v.CSRFToken, Class: "inline",
		Decides: true}
}

func (v PeopleView) addTag() layout.PostFormArgs {
	form := v.form("tag-form", "/tags")
	form.Errors = "#" + tagTrouble
	return form
}

// plainName returns the name of an assignee without the tilde of names at the tracker.
func plainName(name string) string { return strings.TrimPrefix(name, "~") }

func assigneeURL(name string) string { return layout.SearchURL("assignee:" + name) }

func tagURL(tag string) string { return layout.SearchURL("tag:" + tag) }

// rowTags is the number of tags that a row of a list shows.
const rowTags = 2

func shownTags(p *index.People) (shown []string, more string) {
	shown = strings.Fields(p.TagList)
	if len(shown) > rowTags {
		more = "+" + strconv.Itoa(len(shown)-rowTags)
		shown = shown[:rowTags]
	}
	return shown, more
}

// AssignPage holds the form that assigns problems.
type AssignPage struct {
	Shell   layout.Shell
	Rows    []AssignRow
	Typed   string
	Problem string // what is wrong with Typed
	Tracker string
	Back    string // page to return to
}

// AssignRow is one of the problems.
type AssignRow struct {
	Bucket   crash.Bucket
	Assigned crash.Assigned
}

// Heading returns the title of the page.
func (p AssignPage) Heading() string {
	if len(p.Rows) == 1 {
		return "Assign this problem"
	}
	return "Assign " + crash.Counted(int64(len(p.Rows)), "problem", "problems")
}

func (p AssignPage) form() layout.PostFormArgs {
	return layout.PostFormArgs{ID: "assign", Action: PathAssignChosen, CSRFToken: p.Shell.CSRFToken, Class: "decide",
		Dialog: p.Shell.InDialog}
}

func (p AssignPage) problems() string {
	ids := make([]crash.BucketID, len(p.Rows))
	for i, row := range p.Rows {
		ids[i] = row.Bucket.ID
	}
	return bugs.JoinIDs(ids)
}

// NotesView holds the notes about a problem, for its page.
type NotesView struct {
	Bucket     crash.BucketID
	Notes      []crash.Note      // including removed ones
	Names      map[string]string // accounts that the notes name, by the names as typed
	Person     string            // account name of the viewer
	Everything bool              // the viewer may change every note, not only their own
	CSRFToken  string
	Now        time.Time
}

func (v NotesView) form(note int64) layout.PostFormArgs {
	action := v.Bucket.Path() + "/notes"
	if note != 0 {
		action += fmt.Sprintf("/%d", note)
	}
	return layout.PostFormArgs{Action: action, CSRFToken: v.CSRFToken, Class: "decide"}
}

// mentionsURL is the address of the names that complete a mention. The typed text follows.
func (v NotesView) mentionsURL() string {
	return layout.PathComplete + "?of=mention&problem=" + v.Bucket.String() + "&mention="
}

// MentionOffers are names that complete a mention.
type MentionOffers struct {
	Names []string
	More  bool // there are more names
}

func (v NotesView) notes(removed bool) (notes []crash.Note) {
	for _, n := range v.Notes {
		if (n.Text() == "") == removed {
			notes = append(notes, n)
		}
	}
	return notes
}

func (v NotesView) mayChange(n crash.Note) bool { return v.Everything || n.Person == v.Person }

func textID(n crash.Note) string { return fmt.Sprintf("note-%d", n.ID) }
