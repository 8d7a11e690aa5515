package handlers

import (
	"net/http"
	"strconv"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/views"
)

// notesView is what people wrote down about a problem.
func (s *Server) notesView(r *http.Request, b crash.Bucket) (views.NotesView, error) {
	u := currentUser(r)
	v := views.NotesView{Bucket: b.ID, Person: u.Name, Everything: u.Role.Allows(crash.RoleTriager), CSRFToken: nosurf.Token(r), Now: s.now()}
	var err error
	v.Notes, err = s.accounts.Notes(r.Context(), b.ID)
	return v, err
}

// addNote writes a note down.
func (s *Server) addNote(w http.ResponseWriter, r *http.Request) error {
	b, err := s.bucketInPath(r)
	if err != nil {
		return err
	}
	_, err = s.accounts.AddNote(r.Context(), b.ID, r.PostFormValue("text"), currentUser(r).Name)
	return s.noted(w, r, b, err, "The note is written down.")
}

// changeNote gives a note another text, or takes it away. Viewers change their own, triagers any: what was there before
// stays in its history.
func (s *Server) changeNote(w http.ResponseWriter, r *http.Request) error {
	b, err := s.bucketInPath(r)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PathValue("note"), 10, 64)
	if err != nil {
		return errNoNote
	}
	u := currentUser(r)
	notes, err := s.accounts.Notes(r.Context(), b.ID)
	if err != nil {
		return err
	}
	for _, n := range notes {
		if n.ID != id {
			continue
		}
		if n.Person != u.Name && !u.Role.Allows(crash.RoleTriager) {
			return errNotYourNote
		}
		text := r.PostFormValue("text")
		done := "The note is changed."
		if r.PostFormValue("do") == "remove" {
			text, done = "", "The note is taken away; its history keeps it."
		}
		err := s.accounts.ChangeNote(r.Context(), b.ID, id, text, u.Name)
		return s.noted(w, r, b, err, done)
	}
	return errNoNote
}

var (
	errNoNote      = crash.Errorf(crash.NotFound, "unknown_note", "There is no such note.")
	errNotYourNote = crash.Errorf(crash.Forbidden, "not_your_note", "That note is somebody else's; triagers can change it.")
)

// noted leads back to the problem, with what was done or what kept it from being done.
func (s *Server) noted(w http.ResponseWriter, r *http.Request, b crash.Bucket, err error, done string) error {
	kind := views.FlashDone
	if crash.KindOf(err) == crash.Invalid {
		kind, done, err = views.FlashError, answerTo(r, err).Message, nil
	}
	if err == nil {
		err = s.flash(r, kind, done)
	}
	if err != nil {
		return err
	}
	return redirect(w, r, b.ID.Path()+"#notes")
}
