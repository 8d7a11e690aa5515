package people

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/oauth2"

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
	a := answerOnPage(w, r, err)
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
	a := answerOnPage(w, r, err)
	if !a.ForPerson() {
		return err
	}
	if a.Code == crash.CodeSignInAgain {
		s.web.Sessions.Remove(ctx, sessionCodeUser)
		return s.web.SendSignIn(w, r, http.StatusUnprocessableEntity, view.SignInForm{Next: next, Problem: a.Message})
	}
	return s.web.Page(w, r, a.Status, view.SignInCode(s.web.SignInShell(r), a.Message))
}

// EndSession ends a session of the person, or all but the present one.
func (s *Pages) EndSession(w http.ResponseWriter, r *http.Request) error {
	u, id := web.CurrentUser(r), r.PostFormValue("session")
	current := people.SessionID(s.web.Sessions.Token(r.Context()))
	message, others := "Signed out there.", id == "others"
	switch {
	case id == current:
		return s.SignOut(w, r)
	case others:
		id, message = current, "Signed out everywhere else."
	}
	if err := s.People.EndSessions(r.Context(), u.ID, id, others); err != nil {
		return err
	}
	return s.web.Done(w, r, web.PathAccount, message)
}

// ChangePassword changes the person's password, and ends all other sessions.
func (s *Pages) ChangePassword(w http.ResponseWriter, r *http.Request) error {
	u, err := web.CurrentUser(r), error(nil)
	switch {
	case !u.HasPassword || s.web.Config.LocalSignIn == crash.LocalOff:
		return crash.Errorf(crash.Conflict, "no_password", "Your account has no password.")
	case r.PostFormValue("new") != r.PostFormValue("again"):
		err = crash.Errorf(crash.Invalid, "passwords_differ", "%s", "The two new passwords differ.")
	default:
		err = s.People.CheckPassword(r.Context(), s.passwordOf(r))
	}
	if err == nil {
		err = s.People.SetPassword(r.Context(), u.Name, u.Name, r.PostFormValue("new"))
	}
	if err != nil {
		a := answerOnPage(w, r, err)
		if !a.ForPerson() {
			return err
		}
		if a.Kind == crash.Invalid {
			a.Status = http.StatusUnprocessableEntity
		}
		return s.sendAccount(w, r, a.Status, view.AccountPage{PasswordProblem: a.Message})
	}
	if err := s.web.Sessions.RenewToken(r.Context()); err != nil { // the old token has ended with all others
		return err
	}
	web.RenewCSRFToken(w, r)
	return s.web.Done(w, r, web.PathAccount, "Password changed. You are signed out everywhere else.")
}

// StartOpenID sends a person to the OpenID provider.
func (s *Pages) StartOpenID(w http.ResponseWriter, r *http.Request) error {
	if s.openid == nil {
		return errNotConfigured()
	}
	return s.leaveToOpenID(w, r, attempt{Source: crash.SourceLaunchpad})
}

// leaveToOpenID begins an attempt and sends the browser to the OpenID provider.
func (s *Pages) leaveToOpenID(w http.ResponseWriter, r *http.Request, a attempt) error {
	var err error
	if a.Groups, err = s.People.GrantedGroups(r.Context(), crash.SourceLaunchpad); err != nil {
		return err
	}
	if err := s.begin(r, &a); err != nil {
		return err
	}
	return s.leave(w, r, s.web.Config.OpenID.Name, s.openid.begin(a.State, a.Groups))
}

// FinishOpenID signs in a person whom the OpenID provider has sent back.
func (s *Pages) FinishOpenID(w http.ResponseWriter, r *http.Request) error {
	if s.openid == nil {
		return errNotConfigured()
	}
	return s.finish(w, r, crash.SourceLaunchpad, func(a attempt, query url.Values) (crash.Identity, error) {
		return s.openid.finish(r.Context(), query, a.State, a.Groups)
	})
}

// maxReturn is the largest answer, in bytes, that ReceiveOpenID passes on in an address.
const maxReturn = 7000

