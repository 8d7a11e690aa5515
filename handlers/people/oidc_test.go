package people_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/handlers/handlertest"
	"mishap/handlers/people/oidctest"
)

const startOIDC = "/login/oidc"

// newOIDCSite returns a site with a provider. The provider needs the address of the site, and the site
// that of the provider, so the provider starts with a base address that the site then has.
func newOIDCSite(t *testing.T, o handlertest.Options) (*handlertest.Site, *oidctest.Provider) {
	t.Helper()
	// Browsers come to the listener; the provider sends them to this address.
	o.BaseURL = "http://localhost:1"
	p := oidctest.Start(t, o.BaseURL)
	p.Groups = []string{"crash-triage", "staff"}
	o.OIDC = crash.OIDCConfig{Issuer: p.URL, Name: "Company", ClientID: oidctest.ClientID,
		ClientSecret: oidctest.ClientSecret, GroupsClaim: "groups"}
	site := handlertest.New(t, o)
	grant(t, site, crash.SourceOIDC, "crash-triage", crash.RoleTriager)
	grant(t, site, crash.SourceOIDC, "secret", crash.RoleAdmin)
	grant(t, site, crash.SourceLaunchpad, "staff", crash.RoleAdmin)
	return site, p
}

func TestOIDC(t *testing.T) {
	t.Parallel()
	site, p := newOIDCSite(t, handlertest.Options{})
	c := site.Visitor(t)
	c.Get("/login").WantText(".sign-in-methods", "Sign in with Company")
	address := visit(t, c, startOIDC, "/my")
	before := c.Cookie("sessionid")
	back := p.SignIn(t, address, "test-user2")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/my")
	if got := c.Cookie("sessionid"); got == before || got == "" {
		t.Errorf("session after signing in: got %q, want a new one", got)
	}
	c.Get("/account").WantText("#main", "test-user2").WantText("#main", "triager: member of crash-triage "+
		"(OpenID Connect)").
		WantText("#main", "id2")
	for name, want := range map[string]string{"code_challenge_method": "S256", "response_type": "code",
		"scope": "openid profile groups offline_access", "client_id": oidctest.ClientID} {
		if got := p.Asked.Get(name); got != want {
			t.Errorf("request: %s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if len(p.Asked.Get(name)) < 26 {
			t.Errorf("request: %s is %q, want something unguessable", name, p.Asked.Get(name))
		}
	}
	// Leaving the group takes effect at the next sign-in, and one group may be a text.
	for _, tt := range []struct {
		groups any
		lands  string
	}{{"crash-triage", "/my"}, {[]string{"staff"}, "/account"}, {"", "/account"}, {nil, "/account"}} {
		p.Do(func() { p.Groups = tt.groups })
		c.Get(p.SignIn(t, visit(t, c, startOIDC, "/my"), "test-user2").RequestURI()).WantRedirect(http.StatusSeeOther,
			tt.lands)
	}
}

func TestOIDCRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set   func(p *oidctest.Provider)
		alter func(q url.Values)
		want  string
	}{
		"nonce": {set: func(p *oidctest.Provider) { p.IDToken = func(c oidctest.Claims) { c["nonce"] = "other" } },
			want: "belongs to another sign-in"},
		"no nonce": {set: func(p *oidctest.Provider) { p.IDToken = func(c oidctest.Claims) { delete(c, "nonce") } },
			want: "belongs to another sign-in"},
		"audience": {set: func(p *oidctest.Provider) { p.IDToken = func(c oidctest.Claims) { c["aud"] = "other" } },
			want: "id token is not valid"},
		"authorised party": {set: func(p *oidctest.Provider) {
			p.IDToken = func(c oidctest.Claims) { c["aud"] = []string{"mishap", "x"}; c["azp"] = "x" }
		}, want: "made for another site"},
		"issuer of token": {set: func(p *oidctest.Provider) {
			p.IDToken = func(c oidctest.Claims) {
				c["iss"] = "https://evil.example"
			}
		}, want: "id token is not valid"},
		"expired": {set: func(p *oidctest.Provider) {
			p.IDToken = func(c oidctest.Claims) { c["exp"] = time.Now().Unix() - 1000 }
		}, want: "id token is not valid"},
		"access token": {set: func(p *oidctest.Provider) {
			p.IDToken = func(c oidctest.Claims) { c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" }
		}, want: "access token does not belong"},
		"other user info": {set: func(p *oidctest.Provider) { p.UserInfo = func(c oidctest.Claims) { c["sub"] = "id1" } },
			want: "another person than the one who signed in"},
		"overage, user info": {set: func(p *oidctest.Provider) {
			p.UserInfo = func(c oidctest.Claims) { delete(c, "groups"); c["_claim_names"] = oidctest.Claims{"groups": "src1"} }
		}, want: "You are in so many groups that Company does not send them"},
		"overage, id token": {set: func(p *oidctest.Provider) {
			p.IDToken = func(c oidctest.Claims) {
				c["_claim_names"] = oidctest.Claims{"groups": "src1"}
				c["_claim_sources"] = oidctest.Claims{"src1": oidctest.Claims{"endpoint": "https://graph.example/groups"}}
			}
		}, want: "You are in so many groups that Company does not send them"},
		"groups as object": {set: func(p *oidctest.Provider) { p.Groups = oidctest.Claims{"crash-triage": true} },
			want: "neither a text nor a list"},
		"groups as numbers": {set: func(p *oidctest.Provider) { p.Groups = []int{1, 2} }, want: "neither a text nor a list"},
		"foreign issuer": {alter: func(q url.Values) { q.Set("iss", "https://evil.example") },
			want: "comes from another provider"},
		"issuer missing": {set: func(p *oidctest.Provider) { p.Issuer = p.URL },
			alter: func(q url.Values) { q.Del("iss") }, want: "comes from another provider"},
		"issuer doubled": {alter: func(q url.Values) { q.Add("iss", "a"); q.Add("iss", "b") }, want: "occurs 2 times"},
		"code doubled":   {alter: func(q url.Values) { q.Add("code", "b") }, want: "occurs 2 times"},
		"state doubled":  {alter: func(q url.Values) { q.Add("state", "b") }, want: "not begun in this browser"},
		"other state":    {alter: func(q url.Values) { q.Set("state", "b") }, want: "not begun in this browser"},
		"other code":     {alter: func(q url.Values) { q.Set("code", "b") }, want: "does not accept the code"},
		"no code":        {alter: func(q url.Values) { q.Del("code") }, want: "contains no code"},
		"denied": {alter: func(q url.Values) { q.Set("error", "access_denied") }, want: "You have cancelled " +
			"signing in"},
		"error": {alter: func(q url.Values) { q.Set("error", "server_error") }, want: "reports an error: " +
			"server_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site, p := newOIDCSite(t, handlertest.Options{})
			if tt.set != nil {
				p.Do(func() { tt.set(p) })
			}
			c := site.Visitor(t)
			back := p.SignIn(t, visit(t, c, startOIDC, "/my"), "test-user2")
			q := back.Query()
			if tt.alter != nil {
				tt.alter(q)
			}
			c.Get(back.Path+"?"+q.Encode()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem", tt.want)
			c.Get("/my").Want(http.StatusSeeOther)
			if all, err := site.People.Identities(t.Context(), 0); err != nil || len(all) != 0 {
				t.Errorf("got identities %v, %v, want none", all, err)
			}
		})
	}
}

