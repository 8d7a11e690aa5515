package people_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/handlers/handlertest"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
)

// behindProxy returns a site that believes the header X-Forwarded-User from these peers. The test acts
// as the proxy.
func behindProxy(t *testing.T, peers string, o handlertest.Options) *handlertest.Site {
	t.Helper()
	networks, err := proxies.Parse(peers)
	if err != nil {
		t.Fatal(err)
	}
	o.Proxy = web.ProxyConfig{Header: "X-Forwarded-User", GroupsHeader: "X-Forwarded-Groups", Peers: networks}
	site := handlertest.New(t, o)
	if err := site.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceProxy, Group: "staff",
		Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantAll}}); err != nil {
		t.Fatal(err)
	}
	return site
}

func person(name string) handlertest.Header {
	return handlertest.Header{Name: "X-Forwarded-User", Value: name}
}

func inGroups(names string) handlertest.Header {
	return handlertest.Header{Name: "X-Forwarded-Groups", Value: names}
}

func TestSignInByProxy(t *testing.T) {
	t.Parallel()
	site := behindProxy(t, proxies.Loopback, handlertest.Options{})
	c := site.Visitor(t)
	c.Get("/").WantNone(".account-name")
	c.Get("/my", person("kim"), inGroups("others, staff")).Want(http.StatusOK).WantText(".account-name", "kim")
	first := c.Cookie("sessionid")
	c.Get("/account", person("kim"), inGroups("others, staff")).Want(http.StatusOK).
		WantText("#main", "triager: member of staff (Proxy)")
	if c.Cookie("sessionid") != first {
		t.Error("got a new session for the same person, want the same")
	}

	// Groups count as of each request.
	c.Get("/my", person("kim"), inGroups("others")).Want(http.StatusForbidden).WantText("main", "You are signed in as kim")
	c.Get("/my", person("kim")).Want(http.StatusForbidden)
	c.Get("/my", person("kim"), inGroups("staff")).Want(http.StatusOK)

	// The session ends when the header names another person, or nobody.
	session := c.Cookie("sessionid")
	c.Get("/", person("lee")).Want(http.StatusOK).WantText(".account-name", "lee")
	if got := c.Cookie("sessionid"); got == session || got == "" {
		t.Errorf("session of another person: got %q, want a new one", got)
	}
	old := site.Visitor(t)
	old.SetCookie("sessionid", session)
	old.Get("/account").Want(http.StatusSeeOther)
	c.Get("/").WantNone(".account-name")
	c.Get("/account").Want(http.StatusSeeOther)

	// The check of CSRF tokens stays: the header comes with each request of the browser.
	c.Get("/my", person("kim"), inGroups("staff")).Want(http.StatusOK)
	c.Post("/account", url.Values{"csrf_token": {"x"}}, person("kim"), inGroups("staff")).Want(http.StatusUnauthorized)
	c.Post("/account", nil, person("kim"), inGroups("staff"), handlertest.Header{Name: "Origin",
		Value: "https://evil.example"}).
		Want(http.StatusUnauthorized)
	c.Post("/account", nil, person("kim"), inGroups("staff")).Want(http.StatusSeeOther)

	// Exactly one value.
	for _, values := range map[string]http.Header{
		"person": {"X-Forwarded-User": {"kim", "root"}, "X-Forwarded-Groups": {"staff"}},
		"groups": {"X-Forwarded-User": {"kim"}, "X-Forwarded-Groups": {"none", "staff"}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+"/account", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = values
		req.Header.Set("Accept", "text/html")
		site.Visitor(t).Do(req).Want(http.StatusBadRequest).WantText("main", "more than once")
	}

	// A local account stays signed in, so that there is a way in if the proxy is wrong.
	local := site.As(t, crash.RoleAdmin)
	local.Get("/account", person("kim")).Want(http.StatusOK).WantText(".account-name", "ada-admin")

	if err := site.People.Disable(t.Context(), "", "kim"); err != nil {
		t.Fatal(err)
	}
	c.Get("/", person("kim"), inGroups("staff")).Want(http.StatusForbidden).WantText("main", "this account is disabled")
}

// TestProxyHeaderOfOthers sends the header from an address that is not in the list, also with headers
// that claim another address.
func TestProxyHeaderOfOthers(t *testing.T) {
	t.Parallel()
	var log handlertest.SafeBuffer
	site := behindProxy(t, "192.0.2.1", handlertest.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for _, claim := range []handlertest.Header{{Name: "X-Test", Value: "1"}, at("192.0.2.1"),
		{Name: "X-Real-IP", Value: "192.0.2.1"}, {Name: "Forwarded", Value: "for=192.0.2.1"}} {
		c := site.Visitor(t)
		c.Get("/", person("kim"), inGroups("staff"), claim).Want(http.StatusOK).WantNone(".account-name")
		c.Get("/account", person("kim"), inGroups("staff"), claim).Want(http.StatusSeeOther)
	}
	if !strings.Contains(log.String(), "dropped a header that signs people in") {
		t.Error("the log does not say that the header was dropped")
	}
	if strings.Contains(log.String(), "kim") {
		t.Error("the log contains a name that nobody has confirmed")
	}
	if all, err := site.People.Identities(t.Context(), 0); err != nil || len(all) != 0 {
		t.Errorf("got identities %v, %v, want none", all, err)
	}
}

// TestProxyGroupsAreNeverOld changes something as an administrator whose proxy states the groups
// with each request, and who signed in long ago.
func TestProxyGroupsAreNeverOld(t *testing.T) {
	t.Parallel()
	site := behindProxy(t, proxies.Loopback, handlertest.Options{})
	if err := site.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceProxy, Group: "admins",
		Role: crash.RoleAdmin, Scope: crash.GrantScope{Kind: crash.GrantAll}}); err != nil {
		t.Fatal(err)
	}
	c := site.Visitor(t)
	change := func(groups string) *handlertest.Answer {
		t.Helper()
		return c.Post("/admin/access", url.Values{"source": {"oidc"}, "group": {"staff"}, "role": {"viewer"}}, person("kim"),
			inGroups(groups))
	}
	c.Get("/", person("kim"), inGroups("admins")).Want(http.StatusOK)
	if _, err := site.Store.Pool.Exec(t.Context(),
		`update identities set last_sign_in = last_sign_in - interval '13 hours'`); err != nil {
		t.Fatal(err)
	}
	change("admins").WantRedirect(http.StatusSeeOther, "/admin/access")
	change("staff").Want(http.StatusForbidden)
}
