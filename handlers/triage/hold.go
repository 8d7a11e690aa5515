package triage

import (
	"context"
	"net/http"

	"mishap/crash"
	"mishap/views"
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
	manual, _, err := s.Problems.Triage(r.Context(), b.ID)
	if err != nil {
		return err
	}
	p := views.HoldForm{MarkForm: s.markForm(r, b, problem), Hold: manual.Hold}
	p.Shell = s.Shell(r, p.Heading())
	return s.Page(w, r, status, views.HoldPage(p))
}

var errNoHoldAction = crash.Errorf(crash.Invalid, "no_action",
	"Choose whether to hold the problem or to lift its hold.")

// ChangeHold holds a problem, or lifts its hold.
func (s *Pages) ChangeHold(w http.ResponseWriter, r *http.Request) error {
	return s.change(w, r, mark{
		set: func(ctx context.Context, b crash.Bucket, u crash.User, reason string) (views.Flash, string, error) {
			return views.Flash{Text: "The problem is held.", Undo: views.UndoHold(b.ID, "lift")}, b.ID.Path(),
				s.Problems.Hold(ctx, crash.Hold{Bucket: b.ID, Person: u.Name, Reason: reason})
		},
		lift: func(ctx context.Context, b crash.Bucket, u crash.User) (views.Flash, error) {
			return views.Flash{
				Text: "The hold is lifted. What is too old will be removed within a day.",
				Undo: views.UndoHold(b.ID, "set"),
			}, s.Problems.LiftHold(ctx, b.ID, u.Name)
		},
		show: s.showHold, noAction: errNoHoldAction,
	})
}
