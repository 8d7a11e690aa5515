package problems

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/handlers/web"
	"mishap/views"
)

// maxAssignments is the number of assignments that the page of a problem lists.
const maxAssignments = 20

// peopleView returns who takes care of a problem, and its tags, for a person who is signed in.
func (s *Pages) peopleView(r *http.Request, b crash.Bucket) (v views.PeopleView, err error) {
	v = views.PeopleView{Bucket: b.ID, Source: b.SourcePackage, Person: web.CurrentUser(r), Tracker: s.Config.TrackerName,
		CSRFToken: nosurf.Token(r), Now: s.Now()}
	work, err := s.workOn(r, b.ID)
	if err != nil {
		return v, err
	}
	v.History, v.Tags = work.assignments, work.tags
	if i := slices.IndexFunc(v.History, crash.Assignment.Stands); i >= 0 {
		v.Assigned.Name = v.History[i].Assignee
	}
	if name := b.Bug.AssigneeOf(b.SourcePackage); name != "" {
		v.Assigned, v.BugURL = crash.Assigned{Name: name, Bug: b.Bug.Counts()}, b.Bug.URL
		if b.Bug.State.DuplicateOf != 0 {
			v.BugURL = b.Bug.MasterURL
		}
	}
	v.Follow, err = s.followPart(r, crash.Follow{Kind: crash.FollowProblem, Name: b.ID.String()})
	return v, err
}

// peopleOf returns the assignees and tags of problems, for a person who is signed in.
func (s *Lists) peopleOf(r *http.Request, problems []crash.Problem) (map[crash.BucketID]*index.People, error) {
	if web.IsPublic(r) || len(problems) == 0 {
		return nil, nil
	}
	ids := make([]crash.BucketID, len(problems))
	var key strings.Builder
	for i, p := range problems {
		ids[i] = p.ID
		key.Write(p.ID[:])
	}
	stored, err := web.CachedFacts(s.Kit, r, key.String(), func(r *http.Request) (map[crash.BucketID]index.People, error) {
		return s.Problems.AssigneesAndTags(r.Context(), ids)
	})
	if err != nil {
		return nil, err
	}
	all := map[crash.BucketID]*index.People{}
	for _, p := range problems {
		who := stored[p.ID]
		if name := p.Bug.AssigneeOf(p.SourcePackage); name != "" {
			who.Assigned = crash.Assigned{Name: name, Bug: p.Bug.Counts()}
		}
		if who != (index.People{}) {
			all[p.ID] = &who
		}
	}
	return all, nil
}

// maxSuggested is the number of accounts that a field suggests.
const maxSuggested = 20

// assigneesFor suggests assignees: accounts, their names at the tracker, and other names to which
// problems are assigned. Visitors get none.
func (s *Lists) assigneesFor(r *http.Request, begins string, known index.Names) ([]string, error) {
	if web.IsPublic(r) {
		return nil, nil
	}
	accounts, atTracker, err := s.Problems.AssigneeNames(r.Context(), begins, maxSuggested)
	if err != nil {
		return nil, err
	}
	for _, name := range known.Assignees(begins) {
		if strings.HasPrefix(name, "~") && !slices.Contains(atTracker, name) {
			atTracker = append(atTracker, name)
		}
	}
	return append(accounts, atTracker...), nil
}

// formAssignee returns the assignee of a form: the name in it, the person themselves, or nobody.
func formAssignee(r *http.Request) string {
	switch r.PostFormValue("do") {
	case "me":
		return web.CurrentUser(r).Name
	case "nobody":
		return ""
	}
	return crash.Truncate(r.PostFormValue("assignee"), web.MaxQueryText)
}

var errNoAssignee = crash.Errorf(crash.Invalid, "no_assignee", "Enter the name of a person or team.")

// Assign assigns a problem.
func (s *Pages) Assign(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	name := formAssignee(r)
	var stored crash.Assignment
	if name == "" && r.PostFormValue("do") != "nobody" {
		err = errNoAssignee
	} else {
		stored, err = s.Problems.Assign(r.Context(), crash.Assignment{Bucket: b.ID, Assignee: name,
			By: web.CurrentUser(r).Name})
	}
	if refused(err) {
		return s.refusePeople(w, r, b, err, func(v *views.PeopleView, message string) {
			v.Typed, v.Problem = name, message
		})
	}
	if err != nil {
		return err
	}
	message := views.Flash{Kind: views.FlashDone, Text: "Assigned to " + assigneeName(stored.Assignee) + "."}
	if stored.ID == 0 {
		message.Text = "It was already assigned like that."
	} else {
		message.Undo = &views.Undo{Action: b.ID.Path() + "/assign/undo", Field: "assignment",
			Value: strconv.FormatInt(stored.ID, 10)}
	}
	return s.answerPeople(w, r, b, message)
}

