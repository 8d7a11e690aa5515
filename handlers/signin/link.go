package signin

import (
	"net/http"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
	"mishap/views"
)

// StartLink sends a person to another site, to add the identity there to the account here. It needs
// the password, or a fresh sign-in.
func (s *Pages) StartLink(w http.ResponseWriter, r *http.Request) error {
	source := crash.Source(r.PostFormValue("source"))
	if source == crash.SourceLaunchpad && s.openid == nil || source == crash.SourceOIDC && s.oidc == nil ||
		source != crash.SourceLaunchpad && source != crash.SourceOIDC {
		return errNotConfigured()
	}
	if err := web.CheckPerson(s.Kit, r); err != nil {
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
		return s.leave(w, r, s.Config.OpenID.Name, s.openid.Begin(a.State, a.Groups))
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
	if err := s.Sessions.RenewToken(r.Context()); err != nil { // the session may have more rights now
		return err
	}
	return s.toAccount(w, r, views.FlashDone, "Connected: from now on you can sign in this way, too.")
}

// Unlink removes an identity from the account. It needs the password, or a fresh sign-in.
func (s *Pages) Unlink(w http.ResponseWriter, r *http.Request) error {
	id := web.IDInPath(r)
	if id == 0 {
		return crash.Errorf(crash.NotFound, "unknown_identity", "There is no such way to sign in.")
	}
	if err := web.CheckPerson(s.Kit, r); err != nil {
		return s.refuseChange(w, r, err)
	}
	ways := people.Ways{Password: s.Config.LocalSignIn != crash.LocalOff}
	if s.openid != nil {
		ways.Issuers = append(ways.Issuers, crash.Identity{Source: crash.SourceLaunchpad, Issuer: s.Config.OpenID.URL})
	}
	if s.oidc != nil {
		ways.Issuers = append(ways.Issuers, crash.Identity{Source: crash.SourceOIDC, Issuer: s.Config.OIDC.Issuer})
	}
	if s.Config.Proxy.Header != "" {
		ways.Issuers = append(ways.Issuers, crash.Identity{Source: crash.SourceProxy})
	}
	if err := s.People.UnlinkIdentity(r.Context(), web.CurrentUser(r).ID, id, ways); err != nil {
		return s.refuseChange(w, r, err)
	}
	return s.toAccount(w, r, views.FlashDone, "Disconnected. Browsers that were signed in this way are signed out.")
}

// refuseChange says on the page of the account why nothing was changed, or asks to sign in again.
func (s *Pages) refuseChange(w http.ResponseWriter, r *http.Request, err error) error {
	a := web.AnswerTo(r, err)
	if !a.ForPerson() {
		return err
	}
	if a.Code == "old_session" {
		return s.SendSignIn(w, r, http.StatusUnauthorized, views.SignInForm{Next: web.PathAccount, Problem: a.Message})
	}
	web.MarkUnchanged(r)
	return s.toAccount(w, r, views.FlashError, a.Message)
}

// toAccount redirects to the page of the account, with a message.
func (s *Pages) toAccount(w http.ResponseWriter, r *http.Request, kind views.FlashKind, message string) error {
	if err := s.Flash(r, kind, message); err != nil {
		return err
	}
	return web.Redirect(w, r, web.PathAccount)
}
