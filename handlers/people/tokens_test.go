package people_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

func TestTokensOnThePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	viewer := site.As(t, crash.RoleViewer)
	token := handlertest.MakeToken(t, viewer, "read")
	page := viewer.Get("/account").Want(http.StatusOK).WantText("#tokens tbody th", "a script")
	if strings.Contains(page.Body, token) {
		t.Error("got the token a second time, want it shown only once")
	}
	page.WantNone("#tokens input[value=file]") // a viewer creates no bugs
	viewer.Post("/account/tokens", url.Values{"name": {"x"}, "scope": {"file"}, "days": {"30"}}).Want(http.StatusForbidden)
	for name, form := range map[string]url.Values{
		"no name":  {"scope": {"read"}, "days": {"30"}},
		"no scope": {"name": {"x"}, "days": {"30"}},
		"no days":  {"name": {"x"}, "scope": {"read"}},
		"odd days": {"name": {"x"}, "scope": {"read"}, "days": {"31"}},
	} {
		if a := viewer.Post("/account/tokens", form).Want(http.StatusUnprocessableEntity); a.Text("#token-problem") == "" {
			t.Errorf("%s: got no reason", name)
		}
	}
	action := page.Attr("#tokens tbody form", "action")
	site.As(t, crash.RoleTriager).Post(action, nil).Want(http.StatusNotFound) // another person's token
	site.Visitor(t).Get("/api/1.0/instance/?id=x").Want(http.StatusUnauthorized)
	visitor := site.Visitor(t)
	visitor.Get("/api/1.0/instance/?id=x", handlertest.Bearer(token)...).Want(http.StatusOK)
	viewer.Post(action, nil).WantRedirect(http.StatusSeeOther, "/account")
	visitor.Get("/api/1.0/instance/?id=x", handlertest.Bearer(token)...).Want(http.StatusUnauthorized)
}

// TestTokenScopes checks that a token grants its scopes, but never more than its owner's role.
func TestTokenScopes(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	triager := site.As(t, crash.RoleTriager)
	read, file := handlertest.MakeToken(t, triager, "read"), handlertest.MakeToken(t, triager, "file")
	c := site.Visitor(t)
	body := map[string]string{"signature": b.Signature}
	plain := func(token string) []handlertest.Header {
		return append(handlertest.Bearer(token), handlertest.Header{Name: "X-CSRFToken"}, handlertest.Header{Name: "Referer"})
	}
	c.Get("/api/1.0/instance/?id=x", handlertest.Bearer(read)...).Want(http.StatusOK)
	c.Get("/api/1.0/instance/?id=x", handlertest.Bearer(file)...).Want(http.StatusForbidden)
	c.Get("/api/1.0/problems-count/", handlertest.Bearer(file)...).Want(http.StatusOK) // public
	c.PostJSON(handlertest.CreatePath, body, plain(read)...).Want(http.StatusForbidden)
	c.PostJSON(handlertest.CreatePath, body).Want(http.StatusUnauthorized)
	c.PostJSON(handlertest.CreatePath, body, plain("mishap_wrong")...).Want(http.StatusUnauthorized)
	c.PostJSON(handlertest.CreatePath, body, plain(file)...).Want(http.StatusCreated)
	c.PostJSON(handlertest.CreatePath, body, plain(file)...).Want(http.StatusOK)
	if got := len(site.Tracker.Bugs()); got != 1 {
		t.Errorf("got %d bugs, want one", got)
	}
	// Tokens do not work for forms, parts or pages.
	c.Post(handlertest.CreatePath, url.Values{"signature": {b.Signature}}, handlertest.Bearer(file)...).
		Want(http.StatusUnsupportedMediaType)
	c.Get("/oops/x", handlertest.Bearer(read)...).Want(http.StatusSeeOther)
	// An invalid token does not replace the CSRF token of a session.
	triager.PostJSON(handlertest.CreatePath, body, plain("mishap_wrong")...).Want(http.StatusUnauthorized)
	// A person who has lost the right to file cannot file with a token either.
	viewer := site.AddUser(t, crash.RoleTriager)
	if err := site.People.Disable(t.Context(), "", viewer.Name); err != nil {
		t.Fatal(err)
	}
	c.PostJSON(handlertest.CreatePath, body, plain(file)...).Want(http.StatusUnauthorized)
}

