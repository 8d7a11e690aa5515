package people_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/handlers/people/oidctest"
	"mishap/views/layout"
)

// groupsSite is a site whose people have rights from groups of an OpenID Connect provider.
type groupsSite struct {
	*handlertest.Site
	t        *testing.T
	provider *oidctest.Provider
	database string
}

func newGroupsSite(t *testing.T) *groupsSite {
	t.Helper()
	database := dbtest.URL(t)
	site, p := newOIDCSite(t, handlertest.Options{Store: dbtest.Open(t, database)})
	if err := site.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceOIDC, Group: "crash-triage",
		Role: crash.RolePrivate, Scope: crash.GrantScope{Kind: crash.GrantAll}}); err != nil {
		t.Fatal(err)
	}
	return &groupsSite{site, t, p, database}
}

func (s *groupsSite) signIn(c *handlertest.Client, next string) {
	s.t.Helper()
	c.Get(s.provider.SignIn(s.t, visit(s.t, c, startOIDC, next), "test-user2").RequestURI()).
		WantRedirect(http.StatusSeeOther, next)
}

// later makes the groups of everyone older.
func (s *groupsSite) later(interval string) {
	s.t.Helper()
	dbtest.Exec(s.t, s.database, `update identities set groups_read = groups_read - $1::interval`, interval)
}

// token returns the header with a new token of test-user2.
func (s *groupsSite) token(scopes ...crash.Scope) handlertest.Header {
	s.t.Helper()
	u, err := s.People.ByName(s.t.Context(), "test-user2")
	if err != nil {
		s.t.Fatal(err)
	}
	token, _, err := s.People.AddToken(s.t.Context(), u, fmt.Sprint(scopes), scopes, time.Now().Add(time.Hour))
	if err != nil {
		s.t.Fatal(err)
	}
	return handlertest.Header{Name: "Authorization", Value: "Bearer " + token}
}

// wantRights checks which rights test-user2 has.
func (s *groupsSite) wantRights(role crash.Role, private, expired bool) {
	s.t.Helper()
	u, err := s.People.ByName(s.t.Context(), "test-user2")
	if err != nil || u.Role != role || u.Private.Some() != private || u.GroupsExpired != expired {
		s.t.Errorf("got role %q, private data %v, expired %v, %v, want %q, %v, %v", u.Role, u.Private.Some(),
			u.GroupsExpired, err, role, private, expired)
	}
}

// TestGroupRightsExpire uses rights from groups that were stated 31 days ago: on pages, by tokens, for
// private data and for decisions. Rights given by hand stay.
func TestGroupRightsExpire(t *testing.T) {
	t.Parallel()
	s := newGroupsSite(t)
	c := s.Visitor(t)
	s.signIn(c, "/my")
	read, triage := s.token(crash.ScopeRead), s.token(crash.ScopeTriage, crash.ScopeReadPrivate)
	const people, reports = "/api/1.0/problem-people/", "/api/1.0/reports-for-system/?system=horse"
	s.later("29 days")
	s.wantRights(crash.RoleTriager, true, false)
	c.Get("/candidates").Want(http.StatusOK)
	s.Visitor(t).Get(reports, triage).Want(http.StatusOK)

	s.later("2 days")
	s.wantRights(crash.RoleNone, false, true)
	c.Get("/").Want(http.StatusOK).WantText(".banner", "Sign in here again")
	for _, path := range []string{"/my", "/candidates", "/user/horse", layout.PathInbox} {
		c.Get(path).Want(http.StatusUnauthorized).WantText("#sign-in-problem", "yours have expired")
	}
	c.Get("/login?next=/my").Want(http.StatusOK).WantText(".sign-in-methods", "Company")
	refused := c.Post("/problems/chosen", url.Values{"do": {"recheck"}}).Want(http.StatusUnauthorized)
	if refused.Attr(".sign-in-methods input[name=kept]", "value") == "" {
		t.Error("the refused form is lost")
	}
	program := s.Visitor(t)
	for _, a := range []*handlertest.Answer{program.Get(reports, read), program.Get(reports, triage),
		program.PostJSON(people, map[string]string{}, triage), program.Get(layout.PathInbox+".json", read)} {
		if !strings.Contains(a.Want(http.StatusUnauthorized).Body, "yours have expired") {
			t.Errorf("a token whose rights have expired: got %s", a.Body)
		}
	}

	// A right that was given by hand needs no group.
	if err := s.People.SetRole(t.Context(), "", "test-user2", crash.RoleViewer); err != nil {
		t.Fatal(err)
	}
	s.wantRights(crash.RoleViewer, false, true)
	s.signIn(c, "/my") // SetRole has ended the session
	s.later("31 days")
	c.Get("/my").Want(http.StatusOK)
	c.Get("/candidates").Want(http.StatusUnauthorized)
	program.Get("/api/1.0/instances-count/", read).Want(http.StatusOK)
	program.Get(reports, triage).Want(http.StatusUnauthorized)

	s.signIn(c, "/candidates")
	s.wantRights(crash.RoleTriager, true, false)
	c.Get("/candidates").Want(http.StatusOK)
	program.Get(reports, triage).Want(http.StatusOK)
}

