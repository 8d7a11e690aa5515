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

// setUpApp switches an authenticator app on, and returns its secret and the recovery codes.
func setUpApp(t *testing.T, c *handlertest.Client) (secret string, recovery []string) {
	t.Helper()
	c.Post("/account/second-factor/begin", url.Values{"password": {"wrong"}}).Want(http.StatusUnprocessableEntity).
		WantText("[role=alert]", "Wrong password")
	c.Post("/account/second-factor/begin", url.Values{"password": {handlertest.Password}}).
		WantRedirect(http.StatusSeeOther, "/account/second-factor")
	page := c.Get("/account/second-factor").Want(http.StatusOK)
	if path := page.Attr("svg.qr path", "d"); len(path) < 1000 {
		t.Errorf("got the QR code %q", path)
	}
	secret = strings.ReplaceAll(page.Text("code.break"), " ", "")
	c.Post("/account/second-factor/confirm", url.Values{"code": {"000"}}).Want(http.StatusUnprocessableEntity).
		WantText("[role=alert]", "Wrong code")
	code, err := totp.GenerateCode(secret, time.Now().Add(-30*time.Second)) // so that the present one is not used
	if err != nil {
		t.Fatal(err)
	}
	page = c.Post("/account/second-factor/confirm", url.Values{"code": {code}}).Want(http.StatusOK)
	for _, li := range page.HTML().Find(".recovery-codes li").EachIter() {
		recovery = append(recovery, li.Text())
	}
	if len(recovery) != 10 {
		t.Fatalf("got the recovery codes %q", recovery)
	}
	if again := c.Get("/account/second-factor"); strings.Contains(again.Body, recovery[0]) || strings.Contains(again.Body,
		secret) {
		t.Error("got the secret or a recovery code a second time")
	}
	return secret, recovery
}

func TestSecondStepOfSignIn(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	user := site.AddUser(t, crash.RoleViewer)
	password := url.Values{"username": {user.Name}, "password": {handlertest.Password}, "next": {"/my?x=1"}}
	first := site.Visitor(t)
	first.Post("/login", password).WantRedirect(http.StatusSeeOther, "/my?x=1")
	secret, recovery := setUpApp(t, first)
	first.Get("/account").Want(http.StatusOK).WantText("[aria-labelledby=second-factor]", "10 recovery codes left")

	c := site.Visitor(t)
	c.Get("/login/code").Want(http.StatusOK).WantText("h1", "Sign in") // nothing waits for a code
	c.Post("/login", password).WantRedirect(http.StatusSeeOther, "/login/code")
	c.Get("/account").Want(http.StatusSeeOther) // not signed in yet
	for range 2 {                               // a reload
		c.Get("/login/code").Want(http.StatusOK).WantText("h1", "Enter a code")
	}
	page := c.Post("/login/code", url.Values{"code": {"123"}}).Want(http.StatusUnprocessableEntity)
	page.WantText("[role=alert]", "Wrong code")
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	before := c.Cookie("sessionid")
	c.Post("/login/code", url.Values{"code": {code}}).WantRedirect(http.StatusSeeOther, "/my?x=1")
	if c.Cookie("sessionid") == before {
		t.Error("got the session of before the code, want a new one")
	}
	c.Get("/account").Want(http.StatusOK)

	other := site.Visitor(t)
	other.Post("/login", password).WantRedirect(http.StatusSeeOther, "/login/code")
	other.Post("/login/code", url.Values{"code": {code}}).Want(http.StatusUnprocessableEntity).
		WantText("[role=alert]", "has been used")
	if err := site.People.SetPassword(t.Context(), "", user.Name, "another good one"); err != nil {
		t.Fatal(err)
	}
	other.Post("/login/code", url.Values{"code": {recovery[0]}}).Want(http.StatusUnprocessableEntity).
		WantText("[role=alert]", "Sign in again.")
	c.Get("/account").Want(http.StatusSeeOther) // the new password has ended the session
	password.Set("password", "another good one")
	other.Post("/login", password).WantRedirect(http.StatusSeeOther, "/login/code")
	other.Post("/login/code", url.Values{"code": {recovery[0]}}).WantRedirect(http.StatusSeeOther, "/my?x=1")
	other.Post("/account/second-factor/off", url.Values{"password": {"another good one"}}).
		WantRedirect(http.StatusSeeOther, "/account/second-factor")
	third := site.Visitor(t)
	third.Post("/login", password).WantRedirect(http.StatusSeeOther, "/my?x=1")
}
