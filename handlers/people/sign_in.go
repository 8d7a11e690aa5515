package people

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
	"mishap/views/layout"
	view "mishap/views/people"
)

// ShowSignIn shows the sign-in form. It redirects people who are signed in already and
// would gain no rights.
func (s *Pages) ShowSignIn(w http.ResponseWriter, r *http.Request) error {
	next := web.LocalPath(r.URL.Query().Get("next"))
	if u := web.CurrentUser(r); u.ID != 0 && !u.GroupsExpired {
		return web.Redirect(w, r, next)
	}
	return s.web.SendSignIn(w, r, http.StatusOK, view.SignInForm{Next: next})
}

// SignIn checks name and password and starts a session. If they are wrong, it shows the form again
// without the password.
func (s *Pages) SignIn(w http.ResponseWriter, r *http.Request) error {
	form := view.SignInForm{
		Name: r.PostFormValue("username"), Next: web.LocalPath(r.PostFormValue("next")), SavedForm: r.PostFormValue("kept"),
	}
	if s.web.Config.LocalSignIn == crash.LocalOff {
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
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.web.Base.Scheme == "https",
	})
	if signed.NeedsCode {
		return s.askForCode(w, r, form, signed)
	}
	if err := s.web.BeginSession(r, web.SessionOwner{User: signed.User.ID}); err != nil {
		return err
	}
	web.RenewCSRFToken(w, r)
	if form.SavedForm != "" {
		return s.web.SaveInSession(w, r, form.Next, form.SavedForm)
	}
	return web.Redirect(w, r, web.AfterSignIn(s.web, r, form.Next))
}

// ShowResume shows the form that was refused before signing in, so that the person can send it
// again.
func (s *Pages) ShowResume(w http.ResponseWriter, r *http.Request) error {
	path, form, found := web.SavedForm(s.web, r)
	if !found {
		return web.Redirect(w, r, "/")
	}
	return s.web.Page(w, r, http.StatusOK, layout.Resume(s.web.Shell(r, "Send again?"), path, form))
}

var errLocalOff = crash.Errorf(crash.Forbidden, "local_off", "Signing in with a name and password is switched "+
	"off here. "+
	"(Administrators: local_sign_in in the configuration.)")

// refuseSignIn shows the form again with the reason.
func (s *Pages) refuseSignIn(w http.ResponseWriter, r *http.Request, form view.SignInForm, err error) error {
	a := web.AnswerTo(r, err)
	if a.Kind == crash.Unauthenticated {
		a.Status = http.StatusUnprocessableEntity // 401 would mean that this address requires signing in
	}
	a.Headers(w)
	s.web.AuditSignInRefused(r, "password", a)
	form.Problem = a.Message
	if len(form.Name) > 128 {
		form.Name = ""
	}
	return s.web.SendSignIn(w, r, a.Status, form)
}

// SignOut ends the session.
func (s *Pages) SignOut(w http.ResponseWriter, r *http.Request) error {
	if err := s.web.Sessions.Destroy(r.Context()); err != nil {
		return err
	}
	web.RenewCSRFToken(w, r)
	return web.Redirect(w, r, "/")
}

// Values of the session of somebody who has entered the right password, and must still enter a code. Such
// a session belongs to nobody yet.
const (
	sessionCodeUser  = "code_user"  // id of the account
	sessionCodeProof = "code_proof" // see accounts.SignedIn
	sessionCodeSince = "code_since" // Unix time of the password
	sessionCodeNext  = "code_next"  // local path to continue at
)

// codeTime is how long after the password a code is accepted.
const codeTime = 10 * time.Minute

// askForCode begins the second step of signing in.
func (s *Pages) askForCode(w http.ResponseWriter, r *http.Request, form view.SignInForm, in people.SignedIn) error {
	ctx := r.Context()
	if err := errors.Join(s.web.Sessions.Clear(ctx), s.web.Sessions.RenewToken(ctx)); err != nil {
		return err
	}
	s.web.Sessions.Put(ctx, sessionCodeUser, strconv.FormatInt(in.User.ID, 10))
	s.web.Sessions.Put(ctx, sessionCodeProof, in.Proof)
	s.web.Sessions.Put(ctx, sessionCodeSince, strconv.FormatInt(s.web.Now().Unix(), 10))
	s.web.Sessions.Put(ctx, sessionCodeNext, form.Next)
	if form.SavedForm != "" {
		s.web.StoreForm(r, form.Next, form.SavedForm)
	}
	return web.Redirect(w, r, web.PathSignInCode)
}

