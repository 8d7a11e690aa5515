package problems

import (
	"net/http"
	"strconv"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// notesView returns the notes about a problem.
func (s *Pages) notesView(r *http.Request, b crash.Bucket) (views.NotesView, error) {
	u := web.CurrentUser(r)
	work, err := s.workOn(r, b.ID)
	return views.NotesView{
		Bucket: b.ID, Notes: work.notes, Names: work.named, Person: u.Name, Everything: u.MayTriage(b.SourcePackage),
		CSRFToken: nosurf.Token(r), Now: s.Now(),
	}, err
}

// AddNote adds a note.
func (s *Pages) AddNote(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	_, err = s.People.AddNote(r.Context(), b.ID, r.PostFormValue("text"), web.CurrentUser(r).Name)
	return s.redirectToNotes(w, r, b, err, "Note saved")
}

// ChangeNote changes or removes a note. Viewers may change their own notes, triagers of the package all. The
// history retains the previous text.
func (s *Pages) ChangeNote(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
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

// mentionsFor returns the names that complete a mention in a note about the problem in the query.
// Visitors get none. It returns NotFound for a problem that the person may not see.
func mentionsFor(s *web.Kit, r *http.Request, begins string) (views.MentionOffers, error) {
	var offers views.MentionOffers
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
	kind := views.FlashDone
	if crash.KindOf(err) == crash.Invalid {
		kind, done, err = views.FlashError, web.AnswerTo(r, err).Message, nil
	}
	if err == nil {
		err = s.Flash(r, kind, done)
	}
	if err != nil {
		return err
	}
	return web.Redirect(w, r, b.ID.Path()+"#notes")
}
