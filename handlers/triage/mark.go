package triage

import (
	"context"
	"net/http"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// mark is an embargo or a hold: a person sets it with a reason, and lifts it.
type mark struct {
	set      func(context.Context, crash.Bucket, crash.User, string) (message views.Flash, path string, err error)
	lift     func(context.Context, crash.Bucket, crash.User) (views.Flash, error)
	show     func(w http.ResponseWriter, r *http.Request, b crash.Bucket, problem string, status int) error
	noAction error
}

// markForm returns what the forms of all marks have in common.
func (s *Pages) markForm(r *http.Request, b crash.Bucket, problem string) views.MarkForm {
	return views.MarkForm{Bucket: b, Reason: r.PostFormValue("reason"), Problem: problem, Now: s.Now(),
		CSRFToken: nosurf.Token(r)}
}

// change sets or lifts a mark of the problem in the path. It shows the form again if that is refused.
func (s *Pages) change(w http.ResponseWriter, r *http.Request, m mark) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	u, path := web.CurrentUser(r), b.ID.Path()
	var message views.Flash
	switch r.PostFormValue("do") {
	case "lift":
		message, err = m.lift(r.Context(), b, u)
	case "set":
		message, path, err = m.set(r.Context(), b, u, r.PostFormValue("reason"))
	default:
		err = m.noAction
	}
	if isRefusal(err) {
		return m.show(w, r, b, web.AnswerTo(r, err).Message, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	message.Kind = views.FlashDone
	if err := s.FlashUndo(r, message); err != nil {
		return err
	}
	return web.Redirect(w, r, path)
}
