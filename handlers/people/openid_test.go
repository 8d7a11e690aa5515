package people_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/handlers/people/oidctest"
	"mishap/handlers/people/openidtest"
	"mishap/views/layout"
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
	u := dbtest.Must(url.Parse(address))(t)
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+u.Host+"/+openid/answer",
		strings.NewReader(url.Values{"request": {u.RawQuery}, "person": {person}}.Encode())))(t)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := stay.Do(req)
	checktest.NoError(t, err)
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
	req := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	res, err := http.DefaultClient.Do(req)
	checktest.NoError(t, err)
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
		"You are signed in as kim-2, but you have no role here yet.").WantNone("#make-token")
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
		"doubled state":       {prefix: "state=x&", want: "began in another browser"},
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
		"version 1":      {alter: set("openid.ns", "http://openid.net/signon/1.1"), want: "not a valid OpenID 2.0 response"},
		"another mode":   {alter: set("openid.mode", "check_authentication"), want: "neither a confirmation"},
		"error": {alter: func(q url.Values) {
			q.Set("openid.mode", "error")
			q.Set("openid.error",
				"<b>no\x00")
		}, want: "reports an error: <b>no"},
		"cancelled": {alter: func(q url.Values) { q.Set("openid.mode", "cancel") }, want: "You have cancelled " +
			"signing in"},
		"no state":        {alter: func(q url.Values) { q.Del("state") }, want: "began in another browser"},
		"other state":     {alter: func(q url.Values) { q.Set("state", "x") }, want: "began in another browser"},
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
		"began in another browser")
	visit(t, victim, startOpenID, "/")
	victim.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem",
		"began in another browser")
	attacker.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/")
	attacker.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem", "already complete")

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
			handlertest.Header{Name: "Referer", Value: site.URL + "/admin/people?person=kim"})
	}
	signIn("/")
	change().WantRedirect(http.StatusSeeOther, "/admin/people")
	wait()
	refused := change().Want(http.StatusUnauthorized).WantText("[role=alert]", "Sign in again to continue.")
	c.Get("/admin/people").Want(http.StatusOK) // reading goes on
	page := c.Post(startOpenID, url.Values{"next": {refused.Attr(".sign-in-methods input[name=next]", "value")},
		"kept": {refused.Attr(".sign-in-methods input[name=kept]", "value")}}).Want(http.StatusOK)
	again := answer(t, strings.TrimPrefix(page.Header.Get("Refresh"), "0; url="), "abc123")
	c.Get(again.RequestURI()).WantRedirect(http.StatusSeeOther, "/login/resume")
	c.Get("/login/resume").Want(http.StatusOK).WantText("#resume", "staff")
	change().WantRedirect(http.StatusSeeOther, "/admin/people")

	// Whoever has left the team cannot go on, and a role given by hand needs no group.
	wait()
	p.SetTeams("abc123")
	change().Want(http.StatusUnauthorized)
	back := answer(t, visit(t, c, startOpenID, "/admin/people"), "abc123")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/account")
	change().Want(http.StatusForbidden)
	checktest.NoError(t, site.People.SetRole(t.Context(), "", "kim", crash.RoleAdmin))
	wait()
	change().WantRedirect(http.StatusSeeOther, "/admin/people")
}

// TestOpenIDPost sends the answer as a form of another site, as the provider does if it is long.
func TestOpenIDPost(t *testing.T) {
	t.Parallel()
	site, _ := newOpenIDSite(t, handlertest.Options{})
	c := site.Visitor(t)
	back := answer(t, visit(t, c, startOpenID, "/my"), "abc123")
	post := func(c *handlertest.Client, path string, form url.Values) *handlertest.Answer {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "https://login.example")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		return c.Do(req)
	}
	form := back.Query()
	form.Del("state")
	path := back.Path + "?state=" + url.QueryEscape(back.Query().Get("state"))
	stranger := site.Visitor(t) // such a request brings no cookie
	again := post(stranger, path, form).Want(http.StatusSeeOther).Header.Get("Location")
	c.Get(again).WantRedirect(http.StatusSeeOther, "/my")

	// A field that occurs twice, in the address and the form, or in the form, is refused.
	for _, double := range []func(path string, form url.Values) string{
		func(path string, _ url.Values) string { return path + "&openid.lp.is_member=secret" },
		func(path string, form url.Values) string { form.Add("openid.lp.is_member", "secret"); return path },
		func(path string, form url.Values) string { form.Add("state", form.Get("state")); return path },
	} {
		c := site.Visitor(t)
		back := answer(t, visit(t, c, startOpenID, "/my"), "abc123")
		form := back.Query()
		form.Del("state")
		path := double(back.Path+"?state="+url.QueryEscape(back.Query().Get("state")), form)
		again := post(stranger, path, form).Want(http.StatusSeeOther).Header.Get("Location")
		c.Get(again).Want(http.StatusUnprocessableEntity)
	}
	post(stranger, path, url.Values{"openid.lp.is_member": {strings.Repeat("team,", 2000)}}).
		Want(http.StatusUnprocessableEntity).WantText("main", "is too long")
	checktest.Equal(t, "session for a form of another site", stranger.Cookie("sessionid"), "")
}

