package signin

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"

	"mishap/crash"
	"mishap/handlers/signin/oidc"
	"mishap/handlers/web"
)

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
	return s.leave(w, r, s.Config.OIDC.Name, address)
}

// FinishOIDC signs in a person whom the OpenID Connect provider has sent back.
func (s *Pages) FinishOIDC(w http.ResponseWriter, r *http.Request) error {
	if s.oidc == nil {
		return errNotConfigured()
	}
	return s.finish(w, r, crash.SourceOIDC, func(a attempt, query url.Values) (crash.Identity, error) {
		return s.oidc.Finish(r.Context(), query, a.Nonce, a.Verifier)
	})
}

// RefreshGroups asks the OpenID Connect provider for the present groups of the people whose refresh token
// it has given, before they are too old for a change by an administrator.
func (s *Pages) RefreshGroups(ctx context.Context) error {
	if s.oidc == nil {
		return nil
	}
	due, err := s.People.Refreshable(ctx, s.Config.OIDC.Issuer, s.Now().Add(-web.GroupsDue))
	if err != nil {
		return err
	}
	for _, was := range due {
		now, failed := s.oidc.Refresh(ctx, was.Subject, was.Refresh)
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
	s.LogError(r, err, a)
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
	s.Log.InfoContext(r.Context(), "the provider has signed a person out", "request_id", web.RequestID(r), "sessions",
		ended)
	return nil
}
