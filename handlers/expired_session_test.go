package handlers_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

// lostForms are the addresses whose forms are lost if the session has ended, with the reasons.
var lostForms = map[string]string{
	"/account/second-factor": "contains a secret",
	"/admin/notifications":   "may contain a secret",
}

// TestExpiredSession sends every form after the session has ended: what was typed survives signing
// in.
func TestExpiredSession(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	visitor := site.Visitor(t)
	forms := 0
	for _, route := range site.Routes(t) {
		path, ok := strings.CutPrefix(route, "POST ")
		if !ok || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/login") {
			continue
		}
		a := visitor.Post(path, url.Values{"text": {"What I wrote"}, "list": {"1", "2"}})
		if a.Status != http.StatusUnauthorized {
			continue // this form needs no session
		}
		forms++
		lost := false
		for start := range lostForms {
			lost = lost || strings.HasPrefix(path, start)
		}
		saved := a.HTML().Find("#sign-in input[name=kept]").Length() == 1
		if saved == lost {
			t.Errorf("%s: the sign-in form carries what was typed: %v, want %v", path, saved, !lost)
		}
	}
	if forms < 80 {
		t.Errorf("got %d forms that need a session, want more than 80", forms)
	}
	for _, secret := range []string{"password", "new", "code", "token", "secret"} {
		visitor.Post("/account", url.Values{secret: {"hunter2"}, "x": {"y"}}).Want(http.StatusUnauthorized).
			WantNone("input[name=kept]")
	}
	visitor.Post("/account", url.Values{"text": {"x"}}, handlertest.Header{Name: "Origin", Value: "https://evil.example"}).
		Want(http.StatusUnauthorized).WantNone("input[name=kept]")

	// The whole way: sign in, look at the form, and send it again.
	user := site.AddUser(t, crash.RoleViewer)
	refused := visitor.Post("/account?x=1", url.Values{"tracker_name": {"ada-lp"}}).Want(http.StatusUnauthorized).
		WantText("#sign-in-problem", "get back what you wrote")
	form := url.Values{"username": {user.Name}, "password": {handlertest.Password}}
	for _, name := range []string{"next", "kept"} {
		form.Set(name, refused.Attr("#sign-in input[name="+name+"]", "value"))
	}
	visitor.Post("/login", form).WantRedirect(http.StatusSeeOther, "/login/resume")
	for range 2 { // a reload
		page := visitor.Get("/login/resume").Want(http.StatusOK).WantText("#resume", "ada-lp")
		if got := page.Attr("#resume", "action"); got != "/account?x=1" {
			t.Errorf("send to: got %q, want the address of the form", got)
		}
	}
	visitor.Post("/account?x=1", url.Values{"tracker_name": {"ada-lp"}}).WantRedirect(http.StatusSeeOther, "/account")
	if got := visitor.Get("/account").Attr("#tracker-name", "value"); got != "ada-lp" {
		t.Errorf("got the name %q, want the one that was typed before signing in", got)
	}
}

// TestExpiredSessionOfEachForm sends forms after the session has ended, signs in again, and gets back to
// what was typed, from where the change is made.
func TestExpiredSessionOfEachForm(t *testing.T) {
	t.Parallel()
	p := newStepSite(t)
	admin := p.As(t, crash.RoleAdmin)
	for _, step := range changeSteps {
		path, form := p.request(t, step)
		a := &handlertest.Answer{}
		if strings.HasPrefix(path, "/admin/notifications") || form.Has("password") { // contains a secret
			a = admin.Post(path, form)
		} else {
			a = p.sendExpired(t, path, form)
		}
		if got, want := p.values(t, a, step.action), p.fill.Replace(step.values); !strings.Contains(got, want) ||
			a.Status >= 400 {
			t.Errorf("%s: got status %d and the record %s, want %s", step.action, a.Status, got, want)
		}
	}
}

// sendExpired sends a form without a session, signs in, and sends the form that the site shows then.
func (s stepSite) sendExpired(t *testing.T, path string, form url.Values) *handlertest.Answer {
	t.Helper()
	c := s.Visitor(t)
	refused := c.Post(path, form).Want(http.StatusUnauthorized)
	signIn := url.Values{"username": {"ada-admin"}, "password": {handlertest.Password}}
	for _, name := range []string{"next", "kept"} {
		signIn.Set(name, refused.Attr("#sign-in input[name="+name+"]", "value"))
	}
	place := c.Post("/login", signIn).Want(http.StatusSeeOther).Header.Get("Location")
	page := c.Get(place).Want(http.StatusOK)
	if place != "/login/resume" { // the page with the form itself, which holds a long text
		for name := range form {
			if value := form.Get(name); name != "do" && !strings.Contains(page.Body, html.EscapeString(value)) {
				t.Errorf("%s: the form has lost %s=%q", path, name, value)
			}
		}
		return c.Post(path, form)
	}
	sent := url.Values{}
	page.HTML().Find("#resume input").Each(func(_ int, in *goquery.Selection) {
		sent.Add(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	sent.Del("csrf_token")
	if diff := cmp.Diff(form, sent); diff != "" {
		t.Errorf("%s: the form has changed (-typed +shown):\n%s", path, diff)
	}
	return c.Post(page.Attr("#resume", "action"), sent)
}