func TestOpenIDProviderIsDown(t *testing.T) {
	t.Parallel()
	site, p := newOpenIDSite(t, handlertest.Options{})
	c := site.Visitor(t)
	back := answer(t, visit(t, c, startOpenID, "/my"), "abc123")
	p.SetDown(true)
	c.Get(back.RequestURI()).Want(http.StatusServiceUnavailable).WantText("#sign-in-problem", "does not answer").
		WantText(".sign-in-methods", "Practice SSO")
	p.SetDown(false)
	back = answer(t, visit(t, c, startOpenID, "/my"), "abc123")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/my")
}

func TestSignInElsewhereStaysHere(t *testing.T) {
	t.Parallel()
	site, _ := newOpenIDSite(t, handlertest.Options{})
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)", ""} {
		c := site.Visitor(t)
		back := answer(t, visit(t, c, startOpenID, next), "abc123")
		c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/")
	}
	// Only a page of this site begins to sign in.
	for _, header := range []handlertest.Header{{Name: "Origin", Value: "https://evil.example"},
		{Name: "Sec-Fetch-Site", Value: "cross-site"}} {
		site.Visitor(t).Post(startOpenID, url.Values{"next": {"/"}}, header).Want(http.StatusUnauthorized)
	}
	site.Visitor(t).Post(startOpenID, url.Values{"csrf_token": {"x"}}).Want(http.StatusUnauthorized)
	site.Visitor(t).Get(startOpenID).Want(http.StatusMethodNotAllowed)
	plain := handlertest.New(t, handlertest.Options{})
	plain.Visitor(t).Post(startOpenID, nil).Want(http.StatusNotFound)
	plain.Visitor(t).Get("/login/openid/return?state=x").Want(http.StatusNotFound)
	plain.Visitor(t).Get("/login").WantNone(".sign-in-methods")
}

func TestSignInElsewhereSlowsDown(t *testing.T) {
	t.Parallel()
	site, _ := newOpenIDSite(t, handlertest.Options{})
	c := site.Visitor(t)
	var last int
	for range 30 {
		a := c.Get("/login/openid/return?state=x")
		if last = a.Status; last == http.StatusTooManyRequests {
			a.WantText("#sign-in-problem", "Too many failed attempts to sign in.")
			if a.Header.Get("Retry-After") == "" {
				t.Error("got no Retry-After, want one")
			}
			break
		}
		a.Want(http.StatusUnprocessableEntity)
	}
	checktest.Equal(t, "after 30 failures: status", last, http.StatusTooManyRequests)
}

// TestSavedFormSurvivesSigningInElsewhere sends a form after the session has ended, signs in at the
// provider, and finds what was typed.
func TestSavedFormSurvivesSigningInElsewhere(t *testing.T) {
	t.Parallel()
	site, p := newOpenIDSite(t, handlertest.Options{})
	p.SetTeams("abc123", "secret")
	c := site.Visitor(t)
	refused := c.Post("/admin/templates", url.Values{"body": {"What I wrote"}, "do": {"preview"}}).Want(
		http.StatusUnauthorized)
	kept := refused.Attr(".sign-in-methods [name=kept]", "value")
	next := refused.Attr(".sign-in-methods [name=next]", "value")
	page := c.Post(startOpenID, url.Values{"next": {next}, "kept": {kept}}).Want(http.StatusOK)
	back := answer(t, strings.TrimPrefix(page.Header.Get("Refresh"), "0; url="), "abc123")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/admin/templates")
	if body := c.Get("/admin/templates").Want(http.StatusOK).Body; !strings.Contains(body, "What I wrote") {
		t.Error("the form has lost what was typed")
	}
}

