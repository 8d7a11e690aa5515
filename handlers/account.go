package handlers

import (
	"net/http"

	"mishap/crash"
	"mishap/views"
)

// showAccount is what a person may change about their own account.
func (s *accountPages) showAccount(w http.ResponseWriter, r *http.Request) error {
	return s.accountPage(w, r, http.StatusOK, currentUser(r).TrackerName, "")
}

func (s *accountPages) accountPage(w http.ResponseWriter, r *http.Request, status int, name, problem string) error {
	page := views.AccountPage{Tracker: s.config.TrackerName, Name: name, Problem: problem}
	return s.accountWith(w, r, status, page, newTokenForm())
}

// accountWith is the page with what is typed about a token.
func (s *accountPages) accountWith(w http.ResponseWriter, r *http.Request, status int, page views.AccountPage, form views.TokenForm) error {
	list, err := s.accounts.Tokens(r.Context(), currentUser(r))
	if err != nil {
		return err
	}
	page.Shell = s.shell(r, "Your account")
	page.Tokens.Tokens, page.Tokens.Form = list, form
	page.Tokens.MayFile = currentUser(r).Role.Allows(crash.RoleTriager)
	return s.page(w, r, status, views.Account(page))
}

// saveAccount notes what the person is called at the tracker, after it was looked up there.
func (s *accountPages) saveAccount(w http.ResponseWriter, r *http.Request) error {
	u, name := currentUser(r), r.PostFormValue("tracker_name")
	if name != "" {
		found, err := s.tracker.Account(r.Context(), name)
		if err != nil {
			a := answerTo(r, err)
			if a.Kind != crash.Unprocessable && a.Kind != crash.Unavailable && a.Kind != crash.Refused {
				return err
			}
			s.logError(r, err, a)
			a.headers(w)
			return s.accountPage(w, r, a.status, crash.Truncate(name, 100), a.Message)
		}
		name = found
	}
	if err := s.accounts.SetTrackerName(r.Context(), u.Name, u.Name, name); err != nil {
		return err
	}
	if err := s.flash(r, views.FlashDone, "Saved."); err != nil {
		return err
	}
	return redirect(w, r, pathAccount)
}
