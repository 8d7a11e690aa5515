package signin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/handlers/signin/openidtest"
)

const startOpenID = "/login/openid"

// visit begins to sign in and returns the address of the provider.
func visit(t *testing.T, c *handlertest.Client, start, next string) string {
	t.Helper()
	page := c.Post(start, url.Values{"next": {next}}).Want(http.StatusOK)
	address, ok := strings.CutPrefix(page.Header.Get("Refresh"), "0; url=")
	if link := page.Attr("main a.button", "href"); !ok || link != address {
		t.Fatalf("refresh to %q, link to %q, want the same", address, link)
	}
	return address
}

// answer lets a person sign in at the practice provider, and returns the answer to which it redirects.
// An empty person cancels.
func answer(t *testing.T, address, person string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+u.Host+"/+openid/answer",
		strings.NewReader(url.Values{"request": {u.RawQuery}, "person": {person}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := stay.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	back, err := res.Location()
	if err != nil {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("status %d without a redirect: %s", res.StatusCode, body)
	}
	return back
}

// ask shows the practice provider the request, as a browser does.
func ask(t *testing.T, address string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("provider: status %d", res.StatusCode)
	}
}

func grant(t *testing.T, site *handlertest.Site, source crash.Source, group string, role crash.Role) {
	t.Helper()
	if err := site.People.Grant(t.Context(), "", crash.Grant{Source: source, Group: group, Role: role,
		Scope: crash.GrantScope{Kind: crash.GrantAll}}); err != nil {
		t.Fatalf("grant: %v", err)
	}
}

// newOpenIDSite returns a site with a practice provider, where the team bug-control has the role triager
// and the team secret has the role admin.
func newOpenIDSite(t *testing.T, o handlertest.Options) (*handlertest.Site, *openidtest.Provider) {
	t.Helper()
	p := openidtest.Start(t, openidtest.Person{ID: "abc123", Nickname: "kim", Teams: []string{"bug-control", "others"}},
		openidtest.Person{ID: "zzz", Nickname: "kim", Teams: nil})
	if o.Now != nil {
		p.Now = o.Now
	}
	o.OpenID = crash.OpenIDConfig{URL: p.URL, Name: "Practice SSO"}
	site := handlertest.New(t, o)
	grant(t, site, crash.SourceLaunchpad, "bug-control", crash.RoleTriager)
	grant(t, site, crash.SourceLaunchpad, "secret", crash.RoleAdmin)
	return site, p
}

func TestOpenID(t *testing.T) {
	t.Parallel()
	site, p := newOpenIDSite(t, handlertest.Options{})
	c := site.Visitor(t)
	c.Get("/login").Want(http.StatusOK).WantText(".sign-in-methods", "Sign in with Practice SSO")
	address := visit(t, c, startOpenID, "/my?x=1")
	ask(t, address)
	if got := p.Asked(); !slices.Equal(got, []string{"bug-control,secret"}) {
		t.Errorf("asked about teams %q, want those with a role only", got)
	}
	before := c.Cookie("sessionid")
	back := answer(t, address, "abc123")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/my?x=1")
	if got := c.Cookie("sessionid"); got == "" || got == before {
		t.Errorf("session after signing in: got %q, want a new one", got)
	}
	page := c.Get("/account").Want(http.StatusOK)
	for _, want := range []string{"kim", "triager: member of bug-control (Launchpad)", p.URL + "/+id/abc123"} {
		page.WantText("#main", want)
	}
	if strings.Contains(page.Text("#main"), "others") {
		t.Error("the page names a team about which the provider was not asked")
	}
	site.Visitor(t).Get("/account").Want(http.StatusSeeOther)

	// Another person with the same nickname is another account, without rights.
	other := site.Visitor(t)
	back = answer(t, visit(t, other, startOpenID, "/my"), "zzz")
	other.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/account")
	other.Get("/account").Want(http.StatusOK).WantText("[role=alert]",
		"You are signed in as kim-2, but you have no rights here yet.").WantNone("#make-token")
	other.Get("/my").Want(http.StatusForbidden).WantText("main", "You are signed in as kim-2")
	other.Post("/account/tokens", url.Values{"name": {"x"}, "scope": {"read"}, "days": {"7"}}).Want(http.StatusForbidden)
	other.Get("/").Want(http.StatusOK).WantText(".account-name", "kim-2")

	// Leaving the team takes effect at the next sign-in.
	p.SetTeams("abc123", "secret")
	back = answer(t, visit(t, c, startOpenID, "/"), "abc123")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/")
	c.Get("/account").WantText("#main", "admin: member of secret")
	p.SetTeams("abc123")
	back = answer(t, visit(t, c, startOpenID, "/"), "abc123")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/account")
	c.Get("/my").Want(http.StatusForbidden)
}

// TestOpenIDRefuses alters a good answer in one way each. The answer is signed again where an attacker
// who controls a provider could do so.
func TestOpenIDRefuses(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	at := time.Now()
	site, p := newOpenIDSite(t, handlertest.Options{Store: store, Now: func() time.Time { return at }})
	foreign := openidtest.Start(t, openidtest.Person{ID: "abc123", Nickname: "mallory", Teams: []string{"secret"}})
	sreg, teams := "http://openid.net/extensions/sreg/1.1", "http://ns.launchpad.net/2007/openid-teams"
	set := func(pairs ...string) func(url.Values) {
		return func(q url.Values) {
			for i := 0; i < len(pairs); i += 2 {
				q.Set(pairs[i], pairs[i+1])
			}
			p.Sign(q)
		}
	}
	for name, tt := range map[string]struct {
		alter  func(q url.Values)
		prefix string // put in front of the query
		want   string // part of the reason
		check  bool   // the provider is asked
	}{
		"doubled team, first": {prefix: "openid.lp.is_member=secret&", want: "occurs 2 times"},
		"doubled team, last":  {alter: func(q url.Values) { q.Add("openid.lp.is_member", "secret") }, want: "occurs 2 times"},
		"doubled signature":   {prefix: "openid.sig=x&", want: "occurs 2 times"},
		"doubled state":       {prefix: "state=x&", want: "not begun in this browser"},
		"changed team": {alter: func(q url.Values) { q.Set("openid.lp.is_member", "secret") },
			want: "has not made this answer", check: true},
		"changed person": {alter: func(q url.Values) {
			q.Set("openid.identity", p.URL+"/+id/zzz")
			q.Set("openid.claimed_id", p.URL+"/+id/zzz")
		}, want: "has not made this answer", check: true},
		"changed signature": {alter: func(q url.Values) { q.Set("openid.sig", "AAAA") }, want: "has not made this answer",
			check: true},
		"no signature": {alter: func(q url.Values) { q.Del("openid.sig") }, want: "has not made this answer",
			check: true},
		"unsigned team": {alter: func(q url.Values) {
			q.Set("openid.lp.is_member", "secret")
			p.Sign(q,
				"lp.is_member")
		}, want: "not signed the field openid.lp.is_member"},
		"unsigned alias": {alter: func(q url.Values) { p.Sign(q, "ns.lp") }, want: "not signed the field " +
			"openid.lp.is_member"},
		"unsigned nickname": {alter: func(q url.Values) {
			q.Set("openid.sreg.nickname", "root")
			p.Sign(q,
				"sreg.nickname")
		}, want: "not signed the field openid.sreg.nickname"},
		"added unsigned alias": {alter: func(q url.Values) {
			q.Set("openid.ns.x", teams)
			q.Set("openid.x.is_member",
				"secret")
		}, want: "twice"},
		"added signed alias": {alter: set("openid.ns.x", sreg, "openid.x.nickname", "root"), want: "twice"},
		"foreign endpoint":   {alter: set("openid.op_endpoint", foreign.URL+"/+openid"), want: "another provider"},
		"foreign identity": {alter: set("openid.identity", foreign.URL+"/+id/abc123", "openid.claimed_id", foreign.URL+
			"/+id/abc123"), want: "person of another provider"},
		"identity below": {alter: set("openid.identity", p.URL+"/+id/a/../b", "openid.claimed_id",
			p.URL+"/+id/a/../b"), want: "person of another provider"},
		"identity prefix": {alter: set("openid.identity", p.URL+"/+id/", "openid.claimed_id", p.URL+"/+id/"),
			want: "person of another provider"},
		"two identities": {alter: set("openid.identity", p.URL+"/+id/zzz"), want: "person of another provider"},
		"identity of user info": {alter: set("openid.identity", p.URL+"@evil.example/+id/a", "openid.claimed_id",
			p.URL+"@evil.example/+id/a"), want: "person of another provider"},
		"other return": {alter: set("openid.return_to", site.URL+"/login/openid/return"), want: "another sign-in"},
		"old": {alter: set("openid.response_nonce",
			at.Add(-6*time.Minute).UTC().Format("2006-01-02T15:04:05Z")+"x"), want: "more than 5 minutes"},
		"future": {alter: set("openid.response_nonce",
			at.Add(6*time.Minute).UTC().Format("2006-01-02T15:04:05Z")+"x"), want: "more than 5 minutes"},
		"bad nonce": {alter: set("openid.response_nonce", "yesterday"), want: "nonce of the answer is malformed"},
		"long nonce": {alter: set("openid.response_nonce", at.UTC().Format("2006-01-02T15:04:05Z")+
			strings.Repeat("x", 300)), want: "nonce of the answer is malformed"},
		"unsigned nonce": {alter: func(q url.Values) { p.Sign(q, "response_nonce") }, want: "not signed the field " +
			"openid.response_nonce"},
		"unsigned return": {alter: func(q url.Values) { p.Sign(q, "return_to") }, want: "not signed the field " +
			"openid.return_to"},
		"unsigned endpoint": {alter: func(q url.Values) { p.Sign(q, "op_endpoint") }, want: "not signed the field " +
			"openid.op_endpoint"},
		"unsigned identity": {alter: func(q url.Values) { p.Sign(q, "claimed_id") }, want: "not signed the field " +
			"openid.claimed_id"},
		"nothing signed": {alter: func(q url.Values) { q.Del("openid.signed") }, want: "not signed"},
		"version 1":      {alter: set("openid.ns", "http://openid.net/signon/1.1"), want: "not one of OpenID 2.0"},
		"another mode":   {alter: set("openid.mode", "check_authentication"), want: "neither a confirmation"},
		"error": {alter: func(q url.Values) {
			q.Set("openid.mode", "error")
			q.Set("openid.error",
				"<b>no\x00")
		}, want: "reports an error: <b>no"},
		"cancelled": {alter: func(q url.Values) { q.Set("openid.mode", "cancel") }, want: "You have cancelled " +
			"signing in"},
		"no state":        {alter: func(q url.Values) { q.Del("state") }, want: "not begun in this browser"},
		"other state":     {alter: func(q url.Values) { q.Set("state", "x") }, want: "not begun in this browser"},
		"malformed query": {prefix: "a=%zz&", want: "malformed"},
		"many fields": {alter: func(q url.Values) {
			for i := range 300 {
				q.Set(fmt.Sprintf("openid.x%d", i), "1")
			}
		}, want: "more than 200 fields"},
	} {
		t.Run(name, func(t *testing.T) {
			// Another address for each, because attempts are limited by address.
			from := handlertest.Header{Name: "X-Forwarded-For", Value: fmt.Sprintf("192.0.2.%d", len(name))}
			c := site.Visitor(t)
			back := answer(t, visit(t, c, startOpenID, "/my"), "abc123")
			q := back.Query()
			if tt.alter != nil {
				tt.alter(q)
			}
			checks := p.Checks()
			a := c.Get(back.Path+"?"+tt.prefix+q.Encode(), from).Want(http.StatusUnprocessableEntity)
			a.WantText("#sign-in-problem", tt.want)
			if asked := p.Checks() - checks; (asked > 0) != tt.check {
				t.Errorf("the provider was asked %d times, want to be asked: %v", asked, tt.check)
			}
			c.Get("/my").Want(http.StatusSeeOther)
		})
	}
	if foreign.Checks() > 0 {
		t.Error("a foreign provider was asked, want no request")
	}
	identities, err := site.People.Identities(t.Context(), 0)
	if err != nil || len(identities) != 0 {
		t.Errorf("got identities %v, %v, want none", identities, err)
	}
}

// TestOpenIDStolenAnswers uses good answers in the wrong place.
func TestOpenIDStolenAnswers(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	store := dbtest.Open(t, database)
	site, p := newOpenIDSite(t, handlertest.Options{Store: store})

	// An answer counts only in the browser that asked for it (an attacker would sign others in as
	// himself), whether or not that browser has begun to sign in itself.
	attacker, victim := site.Visitor(t), site.Visitor(t)
	back := answer(t, visit(t, attacker, startOpenID, "/"), "abc123")
	victim.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem",
		"not begun in this browser")
	visit(t, victim, startOpenID, "/")
	victim.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem",
		"not begun in this browser")
	attacker.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/")
	attacker.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem", "completed already")

	// The same answer is refused on another instance, even if it has the session: the provider
	// confirms it twice, but the nonce is used.
	second := handlertest.New(t, handlertest.Options{Store: store, BaseURL: site.URL,
		OpenID: crash.OpenIDConfig{URL: p.URL, Name: "Practice SSO"}})
	c := site.Visitor(t)
	back = answer(t, visit(t, c, startOpenID, "/"), "abc123")
	session := c.Cookie("sessionid")
	dbtest.Exec(t, database, "create table saved as select * from sessions")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/")
	dbtest.Exec(t, database, `insert into sessions overriding user value select * from saved on conflict do nothing`)
	replay := second.Visitor(t)
	replay.SetCookie("sessionid", session)
	replay.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem", "has been used before")

	// An answer of one way to sign in does not count for another.
	c = site.Visitor(t)
	back = answer(t, visit(t, c, startOpenID, "/"), "abc123")
	c.Get(strings.Replace(back.RequestURI(), "/openid/", "/oidc/", 1)).Want(http.StatusNotFound)
}

