package people_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
)

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	ada := site.AddUser(t, crash.RoleAdmin)
	c := site.Visitor(t)

	page := c.Get("/login?next=/oops/1").Want(http.StatusOK)
	checktest.Equal(t, "next", page.Attr("#sign-in input[name=next]", "value"), "/oops/1")
	checktest.Equal(t, "session of a visitor", c.Cookie("sessionid"), "")
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
	checktest.Equal(t, "session cookie after sign-out", c.Cookie("sessionid"), "")
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
	gone := dbtest.Must(site.People.Add(t.Context(), "", "gone", crash.RoleViewer, handlertest.Password))(t)
	checktest.NoError(t, site.People.Disable(t.Context(), "", gone.Name))
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
	checktest.Equal(t, "Retry-After", a.Header.Get("Retry-After"), "1")
	checktest.Equal(t, "name in the form", a.Attr("#username", "value"), ada.Name)
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

	checktest.NoError(t, site.People.SetPassword(t.Context(), "", ada.Name, "another password"))
	c.Get("/no-such-page").WantNone(".account-name")
	second.Get("/no-such-page").WantNone(".account-name")

	c.SignIn(ada.Name, "another password").Want(http.StatusSeeOther)
	checktest.NoError(t, site.People.Disable(t.Context(), "", ada.Name))
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
		checktest.NoError(t, change(t.Context(), "", ada.Name))
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

// behindProxy returns a site that believes the header X-Forwarded-User from these peers. The test acts
// as the proxy.
func behindProxy(t *testing.T, peers string, o handlertest.Options) *handlertest.Site {
	t.Helper()
	networks := dbtest.Must(proxies.Parse(peers))(t)
	o.Proxy = web.ProxyConfig{Header: "X-Forwarded-User", GroupsHeader: "X-Forwarded-Groups", Peers: networks}
	site := handlertest.New(t, o)
	checktest.NoError(t, site.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceProxy, Group: "staff",
		Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantAll}}))
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
		req := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+"/account", nil))(t)
		req.Header = values
		req.Header.Set("Accept", "text/html")
		site.Visitor(t).Do(req).Want(http.StatusBadRequest).WantText("main", "more than once")
	}

	// A local account stays signed in, so that there is a way in if the proxy is wrong.
	local := site.As(t, crash.RoleAdmin)
	local.Get("/account", person("kim")).Want(http.StatusOK).WantText(".account-name", "ada-admin")

	checktest.NoError(t, site.People.Disable(t.Context(), "", "kim"))
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
	checktest.NoError(t, site.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceProxy, Group: "admins",
		Role: crash.RoleAdmin, Scope: crash.GrantScope{Kind: crash.GrantAll}}))
	c := site.Visitor(t)
	change := func(groups string) *handlertest.Answer {
		t.Helper()
		return c.Post("/admin/access", url.Values{"source": {"oidc"}, "group": {"staff"}, "role": {"viewer"}}, person("kim"),
			inGroups(groups))
	}
	c.Get("/", person("kim"), inGroups("admins")).Want(http.StatusOK)
	dbtest.Must(site.Store.Pool.Exec(t.Context(),
		`update identities set last_sign_in = last_sign_in - interval '13 hours'`))(t)
	change("admins").WantRedirect(http.StatusSeeOther, "/admin/people")
	change("staff").Want(http.StatusForbidden)
}

// link begins to connect an identity, and returns the address of the provider.
func link(t *testing.T, c *handlertest.Client, source string) string {
	t.Helper()
	page := c.Post("/account/identities/link", url.Values{"source": {source}, "password": {handlertest.Password}}).
		Want(http.StatusOK)
	address, ok := strings.CutPrefix(page.Header.Get("Refresh"), "0; url=")
	if !ok {
		t.Fatalf("got no way to the provider:\n%s", page.Body)
	}
	return address
}

