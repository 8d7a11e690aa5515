package people

import (
	"net/http"

	"github.com/pquerna/otp/totp"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
	view "mishap/views/people"
)

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

// appAddress returns the address by which an app learns a secret.
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
		a := web.AnswerTo(r, err)
		if !a.ForPerson() {
			return err
		}
		a.Headers(w)
		if a.Kind == crash.Unauthenticated {
			a.Status = http.StatusUnprocessableEntity // 401 would mean that this address requires signing in
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
