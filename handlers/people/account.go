package people

import (
	"context"
	"net/http"

	"github.com/pquerna/otp/totp"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
	view "mishap/views/people"
)

// ShowAccount shows the page of the person's own account.
func (s *Pages) ShowAccount(w http.ResponseWriter, r *http.Request) error {
	return s.sendAccount(w, r, http.StatusOK, view.AccountPage{})
}

// sendAccount sends the page. Forms that were not refused have their usual values.
func (s *Pages) sendAccount(w http.ResponseWriter, r *http.Request, status int, page view.AccountPage) error {
	u := web.CurrentUser(r)
	if s.web.HasLaunchpad() {
		page.Tracker = s.web.Config.TrackerName
	}
	if page.Problem == "" {
		page.Name = u.TrackerName
	}
	if page.Tokens.Form.Problem == "" {
		page.Tokens.Form = view.NewTokenForm()
	}
	list, err := s.People.Tokens(r.Context(), u)
	if err != nil {
		return err
	}
	if page.Identities, err = s.People.Identities(r.Context(), u.ID); err != nil {
		return err
	}
	page.Sessions.Current = people.SessionID(s.web.Sessions.Token(r.Context()))
	if page.Sessions.Sessions, err = s.People.SessionsOf(r.Context(), u.ID); err != nil {
		return err
	}
	if page.SecondFactor, err = s.People.SecondFactor(r.Context(), u.ID); err != nil {
		return err
	}
	page.CanPassword = s.web.Config.LocalSignIn != crash.LocalOff
	if s.web.Config.OpenID.URL != "" {
		page.Links = append(page.Links, view.LinkMethod{Source: crash.SourceLaunchpad, Name: s.web.Config.OpenID.Name})
	}
	if s.web.Config.OIDC.Issuer != "" {
		page.Links = append(page.Links, view.LinkMethod{Source: crash.SourceOIDC, Name: s.web.Config.OIDC.Name})
	}
	if page.Services, err = s.People.ServiceAccounts(r.Context(), u.ID); err != nil {
		return err
	}
	grants, err := s.People.Grants(r.Context())
	if err != nil {
		return err
	}
	page.Reasons = crash.RoleReasons(u, page.Identities, grants, s.Store.Rights.Everyone)
	page.Shell = s.web.Shell(r, "Your account")
	if page.Own, err = s.ownAccount(r); err != nil {
		return err
	}
	if page.Own != nil {
		page.Own.Problem = page.OwnProblem
	}
	page.Tokens.Tokens = list
	page.Tokens.Scopes = scopesOf(u)
	return s.web.Page(w, r, status, view.Account(page))
}

// SaveAccount saves the person's name in the tracker, after checking that the tracker has it.
func (s *Pages) SaveAccount(w http.ResponseWriter, r *http.Request) error {
	u, name := web.CurrentUser(r), r.PostFormValue("tracker_name")
	if !s.web.HasLaunchpad() {
		name = "" // there is no field
	}
	if name != "" {
		found, err := s.Tracker.Account(r.Context(), name)
		if err != nil {
			a := web.AnswerTo(r, err)
			if a.Kind != crash.Unprocessable && a.Kind != crash.Unavailable && a.Kind != crash.Refused {
				return err
			}
			s.web.LogError(r, err, a)
			a.Headers(w)
			return s.sendAccount(w, r, a.Status, view.AccountPage{Name: crash.Truncate(name, 100), Problem: a.Message})
		}
		name = found
	}
	if err := s.People.SetTrackerName(r.Context(), u.Name, u.Name, name); err != nil {
		return err
	}
	return s.web.Done(w, r, web.PathAccount, "Saved.")
}