// TestLink connects an identity to an account with a password, signs in with it, and disconnects
// it.
func TestLink(t *testing.T) {
	t.Parallel()
	site, p := newOIDCSite(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	c.Post("/account/identities/link", url.Values{"source": {"oidc"}, "password": {"wrong"}}).WantRedirect(
		http.StatusSeeOther,
		"/account")
	c.Get("/account").WantText("#flash", "Wrong password")
	c.Post("/account/identities/link", url.Values{"source": {"oidc"}, "csrf_token": {"x"}}).Want(http.StatusUnauthorized)
	for _, source := range []string{"launchpad", "proxy", "account", ""} {
		c.Post("/account/identities/link", url.Values{"source": {source}}).Want(http.StatusNotFound)
	}

	// An answer that was changed, or that somebody else has got, adds nothing.
	back := p.SignIn(t, link(t, c, "oidc"), "test-user2")
	q := back.Query()
	q.Set("state", "x")
	c.Get(back.Path + "?" + q.Encode()).Want(http.StatusUnprocessableEntity)
	other := site.As(t, crash.RoleTriager)
	other.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity)
	link(t, other, "oidc")
	other.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity) // with an attempt of one's own
	site.Visitor(t).Get(back.RequestURI()).Want(http.StatusUnprocessableEntity)

	// Signing in as another person in between ends the attempt.
	swapped := site.As(t, crash.RoleViewer)
	stale := p.SignIn(t, link(t, swapped, "oidc"), "test-user2")
	swapped.Post("/logout", nil)
	swapped.SignIn("ada-triager", handlertest.Password).Want(http.StatusSeeOther)
	swapped.Get(stale.RequestURI()).Want(http.StatusUnprocessableEntity)
	if all, err := site.People.Identities(t.Context(), 0); err != nil || len(all) != 0 {
		t.Fatalf("got identities %v, %v, want none", all, err)
	}

	before := c.Cookie("sessionid")
	back = p.SignIn(t, link(t, c, "oidc"), "test-user2")
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/account")
	if c.Cookie("sessionid") == before {
		t.Error("got the session of before, want a new token")
	}
	c.Get("/account").WantText("#flash", "Connected").WantText("#main", "triager: member of crash-triage")
	c.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity) // replayed
	elsewhere := site.Visitor(t)
	elsewhere.Get(p.SignIn(t, visit(t, elsewhere, startOIDC, "/my"), "test-user2").RequestURI()).
		WantRedirect(http.StatusSeeOther, "/my")
	elsewhere.Get("/account").WantText(".account-name", "ada-viewer")

	// The identity belongs to one account.
	other = site.As(t, crash.RoleTriager)
	for range 2 {
		other.Get(p.SignIn(t, link(t, other, "oidc"), "test-user2").RequestURI()).WantRedirect(http.StatusSeeOther,
			"/account")
		other.Get("/account").WantText("#flash", "belongs to another account here, ada-viewer. Nothing was changed")
	}
	c.Get(p.SignIn(t, link(t, c, "oidc"), "test-user2").RequestURI()).WantRedirect(http.StatusSeeOther, "/account")
	c.Get("/account").WantText("#flash", "already")

	id := site.Value(t, `select id::text from identities`)
	unlink := func(c *handlertest.Client, password string) {
		t.Helper()
		c.Post("/account/identities/"+id+"/unlink", url.Values{"password": {password}}).WantRedirect(http.StatusSeeOther,
			"/account")
	}
	other.Post("/account/identities/"+id+"/unlink", url.Values{"password": {handlertest.Password}}).
		Want(http.StatusNotFound).WantText("main", "not connected")
	unlink(c, "wrong")
	c.Get("/account").WantText("#flash", "Wrong password")
	elsewhere.Get("/my").Want(http.StatusOK)
	unlink(c, handlertest.Password)
	c.Get("/account").WantText("#flash", "Disconnected").WantText("#main", "viewer")
	elsewhere.Get("/account").Want(http.StatusSeeOther)
	const sqlRecords = `select string_agg(person || ' ' || action, ', ' order by id)
		from audit_events where action like 'identity%'`
	if got := site.Value(t, sqlRecords); got != "ada-viewer identity.link, ada-viewer identity.unlink" {
		t.Errorf("audit log: got %s", got)
	}
}

