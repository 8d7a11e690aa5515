package account

import (
	"net/http"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/web"
	"mishap/views"
)

// ShowAccount shows the page of the person's own account.
func (s *Pages) ShowAccount(w http.ResponseWriter, r *http.Request) error {
	return s.sendAccountForm(w, r, http.StatusOK, web.CurrentUser(r).TrackerName, "")
}

// sendAccountForm sends the page with a tracker name, and the problem with it if there is one.
func (s *Pages) sendAccountForm(w http.ResponseWriter, r *http.Request, status int, name, problem string) error {
	page := views.AccountPage{Tracker: s.Config.TrackerName, Name: name, Problem: problem}
	return s.sendAccount(w, r, status, page, views.NewTokenForm())
}

// sendAccount sends the page with the form for an API token.
func (s *Pages) sendAccount(
	w http.ResponseWriter, r *http.Request, status int, page views.AccountPage, form views.TokenForm,
) error {
	u := web.CurrentUser(r)
	list, err := s.People.Tokens(r.Context(), u)
	if err != nil {
		return err
	}
	if page.Identities, err = s.People.Identities(r.Context(), u.ID); err != nil {
		return err
	}
	page.Sessions.Current = people.SessionID(s.Sessions.Token(r.Context()))
	if page.Sessions.Sessions, err = s.People.SessionsOf(r.Context(), u.ID); err != nil {
		return err
	}
	if page.SecondFactor, err = s.People.SecondFactor(r.Context(), u.ID); err != nil {
		return err
	}
	page.CanPassword = s.Config.LocalSignIn != crash.LocalOff
	if s.Config.OpenID.URL != "" {
		page.Links = append(page.Links, views.LinkMethod{Source: crash.SourceLaunchpad, Name: s.Config.OpenID.Name})
	}
	if s.Config.OIDC.Issuer != "" {
		page.Links = append(page.Links, views.LinkMethod{Source: crash.SourceOIDC, Name: s.Config.OIDC.Name})
	}
	if page.Services, err = s.People.ServiceAccounts(r.Context(), u.ID); err != nil {
		return err
	}
	grants, err := s.People.Grants(r.Context())
	if err != nil {
		return err
	}
	page.Reasons = crash.RoleReasons(u, page.Identities, grants, s.Store.Rights.Everyone)
	page.Shell = s.Shell(r, "Your account")
	if page.Own, err = s.ownAccount(r); err != nil {
		return err
	}
	if page.Own != nil {
		page.Own.Problem = page.OwnProblem
	}
	page.Tokens.Tokens, page.Tokens.Form = list, form
	for _, scope := range crash.Scopes {
		if u.MayScope(scope) {
			page.Tokens.Scopes = append(page.Tokens.Scopes, scope)
		}
	}
	return s.Page(w, r, status, views.Account(page))
}

// SaveAccount saves the person's name in the tracker, after checking that the tracker has it.
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
			return s.sendAccountForm(w, r, a.Status, crash.Truncate(name, 100), a.Message)
		}
		name = found
	}
	if err := s.People.SetTrackerName(r.Context(), u.Name, u.Name, name); err != nil {
		return err
	}
	if err := s.Flash(r, views.FlashDone, "Saved."); err != nil {
		return err
	}
	return web.Redirect(w, r, web.PathAccount)
}