// TestOIDCStolenAnswers uses good answers in the wrong place.
func TestOIDCStolenAnswers(t *testing.T) {
	t.Parallel()
	site, p := newOIDCSite(t, handlertest.Options{})
	p.Do(func() { p.Issuer = p.URL })
	attacker, victim := site.Visitor(t), site.Visitor(t)
	back := p.SignIn(t, visit(t, attacker, startOIDC, "/my"), "test-user2")
	victim.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity)

	// The code alone, in a sign-in that the victim has begun, is of no use without the verifier of PKCE.
	own, err := url.Parse(visit(t, victim, startOIDC, "/my"))
	if err != nil {
		t.Fatal(err)
	}
	q := back.Query()
	q.Set("state", own.Query().Get("state"))
	victim.Get(back.Path+"?"+q.Encode()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem",
		"does not accept the code")

	attacker = site.Visitor(t)
	back = p.SignIn(t, visit(t, attacker, startOIDC, "/my"), "test-user2")
	attacker.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/my")
	attacker.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem", "completed already")
}

// TestOIDCProviderIsDown starts a site while the provider is down.
func TestOIDCProviderIsDown(t *testing.T) {
	t.Parallel()
	site, p := newOIDCSite(t, handlertest.Options{})
	p.Do(func() { p.Down = true })
	c := site.Visitor(t)
	c.Get("/").Want(http.StatusOK)
	c.Post(startOIDC, url.Values{"next": {"/my"}}).Want(http.StatusServiceUnavailable).
		WantText("#sign-in-problem", "does not answer now").WantText(".sign-in-methods", "Company")
	p.Do(func() { p.Down = false })
	back := p.SignIn(t, visit(t, c, startOIDC, "/my"), "test-user2")
	p.Do(func() { p.Down = true })
	c.Get(back.RequestURI()).Want(http.StatusServiceUnavailable)
	p.Do(func() { p.Down = false })
	c.Get(p.SignIn(t, visit(t, c, startOIDC, "/my"), "test-user2").RequestURI()).WantRedirect(http.StatusSeeOther, "/my")
}

