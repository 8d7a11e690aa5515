// Package people signs people in and out: with a name and password and a second factor, and at other
// sites with OpenID 2.0 and OpenID Connect; package web signs in by a header of a proxy. It serves the page
// of one's own account, and the pages of service accounts.
package people

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/people"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	"mishap/views/layout"
	view "mishap/views/people"
)

// Deps are what the handlers of this package use.
type Deps struct {
	Store   *db.Store
	People  *people.Store
	Filer   *tracker.Filer
	Tracker *launchpad.Client
}

// Pages serves signing in, one's own account and service accounts.
type Pages struct {
	web *web.Kit
	Deps
	openid *openIDClient // nil: not configured
	oidc   *oidcClient   // nil: not configured
}

// New returns the handlers of this package.
func New(kit *web.Kit, d Deps) *Pages {
	s := &Pages{web: kit, Deps: d}
	if kit.Config.OpenID.URL != "" {
		s.openid = newOpenIDClient(kit, d.People.UseNonce)
	}
	if kit.Config.OIDC.Issuer != "" {
		s.oidc = newOIDCClient(kit)
	}
	return s
}

const (
	sessionAttempt = "sign_in"        // session value with the attempt that this browser has begun
	attemptTime    = 15 * time.Minute // for signing in at the other site
)

// attempt is a sign-in that a browser has begun. The session holds it, so that an answer counts only in
// the browser that asked for it, and only once.
type attempt struct {
	Source   crash.Source
	State    string   // comes back in the answer
	Nonce    string   // comes back in the id token
	Verifier string   // of PKCE
	Groups   []string // about which the provider was asked
	Next     string   // local path to continue at
	Link     int64    // account to which the identity is added; 0: sign in
	Began    time.Time

	NoRefresh bool // the provider has refused to give a refresh token
}

// begin stores a new attempt in the session.
func (s *Pages) begin(r *http.Request, a *attempt) error {
	a.State, a.Next, a.Began = rand.Text(), web.LocalPath(cmp.Or(a.Next, r.PostFormValue("next"))), s.web.Now()
	b, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("begin sign-in: %w", err)
	}
	if web.CurrentUser(r).ID == 0 {
		s.web.Sessions.SetDeadline(r.Context(), s.web.Now().Add(attemptTime))
	}
	s.web.Sessions.Put(r.Context(), sessionAttempt, string(b))
	if saved := r.PostFormValue("kept"); saved != "" {
		s.web.StoreForm(r, a.Next, saved)
	}
	return nil
}

// leave sends the browser to another site. It does not redirect: browsers apply the policy for forms to
// redirects after a form, and this site's policy forbids other sites.
func (s *Pages) leave(w http.ResponseWriter, r *http.Request, name, address string) error {
	w.Header().Set("Refresh", "0; url="+address)
	return s.web.Page(w, r, http.StatusOK, view.LeavePage(s.web.SignInShell(r), name, address))
}

var errNotBegun = crash.Errorf(crash.Unauthenticated, "sign_in_not_begun",
	"Signing in failed: it began in another browser, took more than %.0f minutes, or is already complete. Begin "+
		"again.", attemptTime.Minutes())

// take removes the attempt from the session and returns it, if it belongs to this answer.
func (s *Pages) take(r *http.Request, source crash.Source, query url.Values) (attempt, error) {
	var a attempt
	text := s.web.Sessions.GetString(r.Context(), sessionAttempt)
	if text == "" || json.Unmarshal([]byte(text), &a) != nil {
		return a, errNotBegun
	}
	states := query["state"]
	if a.Source != source || len(states) != 1 || subtle.ConstantTimeCompare([]byte(states[0]), []byte(a.State)) != 1 ||
		s.web.Now().Sub(a.Began) > attemptTime {
		return attempt{}, errNotBegun
	}
	s.web.Sessions.Remove(r.Context(), sessionAttempt)
	return a, nil
}

// finish signs in the person whom check returns for the answer of a provider.
func (s *Pages) finish(w http.ResponseWriter, r *http.Request, source crash.Source,
	check func(attempt, url.Values) (crash.Identity, error)) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return s.refuse(w, r, source, attempt{}, crash.Errorf(crash.Unauthenticated, "bad_query",
			"Signing in failed: the address of the answer is malformed."))
	}
	if err := s.People.CountAttempt(r.Context(), proxies.Client(r)); err != nil {
		return s.refuse(w, r, source, attempt{}, err)
	}
	a, err := s.take(r, source, query)
	if err != nil {
		return s.refuse(w, r, source, a, err)
	}
	who, err := check(a, query)
	if errors.Is(err, errScope) && !a.NoRefresh {
		a.NoRefresh = true
		return s.leaveToOIDC(w, r, a)
	}
	if err != nil {
		return s.refuse(w, r, source, a, err)
	}
	if a.Link != 0 {
		return s.finishLink(w, r, a, who)
	}
	signed, err := s.People.SignInIdentity(r.Context(), who)
	if err != nil {
		return s.refuse(w, r, source, a, err)
	}
	if err := s.People.UncountAttempt(r.Context(), proxies.Client(r)); err != nil {
		return err
	}
	owner := web.SessionOwner{User: signed.UserID, Identity: signed.IdentityID, Provider: who.Session}
	if err := s.web.BeginSession(r, owner); err != nil {
		return err
	}
	web.RenewCSRFToken(w, r)
	u, err := s.People.ByID(r.Context(), signed.UserID)
	if err != nil {
		return err
	}
	if u.Role == crash.RoleNone {
		return web.Redirect(w, r, web.PathAccount) // it says what to do
	}
	return web.Redirect(w, r, web.AfterSignIn(s.web, r, a.Next))
}

// refuse shows the sign-in page with the reason. It records refusals of answers that this browser asked
// for.
func (s *Pages) refuse(w http.ResponseWriter, r *http.Request, source crash.Source, a attempt, err error) error {
	var known *crash.Error
	if !errors.As(err, &known) {
		return err
	}
	answer := web.AnswerTo(r, err)
	s.web.LogError(r, err, answer)
	s.web.Log.InfoContext(r.Context(), "sign-in refused",
		"request_id", web.RequestID(r), "source", source, "code", known.Code)
	if a.State != "" && !errors.Is(err, crash.Unavailable) && !errors.Is(err, crash.ErrSignInCancelled) {
		if err := s.People.Refused(r.Context(), source, known.Code); err != nil {
			return err
		}
	}
	if answer.Kind == crash.Unauthenticated {
		answer.Status = http.StatusUnprocessableEntity // 401 would mean that this address requires signing in
	}
	if a.Link != 0 && web.CurrentUser(r).ID == a.Link {
		return s.toAccount(w, r, layout.FlashError, answer.Message)
	}
	answer.Headers(w)
	return s.web.SendSignIn(w, r, answer.Status, view.SignInForm{Next: web.LocalPath(a.Next), Problem: answer.Message})
}

// answerOnPage returns the answer to a request that err refused, for a page that says why, and sets its headers
// if it is for the person. It has no status 401, which would mean that this address requires signing in.
func answerOnPage(w http.ResponseWriter, r *http.Request, err error) web.Answer {
	a := web.AnswerTo(r, err)
	if a.Kind == crash.Unauthenticated {
		a.Status = http.StatusUnprocessableEntity
	}
	if a.ForPerson() {
		a.Headers(w)
	}
	return a
}

func errNotConfigured() error {
	return crash.Errorf(crash.NotFound, "not_configured", "This site does not offer this way of signing in.")
}
