package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

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