// ReceiveOpenID accepts an answer that the provider sends as a form, because it is long. A form of
// another site brings no session cookie, so the browser comes again with the fields in the address.
// The check of CSRF tokens does not apply; nothing is changed here.
func (s *Pages) ReceiveOpenID(w http.ResponseWriter, r *http.Request) error {
	if s.openid == nil {
		return errNotConfigured()
	}
	r.Body = http.MaxBytesReader(w, r.Body, web.MaxRequestBytes)
	if !web.IsForm(r) || r.ParseForm() != nil {
		return web.ErrBadForm
	}
	query := r.URL.RawQuery
	if form := r.PostForm.Encode(); form != "" { // keeps fields that occur twice
		query += "&" + form
	}
	if len(query) > maxReturn {
		return crash.Errorf(crash.Unprocessable, "long_answer",
			"The answer of %s is too long. (Administrators: give roles to fewer teams; each is part of the answer.)",
			s.web.Config.OpenID.Name)
	}
	http.Redirect(w, r, web.PathOpenID+web.PathSignInReturn+"?"+query, http.StatusSeeOther)
	return nil
}

// StartOIDC sends a person to the OpenID Connect provider.
func (s *Pages) StartOIDC(w http.ResponseWriter, r *http.Request) error {
	if s.oidc == nil {
		return errNotConfigured()
	}
	return s.leaveToOIDC(w, r, attempt{Source: crash.SourceOIDC})
}

// leaveToOIDC begins an attempt and sends the browser to the OpenID Connect provider.
func (s *Pages) leaveToOIDC(w http.ResponseWriter, r *http.Request, a attempt) error {
	a.Nonce, a.Verifier = rand.Text(), oauth2.GenerateVerifier()
	if err := s.begin(r, &a); err != nil {
		return err
	}
	address, err := s.oidc.begin(r.Context(), a.State, a.Nonce, a.Verifier, !a.NoRefresh)
	if err != nil {
		return s.refuse(w, r, crash.SourceOIDC, a, err)
	}
	return s.leave(w, r, s.web.Config.OIDC.Name, address)
}

// FinishOIDC signs in a person whom the OpenID Connect provider has sent back.
func (s *Pages) FinishOIDC(w http.ResponseWriter, r *http.Request) error {
	if s.oidc == nil {
		return errNotConfigured()
	}
	return s.finish(w, r, crash.SourceOIDC, func(a attempt, query url.Values) (crash.Identity, error) {
		return s.oidc.finish(r.Context(), query, a.Nonce, a.Verifier, !a.NoRefresh)
	})
}

// RefreshGroups asks the OpenID Connect provider for the present groups of the people whose refresh token
// it has given, before they are too old for a change by an administrator.
func (s *Pages) RefreshGroups(ctx context.Context) error {
	if s.oidc == nil {
		return nil
	}
	due, err := s.People.Refreshable(ctx, s.web.Config.OIDC.Issuer, s.web.Now().Add(-web.GroupsDue))
	if err != nil {
		return err
	}
	for _, was := range due {
		now, failed := s.oidc.refresh(ctx, was.Subject, was.Refresh)
		now.Offline = was.Offline
		if err := s.People.StoreRefresh(ctx, was, now, failed); err != nil {
			return err
		}
		if errors.Is(failed, crash.Unavailable) {
			return failed // it would not answer about the others either
		}
	}
	return nil
}

// LogoutOIDC ends the sessions of a person who has signed out at the provider. The provider itself sends
// the request, with a signed token instead of a session.
func (s *Pages) LogoutOIDC(w http.ResponseWriter, r *http.Request) error {
	if s.oidc == nil {
		return errNotConfigured()
	}
	err := s.endSessions(w, r)
	if err == nil {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusOK)
		return nil
	}
	a := web.AnswerTo(r, err)
	s.web.LogError(r, err, a)
	a.Headers(w)
	return web.WriteJSON(w, a.Status, map[string]string{"error": "invalid_request", "error_description": a.Message})
}

func (s *Pages) endSessions(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, web.MaxRequestBytes)
	if !web.IsForm(r) || r.ParseForm() != nil || len(r.PostForm["logout_token"]) != 1 {
		return crash.Errorf(crash.Invalid, "bad_form", "The request has no logout token.")
	}
	id, who, err := s.oidc.verifyLogout(r.Context(), r.PostForm.Get("logout_token"))
	if err != nil {
		return err
	}
	fresh, err := s.People.UseNonce(r.Context(), who.Issuer+" logout", id)
	if err != nil {
		return err
	}
	if !fresh {
		return crash.Errorf(crash.Invalid, "replayed", "This logout token has been used before.")
	}
	ended, err := s.People.EndProviderSessions(r.Context(), who)
	if err != nil {
		return err
	}
	s.web.Log.InfoContext(r.Context(), "the provider has signed a person out", "request_id", web.RequestID(r), "sessions",
		ended)
	return nil
}

