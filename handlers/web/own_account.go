package web

import (
	"net/http"

	"mishap/tracker"
	bugsview "mishap/views/bugs"
)

// FilingOptions returns how a bug is filed that the current user asks for. The field "as" of a form
// chooses their own account at the tracker or that of the application; without it, the person's
// preference counts.
func (s *Kit) FilingOptions(r *http.Request) (tracker.Options, error) {
	u := CurrentUser(r)
	opts := tracker.Options{Person: u.Name, Wait: s.Config.CreateWait}
	if u.ID == 0 {
		return opts, nil
	}
	own, err := s.filer.OwnAccount(r.Context(), u.ID)
	if err != nil {
		return opts, err
	}
	if bugsview.FilingChoiceOf(own, r.PostFormValue(bugsview.FieldFileAs)).Own {
		opts.Own = u.ID
	}
	return opts, nil
}

// FilingChoice returns the choice between the accounts that can file a bug of the current user.
func (s *Kit) FilingChoice(r *http.Request) (bugsview.FilingChoice, error) {
	own, err := s.filer.OwnAccount(r.Context(), CurrentUser(r).ID)
	if err != nil {
		return bugsview.FilingChoice{}, err
	}
	choice := bugsview.FilingChoiceOf(own, r.PostFormValue(bugsview.FieldFileAs))
	choice.Tracker = s.Config.TrackerName
	return choice, nil
}