// TestProvidersAreNotMixed has two ways to sign in at once.
func TestProvidersAreNotMixed(t *testing.T) {
	t.Parallel()
	evil := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(evil.Close)
	site, p := newOIDCSite(t, handlertest.Options{OpenID: crash.OpenIDConfig{URL: evil.URL, Name: "Other"}})
	c := site.Visitor(t)
	back := p.SignIn(t, visit(t, c, startOIDC, "/my"), "test-user2")
	c.Get(strings.Replace(back.RequestURI(), "/oidc/", "/openid/", 1)).Want(http.StatusUnprocessableEntity).
		WantText("#sign-in-problem", "not begun in this browser")
	openid, err := url.Parse(visit(t, c, startOpenID, "/my"))
	if err != nil {
		t.Fatal(err)
	}
	state, err := url.Parse(openid.Query().Get("openid.return_to"))
	if err != nil {
		t.Fatal(err)
	}
	q := back.Query()
	q.Set("state", state.Query().Get("state"))
	c.Get(back.Path+"?"+q.Encode()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem",
		"not begun in this browser")
}

func TestOIDCLogout(t *testing.T) {
	t.Parallel()
	site, p := newOIDCSite(t, handlertest.Options{})
	p.Do(func() {
		p.IDToken = func(c oidctest.Claims) { c["sid"] = "session-" + c["sub"].(string) }
	})
	signIn := func(user string) *handlertest.Client {
		t.Helper()
		c := site.Visitor(t)
		c.Get(p.SignIn(t, visit(t, c, startOIDC, "/"), user).RequestURI()).Want(http.StatusSeeOther)
		return c
	}
	logout := func(token string) *handlertest.Answer {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL+"/login/oidc/logout",
			strings.NewReader(url.Values{"logout_token": {token}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		a := site.Visitor(t).Do(req)
		if got := a.Header.Values("Cache-Control"); !slices.Contains(got, "no-store") {
			t.Errorf("Cache-Control: got %q, want no-store", got)
		}
		return a
	}
	signedIn := func(c *handlertest.Client) bool { return c.Get("/account").Status == http.StatusOK }

	one, two, other := signIn("test-user2"), signIn("test-user2"), signIn("test-user@127.0.0.1")
	refuse := func(name, typ string, change func(oidctest.Claims)) {
		t.Helper()
		claims := p.LogoutToken("bad "+name, "id2", "")
		change(claims)
		if a := logout(p.Sign(typ, claims)); a.Status != http.StatusBadRequest {
			t.Errorf("%s: got status %d, want 400", name, a.Status)
		}
	}
	refuse("type", "JWT", func(oidctest.Claims) {})
	refuse("nonce", "logout+jwt", func(c oidctest.Claims) { c["nonce"] = "n" })
	refuse("event", "logout+jwt", func(c oidctest.Claims) { delete(c, "events") })
	refuse("audience", "logout+jwt", func(c oidctest.Claims) { c["aud"] = "other" })
	refuse("issuer", "logout+jwt", func(c oidctest.Claims) { c["iss"] = "https://evil.example" })
	refuse("nobody", "logout+jwt", func(c oidctest.Claims) { delete(c, "sub") })
	refuse("expired", "logout+jwt", func(c oidctest.Claims) { c["exp"] = time.Now().Unix() - 1000 })
	refuse("id", "logout+jwt", func(c oidctest.Claims) { delete(c, "jti") })
	logout("not.a.token").Want(http.StatusBadRequest)
	logout("").Want(http.StatusBadRequest)
	good := p.Sign("logout+jwt", p.LogoutToken("1", "id2", "another-session"))
	logout(good[:len(good)-5] + "AAAAA").Want(http.StatusBadRequest)
	logout(good).Want(http.StatusOK)
	if !signedIn(one) || !signedIn(two) || !signedIn(other) {
		t.Fatal("a session has ended, want that only those of another session at the provider do")
	}

	token := p.Sign("logout+jwt", p.LogoutToken("2", "id2", "session-id2"))
	logout(token).Want(http.StatusOK)
	if signedIn(one) || signedIn(two) || !signedIn(other) {
		t.Errorf("signed in after the logout: %v %v %v, want only the other person", signedIn(one), signedIn(two),
			signedIn(other))
	}
	again := signIn("test-user2")
	logout(token).Want(http.StatusBadRequest) // replayed
	if !signedIn(again) {
		t.Error("a used logout token has ended a session")
	}
	logout(p.Sign("logout+jwt", p.LogoutToken("3", "", "session-id2"))).Want(http.StatusOK)
	if signedIn(again) {
		t.Error("the session goes on after a logout by its id at the provider")
	}
	const sqlRecords = `select string_agg(person || ' ' || (detail ->> 'sessions'), ', ' order by id) from audit_events
		where action = 'session.end-by-provider'`
	if got := site.Value(t, sqlRecords); got != "test-user2 2, test-user2 1" {
		t.Errorf("audit log: got %s, want both logouts", got)
	}
}