// TestSignInElsewhereIsRecorded reads the audit events of sign-ins.
func TestSignInElsewhereIsRecorded(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	store := dbtest.Open(t, database)
	site, p := newOpenIDSite(t, handlertest.Options{Store: store})
	c := site.Visitor(t)
	back := answer(t, visit(t, c, startOpenID, "/"), "abc123")
	c.Get(back.RequestURI()).Want(http.StatusSeeOther)
	back = answer(t, visit(t, c, startOpenID, "/"), "abc123")
	q := back.Query()
	p.Sign(q, "ns.lp")
	c.Get(back.Path + "?" + q.Encode()).Want(http.StatusUnprocessableEntity)
	checktest.NoError(t, site.People.Disable(t.Context(), "", "kim"))
	back = answer(t, visit(t, c, startOpenID, "/"), "abc123")
	c.Get(back.RequestURI()).Want(http.StatusForbidden).WantText("#sign-in-problem", "this account is disabled")

	rows := dbtest.Must(store.Pool.Query(t.Context(),
		`select person || ' ' || action || ' ' || subject || ' ' || reason
		from audit_events where action like 'user.sign-in%' or action like 'access.%' order by id`))(t)
	var events []string
	for rows.Next() {
		var event string
		checktest.NoError(t, rows.Scan(&event))
		events = append(events, event)
	}
	want := []string{" access.grant launchpad bug-control ", " access.grant launchpad secret ", "kim user.sign-in kim ",
		"kim user.sign-in-refused launchpad unsigned", " user.sign-in-refused launchpad account_disabled"}
	if !slices.Equal(events, want) {
		t.Errorf("got events %s\nwant %s", fmt.Sprintf("%q", events), fmt.Sprintf("%q", want))
	}
}

// openidPython returns the path of a Python that has python-openid with its teams extension. It prefers
// the distribution's Python, which may not be the first in PATH.
func openidPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import openid, openid_teams").Run() == nil {
			return python
		}
	}
	t.Skip("python-openid is not installed: apt-get install python3-openid python3-openid-teams")
	return ""
}

// TestPythonOpenID signs in at a provider that is made of python-openid.
func TestPythonOpenID(t *testing.T) {
	t.Parallel()
	python := openidPython(t)
	for _, tt := range []struct {
		name, member string
		lands        string
	}{
		{"member", "bug-control,elsewhere", "/my"},
		{"of no team", "", "/account"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site := handlertest.New(t, handlertest.Options{OpenID: crash.OpenIDConfig{URL: startPython(t, python, tt.member),
				Name: "Python"}})
			grant(t, site, crash.SourceLaunchpad, "bug-control", crash.RoleTriager)
			grant(t, site, crash.SourceLaunchpad, "secret", crash.RoleAdmin)

			signIn := func(c *handlertest.Client) *url.URL {
				t.Helper()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, visit(t, c, startOpenID, "/my"), nil)
				checktest.NoError(t, err)
				back, err := http.DefaultTransport.RoundTrip(req)
				checktest.NoError(t, err)
				_ = back.Body.Close()
				at, err := back.Location()
				if err != nil {
					t.Fatalf("status %d: %v", back.StatusCode, err)
				}
				return at
			}
			c := site.Visitor(t)
			c.Get(signIn(c).RequestURI()).WantRedirect(http.StatusSeeOther, tt.lands)
			c.Get("/account").WantText("#main", "kim").WantText("#main", "/+id/py7hon")

			forged := site.Visitor(t)
			at := signIn(forged)
			forged.Get(at.Path + "?openid.lp.is_member=secret&" + at.RawQuery).Want(http.StatusUnprocessableEntity)
			forged = site.Visitor(t)
			at = signIn(forged)
			q := at.Query()
			q.Set("openid.lp.is_member", "secret")
			forged.Get(at.Path+"?"+q.Encode()).Want(http.StatusUnprocessableEntity).
				WantText("#sign-in-problem", "has not made this answer")
		})
	}
}