// UndoAssignment undoes the newest assignment of a problem.
func (s *Pages) UndoAssignment(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PostFormValue("assignment"), 10, 64)
	if err != nil {
		return crash.Errorf(crash.Invalid, "bad_assignment", "The form does not say which assignment to undo.")
	}
	if err := s.Problems.UndoAssignment(r.Context(), b.ID, id, web.CurrentUser(r).Name); err != nil {
		if !refused(err) {
			return err
		}
		return s.answerPeople(w, r, b, views.Flash{Kind: views.FlashError, Text: web.AnswerTo(r, err).Message})
	}
	return s.answerPeople(w, r, b, views.Flash{Kind: views.FlashDone, Text: "The assignment was undone."})
}

// ChangeTags adds a tag to a problem or removes one. Each undoes the other.
func (s *Pages) ChangeTags(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	tag, person := crash.Truncate(r.PostFormValue("tag"), web.MaxQueryText), web.CurrentUser(r).Name
	// The undo form has one field, so that its action says what to do.
	undo := &views.Undo{Action: b.ID.Path() + "/tags?do=remove", Field: "tag", Value: tag}
	if r.FormValue("do") == "remove" {
		undo.Action = b.ID.Path() + "/tags"
		removed, err := s.Problems.Untag(r.Context(), b.ID, tag, person)
		if err != nil {
			return err
		}
		if !removed {
			return s.answerPeople(w, r, b, views.Flash{Kind: views.FlashDone, Text: "It no longer has the tag " + tag + "."})
		}
		return s.answerPeople(w, r, b, views.Flash{Kind: views.FlashDone, Text: "Tag " + tag + " removed.", Undo: undo})
	}
	added, err := s.Problems.Tag(r.Context(), b.ID, tag, person)
	if refused(err) {
		return s.refusePeople(w, r, b, err, func(v *views.PeopleView, message string) {
			v.TypedTag, v.TagProblem = tag, message
		})
	}
	if err != nil {
		return err
	}
	undo.Value = strings.ToLower(strings.TrimSpace(tag))
	if !added {
		return s.answerPeople(w, r, b, views.Flash{Kind: views.FlashDone, Text: "It already has the tag " + undo.Value + "."})
	}
	return s.answerPeople(w, r, b, views.Flash{Kind: views.FlashDone, Text: "Tag " + undo.Value + " added.", Undo: undo})
}

// refused reports whether a person can do something about an error: the form shows it.
func refused(err error) bool { return errors.Is(err, crash.Invalid) || errors.Is(err, crash.Conflict) }

// refusePeople shows why a change was refused: beside the field, or on the page of the problem.
func (s *Pages) refusePeople(w http.ResponseWriter, r *http.Request, b crash.Bucket, reason error,
	show func(v *views.PeopleView, message string),
) error {
	message := web.AnswerTo(r, reason).Message
	if !web.WantsPart(r) {
		return s.answerPeople(w, r, b, views.Flash{Kind: views.FlashError, Text: message})
	}
	v, err := s.peopleView(r, b)
	if err != nil {
		return err
	}
	show(&v, message)
	return s.Page(w, r, http.StatusUnprocessableEntity, templ.Join(views.PeoplePart(v), views.NoFlashes()))
}

// answerPeople shows the present assignee and tags, in place or on the page, with a message.
func (s *Pages) answerPeople(w http.ResponseWriter, r *http.Request, b crash.Bucket, message views.Flash) error {
	if !web.WantsPart(r) {
		if err := s.FlashUndo(r, message); err != nil {
			return err
		}
		return web.Redirect(w, r, b.ID.Path())
	}
	v, err := s.peopleView(r, b)
	if err != nil {
		return err
	}
	if message.Undo != nil {
		message.Undo.CSRFToken = nosurf.Token(r)
	}
	return s.Page(w, r, http.StatusOK, templ.Join(views.PeoplePart(v), views.FlashNow(message)))
}

// assigneeName is what messages call an assignee, or nobody.
func assigneeName(name string) string { return strings.TrimPrefix(cmp.Or(name, "nobody"), "~") }