// TestRefreshGroups lets the provider state the groups of somebody who does not come, by the refresh tokens
// that it gives and replaces.
func TestRefreshGroups(t *testing.T) {
	t.Parallel()
	s := newGroupsSite(t)
	c := s.Visitor(t)
	s.signIn(c, "/my")
	refresh := func(want error) {
		t.Helper()
		s.later("7 hours")
		if err := s.RefreshGroups(t.Context()); crash.KindOf(err) != crash.KindOf(want) {
			t.Fatalf("refresh: got %v, want %v", err, want)
		}
	}
	asked := func() (n int) {
		s.provider.Do(func() { n = s.provider.Answered["/oauth/token"] })
		return n
	}
	groups := func(groups any) { s.provider.Do(func() { s.provider.Groups = groups }) }
	dbtest.Exec(t, s.database, `update filing_writer set restored = now()`)
	before := asked()
	if refresh(nil); asked() != before {
		t.Error("a restored database uses tokens that another server may use, too")
	}
	dbtest.Exec(t, s.database, `update filing_writer set restored = null`)
	dbtest.Exec(t, s.database, `update identities set groups_read = now()`)
	if err := s.RefreshGroups(t.Context()); err != nil || asked() != before {
		t.Errorf("fresh groups: got %v and %d requests, want none", err, asked()-before)
	}

	for _, want := range []struct { // each uses the token that the one before has brought
		groups  any
		role    crash.Role
		private bool
	}{
		{[]string{"secret"}, crash.RoleAdmin, true}, {nil, crash.RoleNone, false},
		{"crash-triage", crash.RoleTriager, true},
	} {
		groups(want.groups)
		refresh(nil)
		s.wantRights(want.role, want.private, false)
	}
	const sqlRecords = `select string_agg((before ->> 'groups') || ' to ' || (after ->> 'groups'), ', ' order by id)
		from audit_events where action = 'identity.groups'`
	if got := s.Value(t, sqlRecords); got != "2 to 1, 1 to 0, 0 to 1" {
		t.Errorf("audit log: got %s", got)
	}

	// A provider that does not answer, or states no groups, changes nothing.
	s.provider.Do(func() { s.provider.Down = true })
	refresh(crash.Unavailable)
	s.provider.Do(func() {
		s.provider.Down, s.provider.Groups = false, nil
		s.provider.Tokens = func(c oidctest.Claims) { delete(c, "id_token") }
	})
	refresh(nil)
	s.wantRights(crash.RoleTriager, true, false)
	groups("crash-triage") // in UserInfo alone
	refresh(nil)
	s.wantRights(crash.RoleTriager, true, false)
	if stale := s.Value(t, `select (groups_read < now() - interval '1 hour')::text from identities`); stale != "false" {
		t.Error("the groups of UserInfo do not count")
	}

	// No token is stored in the clear, and the one in use is bound to the identity.
	var plain string
	s.provider.Do(func() {
		s.provider.Tokens = func(c oidctest.Claims) { plain = c["refresh_token"].(string) }
	})
	refresh(nil)
	sealed := s.Value(t, `select refresh_token from identities`)
	if plain == "" || strings.Contains(sealed, plain) {
		t.Errorf("the refresh token %q is stored as %q", plain, sealed)
	}
	id := s.Value(t, `select id::text from identities`)
	if got, err := s.Store.OpenSecret(sealed, "refresh token "+id); err != nil ||
		string(got) != plain {
		t.Errorf("opening the stored token: got %v, want the last one of the provider", err)
	}

	// A refusal ends the rights at once.
	c.Get("/candidates").Want(http.StatusOK)
	s.provider.Revoke(t, "id2")
	refresh(nil)
	s.wantRights(crash.RoleNone, false, true)
	c.Get("/candidates").Want(http.StatusUnauthorized)
	before = asked()
	refresh(nil)
	if asked() != before {
		t.Error("a refused token is used again")
	}
	s.signIn(c, "/candidates")
	s.wantRights(crash.RoleTriager, true, false)
	refresh(nil)

	// Nobody asks about a disabled account.
	if err := s.People.Disable(t.Context(), "", "test-user2"); err != nil {
		t.Fatal(err)
	}
	before = asked()
	refresh(nil)
	if asked() != before {
		t.Error("the provider is asked about a disabled account")
	}
}

