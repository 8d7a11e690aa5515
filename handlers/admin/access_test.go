package admin_test

import (
	"net/http"
	"net/url"
	"testing"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

func TestAccessPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	c.Get("/admin/access").Want(http.StatusOK).WantText("#main", "No group has a right yet").
		WantText("#main", "admin: given by hand")
	grant := func(source, group, role string) *handlertest.Answer {
		t.Helper()
		return c.Post("/admin/access", url.Values{"source": {source}, "group": {group}, "role": {role}})
	}
	grant("oidc", "staff<b>", "triager").WantRedirect(http.StatusSeeOther, "/admin/access")
	signed, err := site.People.SignInIdentity(t.Context(), crash.Identity{
		Source: crash.SourceOIDC, Issuer: "https://id.example", Subject: "42", Name: "kim", Groups: []string{"staff<b>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	page := c.Get("/admin/access").Want(http.StatusOK).WantText("#flash", "have the role triager now").
		WantText("#main", "triager: member of staff<b> (OpenID Connect)").WantText("#main", "by ada-admin,")
	page.WantNone("main b")
	c.Get("/admin/access?person=KI").WantText("#main", "kim")
	if got := c.Get("/admin/access?person=nobody").Text("#main"); got == "" ||
		len(c.Get("/admin/access?person=ki").Text("#main")) <= len(got) {
		t.Errorf("search for nobody: got %q, want fewer people", got)
	}

	scoped := url.Values{"source": {"account"}, "group": {"kim"}, "role": {"private"}, "scope": {"package"},
		"packages": {"linux-*"}}
	c.Post("/admin/access", scoped).WantRedirect(http.StatusSeeOther, "/admin/access")
	c.Get("/admin/access").WantText("#flash", "The account kim has the right to private data and embargoed problems of "+
		"linux-* now.").
		WantText("#main", "private for linux-*: given by hand")
	c.Post("/admin/access/revoke", scoped).WantRedirect(http.StatusSeeOther, "/admin/access")
	scoped.Set("group", "nobody")
	c.Post("/admin/access", scoped).Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "no account named")
	scoped.Set("role", "admin")
	c.Post("/admin/access", scoped).Want(http.StatusUnprocessableEntity).WantText("[role=alert]",
		"applies to all packages")

	bad := grant("oidc", "a\nb", "viewer").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "on one line")
	if got := bad.HTML().Find("#grant-role option[selected]").AttrOr("value", ""); got != "viewer" {
		t.Errorf("role in the refused form: got %q, want viewer", got)
	}
	grant("ldap", "x", "viewer").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "not a way of signing in")
	grant("oidc", "x", "king").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "is not a role")

	revoke := url.Values{"source": {"oidc"}, "group": {"staff<b>"}, "role": {"triager"}}
	c.Post("/admin/access/revoke", revoke).WantRedirect(http.StatusSeeOther, "/admin/access")
	c.Post("/admin/access/revoke", revoke).Want(http.StatusNotFound)
	u, err := site.People.ByID(t.Context(), signed.UserID)
	if err != nil || u.Role != crash.RoleNone {
		t.Errorf("after revoking: got role %q, %v, want none", u.Role, err)
	}
}