// ownAccount returns the part of the page about the person's own account at the tracker, or nil if
// the person may not file bugs.
func (s *Pages) ownAccount(r *http.Request) (*view.OwnAccountView, error) {
	u := web.CurrentUser(r)
	if !u.Role.Allows(crash.RoleTriager) || !s.web.Config.AllowBugFiling || !s.web.HasLaunchpad() {
		return nil, nil
	}
	own, err := s.Filer.OwnAccount(r.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	v := &view.OwnAccountView{Own: own, Tracker: s.web.Config.TrackerName, Shell: s.web.BareShell(r, "")}
	if own.Account != "" {
		v.TokensURL = s.Filer.TokensURL(own.Account)
	}
	if rt, expires, ok := web.OwnRequest.Token(s.web, r); ok {
		v.AuthorizeURL, v.Expires = s.Tracker.AuthorizeURL(rt.Key), expires
	}
	return v, nil
}

// sendOwnProblem sends the page with the error of an action about the person's own account.
func (s *Pages) sendOwnProblem(w http.ResponseWriter, r *http.Request, failed error) error {
	a := web.AnswerTo(r, failed)
	s.web.LogError(r, failed, a)
	a.Headers(w)
	return s.sendAccount(w, r, a.Status, view.AccountPage{OwnProblem: a.Message})
}

// BeginConnecting asks the tracker for a request token.
func (s *Pages) BeginConnecting(w http.ResponseWriter, r *http.Request) error {
	if !s.web.Config.AllowBugFiling {
		return errFilingOff
	}
	if err := web.OwnRequest.Begin(s.web, r); err != nil {
		return s.sendOwnProblem(w, r, err)
	}
	return web.Redirect(w, r, web.PathAccount)
}

var errFilingOff = crash.Errorf(crash.Forbidden, "filing_off", "Creating bugs is turned off (allow_bug_filing).")

// FinishConnecting exchanges the request token for the access token. The tracker sends it only
// once, so the rest runs to its end even if the person leaves the page.
func (s *Pages) FinishConnecting(w http.ResponseWriter, r *http.Request) error {
	r = r.WithContext(context.WithoutCancel(r.Context()))
	token, err := web.OwnRequest.Finish(s.web, r)
	if err != nil {
		return s.sendOwnProblem(w, r, err)
	}
	//nolint:contextcheck // it is the context of the request
	account, err := s.Filer.ConnectOwnAccount(r.Context(), web.CurrentUser(r), token)
	if err != nil {
		return s.sendOwnProblem(w, r, err)
	}
	return s.web.Done(w, r, web.PathAccount, ownConnectedAs(s.web.Config.TrackerName, account))
}

// CheckConnection tests the person's own account, and has bugs filed with it again if it works.
func (s *Pages) CheckConnection(w http.ResponseWriter, r *http.Request) error {
	account, err := s.Filer.CheckOwnAccount(context.WithoutCancel(r.Context()), web.CurrentUser(r))
	if err != nil {
		return s.sendOwnProblem(w, r, err)
	}
	return s.web.Done(w, r, web.PathAccount, ownConnectedAs(s.web.Config.TrackerName, account))
}

// Disconnect deletes the access token of the person's own account.
func (s *Pages) Disconnect(w http.ResponseWriter, r *http.Request) error {
	own, err := s.Filer.OwnAccount(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	if err := s.Filer.DisconnectOwnAccount(r.Context(), web.CurrentUser(r)); err != nil {
		return err
	}
	web.OwnRequest.Remove(s.web, r)
	message := "Disconnected. Your access token has been deleted."
	if own.Account != "" {
		message = "Disconnected. Your access token has been deleted here. You can revoke it at " +
			s.Filer.TokensURL(own.Account) + "."
	}
	return s.web.Done(w, r, web.PathAccount, message)
}

// PreferOwn sets whether the person's bugs are filed with their own account by default.
func (s *Pages) PreferOwn(w http.ResponseWriter, r *http.Request) error {
	preferred := r.PostFormValue("preferred") != ""
	if err := s.Filer.PreferOwnAccount(r.Context(), web.CurrentUser(r), preferred); err != nil {
		return err
	}
	return s.web.Done(w, r, web.PathAccount, "Saved.")
}

func ownConnectedAs(tracker, account string) string {
	return "Your bugs can be filed as ~" + account + " at " + tracker + "."
}

// CreateToken creates an API token and shows it. mishap never shows it again.
func (s *Pages) CreateToken(w http.ResponseWriter, r *http.Request) error {
	u := web.CurrentUser(r)
	form, err := web.ReadTokenForm(r)
	if err != nil {
		return err
	}
	made, err := s.addToken(r, u, form)
	if crash.KindOf(err) == crash.Forbidden { // the form does not offer such a scope
		return err
	}
	tokens, status, err := shownToken(r, form, made, err)
	if err != nil {
		return err
	}
	return s.sendAccount(w, r, status, view.AccountPage{Tokens: tokens})
}

// RevokeToken revokes one of the person's own tokens.
func (s *Pages) RevokeToken(w http.ResponseWriter, r *http.Request) error {
	u := web.CurrentUser(r)
	if _, err := s.People.RevokeTokenOf(r.Context(), u.Name, u.ID, web.IDInPath(r)); err != nil {
		return err
	}
	return s.web.Done(w, r, web.PathAccount, "Token revoked.")
}

// ShowSecondFactor shows the page on which people set up their authenticator app.
func (s *Pages) ShowSecondFactor(w http.ResponseWriter, r *http.Request) error {
	return s.sendSecondFactor(w, r, http.StatusOK, view.SecondFactorPage{})
}

func (s *Pages) sendSecondFactor(w http.ResponseWriter, r *http.Request, status int,
	page view.SecondFactorPage) error {
	u := web.CurrentUser(r)
	var err error
	if page.Factor, err = s.People.SecondFactor(r.Context(), u.ID); err != nil {
		return err
	}
	if page.Factor.Secret != "" {
		if page.Address, err = appAddress(s.web.Base.Host, u.Name, page.Factor.Secret); err != nil {
			return err
		}
	}
	page.Required = s.web.Config.RequireApp.Requires(u) && !page.Factor.On()
	if page.Recovery != nil {
		page.Next = web.AfterApp(s.web, r)
	}
	page.Shell = s.web.Shell(r, "Authenticator app")
	return s.web.Page(w, r, status, view.SecondFactor(page))
}

func appAddress(site, user string, secret crash.Secret) (string, error) {
	raw, err := view.DecodeSecret(secret)
	if err != nil {
		return "", err
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "mishap " + site, AccountName: user, Secret: raw})
	if err != nil {
		return "", err
	}
	return key.URL(), nil
}

// BeginSecondFactor makes the secret of an app, which the page then shows until it is confirmed.
func (s *Pages) BeginSecondFactor(w http.ResponseWriter, r *http.Request) error {
	err := s.People.BeginSecondFactor(r.Context(), s.passwordOf(r))
	return s.afterSecondFactor(w, r, view.SecondFactorPage{Pressed: view.SecondFactorBegin}, "", err)
}

// ConfirmSecondFactor switches an app on by its first code, and shows the recovery codes.
func (s *Pages) ConfirmSecondFactor(w http.ResponseWriter, r *http.Request) error {
	page := view.SecondFactorPage{Pressed: view.SecondFactorConfirm}
	var err error
	page.Recovery, err = s.People.ConfirmSecondFactor(r.Context(), web.CurrentUser(r), r.PostFormValue("code"))
	return s.afterSecondFactor(w, r, page, "", err)
}

// NewRecoveryCodes replaces the recovery codes, and shows them.
func (s *Pages) NewRecoveryCodes(w http.ResponseWriter, r *http.Request) error {
	page := view.SecondFactorPage{Pressed: view.SecondFactorCodes}
	var err error
	page.Recovery, err = s.People.NewRecoveryCodes(r.Context(), s.passwordOf(r))
	return s.afterSecondFactor(w, r, page, "", err)
}

// SwitchOffSecondFactor removes the app.
func (s *Pages) SwitchOffSecondFactor(w http.ResponseWriter, r *http.Request) error {
	err := s.People.SwitchOffSecondFactor(r.Context(), s.passwordOf(r))
	return s.afterSecondFactor(w, r, view.SecondFactorPage{Pressed: view.SecondFactorOff},
		"The authenticator app is switched off.", err)
}

// afterSecondFactor shows the page with recovery codes or the reason of a refusal, or redirects to it.
func (s *Pages) afterSecondFactor(
	w http.ResponseWriter, r *http.Request, page view.SecondFactorPage, message string, err error,
) error {
	switch {
	case err != nil:
		a := answerOnPage(w, r, err)
		if !a.ForPerson() {
			return err
		}
		page.Problem = a.Message
		return s.sendSecondFactor(w, r, a.Status, page)
	case page.Recovery != nil:
		return s.sendSecondFactor(w, r, http.StatusOK, page)
	}
	return s.web.Done(w, r, view.PathSecondFactor, message)
}

// passwordOf returns the password that a person who is signed in has entered again.
func (s *Pages) passwordOf(r *http.Request) people.SignIn {
	return people.SignIn{Name: web.CurrentUser(r).Name, Password: r.PostFormValue("password"),
		Address: proxies.Client(r)}
}