// StartLink sends a person to another site, to add the identity there to the account here. It needs
// the password, or a fresh sign-in.
func (s *Pages) StartLink(w http.ResponseWriter, r *http.Request) error {
	source := crash.Source(r.PostFormValue("source"))
	if source == crash.SourceLaunchpad && s.openid == nil || source == crash.SourceOIDC && s.oidc == nil ||
		source != crash.SourceLaunchpad && source != crash.SourceOIDC {
		return errNotConfigured()
	}
	if err := web.CheckPerson(s.web, r); err != nil {
		return s.refuseChange(w, r, err)
	}
	a := attempt{Source: source, Link: web.CurrentUser(r).ID}
	if source == crash.SourceLaunchpad {
		return s.leaveToOpenID(w, r, a)
	}
	return s.leaveToOIDC(w, r, a)
}

// finishLink adds the identity that a provider has confirmed to the account that asked for it.
func (s *Pages) finishLink(w http.ResponseWriter, r *http.Request, a attempt, who crash.Identity) error {
	if web.CurrentUser(r).ID != a.Link {
		return s.refuse(w, r, a.Source, a, errNotBegun)
	}
	if err := s.People.UncountAttempt(r.Context(), proxies.Client(r)); err != nil {
		return err
	}
	if err := s.People.LinkIdentity(r.Context(), a.Link, who); err != nil {
		return s.refuse(w, r, a.Source, a, err)
	}
	if err := s.web.Sessions.RenewToken(r.Context()); err != nil { // the session may have more rights now
		return err
	}
	return s.toAccount(w, r, layout.FlashDone, "Connected. You can now sign in this way, too.")
}

// Unlink removes an identity from the account. It needs the password, or a fresh sign-in.
func (s *Pages) Unlink(w http.ResponseWriter, r *http.Request) error {
	id := web.IDInPath(r)
	if id == 0 {
		return crash.Errorf(crash.NotFound, "unknown_identity", "This way to sign in does not exist.")
	}
	if err := web.CheckPerson(s.web, r); err != nil {
		return s.refuseChange(w, r, err)
	}
	ways := people.Ways{Password: s.web.Config.LocalSignIn != crash.LocalOff}
	if s.openid != nil {
		ways.Issuers = append(ways.Issuers, crash.Identity{Source: crash.SourceLaunchpad, Issuer: s.web.Config.OpenID.URL})
	}
	if s.oidc != nil {
		ways.Issuers = append(ways.Issuers, crash.Identity{Source: crash.SourceOIDC, Issuer: s.web.Config.OIDC.Issuer})
	}
	if s.web.Config.Proxy.Header != "" {
		ways.Issuers = append(ways.Issuers, crash.Identity{Source: crash.SourceProxy})
	}
	if err := s.People.UnlinkIdentity(r.Context(), web.CurrentUser(r).ID, id, ways); err != nil {
		return s.refuseChange(w, r, err)
	}
	return s.toAccount(w, r, layout.FlashDone, "Disconnected. Browsers that were signed in this way are signed out.")
}

// refuseChange says on the page of the account why nothing was changed, or asks to sign in again.
func (s *Pages) refuseChange(w http.ResponseWriter, r *http.Request, err error) error {
	a := web.AnswerTo(r, err)
	if !a.ForPerson() {
		return err
	}
	if a.Code == "old_session" {
		return s.web.SendSignIn(w, r, http.StatusUnauthorized, view.SignInForm{Next: web.PathAccount, Problem: a.Message})
	}
	web.MarkUnchanged(r)
	return s.toAccount(w, r, layout.FlashError, a.Message)
}

func (s *Pages) toAccount(w http.ResponseWriter, r *http.Request, kind layout.FlashKind, message string) error {
	return s.web.RedirectWith(w, r, web.PathAccount, layout.Flash{Kind: kind, Text: message})
}
