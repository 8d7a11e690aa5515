package people_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/handlers/people/openidtest"
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
	if got := stranger.Cookie("sessionid"); got != "" {
		t.Errorf("got a session %q for a form of another site, want none", got)
	}
}

func TestOpenIDProviderIsDown(t *testing.T) {
	t.Parallel()
	site, p := newOpenIDSite(t, handlertest.Options{})
	c := site.Visitor(t)
	back := answer(t, visit(t, c, startOpenID, "/my"), "abc123")
	p.SetDown(true)
	c.Get(back.RequestURI()).Want(http.StatusServiceUnavailable).WantText("#sign-in-problem", "does not answer now").
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
	if last != http.StatusTooManyRequests {
		t.Errorf("after 30 failures: got status %d, want 429", last)
	}
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
	if err := site.People.Disable(t.Context(), "", "kim"); err != nil {
		t.Fatal(err)
	}
	back = answer(t, visit(t, c, startOpenID, "/"), "abc123")
	c.Get(back.RequestURI()).Want(http.StatusForbidden).WantText("#sign-in-problem", "this account is disabled")

	rows, err := store.Pool.Query(t.Context(),
		`select person || ' ' || action || ' ' || subject || ' ' || reason
		from audit_events where action like 'user.sign-in%' or action like 'access.%' order by id`)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for rows.Next() {
		var event string
		if err := rows.Scan(&event); err != nil {
			t.Fatal(err)
		}
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
				if err != nil {
					t.Fatal(err)
				}
				back, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
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
	in, err := provider.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := provider.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	provider.Stderr = &said
	if err := provider.Start(); err != nil {
		t.Fatal(err)
	}
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