// pendingUser returns the account of a sign-in that waits for a code, or 0 if none does.
func (s *Pages) pendingUser(r *http.Request) int64 {
	user, _ := strconv.ParseInt(s.web.Sessions.GetString(r.Context(), sessionCodeUser), 10, 64)
	since, _ := strconv.ParseInt(s.web.Sessions.GetString(r.Context(), sessionCodeSince), 10, 64)
	if s.web.Now().Sub(time.Unix(since, 0)) > codeTime {
		return 0
	}
	return user
}

// ShowCode shows the form for a code.
func (s *Pages) ShowCode(w http.ResponseWriter, r *http.Request) error {
	next := web.LocalPath(s.web.Sessions.GetString(r.Context(), sessionCodeNext))
	switch {
	case web.CurrentUser(r).ID != 0:
		return web.Redirect(w, r, next)
	case s.pendingUser(r) == 0:
		return s.web.SendSignIn(w, r, http.StatusOK, view.SignInForm{Next: next})
	}
	return s.web.Page(w, r, http.StatusOK, view.SignInCode(s.web.SignInShell(r), ""))
}

// SignInByCode checks a code and starts a session.
func (s *Pages) SignInByCode(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if s.web.Config.LocalSignIn == crash.LocalOff {
		return errLocalOff
	}
	user, next := s.pendingUser(r), web.LocalPath(s.web.Sessions.GetString(ctx, sessionCodeNext))
	if user == 0 {
		return s.web.SendSignIn(w, r, http.StatusUnprocessableEntity, view.SignInForm{
			Next: next, Problem: "You entered your password too long ago. Sign in again."})
	}
	err := s.People.SignInWithCode(ctx, user, s.web.Sessions.GetString(ctx, sessionCodeProof), r.PostFormValue("code"))
	if err == nil {
		if err := s.web.BeginSession(r, web.SessionOwner{User: user}); err != nil {
			return err
		}
		web.RenewCSRFToken(w, r)
		return web.Redirect(w, r, web.AfterSignIn(s.web, r, next))
	}
	a := web.AnswerTo(r, err)
	if !a.ForPerson() {
		return err
	}
	a.Headers(w)
	if a.Code == crash.CodeSignInAgain {
		s.web.Sessions.Remove(ctx, sessionCodeUser)
		return s.web.SendSignIn(w, r, http.StatusUnprocessableEntity, view.SignInForm{Next: next, Problem: a.Message})
	}
	if a.Kind == crash.Unauthenticated {
		a.Status = http.StatusUnprocessableEntity // 401 would mean that this address requires signing in
	}
	return s.web.Page(w, r, a.Status, view.SignInCode(s.web.SignInShell(r), a.Message))
}

// EndSession ends a session of the person, or all but the present one.
func (s *Pages) EndSession(w http.ResponseWriter, r *http.Request) error {
	u, id := web.CurrentUser(r), r.PostFormValue("session")
	current := people.SessionID(s.web.Sessions.Token(r.Context()))
	message := "Signed out there."
	switch id {
	case current:
		return s.SignOut(w, r)
	case "others":
		message = "Signed out everywhere else."
		if err := s.People.EndOtherSessions(r.Context(), u.ID, current); err != nil {
			return err
		}
	default:
		if err := s.People.EndSession(r.Context(), u.ID, id); err != nil {
			return err
		}
	}
	return s.web.Done(w, r, web.PathAccount, message)
}

// ChangePassword changes the person's password, and ends all other sessions.
func (s *Pages) ChangePassword(w http.ResponseWriter, r *http.Request) error {
	u, err := web.CurrentUser(r), error(nil)
	switch {
	case !u.HasPassword || s.web.Config.LocalSignIn == crash.LocalOff:
		return crash.Errorf(crash.Conflict, "no_password", "Your account has no password that you could sign in with.")
	case r.PostFormValue("new") != r.PostFormValue("again"):
		err = crash.Errorf(crash.Invalid, "passwords_differ", "%s", "The two new passwords differ.")
	default:
		err = s.People.CheckPassword(r.Context(), s.passwordOf(r))
	}
	if err == nil {
		err = s.People.SetPassword(r.Context(), u.Name, u.Name, r.PostFormValue("new"))
	}
	if err != nil {
		a := web.AnswerTo(r, err)
		if !a.ForPerson() {
			return err
		}
		a.Headers(w)
		if a.Kind == crash.Unauthenticated || a.Kind == crash.Invalid {
			a.Status = http.StatusUnprocessableEntity
		}
		page := view.AccountPage{Tracker: s.web.Config.TrackerName, Name: u.TrackerName, PasswordProblem: a.Message}
		return s.sendAccount(w, r, a.Status, page, view.NewTokenForm())
	}
	if err := s.web.Sessions.RenewToken(r.Context()); err != nil { // the old token has ended with all others
		return err
	}
	web.RenewCSRFToken(w, r)
	return s.web.Done(w, r, web.PathAccount, "Password changed. You are signed out everywhere else.")
}
