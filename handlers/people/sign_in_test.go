package people_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleAdmin)
	c := site.Visitor(t)

	page := c.Get("/login?next=/oops/1").Want(http.StatusOK)
	if got := page.Attr("#sign-in input[name=next]", "value"); got != "/oops/1" {
		t.Errorf("next: got %q, want /oops/1", got)
	}
	if got := c.Cookie("sessionid"); got != "" {
		t.Errorf("a visitor got the session %q, want none", got)
	}
	before := c.Cookie("csrftoken")
	in := c.Post("/login", url.Values{"username": {strings.ToUpper(ada.Name)}, "password": {handlertest.Password},
		"next": {"/admin/tracker?x=1"}})
	in.WantRedirect(http.StatusSeeOther, "/admin/tracker?x=1")
	if got := c.Cookie("csrftoken"); got == before || got == "" {
		t.Errorf("csrftoken after sign-in: got %q, want a new one", got)
	}
	for _, want := range []string{"HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="} {
		if cookie := setCookie(in, "sessionid"); !strings.Contains(cookie, want) {
			t.Errorf("session cookie: got %q, want %s in it", cookie, want)
		}
	}
	c.Get("/login?next=/x").WantRedirect(http.StatusSeeOther, "/x")
	c.Get("/no-such-page").Want(http.StatusNotFound).WantText(".account-name", ada.Name)

	u, err := site.People.ByName(t.Context(), ada.Name)
	if err != nil || u.LastLogin.IsZero() {
		t.Errorf("last login: got %v, %v, want a time", u.LastLogin, err)
	}

	session := c.Cookie("sessionid")
	c.Post("/logout", nil).WantRedirect(http.StatusSeeOther, "/")
	if got := c.Cookie("sessionid"); got != "" {
		t.Errorf("session cookie after sign-out: got %q, want none", got)
	}
	c.SetCookie("sessionid", session)
	c.Get("/no-such-page").Want(http.StatusNotFound).WantNone(".account-name")
}

func TestSignInRenewsTheSession(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	viewer, admin := site.AddUser(t, crash.RoleViewer), site.AddUser(t, crash.RoleAdmin)
	c := site.Visitor(t)
	c.SetCookie("sessionid", "made-up-by-someone-else")
	c.SignIn(viewer.Name, handlertest.Password).Want(http.StatusSeeOther)
	first := c.Cookie("sessionid")
	if first == "made-up-by-someone-else" {
		t.Fatal("got the session id of the visitor, want a new one")
	}
	c.SignIn(admin.Name, handlertest.Password).Want(http.StatusSeeOther)
	if c.Cookie("sessionid") == first {
		t.Error("got the old session id after a second sign-in, want a new one")
	}
	old := site.Visitor(t)
	old.SetCookie("sessionid", first)
	old.Get("/no-such-page").WantNone(".account-name")
}

func TestSignInRefused(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleViewer)
	gone, err := site.People.Add(t.Context(), "", "gone", crash.RoleViewer, handlertest.Password)
	if err != nil {
		t.Fatal(err)
	}
	if err := site.People.Disable(t.Context(), "", gone.Name); err != nil {
		t.Fatal(err)
	}
	messages := map[string]bool{}
	for _, tt := range []struct{ name, password string }{
		{ada.Name, "wrong horse"},
		{ada.Name, ""},
		{gone.Name, handlertest.Password},
		{"nobody", handlertest.Password},
		{"", ""},
		{"nul\x00 and \xff", handlertest.Password},
		{`"><script>`, strings.Repeat("x", 5000)},
	} {
		a := site.Visitor(t).SignIn(tt.name, tt.password).Want(http.StatusUnprocessableEntity)
		messages[a.Text("#sign-in-problem")] = true
		if got := a.Attr("#username", "value"); tt.name == ada.Name && got != tt.name {
			t.Errorf("name in the form: got %q, want %q", got, tt.name)
		}
		if setCookie(a, "sessionid") != "" {
			t.Error("a failed sign-in set a session cookie, want none")
		}
		a.WantNone("script:not([src])")
	}
	if len(messages) != 1 {
		t.Errorf("got messages %v, want the same one for all", messages)
	}
}