func TestLimitsOfTheAPI(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{APIRatePerAddress: 3, APIRatePerToken: 5})
	viewer := site.As(t, crash.RoleViewer)
	one, other := handlertest.MakeToken(t, viewer, "read"), handlertest.MakeToken(t, viewer, "read")
	c := site.Visitor(t)
	for range 3 {
		c.Get("/api/1.0/").Want(http.StatusOK)
	}
	var got handlertest.APIError
	a := c.Get("/api/1.0/").Want(http.StatusTooManyRequests)
	if a.JSON(&got); a.Header.Get("Retry-After") == "" || got.Code != "too_many_requests" {
		t.Errorf("got %v, %+v, want Retry-After", a.Header, got)
	}
	for range 5 {
		c.Get("/api/1.0/", handlertest.Bearer(one)...).Want(http.StatusOK)
	}
	c.Get("/api/1.0/", handlertest.Bearer(one)...).Want(http.StatusTooManyRequests)
	c.Get("/api/1.0/", handlertest.Bearer(other)...).Want(http.StatusOK)
	c.Get("/").Want(http.StatusOK) // pages have no limit
}

// TestScopesOfFiles checks which scope each kind of data needs, and that a refusal names it.
func TestScopesOfFiles(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	admin := site.As(t, crash.RoleAdmin)
	c := site.Visitor(t)
	tokens := map[crash.Scope]string{}
	for _, scope := range crash.Scopes {
		tokens[scope] = handlertest.MakeToken(t, admin, string(scope))
	}
	for _, tt := range []struct {
		path string
		want crash.Scope
	}{
		{"/problem/" + b.ID.String() + ".csv", crash.ScopeRead},
		{"/my.csv", crash.ScopeRead},
		{"/user/" + strings.Repeat("0", 128) + ".csv", crash.ScopeReadPrivate},
		{"/api/1.0/reports-for-system/?id=x", crash.ScopeReadPrivate},
		{"/api/1.0/instance/?id=x", crash.ScopeRead},
		{"/admin/filings.csv", crash.ScopeAdmin},
	} {
		for _, scope := range crash.Scopes {
			a := c.Get(tt.path, append(handlertest.Bearer(tokens[scope]), handlertest.Header{Name: "Accept", Value: "*/*"})...)
			if scope == tt.want {
				if a.Status == http.StatusForbidden || a.Status == http.StatusUnauthorized {
					t.Errorf("%s with %s: got %d %s", tt.path, scope, a.Status, a.Body)
				}
				continue
			}
			a.Want(http.StatusForbidden)
			var refusal handlertest.APIError
			if a.JSON(&refusal); !strings.HasSuffix(refusal.Error, " does not have the scope "+string(tt.want)+".") {
				t.Errorf("%s with %s: got %q, want the name of the scope", tt.path, scope, refusal.Error)
			}
		}
	}
	a := c.Get("/api/1.0/instance/?id=x&access_token=" + tokens[crash.ScopeRead] + "&token=" +
		tokens[crash.ScopeRead]).Want(
		http.StatusUnauthorized)
	if !strings.Contains(strings.Join(a.Header.Values("WWW-Authenticate"), ", "), "Bearer") {
		t.Errorf("got %v, want WWW-Authenticate: Bearer", a.Header)
	}
	mistyped := tokens[crash.ScopeRead][:20] + "x" + tokens[crash.ScopeRead][20:53]
	var refusal handlertest.APIError
	if c.Get("/api/1.0/instance/?id=x", handlertest.Bearer(mistyped)...).Want(http.StatusUnauthorized).
		JSON(&refusal); refusal.Code !=
		"mistyped_token" {
		t.Errorf("mistyped: got %+v", refusal)
	}
}
