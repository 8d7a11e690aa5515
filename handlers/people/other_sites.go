package people

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/people/oidc"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
	"mishap/views/layout"
	view "mishap/views/people"
)

// StartOpenID sends a person to the OpenID provider.
func (s *Pages) StartOpenID(w http.ResponseWriter, r *http.Request) error {
	if s.openid == nil {
		return errNotConfigured()
	}
	teams, err := s.People.GrantedGroups(r.Context(), crash.SourceLaunchpad)
	if err != nil {
		return err
	}
	a := attempt{Source: crash.SourceLaunchpad, Groups: teams}
	if err := s.begin(r, &a); err != nil {
		return err
	}
	return s.leave(w, r, s.web.Config.OpenID.Name, s.openid.Begin(a.State, teams))
}

// FinishOpenID signs in a person whom the OpenID provider has sent back.
func (s *Pages) FinishOpenID(w http.ResponseWriter, r *http.Request) error {
	if s.openid == nil {
		return errNotConfigured()
	}
	return s.finish(w, r, crash.SourceLaunchpad, func(a attempt, query url.Values) (crash.Identity, error) {
		return s.openid.Finish(r.Context(), query, a.State, a.Groups)
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
		return crash.Errorf(crash.Invalid, "bad_form", "The form could not be read.")
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
	a.Nonce, a.Verifier = rand.Text(), oidc.NewVerifier()
	if err := s.begin(r, &a); err != nil {
		return err
	}
	address, err := s.oidc.Begin(r.Context(), a.State, a.Nonce, a.Verifier, !a.NoRefresh)
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
		return s.oidc.Finish(r.Context(), query, a.Nonce, a.Verifier, !a.NoRefresh)
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
		now, failed := s.oidc.Refresh(ctx, was.Subject, was.Refresh)
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

// endSessions ends the sessions that the logout token of a request names.
func (s *Pages) endSessions(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, web.MaxRequestBytes)
	if !web.IsForm(r) || r.ParseForm() != nil || len(r.PostForm["logout_token"]) != 1 {
		return crash.Errorf(crash.Invalid, "bad_form", "The request has no logout token.")
	}
	out, err := s.oidc.VerifyLogout(r.Context(), r.PostForm.Get("logout_token"))
	if err != nil {
		return err
	}
	fresh, err := s.People.UseNonce(r.Context(), out.Who.Issuer+" logout", out.ID)
	if err != nil {
		return err
	}
	if !fresh {
		return crash.Errorf(crash.Invalid, "replayed", "This logout token has been used before.")
	}
	ended, err := s.People.EndProviderSessions(r.Context(), out.Who)
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
		var err error
		if a.Groups, err = s.People.GrantedGroups(r.Context(), source); err != nil {
			return err
		}
		if err := s.begin(r, &a); err != nil {
			return err
		}
		return s.leave(w, r, s.web.Config.OpenID.Name, s.openid.Begin(a.State, a.Groups))
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
	return s.toAccount(w, r, layout.FlashDone, "Connected: from now on you can sign in this way, too.")
}

// Unlink removes an identity from the account. It needs the password, or a fresh sign-in.
func (s *Pages) Unlink(w http.ResponseWriter, r *http.Request) error {
	id := web.IDInPath(r)
	if id == 0 {
		return crash.Errorf(crash.NotFound, "unknown_identity", "There is no such way to sign in.")
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

// toAccount redirects to the page of the account, with a message.
func (s *Pages) toAccount(w http.ResponseWriter, r *http.Request, kind layout.FlashKind, message string) error {
	return s.web.RedirectWith(w, r, web.PathAccount, layout.Flash{Kind: kind, Text: message})
}