// at returns a header that makes a request appear to come from address. The test acts as the proxy.
func at(address string) handlertest.Header {
	return handlertest.Header{Name: "X-Forwarded-For", Value: address}
}

func TestSignInSlowsDown(t *testing.T) {
	t.Parallel()
	began := time.Now() // the clock stands still, so slow machines do not matter
	store := dbtest.OpenAt(t, dbtest.URL(t), began)
	site, other := handlertest.New(t, handlertest.Options{Store: store}),
		handlertest.New(t, handlertest.Options{Store: store})
	ada := site.AddUser(t, crash.RoleViewer)
	signIn := func(c *handlertest.Client, password, address string) *handlertest.Answer {
		return c.Post("/login", url.Values{"username": {ada.Name}, "password": {password}}, at(address))
	}
	known := site.Visitor(t)
	in := signIn(known, handlertest.Password, "192.0.2.1").Want(http.StatusSeeOther)
	for _, want := range []string{"Path=/login", "HttpOnly", "SameSite=Lax", "Max-Age=31536000"} {
		if cookie := setCookie(in, "known_browser"); !strings.Contains(cookie, want) {
			t.Errorf("cookie of a known browser: got %q, want %s in it", cookie, want)
		}
	}
	known.Post("/logout", nil).Want(http.StatusSeeOther)

	for range 6 {
		signIn(site.Visitor(t), "wrong horse", "192.0.2.1").Want(http.StatusUnprocessableEntity)
	}
	a := signIn(other.Visitor(t), handlertest.Password, "192.0.2.1").Want(http.StatusTooManyRequests)
	a.WantText("#sign-in-problem", "Wait 1 second")
	if got := a.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After: got %q, want 1", got)
	}
	if got := a.Attr("#username", "value"); got != ada.Name {
		t.Errorf("name in the form: got %q, want %q", got, ada.Name)
	}
	signIn(other.Visitor(t), handlertest.Password, "198.51.100.7").Want(http.StatusSeeOther)
	signIn(known, handlertest.Password, "192.0.2.1").Want(http.StatusSeeOther)
}

func TestNextStaysOnThisSite(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleViewer)
	for _, next := range []string{
		"https://evil.example/", "//evil.example/", `/\evil.example/`, "/\t/evil.example/", "javascript:alert(1)", "", "x",
		"http:evil.example", "/" + strings.Repeat("x", 3000),
	} {
		c := site.Visitor(t)
		c.Post("/login", url.Values{"username": {ada.Name}, "password": {handlertest.Password}, "next": {next}}).
			WantRedirect(http.StatusSeeOther, "/")
	}
}

func TestAccountsTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleViewer)
	c, second := site.As(t, crash.RoleViewer), site.As(t, crash.RoleViewer)
	c.Get("/no-such-page").WantText(".account-name", ada.Name)

	if err := site.People.SetPassword(t.Context(), "", ada.Name, "another password"); err != nil {
		t.Fatal(err)
	}
	c.Get("/no-such-page").WantNone(".account-name")
	second.Get("/no-such-page").WantNone(".account-name")

	c.SignIn(ada.Name, "another password").Want(http.StatusSeeOther)
	if err := site.People.Disable(t.Context(), "", ada.Name); err != nil {
		t.Fatal(err)
	}
	c.Get("/no-such-page").WantNone(".account-name")
	c.SignIn(ada.Name, "another password").Want(http.StatusUnprocessableEntity)
}

