package problems

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	view "mishap/views/problems"
)

// maxAssignments is the number of assignments that the page of a problem lists.
const maxAssignments = 20

// peopleView returns who takes care of a problem, and its tags, for a person who is signed in.
func (s *Pages) peopleView(r *http.Request, b crash.Bucket) (v view.PeopleView, err error) {
	v = view.PeopleView{Bucket: b.ID, Source: b.SourcePackage, Person: web.CurrentUser(r),
		Tracker:   s.panel.TrackerOf(b.Bug),
		CSRFToken: nosurf.Token(r), Now: s.web.Now()}
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
	v.Follow, err = s.choices.followPart(r, crash.Follow{Kind: crash.FollowProblem, Name: b.ID.String()})
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
	stored, err := web.CachedFacts(s.web, r, key.String(), func(r *http.Request) (map[crash.BucketID]index.People, error) {
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

var errNoAssignee = crash.Errorf(crash.Invalid, "no_assignee", "Enter the name of a person or team.")

// formAssignee returns the assignee of a form: the name in it, the person themselves, or nobody.
func formAssignee(r *http.Request) (name string, err error) {
	switch r.PostFormValue("do") {
	case "me":
		return web.CurrentUser(r).Name, nil
	case "nobody":
		return "", nil
	}
	if name = crash.Truncate(r.PostFormValue("assignee"), web.MaxQueryText); name == "" {
		err = errNoAssignee
	}
	return name, err
}

// ChangeTags adds a tag to a problem or removes one. Each undoes the other.
func (s *Pages) ChangeTags(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	tag, person := crash.Truncate(r.PostFormValue("tag"), web.MaxQueryText), web.CurrentUser(r).Name
	undo := &layout.Undo{Action: b.ID.Path() + "/tags", Field: "tag", Value: tag}
	var changed bool
	var err error
	var done, already string
	if r.FormValue("do") == "remove" {
		changed, err = s.Problems.Untag(r.Context(), b.ID, tag, person)
		done, already = "Tag "+tag+" removed.", "It no longer has the tag "+tag+"."
	} else {
		changed, err = s.Problems.Tag(r.Context(), b.ID, tag, person)
		undo.Action += "?do=remove" // the undo form has one field
		undo.Value = strings.ToLower(strings.TrimSpace(tag))
		done, already = "Tag "+undo.Value+" added.", "It already has the tag "+undo.Value+"."
	}
	message := layout.Flash{Kind: layout.FlashDone, Text: done, Undo: undo}
	switch {
	case isRefusal(err) && !web.WantsPart(r):
		message = layout.Flash{Kind: layout.FlashError, Text: web.AnswerTo(r, err).Message}
	case err != nil:
		return err
	case !changed:
		message = layout.Flash{Kind: layout.FlashDone, Text: already}
	}
	return s.web.Decided(w, r, b.ID.Path(), message)
}

// assigneeName is what messages call an assignee, or nobody.
func assigneeName(name string) string { return strings.TrimPrefix(cmp.Or(name, "nobody"), "~") }

// peopleChange is the body of a request of the API. Fields that are missing change nothing.
type peopleChange struct {
	Problem  string   `json:"problem"`
	Assignee *string  `json:"assignee"`
	Add      []string `json:"add_tags"`
	Remove   []string `json:"remove_tags"`
}

// peopleNow is the answer to such a request.
type peopleNow struct {
	Problem  string   `json:"problem"`
	Assignee string   `json:"assignee"`
	Bug      *string  `json:"bug"`
	Tags     []string `json:"tags"`
}

var (
	// ErrPeopleMedia is the error for a body that is not application/json.
	ErrPeopleMedia = crash.Errorf(crash.UnsupportedMedia, "media_type", "Send the change as application/json.")
	errPeopleJSON  = crash.Errorf(crash.Invalid, "not_json",
		`Send a JSON object with the field "problem", and "assignee", "add_tags" or "remove_tags".`)
)

// ChangePeople assigns a problem, and adds and removes tags, for programs. It makes the changes one
// after the other: an error in one leaves those before it in place.
func (s *Pages) ChangePeople(w http.ResponseWriter, r *http.Request) error {
	change, err := readPeopleChange(r)
	if err != nil {
		return err
	}
	id, err := crash.ParseBucketID(change.Problem)
	if err != nil {
		id = crash.BucketIDOf(change.Problem)
	}
	ctx, person := r.Context(), web.CurrentUser(r).Name
	b, err := s.panel.Bucket(ctx, id)
	if err != nil {
		return err
	}
	if err := web.CheckTriage(r, b.SourcePackage); err != nil {
		return err
	}
	if change.Assignee != nil {
		if *change.Assignee == "me" {
			change.Assignee = &person
		}
		a := crash.Assignment{Bucket: b.ID, Assignee: *change.Assignee, By: person}
		if _, err := s.Problems.Assign(ctx, a); err != nil {
			return err
		}
	}
	for _, tag := range change.Remove {
		if _, err := s.Problems.Untag(ctx, b.ID, tag, person); err != nil {
			return err
		}
	}
	for _, tag := range change.Add {
		if _, err := s.Problems.Tag(ctx, b.ID, tag, person); err != nil {
			return err
		}
	}
	v, err := s.peopleView(r, b)
	if err != nil {
		return err
	}
	now := peopleNow{Problem: b.ID.String(), Assignee: v.Assigned.Name, Tags: []string{}}
	if v.Assigned.Bug != 0 {
		number := crash.BugText(v.Assigned.Bug)
		now.Bug = &number
	}
	for _, t := range v.Tags {
		now.Tags = append(now.Tags, t.Tag)
	}
	return web.WriteJSON(w, http.StatusOK, now)
}

func readPeopleChange(r *http.Request) (change peopleChange, err error) {
	body, err := web.ReadJSON(r, ErrPeopleMedia, errPeopleJSON)
	if err != nil {
		return change, err
	}
	if json.Unmarshal(body, &change) != nil || change.Problem == "" {
		return change, errPeopleJSON
	}
	if len(change.Add)+len(change.Remove) > 2*crash.MaxTags {
		return change, crash.Errorf(crash.Invalid, "too_many_tags", "Change at most %d tags at once.", 2*crash.MaxTags)
	}
	return change, nil
}

// ShowAssign lists the chosen problems with their assignees, and asks for another one.
func (s *Pages) ShowAssign(w http.ResponseWriter, r *http.Request) error {
	return s.assignPage(w, r, view.AssignPage{}, http.StatusOK)
}

func (s *Pages) assignPage(w http.ResponseWriter, r *http.Request, p view.AssignPage, status int) error {
	ids, buckets, err := s.panel.Chosen(r)
	if err != nil {
		return err
	}
	people, err := s.Problems.AssigneesAndTags(r.Context(), ids)
	if err != nil {
		return err
	}
	p.Back = panel.BackTo(r, buckets)
	var bugs []crash.Bug
	for _, b := range buckets {
		bugs = append(bugs, b.Bug)
	}
	p.Tracker = s.panel.TrackerOf(bugs...)
	for _, b := range buckets {
		row := view.AssignRow{Bucket: b, Assigned: people[b.ID].Assigned}
		if name := b.Bug.AssigneeOf(b.SourcePackage); name != "" {
			row.Assigned = crash.Assigned{Name: name, Bug: b.Bug.Counts()}
		}
		p.Rows = append(p.Rows, row)
	}
	p.Shell = s.web.Shell(r, p.Heading())
	return s.web.Page(w, r, status, view.Assign(p))
}

// Assign assigns the chosen problems. Of several, it skips those whose bugs have an assignee in the tracker, and
// says so.
func (s *Pages) Assign(w http.ResponseWriter, r *http.Request) error {
	ids, buckets, forbidden, err := s.panel.ChosenToTriage(r)
	if err != nil {
		return err
	}
	skipped, same := int64(0), int64(0)
	name, err := formAssignee(r)
	var done []string
	for _, b := range buckets {
		if err != nil {
			break
		}
		var stored crash.Assignment
		stored, err = s.Problems.Assign(r.Context(), crash.Assignment{Bucket: b.ID, Assignee: name,
			By: web.CurrentUser(r).Name})
		switch {
		case crash.KindOf(err) == crash.Conflict && len(buckets) > 1:
			skipped, err = skipped+1, nil
		case err == nil && stored.ID == 0:
			same++
		case err == nil:
			name = stored.Assignee
			done = append(done, strconv.FormatInt(stored.ID, 10))
		}
	}
	if asksAgain(r, err) {
		return s.assignPage(w, r, view.AssignPage{Typed: name, Problem: web.AnswerTo(r, err).Message},
			http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	message := layout.Flash{Kind: layout.FlashDone, Text: assignedText(len(ids), int64(len(done)), same, skipped, name)}
	message.Text = web.WithRefused(message.Text, forbidden)
	if len(done) > 0 {
		message.Undo = &layout.Undo{Action: view.PathUnassignChosen + "?problems=" + bugsview.JoinIDs(ids),
			Field: "assignments", Value: strings.Join(done, ".")}
	}
	return s.web.Decided(w, r, panel.BackTo(r, buckets), message)
}

// assignedText says to whom how many of some problems were assigned.
func assignedText(of int, done, same, skipped int64, name string) string {
	switch {
	case of == 1 && same == 1:
		return "Nothing changed: it was already assigned that way."
	case of == 1:
		return "Assigned to " + assigneeName(name) + "."
	}
	text := crash.Counted(done, "problem", "problems") + " assigned to " + assigneeName(name) + "."
	if same > 0 {
		text += " " + crash.Counted(same, "was", "were") + " already assigned like that."
	}
	if skipped > 0 {
		text += " " + crash.Counted(skipped, "problem was", "problems were") + " skipped: their bugs have an assignee in " +
			"the tracker."
	}
	return text
}

// Unassign undoes Assign. It skips problems that have been assigned again since.
func (s *Pages) Unassign(w http.ResponseWriter, r *http.Request) error {
	assignments := map[int64]bool{}
	for _, number := range strings.Split(r.PostFormValue("assignments"), ".") {
		if id, err := strconv.ParseInt(number, 10, 64); err == nil {
			assignments[id] = true
		}
	}
	_, buckets, refused, err := s.panel.ChosenToTriage(r)
	if err != nil {
		return err
	}
	undone := int64(0)
	for _, b := range buckets {
		newest, err := s.Problems.Assignments(r.Context(), b.ID, maxAssignments)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(newest, crash.Assignment.Stands) // only the newest counts
		if i < 0 || !assignments[newest[i].ID] {
			continue
		}
		err = s.Problems.UndoAssignment(r.Context(), b.ID, newest[i].ID, web.CurrentUser(r).Name)
		if err == nil {
			undone++
		} else if crash.KindOf(err) != crash.Conflict {
			return err
		}
	}
	return s.web.Decided(w, r, panel.BackTo(r, buckets), layout.Flash{Kind: layout.FlashDone,
		Text: web.WithRefused("Undid "+crash.Counted(undone, "assignment", "assignments")+".", refused)})
}

func (s *Pages) notesView(r *http.Request, b crash.Bucket) (view.NotesView, error) {
	u := web.CurrentUser(r)
	work, err := s.workOn(r, b.ID)
	return view.NotesView{
		Bucket: b.ID, Notes: work.notes, Names: work.named, Person: u.Name, Everything: u.MayTriage(b.SourcePackage),
		CSRFToken: nosurf.Token(r), Now: s.web.Now(),
	}, err
}

// AddNote adds a note.
func (s *Pages) AddNote(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	_, err := s.People.AddNote(r.Context(), b.ID, r.PostFormValue("text"), web.CurrentUser(r).Name)
	return s.redirectToNotes(w, r, b, err, "Note saved")
}

// ChangeNote changes or removes a note. Viewers may change their own notes, triagers of the package all. The
// history retains the previous text.
func (s *Pages) ChangeNote(w http.ResponseWriter, r *http.Request, b crash.Bucket) error {
	id, err := strconv.ParseInt(r.PathValue("note"), 10, 64)
	if err != nil {
		return errNoNote
	}
	u := web.CurrentUser(r)
	notes, err := s.People.Notes(r.Context(), b.ID)
	if err != nil {
		return err
	}
	for _, n := range notes {
		if n.ID != id {
			continue
		}
		if n.Person != u.Name && !u.MayTriage(b.SourcePackage) {
			return errNotYourNote
		}
		body := r.PostFormValue("text")
		done := "Note saved"
		if r.PostFormValue("do") == "remove" {
			body, done = "", "Note removed. Its history is still here."
		}
		err := s.People.ChangeNote(r.Context(), b.ID, id, body, u.Name)
		return s.redirectToNotes(w, r, b, err, done)
	}
	return errNoNote
}

// maxMentions is the number of names that the field of a note offers.
const maxMentions = 8

// mentions returns the names that complete a mention in a note about the problem in the query.
// Visitors get none. It returns NotFound for a problem that the person may not see.
func (s *Lists) mentions(r *http.Request, begins string) (view.MentionOffers, error) {
	var offers view.MentionOffers
	if web.IsPublic(r) {
		return offers, nil
	}
	id, err := crash.ParseBucketID(r.URL.Query().Get("problem"))
	if err != nil {
		return offers, err
	}
	if _, err := s.Store.Bucket(r.Context(), id); err != nil {
		return offers, err
	}
	offers.Names, err = s.People.Mentionable(r.Context(), id, begins, maxMentions+1)
	if len(offers.Names) > maxMentions {
		offers.Names, offers.More = offers.Names[:maxMentions], true
	}
	return offers, err
}

var (
	errNoNote      = crash.Errorf(crash.NotFound, "unknown_note", "There is no such note.")
	errNotYourNote = crash.Errorf(crash.Forbidden, "not_your_note", "This note is someone else’s. Triagers can edit it.")
)

// redirectToNotes redirects to the notes of a problem, with a message that reports success or
// the reason for a refusal.
func (s *Pages) redirectToNotes(w http.ResponseWriter, r *http.Request, b crash.Bucket, err error, done string) error {
	kind := layout.FlashDone
	if crash.KindOf(err) == crash.Invalid {
		kind, done, err = layout.FlashError, web.AnswerTo(r, err).Message, nil
	}
	if err != nil {
		return err
	}
	return s.web.RedirectWith(w, r, b.ID.Path()+"#notes", layout.Flash{Kind: kind, Text: done})
}

// readFollow reads the subject of a form: from one field, as the buttons send it, or from its
// kind and name.
func readFollow(r *http.Request) (crash.Follow, error) {
	kind, name := r.PostFormValue("kind"), r.PostFormValue("name")
	if combined := r.PostFormValue("what"); combined != "" {
		kind, name, _ = strings.Cut(combined, ":")
	}
	return crash.NewFollow(kind, name)
}

// Follow makes the user follow a package, the packages of a person or team, or a package set.
func (s *Lists) Follow(w http.ResponseWriter, r *http.Request) error {
	f, err := readFollow(r)
	if err == nil {
		err = s.checkFollow(r, f)
	}
	if kind := crash.KindOf(err); kind == crash.Invalid || kind == crash.NotFound {
		a := web.AnswerTo(r, err)
		form := view.FollowForm{
			Kind: crash.FollowKind(r.PostFormValue("kind")), Name: crash.Truncate(r.PostFormValue("name"), web.MaxQueryText),
			Problem: a.Message,
		}
		return s.myPage(w, r, http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	if err := s.People.Follow(r.Context(), web.CurrentUser(r).ID, f); err != nil {
		return err
	}
	if err := s.markFollowed(r, f); err != nil {
		return err
	}
	return s.web.Decided(w, r, followPage(r), layout.Flash{
		Kind: layout.FlashDone, Text: "Following " + followText(f) + ".",
		Undo: &layout.Undo{Action: view.PathUnfollow, Field: "what", Value: f.String()},
	})
}

// checkFollow requests the packages of a person or set, so that they are fetched from the
// tracker. It returns NotFound if the tracker does not know the name.
func (s *Lists) checkFollow(r *http.Request, f crash.Follow) error {
	switch f.Kind {
	case crash.FollowPackage:
		return nil
	case crash.FollowProblem:
		id, err := crash.ParseBucketID(f.Name)
		if err == nil {
			_, err = s.Store.Bucket(r.Context(), id)
		}
		return err
	case crash.FollowSearch:
		_, err := s.Problems.SavedSearch(r.Context(), web.CurrentUser(r).ID, f.Number(), false)
		return err
	case crash.FollowPerson, crash.FollowSet:
	}
	_, _, err := s.choices.packagesOf(r.Context(), f)
	return err
}

// Unfollow makes the user stop following something.
func (s *Lists) Unfollow(w http.ResponseWriter, r *http.Request) error {
	f, err := readFollow(r)
	if err != nil {
		return err
	}
	if err := s.People.Unfollow(r.Context(), web.CurrentUser(r).ID, f); err != nil {
		return err
	}
	return s.web.Decided(w, r, followPage(r), layout.Flash{
		Kind: layout.FlashDone, Text: "No longer following " + followText(f) + ".",
		Undo: &layout.Undo{Action: view.PathFollow, Field: "what", Value: f.String()},
	})
}

// followText names the followed thing within a sentence.
func followText(f crash.Follow) string {
	switch f.Kind {
	case crash.FollowPerson:
		return "the packages of " + f.Name
	case crash.FollowSet:
		return "the package set " + f.Name
	case crash.FollowProblem:
		return "this problem"
	case crash.FollowSearch:
		return "the saved search"
	case crash.FollowPackage:
	}
	return "the package " + f.Name
}

// followPage returns the page that contains the form: the referring page, or the user's own
// page.
func followPage(r *http.Request) string {
	from := web.ReturnPath(r)
	if from == "/" || strings.HasPrefix(from, view.PathFollow) || strings.HasPrefix(from, view.PathUnfollow) {
		return layout.PathMy
	}
	return from
}

// SaveSeen marks problems up to a time as seen by the user, or undoes that.
func (s *Lists) SaveSeen(w http.ResponseWriter, r *http.Request) error {
	var seen time.Time
	if stamp := r.PostFormValue("seen"); stamp != "never" {
		var err error
		if seen, err = time.Parse(time.RFC3339Nano, stamp); err != nil || seen.After(s.web.Now()) {
			return crash.Errorf(crash.Invalid, "bad_time",
				"No problems were selected to mark as read. Reload the page and try again.")
		}
	}
	previous, err := s.People.SetSeen(r.Context(), web.CurrentUser(r).ID, seen)
	if err != nil {
		return err
	}
	undo := &layout.Undo{Action: view.PathSeen, Field: "seen", Value: "never"}
	if !previous.IsZero() {
		undo.Value = previous.UTC().Format(time.RFC3339Nano)
	}
	message := layout.Flash{Kind: layout.FlashDone, Text: "Marked as read.", Undo: undo}
	if seen.Before(previous) {
		message = layout.Flash{Kind: layout.FlashDone, Text: "Marked as unread."}
	}
	return s.web.RedirectWith(w, r, followPage(r), message)
}

func (s *choices) followPart(r *http.Request, f crash.Follow) (view.FollowPart, error) {
	p := view.FollowPart{Follow: f, CSRFToken: nosurf.Token(r)}
	if web.CurrentUser(r).ID == 0 {
		return p, nil
	}
	var err error
	p.On, err = s.People.Follows(r.Context(), web.CurrentUser(r).ID, f)
	return p, err
}