// TestRefreshTokenAfterLogout checks that a refresh token outlasts the session at the provider only if it came
// with offline_access, and that signing out here does not end it. The groups stay in either case.
func TestRefreshTokenAfterLogout(t *testing.T) {
	t.Parallel()
	s := newGroupsSite(t)
	for _, tt := range []struct {
		scope string
		kept  bool
	}{{"openid profile groups", false}, {"openid profile groups offline_access", true}, {"", true}} {
		s.provider.Do(func() {
			s.provider.Tokens = func(c oidctest.Claims) {
				if c["scope"] = tt.scope; tt.scope == "" {
					delete(c, "scope") // it is that of the request
				}
			}
		})
		c := s.Visitor(t)
		s.signIn(c, "/my")
		has := func(when string, want bool) {
			t.Helper()
			if got := s.Value(t, `select (refresh_token <> '')::text from identities`) == "true"; got != want {
				t.Errorf("scope %q, %s: got a refresh token %t, want %t", tt.scope, when, got, want)
			}
			s.wantRights(crash.RoleTriager, true, false)
		}
		has("signed in", true)
		s.later("7 hours")
		if err := s.RefreshGroups(t.Context()); err != nil {
			t.Fatal(err)
		}
		has("asked for the groups", true)
		c.Post("/logout", nil)
		has("signed out here", true)
		token := s.provider.Sign("logout+jwt", s.provider.LogoutToken(rand.Text(), "id2", ""))
		s.Visitor(t).Post("/login/oidc/logout", url.Values{"logout_token": {token}}).Want(http.StatusOK)
		has("signed out at the provider", tt.kept)
	}
}

// TestRefusedScope signs in at a provider that gives no refresh tokens to this site.
func TestRefusedScope(t *testing.T) {
	t.Parallel()
	s := newGroupsSite(t)
	c := s.Visitor(t)
	asked, err := url.Parse(visit(t, c, startOIDC, "/my"))
	if err != nil || !strings.Contains(asked.Query().Get("scope"), "offline_access") {
		t.Fatalf("got %s, %v, want a request for a refresh token", asked, err)
	}
	refused := url.Values{"error": {"invalid_scope"}, "state": {asked.Query().Get("state")}}
	page := c.Get("/login/oidc/return?" + refused.Encode()).Want(http.StatusOK)
	again := strings.TrimPrefix(page.Header.Get("Refresh"), "0; url=")
	if strings.Contains(again, "offline_access") {
		t.Errorf("got %s, want a request without refresh token", again)
	}
	c.Get(s.provider.SignIn(t, again, "test-user2").RequestURI()).WantRedirect(http.StatusSeeOther, "/my")
	if got := s.Value(t, `select refresh_token from identities`); got != "" {
		t.Errorf("got refresh token %q, want none", got)
	}
	if second, err := url.Parse(visit(t, c, startOIDC, "/my")); err != nil {
		t.Fatal(err)
	} else {
		refused.Set("state", second.Query().Get("state"))
	}
	refresh := c.Get("/login/oidc/return?" + refused.Encode()).Header.Get("Refresh")
	third, err := url.Parse(strings.TrimPrefix(refresh, "0; url="))
	if err != nil {
		t.Fatal(err)
	}
	refused.Set("state", third.Query().Get("state"))
	c.Get("/login/oidc/return?"+refused.Encode()).Want(http.StatusUnprocessableEntity).
		WantText("#sign-in-problem", "invalid_scope")
}

// TestAdministratorByGroupErases erases a machine with the token of somebody who is an administrator by a
// group, shortly and long after signing in.
func TestAdministratorByGroupErases(t *testing.T) {
	t.Parallel()
	s := newGroupsSite(t)
	s.provider.Do(func() { s.provider.Groups = []string{"secret"} })
	s.signIn(s.Visitor(t), "/my")
	program, token := s.Visitor(t), s.token(crash.ScopeAdmin)
	erase := func(system string) *handlertest.Answer {
		return program.PostJSON("/api/1.0/erase-machine/", map[string]any{"system": system, "block": true}, token)
	}
	erase("first").Want(http.StatusAccepted)
	s.later("13 hours")
	if a := erase("second").Want(http.StatusUnauthorized); !strings.Contains(a.Body, "old_groups") {
		t.Errorf("got %s, want that the groups are old", a.Body)
	}
	if err := s.RefreshGroups(t.Context()); err != nil {
		t.Fatal(err)
	}
	erase("third").Want(http.StatusAccepted)
	if got := s.Value(t, `select count(*)::text from erasures`); got != "2" {
		t.Errorf("got %s erasures, want two", got)
	}
}