// TestLinkLaunchpad connects a Launchpad identity to an account with a password, and signs in with it.
func TestLinkLaunchpad(t *testing.T) {
	t.Parallel()
	site, _ := newOpenIDSite(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	const kim = "abc123"

	// An answer of an attempt of somebody else, or one that was changed, connects nothing.
	stolen := answer(t, link(t, site.As(t, crash.RoleTriager), "launchpad"), kim)
	c.Get(stolen.RequestURI()).Want(http.StatusUnprocessableEntity)
	site.Visitor(t).Get(stolen.RequestURI()).Want(http.StatusUnprocessableEntity)
	changed := answer(t, link(t, c, "launchpad"), kim)
	q := changed.Query()
	q.Set("openid.claimed_id", strings.Replace(q.Get("openid.claimed_id"), kim, "zzz", 1))
	c.Get(changed.Path+"?"+q.Encode()).WantRedirect(http.StatusSeeOther, "/account")
	if got := c.Get("/account").Text("#flash"); got == "" || strings.Contains(got, "Connected") {
		t.Errorf("a changed answer: got %q, want a refusal", got)
	}
	if all, err := site.People.Identities(t.Context(), 0); err != nil || len(all) != 0 {
		t.Fatalf("got identities %v, %v, want none", all, err)
	}

	back := answer(t, link(t, c, "launchpad"), kim)
	c.Get(back.RequestURI()).WantRedirect(http.StatusSeeOther, "/account")
	c.Get("/account").WantText("#flash", "Connected").WantText("#main", "triager: member of bug-control")
	c.Get(back.RequestURI()).Want(http.StatusUnprocessableEntity) // replayed
	elsewhere := site.Visitor(t)
	elsewhere.Get(answer(t, visit(t, elsewhere, startOpenID, "/my"), kim).RequestURI()).
		WantRedirect(http.StatusSeeOther, "/my")
	elsewhere.Get("/account").WantText(".account-name", "ada-viewer")
}

// TestLastWayIn keeps people from locking themselves out.
func TestLastWayIn(t *testing.T) {
	t.Parallel()
	at := time.Now()
	site, p := newOIDCSite(t, handlertest.Options{Now: func() time.Time { return at }})
	c := site.Visitor(t)
	c.Get(p.SignIn(t, visit(t, c, startOIDC, "/"), "test-user2").RequestURI()).Want(http.StatusSeeOther)
	first := site.Value(t, `select id::text from identities where source = 'oidc'`)
	unlink := func(id string) *handlertest.Answer {
		t.Helper()
		return c.Post("/account/identities/"+id+"/unlink", nil)
	}
	unlink(first).WantRedirect(http.StatusSeeOther, "/account")
	c.Get("/account").WantText("#flash", "last way to sign in")

	// Without a password, a fresh sign-in is needed.
	at = at.Add(16 * time.Minute)
	unlink(first).Want(http.StatusUnauthorized).WantText("[role=alert]", "more than 15 minutes ago")
	c.Post("/account/identities/link", url.Values{"source": {"oidc"}}).Want(http.StatusUnauthorized)
	at = time.Now()
}

// TestOldGroupsAreChecked changes something long after signing in with OpenID Connect, also in a session that
// began with the password of such an account.
func TestOldGroupsAreChecked(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	site, p := newOIDCSite(t, handlertest.Options{Store: dbtest.Open(t, address)})
	p.Do(func() { p.Groups = []string{"secret"} })
	c := site.Visitor(t)
	change := func(c *handlertest.Client) *handlertest.Answer {
		t.Helper()
		return c.Post("/admin/access", url.Values{"source": {"oidc"}, "group": {"staff"}, "role": {"viewer"}})
	}
	c.Get(p.SignIn(t, visit(t, c, startOIDC, "/admin/people"), "test-user2").RequestURI()).
		WantRedirect(http.StatusSeeOther, "/admin/people")

	// A session that began with a password is no way around the check.
	local := site.As(t, crash.RoleViewer)
	const sqlMove = `update identities set user_id = (select id from users where name = 'ada-viewer')`
	dbtest.Exec(t, address, sqlMove)
	change(local).WantRedirect(http.StatusSeeOther, "/admin/people")
	dbtest.Exec(t, address, `update identities set groups_read = groups_read - interval '13 hours'`)
	change(local).Want(http.StatusUnauthorized).WantText("[role=alert]", "Sign in again to continue.")

	// Whoever has left the group has no rights after signing in again.
	p.Do(func() { p.Groups = []string{"staff"} })
	c = site.Visitor(t)
	c.Get(p.SignIn(t, visit(t, c, startOIDC, "/"), "test-user2").RequestURI()).Want(http.StatusSeeOther)
	change(c).Want(http.StatusForbidden)
	change(local).Want(http.StatusForbidden)
}