// startPython starts the provider and returns its address.
func startPython(t *testing.T, python, teams string) string {
	t.Helper()
	provider := exec.CommandContext(t.Context(), python, "testdata/openid_provider.py", "kim", teams)
	in := dbtest.Must(provider.StdinPipe())(t)
	out := dbtest.Must(provider.StdoutPipe())(t)
	var said strings.Builder
	provider.Stderr = &said
	checktest.NoError(t, provider.Start())
	t.Cleanup(func() {
		_ = in.Close() // ends it
		_ = provider.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		_ = provider.Wait()
		t.Fatalf("the provider did not start: %s", said.String())
	}
	return lines.Text()
}

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
		checktest.Equal(t, fmt.Sprintf("request: %s ", name), p.Asked.Get(name), want)
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
			want: "is about another person"},
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
		"state doubled":  {alter: func(q url.Values) { q.Add("state", "b") }, want: "began in another browser"},
		"other state":    {alter: func(q url.Values) { q.Set("state", "b") }, want: "began in another browser"},
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
	own := dbtest.Must(url.Parse(visit(t, victim, startOIDC, "/my")))(t)
	q := back.Query()
	q.Set("state", own.Query().Get("state"))
	victim.Get(back.Path+"?"+q.Encode()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem",
		"does not accept the code")

	attacker = site.Visitor(t)
	back = p.SignIn(t, visit(t, attacker, startOIDC, "/my"), "test-user2")
	attacker.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/my")
	attacker.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem", "already complete")
}

// TestOIDCProviderIsDown starts a site while the provider is down.
func TestOIDCProviderIsDown(t *testing.T) {
	t.Parallel()
	site, p := newOIDCSite(t, handlertest.Options{})
	p.Do(func() { p.Down = true })
	c := site.Visitor(t)
	c.Get("/").Want(http.StatusOK)
	c.Post(startOIDC, url.Values{"next": {"/my"}}).Want(http.StatusServiceUnavailable).
		WantText("#sign-in-problem", "does not answer").WantText(".sign-in-methods", "Company")
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
		WantText("#sign-in-problem", "began in another browser")
	openid := dbtest.Must(url.Parse(visit(t, c, startOpenID, "/my")))(t)
	state := dbtest.Must(url.Parse(openid.Query().Get("openid.return_to")))(t)
	q := back.Query()
	q.Set("state", state.Query().Get("state"))
	c.Get(back.Path+"?"+q.Encode()).Want(http.StatusUnprocessableEntity).WantText("#sign-in-problem",
		"began in another browser")
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
		req := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL+"/login/oidc/logout",
			strings.NewReader(url.Values{"logout_token": {token}}.Encode())))(t)
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
	checktest.Equal(t, "audit log", site.Value(t, sqlRecords), "test-user2 2, test-user2 1")
}

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
	u := dbtest.Must(s.People.ByName(s.t.Context(), "test-user2"))(s.t)
	token, _, err := s.People.AddToken(s.t.Context(), "", u, fmt.Sprint(scopes), scopes, time.Now().Add(time.Hour))
	checktest.NoError(s.t, err)
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
	c.Get("/").Want(http.StatusOK).WantText(".banner", "Sign in again where")
	for _, path := range []string{"/my", "/candidates", "/user/horse", layout.PathInbox} {
		c.Get(path).Want(http.StatusUnauthorized).WantText("#sign-in-problem", "rights have expired")
	}
	c.Get("/login?next=/my").Want(http.StatusOK).WantText(".sign-in-methods", "Company")
	refused := c.Post("/problems/chosen", url.Values{"do": {"recheck"}}).Want(http.StatusUnauthorized)
	if refused.Attr(".sign-in-methods input[name=kept]", "value") == "" {
		t.Error("the refused form is lost")
	}
	program := s.Visitor(t)
	for _, a := range []*handlertest.Answer{program.Get(reports, read), program.Get(reports, triage),
		program.PostJSON(people, map[string]string{}, triage), program.Get(layout.PathInbox+".json", read)} {
		if !strings.Contains(a.Want(http.StatusUnauthorized).Body, "rights have expired") {
			t.Errorf("a token whose rights have expired: got %s", a.Body)
		}
	}

	// A right that was given by hand needs no group.
	checktest.NoError(t, s.People.SetRole(t.Context(), "", "test-user2", crash.RoleViewer))
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
	checktest.NoError(t, s.People.Disable(t.Context(), "", "test-user2"))
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
		checktest.NoError(t, s.RefreshGroups(t.Context()))
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
	checktest.Equal(t, "refresh token", s.Value(t, `select refresh_token from identities`), "")
	if second, err := url.Parse(visit(t, c, startOIDC, "/my")); err != nil {
		t.Fatal(err)
	} else {
		refused.Set("state", second.Query().Get("state"))
	}
	refresh := c.Get("/login/oidc/return?" + refused.Encode()).Header.Get("Refresh")
	third := dbtest.Must(url.Parse(strings.TrimPrefix(refresh, "0; url=")))(t)
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
	checktest.NoError(t, s.RefreshGroups(t.Context()))
	erase("third").Want(http.StatusAccepted)
	checktest.Equal(t, "erasures", s.Value(t, `select count(*)::text from erasures`), "2")
}
