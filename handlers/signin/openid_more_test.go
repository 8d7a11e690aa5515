package signin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

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
