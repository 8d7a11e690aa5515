package triage

import (
	"net/http"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
	"mishap/views/text"
)

// ShowEmbargo shows the form that embargoes a problem, or that lifts its embargo.
func (s *Pages) ShowEmbargo(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	return s.showEmbargo(w, r, b, "", http.StatusOK)
}

func (s *Pages) showEmbargo(w http.ResponseWriter, r *http.Request, b crash.Bucket, problem string, status int) error {
	manual, _, err := s.Triage.Triage(r.Context(), b.ID)
	if err != nil {
		return err
	}
	p := views.EmbargoForm{
		Bucket: b, Embargo: manual.Embargo, Sees: web.CurrentUser(r).Embargoed.Include(b.SourcePackage), Now: s.Now(),
		Tracker: s.Config.TrackerName, Reason: r.PostFormValue("reason"), Problem: problem, CSRFToken: nosurf.Token(r),
	}
	p.Shell = s.Shell(r, p.Heading())
	return s.Page(w, r, status, views.EmbargoPage(p))
}

var errNoEmbargoAction = crash.Errorf(crash.Invalid, "no_action", "Choose whether to embargo the problem or "+
	"to lift its "+
	"embargo.")

// ChangeEmbargo embargoes a problem, or lifts its embargo. A person without the private right for
// the package may embargo a problem, but does not see it afterwards.
func (s *Pages) ChangeEmbargo(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	u, path := web.CurrentUser(r), b.ID.Path()
	message := views.Flash{Kind: views.FlashDone}
	switch r.PostFormValue("do") {
	case "lift":
		err = s.Triage.LiftEmbargo(r.Context(), b.ID, u.Name)
		message.Text, message.Undo = text.EmbargoLifted, views.UndoEmbargo(b.ID, "set")
	case "set":
		err = s.Triage.Embargo(r.Context(), crash.Embargo{Bucket: b.ID, Person: u.Name, Reason: r.PostFormValue("reason")})
		message.Text, message.Undo = text.EmbargoDone, views.UndoEmbargo(b.ID, "lift")
		if !u.Embargoed.Include(b.SourcePackage) {
			message.Text, message.Undo, path = text.EmbargoDoneUnseen, nil, "/"
		}
	default:
		err = errNoEmbargoAction
	}
	if isRefusal(err) {
		return s.showEmbargo(w, r, b, web.AnswerTo(r, err).Message, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	if err := s.FlashUndo(r, message); err != nil {
		return err
	}
	return web.Redirect(w, r, path)
}
