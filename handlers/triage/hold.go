package triage

import (
	"net/http"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
	"mishap/views/text"
)

// ShowHold shows the form that holds a problem, or that lifts its hold.
func (s *Pages) ShowHold(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	return s.showHold(w, r, b, "", http.StatusOK)
}

func (s *Pages) showHold(w http.ResponseWriter, r *http.Request, b crash.Bucket, problem string, status int) error {
	manual, _, err := s.Triage.Triage(r.Context(), b.ID)
	if err != nil {
		return err
	}
	p := views.HoldForm{Bucket: b, Hold: manual.Hold, Now: s.Now(), Reason: r.PostFormValue("reason"), Problem: problem,
		CSRFToken: nosurf.Token(r)}
	p.Shell = s.Shell(r, p.Heading())
	return s.Page(w, r, status, views.HoldPage(p))
}

var errNoHoldAction = crash.Errorf(crash.Invalid, "no_action",
	"Choose whether to hold the problem or to lift its hold.")

// ChangeHold holds a problem, or lifts its hold.
func (s *Pages) ChangeHold(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	u := web.CurrentUser(r)
	message := views.Flash{Kind: views.FlashDone}
	switch r.PostFormValue("do") {
	case "lift":
		err = s.Triage.LiftHold(r.Context(), b.ID, u.Name)
		message.Text, message.Undo = text.HoldLifted, views.UndoHold(b.ID, "set")
	case "set":
		err = s.Triage.Hold(r.Context(), crash.Hold{Bucket: b.ID, Person: u.Name, Reason: r.PostFormValue("reason")})
		message.Text, message.Undo = text.HoldDone, views.UndoHold(b.ID, "lift")
	default:
		err = errNoHoldAction
	}
	if isRefusal(err) {
		return s.showHold(w, r, b, web.AnswerTo(r, err).Message, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	if err := s.FlashUndo(r, message); err != nil {
		return err
	}
	return web.Redirect(w, r, b.ID.Path())
}
