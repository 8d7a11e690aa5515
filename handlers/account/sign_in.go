package account

import (
	"net/http"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
	"mishap/views"
)

// ShowSignIn shows the sign-in form. It redirects people who are signed in already and
// would gain no rights.
func (s *Pages) ShowSignIn(w http.ResponseWriter, r *http.Request) error {
	next := web.LocalPath(r.URL.Query().Get("next"))
	if u := web.CurrentUser(r); u.ID != 0 && !u.GroupsExpired {
		return web.Redirect(w, r, next)
	}
	return s.SendSignIn(w, r, http.StatusOK, views.SignInForm{Next: next})
}

// SignIn checks name and password and starts a session. If they are wrong, it shows the form again
// without the password.
func (s *Pages) SignIn(w http.ResponseWriter, r *http.Request) error {
	form := views.SignInForm{
		Name: r.PostFormValue("username"), Next: web.LocalPath(r.PostFormValue("next")), SavedForm: r.PostFormValue("kept"),
	}
	if s.Config.LocalSignIn == crash.LocalOff {
		return s.refuseSignIn(w, r, form, errLocalOff)
	}
	in := people.SignIn{Name: form.Name, Password: r.PostFormValue("password"), Address: proxies.Client(r)}
	if c, err := r.Cookie(web.CookieBrowser); err == nil {
		in.Browsers = c.Value
	}
	signed, err := s.People.SignIn(r.Context(), in)
	if kind := crash.KindOf(err); kind == crash.Unauthenticated || kind == crash.TooMany {
		return s.refuseSignIn(w, r, form, err)
	}
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name: web.CookieBrowser, Value: signed.Browsers, Path: web.PathSignIn,
		MaxAge:   int(people.KnownBrowserFor.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.Base.Scheme == "https",
	})
	if signed.NeedsCode {
		return s.askForCode(w, r, form, signed)
	}
	if err := s.BeginSession(r, web.SessionOwner{User: signed.User.ID}); err != nil {
		return err
	}
	web.RenewCSRFToken(w, r)
	if form.SavedForm != "" {
		return s.SaveInSession(w, r, form.Next, form.SavedForm)
	}
	return web.Redirect(w, r, web.AfterSignIn(s.Kit, r, form.Next))
}

// ShowResume shows the form that was refused before signing in, so that the person can send it
// again.
func (s *Pages) ShowResume(w http.ResponseWriter, r *http.Request) error {
	path, form, found := web.SavedForm(s.Kit, r)
	if !found {
		return web.Redirect(w, r, "/")
	}
	return s.Page(w, r, http.StatusOK, views.Resume(s.Shell(r, "Send again?"), path, form))
}

var errLocalOff = crash.Errorf(crash.Forbidden, "local_off", "Signing in with a name and password is switched "+
	"off here. "+
	"(Administrators: local_sign_in in the configuration.)")

// refuseSignIn shows the form again with the reason.
func (s *Pages) refuseSignIn(w http.ResponseWriter, r *http.Request, form views.SignInForm, err error) error {
	a := web.AnswerTo(r, err)
	if a.Kind == crash.Unauthenticated {
		a.Status = http.StatusUnprocessableEntity // 401 would mean that this address requires signing in
	}
	a.Headers(w)
	s.AuditSignInRefused(r, "password", a)
	form.Problem = a.Message
	if len(form.Name) > 128 {
		form.Name = ""
	}
	return s.SendSignIn(w, r, a.Status, form)
}

// SignOut ends the session.
func (s *Pages) SignOut(w http.ResponseWriter, r *http.Request) error {
	if err := s.Sessions.Destroy(r.Context()); err != nil {
		return err
	}
	web.RenewCSRFToken(w, r)
	return web.Redirect(w, r, "/")
}
