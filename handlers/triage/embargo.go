package triage

import (
	"context"
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
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
	manual, _, err := s.Problems.Triage(r.Context(), b.ID)
	if err != nil {
		return err
	}
	p := views.EmbargoForm{MarkForm: s.markForm(r, b, problem), Embargo: manual.Embargo,
		Sees: web.CurrentUser(r).Embargoed.Include(b.SourcePackage), Tracker: s.Config.TrackerName}
	p.Shell = s.Shell(r, p.Heading())
	return s.Page(w, r, status, views.EmbargoPage(p))
}

// shownEmbargoes is the largest number of embargoes that the page of all shows.
const shownEmbargoes = 500

// ShowEmbargoes shows the embargoed problems that the user may see, the oldest embargo first.
func (s *Pages) ShowEmbargoes(w http.ResponseWriter, r *http.Request) error {
	embargoes, err := s.Problems.Embargoes(r.Context(), shownEmbargoes)
	if err != nil {
		return err
	}
	p := views.EmbargoedPage{Shell: s.Shell(r, "Embargoed problems")}
	for _, e := range embargoes {
		b, err := s.Store.Bucket(r.Context(), e.Bucket)
		if crash.KindOf(err) == crash.NotFound {
			continue // its embargo or the person's right has just changed
		}
		if err != nil {
			return err
		}
		p.Problems = append(p.Problems, views.EmbargoedProblem{Embargo: e, Problem: b})
	}
	return s.Page(w, r, http.StatusOK, views.Embargoed(p))
}

var errNoEmbargoAction = crash.Errorf(crash.Invalid, "no_action",
	"Choose whether to embargo the problem or to lift its embargo.")

// ChangeEmbargo embargoes a problem, or lifts its embargo. A person without the private right for
// the package may embargo a problem, but does not see it afterwards.
func (s *Pages) ChangeEmbargo(w http.ResponseWriter, r *http.Request) error {
	return s.change(w, r, mark{
		set: func(ctx context.Context, b crash.Bucket, u crash.User, reason string) (views.Flash, string, error) {
			err := s.Problems.Embargo(ctx, crash.Embargo{Bucket: b.ID, Person: u.Name, Reason: reason})
			if !u.Embargoed.Include(b.SourcePackage) {
				return views.Flash{Text: "The problem is embargoed. You do not have the private right for its package, so you " +
					"no longer see it."}, "/", err
			}
			return views.Flash{Text: "The problem is embargoed.", Undo: views.UndoEmbargo(b.ID, "lift")}, b.ID.Path(), err
		},
		lift: func(ctx context.Context, b crash.Bucket, u crash.User) (views.Flash, error) {
			return views.Flash{
				Text: "The embargo is lifted: everyone sees the problem again. Its bugs are as before.",
				Undo: views.UndoEmbargo(b.ID, "set"),
			}, s.Problems.LiftEmbargo(ctx, b.ID, u.Name)
		},
		show: s.showEmbargo, noAction: errNoEmbargoAction,
	})
}
