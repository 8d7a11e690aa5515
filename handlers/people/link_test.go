package people_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

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

// TestLinkLaunchpad connects a Launchpad identity to an account with a password, signs in with it, and
// disconnects it.
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

	other := site.As(t, crash.RoleTriager)
	other.Get(answer(t, link(t, other, "launchpad"), kim).RequestURI()).WantRedirect(http.StatusSeeOther, "/account")
	other.Get("/account").WantText("#flash", "belongs to another account here, ada-viewer. Nothing was changed")

	c.Post("/account/identities/"+site.Value(t, `select id::text from identities`)+"/unlink",
		url.Values{"password": {handlertest.Password}}).WantRedirect(http.StatusSeeOther, "/account")
	c.Get("/account").WantText("#flash", "Disconnected").WantText("#main", "viewer")
	elsewhere.Get("/account").Want(http.StatusSeeOther) // its session has ended
	const sqlRecords = `
		select string_agg(concat_ws(' ', person, action, before ->> 'source', after ->> 'source'), ', ' order by id)
		from audit_events where action like 'identity%'`
	const want = "ada-viewer identity.link launchpad, ada-viewer identity.unlink launchpad"
	if got := site.Value(t, sqlRecords); got != want {
		t.Errorf("audit log: got %s", got)
	}
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

// TestOldGroupsAreChecked changes something as an administrator long after signing in with OpenID
// Connect, and with a password of an account whose rights come from OpenID Connect.
func TestOldGroupsAreChecked(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	site, p := newOIDCSite(t, handlertest.Options{Store: dbtest.Open(t, address)})
	p.Do(func() { p.Groups = []string{"secret"} })
	c := site.Visitor(t)
	signIn := func(lands string) {
		t.Helper()
		c.Get(p.SignIn(t, visit(t, c, startOIDC, "/admin/access"), "test-user2").RequestURI()).
			WantRedirect(http.StatusSeeOther, lands)
	}
	change := func(c *handlertest.Client) *handlertest.Answer {
		t.Helper()
		return c.Post("/admin/access", url.Values{"source": {"oidc"}, "group": {"staff"}, "role": {"viewer"}})
	}
	later := func() {
		t.Helper()
		dbtest.Exec(t, address, `update identities set groups_read = groups_read - interval '13 hours'`)
	}
	signIn("/admin/access")
	change(c).WantRedirect(http.StatusSeeOther, "/admin/access")
	later()
	change(c).Want(http.StatusUnauthorized).WantText("[role=alert]", "Sign in again to continue.")
	signIn("/admin/access")
	change(c).WantRedirect(http.StatusSeeOther, "/admin/access")

	// A session that began with a password is no way around the check.
	local := site.As(t, crash.RoleViewer)
	const sqlMove = `update identities set user_id = (select id from users where name = 'ada-viewer')`
	dbtest.Exec(t, address, sqlMove)
	change(local).WantRedirect(http.StatusSeeOther, "/admin/access")
	later()
	change(local).Want(http.StatusUnauthorized)

	// Whoever has left the group has no rights after signing in again.
	p.Do(func() { p.Groups = []string{"staff"} })
	c = site.Visitor(t)
	c.Get(p.SignIn(t, visit(t, c, startOIDC, "/"), "test-user2").RequestURI()).Want(http.StatusSeeOther)
	change(c).Want(http.StatusForbidden)
	change(local).Want(http.StatusForbidden)
}
