package people_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"mishap/crash"
	"mishap/handlers/handlertest"
)

// TestRequiredApp signs in where administrators need an authenticator app.
func TestRequiredApp(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{RequireApp: crash.AppForAdmins})
	site.As(t, crash.RoleTriager).Get("/my").Want(http.StatusOK)

	admin := site.AddUser(t, crash.RoleAdmin)
	token, _, err := site.People.AddToken(t.Context(), admin, "x", []crash.Scope{crash.ScopeRead},
		time.Now().AddDate(0, 0, 30))
	if err != nil {
		t.Fatal(err)
	}
	c := site.As(t, crash.RoleAdmin)
	for _, path := range []string{"/", "/admin", "/account", "/problems.csv", "/admin/access?person=x"} {
		c.Get(path).WantRedirect(http.StatusSeeOther, "/account/second-factor")
	}
	c.Get("/api/1.0/instance/?id=x", handlertest.Header{Name: "Accept", Value: "application/json"}).Want(
		http.StatusForbidden)
	c.Post("/account/tokens", url.Values{"name": {"x"}, "scope": {"read"}, "days": {"30"}}).Want(http.StatusForbidden).
		WantText("main", "need an authenticator app")
	c.Part("/").Want(http.StatusForbidden)
	site.Visitor(t).Get("/api/1.0/", handlertest.Header{Name: "Authorization", Value: "Bearer " + token}).
		Want(http.StatusOK)

	c.Get("/account/second-factor").Want(http.StatusOK).WantText("[role=alert]", "nothing else works")
	c.Post("/account/second-factor/begin", url.Values{"password": {handlertest.Password}}).Want(http.StatusSeeOther)
	secret := strings.ReplaceAll(c.Get("/account/second-factor").Text("code.break"), " ", "")
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	done := c.Post("/account/second-factor/confirm", url.Values{"code": {code}}).Want(http.StatusOK).WantNone(
		"[role=alert]")
	if got := done.Attr("section a.button", "href"); got != "/admin/access?person=x" {
		t.Errorf("continue at: got %q, want the page that was asked for", got)
	}
	c.Get("/admin/access?person=x").Want(http.StatusOK)

	// Without the app, nothing works again, in all sessions.
	c.Post("/account/second-factor/off", url.Values{"password": {handlertest.Password}}).Want(http.StatusSeeOther)
	c.Get("/").WantRedirect(http.StatusSeeOther, "/account/second-factor")
	c.Post("/logout", nil).WantRedirect(http.StatusSeeOther, "/")
	c.Get("/").Want(http.StatusOK)
}

// TestResetSecondFactor removes the app of a person who has lost it.
func TestResetSecondFactor(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	viewer, admin := site.As(t, crash.RoleViewer), site.As(t, crash.RoleAdmin)
	setUpApp(t, viewer)
	reset := func(name string) *handlertest.Answer {
		return admin.Post("/admin/access/second-factor", url.Values{"name": {name}})
	}
	admin.Get("/admin/access").WantText("form[action='/admin/access/second-factor'] button", "Remove app")
	reset("ada-admin").Want(http.StatusConflict).WantText("main", "with your password")
	reset("nobody").Want(http.StatusNotFound)
	reset("ada-viewer").WantRedirect(http.StatusSeeOther, "/admin/access")
	reset("ada-viewer").Want(http.StatusConflict)
	viewer.Get("/account").Want(http.StatusSeeOther) // signed out
	viewer.SignIn("ada-viewer", handlertest.Password).WantRedirect(http.StatusSeeOther, "/")
	viewer.Get("/inbox").Want(http.StatusOK).WantText("#main", "Your authenticator app was removed").
		WantText("#main", "ada-admin removed")
	const sqlRecord = `select person || ' ' || subject from audit_events where action = 'user.totp-reset'`
	if got := site.Value(t, sqlRecord); got != "ada-admin ada-viewer" {
		t.Errorf("audit log: got %q", got)
	}
}

// TestChangePassword changes one's own password.
func TestChangePassword(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c, other := site.As(t, crash.RoleViewer), site.As(t, crash.RoleViewer)
	change := func(old, password, again string) *handlertest.Answer {
		return c.Post("/account/password", url.Values{"password": {old}, "new": {password}, "again": {again}})
	}
	for _, tt := range [][4]string{{"wrong", "another password", "another password", "Wrong password"},
		{handlertest.Password, "another password", "another", "differ"}, {handlertest.Password, "short", "short",
			"at least 8"}} {
		change(tt[0], tt[1], tt[2]).Want(http.StatusUnprocessableEntity).WantText("#old-password-problem", tt[3])
	}
	other.Get("/account").Want(http.StatusOK)
	before := c.Cookie("sessionid")
	change(handlertest.Password, "another password", "another password").WantRedirect(http.StatusSeeOther, "/account")
	c.Get("/account").Want(http.StatusOK).WantText("#flash", "Password changed")
	other.Get("/account").Want(http.StatusSeeOther)
	stolen := site.Visitor(t)
	stolen.SetCookie("sessionid", before)
	stolen.Get("/account").Want(http.StatusSeeOther)
	site.Visitor(t).SignIn("ada-viewer", handlertest.Password).Want(http.StatusUnprocessableEntity)
	site.Visitor(t).SignIn("ada-viewer", "another password").Want(http.StatusSeeOther)
}

// TestLocalSignIn hides the form for names and passwords, and switches it off.
func TestLocalSignIn(t *testing.T) {
	t.Parallel()
	elsewhere := crash.OpenIDConfig{URL: "https://openid.example", Name: "Elsewhere"}
	hidden := handlertest.New(t, handlertest.Options{LocalSignIn: crash.LocalHidden, OpenID: elsewhere})
	c := hidden.As(t, crash.RoleViewer)
	c.Get("/account").Want(http.StatusOK)
	hidden.Visitor(t).Get("/login").WantNone("details[open]").WantText("details summary", "name and password").
		WantText(".sign-in-methods", "Elsewhere")
	hidden.Visitor(t).SignIn("ada-viewer", "wrong").Want(http.StatusUnprocessableEntity).
		WantText("#sign-in-problem", "Wrong name or password").Attr("details[open]", "class")

	off := handlertest.New(t, handlertest.Options{LocalSignIn: crash.LocalOff, OpenID: elsewhere, Store: hidden.Store})
	off.Visitor(t).Get("/login").WantNone("#sign-in").WantText(".sign-in-methods", "Elsewhere")
	off.Visitor(t).SignIn("ada-viewer", handlertest.Password).Want(http.StatusForbidden).
		WantText("#sign-in-problem", "is switched off")
	off.Visitor(t).Post("/login/code", url.Values{"code": {"123456"}}).Want(http.StatusForbidden)
	old := off.Visitor(t)
	old.SetCookie("sessionid", c.Cookie("sessionid"))
	old.Get("/account").Want(http.StatusSeeOther) // a session from before

	only := handlertest.New(t, handlertest.Options{LocalSignIn: crash.LocalHidden})
	only.Visitor(t).Get("/login").WantNone("details").WantText("#sign-in", "Password")
}