// TestOldGroups changes something as an administrator 13 hours after signing in at a provider.
func TestOldGroups(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	site, p := newOpenIDSite(t, handlertest.Options{Store: dbtest.Open(t, address)})
	wait := func() {
		t.Helper()
		const sqlLater = `update identities set groups_read = groups_read - interval '13 hours'`
		dbtest.Exec(t, address, sqlLater)
	}
	p.SetTeams("abc123", "secret")
	c := site.Visitor(t)
	signIn := func(next string) {
		t.Helper()
		back := answer(t, visit(t, c, startOpenID, next), "abc123")
		c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, next)
	}
	change := func() *handlertest.Answer {
		t.Helper()
		return c.Post("/admin/access", url.Values{"source": {"oidc"}, "group": {"staff"}, "role": {"viewer"}},
			handlertest.Header{Name: "Referer", Value: site.URL + "/admin/access?person=kim"})
	}
	signIn("/")
	change().WantRedirect(http.StatusSeeOther, "/admin/access")
	wait()
	refused := change().Want(http.StatusUnauthorized).WantText("[role=alert]", "Sign in again to continue.")
	c.Get("/admin/access").Want(http.StatusOK) // reading goes on
	page := c.Post(startOpenID, url.Values{"next": {refused.Attr(".sign-in-methods input[name=next]", "value")},
		"kept": {refused.Attr(".sign-in-methods input[name=kept]", "value")}}).Want(http.StatusOK)
	again := answer(t, strings.TrimPrefix(page.Header.Get("Refresh"), "0; url="), "abc123")
	c.Get(again.RequestURI()).WantRedirect(http.StatusSeeOther, "/login/resume")
	c.Get("/login/resume").Want(http.StatusOK).WantText("#resume", "staff")
	change().WantRedirect(http.StatusSeeOther, "/admin/access")

	// Whoever has left the team cannot go on, and a role given by hand needs no group.
	wait()
	p.SetTeams("abc123")
	change().Want(http.StatusUnauthorized)
	back := answer(t, visit(t, c, startOpenID, "/admin/access"), "abc123")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/account")
	change().Want(http.StatusForbidden)
	if err := site.People.SetRole(t.Context(), "", "kim", crash.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	wait()
	change().WantRedirect(http.StatusSeeOther, "/admin/access")
}
