package account

import (
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// ShowAccount is what a person may change about their own account.
func (s *Pages) ShowAccount(w http.ResponseWriter, r *http.Request) error {
	return s.accountPage(w, r, http.StatusOK, web.CurrentUser(r).TrackerName, "")
}

func (s *Pages) accountPage(w http.ResponseWriter, r *http.Request, status int, name, problem string) error {
	page := views.AccountPage{Tracker: s.Config.TrackerName, Name: name, Problem: problem}
	return s.accountWith(w, r, status, page, newTokenForm())
}

// accountWith is the page with what is typed about a token.
func (s *Pages) accountWith(w http.ResponseWriter, r *http.Request, status int, page views.AccountPage, form views.TokenForm) error {
	list, err := s.Accounts.Tokens(r.Context(), web.CurrentUser(r))
	if err != nil {
		return err
	}
	page.Shell = s.Shell(r, "Your account")
	page.Tokens.Tokens, page.Tokens.Form = list, form
	page.Tokens.MayFile = web.CurrentUser(r).Role.Allows(crash.RoleTriager)
	return s.Page(w, r, status, views.Account(page))
}

// SaveAccount notes what the person is called at the tracker, after it was looked up there.
func (s *Pages) SaveAccount(w http.ResponseWriter, r *http.Request) error {
	u, name := web.CurrentUser(r), r.PostFormValue("tracker_name")
	if name != "" {
		found, err := s.Tracker.Account(r.Context(), name)
		if err != nil {
			a := web.AnswerTo(r, err)
			if a.Kind != crash.Unprocessable && a.Kind != crash.Unavailable && a.Kind != crash.Refused {
				return err
			}
			s.LogError(r, err, a)
			a.Headers(w)
			return s.accountPage(w, r, a.Status, crash.Truncate(name, 100), a.Message)
		}
		name = found
	}
	if err := s.Accounts.SetTrackerName(r.Context(), u.Name, u.Name, name); err != nil {
		return err
	}
	if err := s.Flash(r, views.FlashDone, "Saved."); err != nil {
		return err
	}
	return web.Redirect(w, r, web.PathAccount)
}
