package admin

import (
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
	"mishap/views/text"
)

// commentsView returns whether mishap comments on bugs and, if not, on how many bugs it would
// comment now.
func (s *Pages) commentsView(r *http.Request) (v views.CommentsView, err error) {
	if v.On, err = s.Bugs.Comments(r.Context()); err != nil || v.On {
		return v, err
	}
	uncommented, err := s.Bugs.UncommentedRegressions(r.Context())
	bugs := map[int64]bool{}
	for _, b := range uncommented {
		bugs[b.Bug.Counts()] = true
	}
	if err != nil {
		return v, err
	}
	named, err := s.Bugs.NamedBugs(r.Context())
	for _, b := range named {
		bugs[b.Number] = true
	}
	v.Waiting = len(bugs)
	return v, err
}

// SwitchComments switches comments on or off. With comments on, mishap comments on a fixed bug that
// is seen again, and on a bug whose crash gets function names.
func (s *Pages) SwitchComments(w http.ResponseWriter, r *http.Request) error {
	on := r.PostFormValue("on")
	if on != "true" && on != "false" {
		return crash.Errorf(crash.Invalid, "bad_on", text.FormSaysNeither)
	}
	if err := s.Bugs.SetComments(r.Context(), on == "true", web.CurrentUser(r).Name); err != nil {
		return err
	}
	message := text.CommentsAreOff
	if on == "true" {
		message = text.CommentsAreOn
	}
	if err := s.Flash(r, views.FlashDone, message); err != nil {
		return err
	}
	return web.Redirect(w, r, web.PathTracker)
}