func TestChangeAccounts(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	ada := site.AddUser(t, crash.RoleTriager)
	c := site.As(t, crash.RoleTriager)
	token, review := handlertest.MakeToken(t, c, "read", "file"), "/problem/"+b.ID.String()+"/review"
	create := func() *handlertest.Answer {
		return site.Visitor(t).PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature},
			handlertest.Bearer(token)...)
	}
	do := func(change func(ctx context.Context, by, name string) error) {
		t.Helper()
		if err := change(t.Context(), "", ada.Name); err != nil {
			t.Fatal(err)
		}
	}
	to := func(role crash.Role) func(context.Context, string, string) error {
		return func(ctx context.Context, by, name string) error { return site.People.SetRole(ctx, by, name, role) }
	}
	c.Get(review).Want(http.StatusOK)
	c.Post("/problem/"+b.ID.String()+"/notes", url.Values{"text": {"seen it"}}).Want(http.StatusSeeOther)

	do(to(crash.RoleViewer)) // takes effect at once, in the same session with the same token
	c.Get(review).Want(http.StatusForbidden)
	create().Want(http.StatusForbidden)
	do(to(crash.RoleAdmin))
	c.Get("/admin/tracker").Want(http.StatusOK)
	do(to(crash.RoleTriager))
	c.Get("/admin/tracker").Want(http.StatusForbidden)
	create().Want(http.StatusCreated)

	do(site.People.Disable)
	create().Want(http.StatusUnauthorized)
	do(site.People.Enable)
	create().Want(http.StatusOK)
	c.Get("/no-such-page").WantNone(".account-name") // disabling ended the session
	c.SignIn(ada.Name, handlertest.Password).Want(http.StatusSeeOther)

	do(site.People.Remove)
	c.Get("/no-such-page").WantNone(".account-name")
	create().Want(http.StatusUnauthorized)
	c.SignIn(ada.Name, handlertest.Password).Want(http.StatusUnprocessableEntity)
	other := site.As(t, crash.RoleAdmin) // the person's actions remain
	other.Get("/problem/"+b.ID.String()).WantText("#notes", ada.Name)
	other.Get("/admin/filings").WantText("main", ada.Name)
	if _, err := site.People.Add(t.Context(), "", ada.Name, crash.RoleViewer, handlertest.Password); err != nil {
		t.Errorf("the name cannot be reused: %v", err)
	}
	for name, err := range map[string]error{
		"enable": site.People.Enable(t.Context(), "", "nobody"), "remove": site.People.Remove(t.Context(), "", "nobody"),
		"role": site.People.SetRole(t.Context(), "", "nobody", crash.RoleViewer),
	} {
		if crash.KindOf(err) != crash.NotFound {
			t.Errorf("%s an unknown account: got %v, want not found", name, err)
		}
	}
}

func TestSecureCookiesUnderHTTPS(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{BaseURL: "https://crashes.example.org"})
	ada := site.AddUser(t, crash.RoleViewer)
	c := site.Visitor(t)
	https := handlertest.Header{Name: "X-Forwarded-Proto", Value: "https"}
	a := c.Get("/login", https)
	if got := setCookie(a, "csrftoken"); !strings.Contains(got, "Secure") {
		t.Errorf("csrftoken: got %q, want Secure", got)
	}
	// The jar does not send Secure cookies to an http address, so the test sets the header itself.
	token := strings.TrimPrefix(strings.Split(setCookie(a, "csrftoken"), ";")[0], "csrftoken=")
	c.SetCookie("csrftoken", token)
	in := c.Post("/login", url.Values{"username": {ada.Name}, "password": {handlertest.Password}},
		https, handlertest.Header{Name: "Origin", Value: "https://crashes.example.org"})
	in.Want(http.StatusSeeOther)
	if got := setCookie(in, "sessionid"); !strings.Contains(got, "Secure") {
		t.Errorf("sessionid: got %q, want Secure", got)
	}
}

// setCookie returns the Set-Cookie header of an answer for one cookie.
func setCookie(a *handlertest.Answer, name string) string {
	for _, line := range a.Header.Values("Set-Cookie") {
		if strings.HasPrefix(line, name+"=") {
			return line
		}
	}
	return ""
}

func TestSessionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	site.Store.Close()
	a := c.Get("/login").Want(http.StatusServiceUnavailable)
	if strings.Contains(a.Body, "pool") || strings.Contains(a.Body, "sql") {
		t.Errorf("the page reveals internal details: %s", a.Body)
	}
	site.Visitor(t).Get("/login").Want(http.StatusOK)
	site.Visitor(t).Get("/healthz").Want(http.StatusOK)
	site.Visitor(t).Get("/readyz").Want(http.StatusServiceUnavailable)
}
