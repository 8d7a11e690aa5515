package people_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

func TestMain(m *testing.M) { handlertest.Main(m) }

func TestAccount(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleViewer)
	c.Get("/account").Want(http.StatusOK).WantText("main", "viewer")
	save := func(name string) *handlertest.Answer { return c.Post("/account", url.Values{"tracker_name": {name}}) }
	save("Ada Lovelace").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "An account name has")
	site.Tracker.Fail(trackertest.OpOther, trackertest.NotFound404)
	save("nobody-at-all").Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "The tracker has no account with "+
		"the name nobody-at-all")
	site.Tracker.Fail(trackertest.OpOther, trackertest.Offline503)
	if got := save("ada-lp").Want(http.StatusServiceUnavailable).Attr("#tracker-name", "value"); got != "ada-lp" {
		t.Errorf("field after an error: got %q, want the submitted text", got)
	}
	save("~ada-lp").WantRedirect(http.StatusSeeOther, "/account")
	page := c.Get("/account").WantText("#flash", "Saved.")
	checktest.Equal(t, "stored name after saving", page.Attr("#tracker-name", "value"), "ada-lp")
	save("").WantRedirect(http.StatusSeeOther, "/account")
	checktest.Equal(t, "stored name after removing", c.Get("/account").Attr("#tracker-name", "value"), "")
	site.Visitor(t).Get("/account").WantRedirect(http.StatusSeeOther, "/login?next=%2Faccount")
}

func TestSessions(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	one, two, three := site.As(t, crash.RoleViewer), site.As(t, crash.RoleViewer), site.As(t, crash.RoleViewer)
	other := site.As(t, crash.RoleTriager)
	signedIn := func(c *handlertest.Client) bool { return c.Get("/account").Status == http.StatusOK }
	page := one.Get("/account").Want(http.StatusOK).WantText("#sessions", "127.0.0.1").WantText("#sessions",
		"Go-http-client")
	checktest.Equal(t, "sessions", page.HTML().Find("#sessions tbody tr").Length(), 3)
	checktest.Equal(t, "present sessions", page.HTML().Find("#sessions .state").Length(), 1)
	end := func(c *handlertest.Client, id string) *handlertest.Answer {
		t.Helper()
		return c.Post("/account/sessions/end", url.Values{"session": {id}}).Want(http.StatusSeeOther)
	}
	id := two.Get("/account").HTML().Find("#sessions tr:has(.state) input[name=session]").AttrOr("value", "")
	end(other, id) // of someone else
	if !signedIn(two) {
		t.Fatal("someone else has ended a session")
	}
	end(one, id)
	if signedIn(two) || !signedIn(one) || !signedIn(three) {
		t.Error("want only the chosen session ended")
	}
	end(one, "others")
	if !signedIn(one) || signedIn(three) || !signedIn(other) {
		t.Error("want all sessions of this person ended but the present one")
	}
	id = one.Get("/account").HTML().Find("#sessions tr:has(.state) input[name=session]").AttrOr("value", "")
	end(one, id)
	if signedIn(one) {
		t.Error("the present session goes on, want it ended")
	}
}

const ownPath = "/account/tracker"

// beginOwn follows the steps up to the decision and returns the key of the request token.
func beginOwn(t *testing.T, c *handlertest.Client) string {
	t.Helper()
	c.Post(ownPath+"/request-token", nil).WantRedirect(http.StatusSeeOther, "/account")
	u, err := url.Parse(c.Get("/account").Want(http.StatusOK).Attr("#authorize", "href"))
	if err != nil || u.Path != "/+authorize-token" {
		t.Fatalf("authorise link: got %v, %v", u, err)
	}
	return u.Query().Get("oauth_token")
}

// nth stores a report of the nth problem.
func nth(t *testing.T, site *handlertest.Site, n int) crash.Bucket {
	t.Helper()
	return site.Save(t, crashtest.Native(crashtest.Process(n), crashtest.Set("DuplicateSignature",
		"/usr/bin/tidewatch:11:own_"+string(rune('a'+n)))))
}

// reporterOf returns who filed the bug of a bucket.
func reporterOf(t *testing.T, site *handlertest.Site, b crash.Bucket) string {
	t.Helper()
	number := site.Bucket(t, b.ID).Bug.Number
	for _, bug := range site.Tracker.Bugs() {
		if bug.Number == number {
			return bug.Reporter
		}
	}
	return ""
}

func TestOwnAccount(t *testing.T) {
	t.Parallel()
	var log handlertest.SafeBuffer
	site := handlertest.New(t, handlertest.Options{
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	c := site.As(t, crash.RoleTriager)
	site.As(t, crash.RoleViewer).Get("/account").Want(http.StatusOK).WantNone("#own-tracker")
	c.Get("/account").Want(http.StatusOK).WantText("#own-tracker", "Connect to the practice tracker").WantNone(
		"#authorize")
	c.Get(nth(t, site, 0).ID.Path()+"/review").WantNone("input[name=as]").WantText("#review-form",
		"mishap’s account files")

	key := beginOwn(t, c)
	c.Post(ownPath+"/access-token", nil).Want(http.StatusConflict).WantText("#own-problem", "not been authorised")
	site.Tracker.AuthorizeAs(key, "WRITE_PUBLIC", "tria-lp")
	c.Post(ownPath+"/access-token", nil).WantRedirect(http.StatusSeeOther, "/account")
	page := c.Get("/account").WantText("#flash", "~tria-lp").WantText("#own-tracker", "Connected").
		WantText("#own-tracker .facts", "tria-lp").WantNone("#authorize")
	checktest.Equal(t, "name at the tracker", page.Attr("#tracker-name", "value"), "tria-lp")

	// Each way to file a bug, by preference and by choice.
	file := func(n int, do func(b crash.Bucket), want string) {
		t.Helper()
		b := nth(t, site, n)
		do(b)
		waitFor(t, func() bool { return site.Bucket(t, b.ID).Bug.Number != 0 })
		checktest.Equal(t, fmt.Sprintf("problem %d: bug by", n), reporterOf(t, site, b), want)
	}
	create := func(b crash.Bucket) {
		c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	}
	review := func(as string) func(crash.Bucket) {
		return func(b crash.Bucket) {
			form := url.Values{"title": {"t"}, "description": {"d"}, "target": {"distribution"}, "do": {"file"},
				"information_type": {"Public"}, "as": {as}}
			c.Post(b.ID.Path()+"/review", form).WantRedirect(http.StatusSeeOther, b.ID.Path())
		}
	}
	chosen := func(as string) func(crash.Bucket) {
		return func(b crash.Bucket) {
			c.Post("/problems/chosen", url.Values{"bucket": {b.ID.String()}, "do": {"file"}, "as": {as}})
		}
	}
	file(1, create, "tria-lp")
	file(2, review("application"), "practice-person")
	file(3, review("own"), "tria-lp")
	file(4, chosen("application"), "practice-person")
	file(5, chosen(""), "tria-lp")
	confirm := nth(t, site, 6)
	c.Get("/problems/create?problems="+confirm.ID.String()).WantText("#confirm-create", "~tria-lp")
	c.Post(ownPath+"/preference", nil).WantRedirect(http.StatusSeeOther, "/account")
	file(6, create, "practice-person")
	if c.Get(nth(t, site, 0).ID.Path()+"/review").HTML().Find("#file-as-application[checked]").Length() != 1 {
		t.Error("the preference does not choose mishap's account")
	}
	c.Post(ownPath+"/preference", url.Values{"preferred": {"1"}}).WantRedirect(http.StatusSeeOther, "/account")

	// The tracker rejects the account: the application files, and the person hears about it.
	c.Get("/").WantNone(".banner")
	site.Tracker.Suspend("tria-lp") // work for the bugs above may notice it already
	file(7, create, "practice-person")
	c.Get("/").WantText(".banner", "no longer accepts your own account")
	c.Get("/account").WantText("#own-tracker", "No longer accepted").WantText("#own-tracker .facts", "Inactive account")
	c.Get(nth(t, site, 7).ID.Path()).WantText(".filings-of", "mishap’s account files it")
	c.Get(nth(t, site, 0).ID.Path()+"/review").WantNone("input[name=as]").WantText("#review-form", "no longer accepts")
	c.Post(ownPath+"/check", nil).Want(http.StatusBadGateway).WantText("#own-problem", "Connect it again")
	admin := site.As(t, crash.RoleAdmin)
	admin.Get("/admin/filings").WantText(".filings", "sent as ~tria-lp").WantText(".filings", "sent by mishap’s account")
	admin.Get("/").WantNone(".banner")

	c.Post(ownPath+"/disconnect", nil).WantRedirect(http.StatusSeeOther, "/account")
	last := c.Get("/account").WantText("#flash", "/~tria-lp/+oauth-tokens").WantNone("#own-tracker .facts")
	last.WantNone(".banner")
	for _, bug := range site.Tracker.Bugs() {
		if strings.Contains(bug.Description, "secret") {
			t.Error("a secret is in a bug")
		}
	}
	for _, request := range site.Tracker.Requests(trackertest.OpCreate) {
		_, secret, _ := strings.Cut(request.Header.Get("Authorization"), `oauth_signature="%26`)
		secret, _, _ = strings.Cut(secret, `"`)
		if len(secret) < 20 {
			t.Fatalf("got the secret %q", secret)
		}
		if strings.Contains(log.String(), secret) || strings.Contains(page.Body, secret) || strings.Contains(last.Body,
			secret) {
			t.Error("a secret is in the log or a page")
		}
	}
}

// waitFor waits until check returns true.
func waitFor(t *testing.T, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(handlertest.Patience)
	for !check() {
		if time.Now().After(deadline) {
			t.Fatal("waited too long")
		}
		tick := time.NewTimer(5 * time.Millisecond)
		<-tick.C
	}
}

// TestConnectOwnAnswers checks that every answer of the exchange leads to a message and a next step.
func TestConnectOwnAnswers(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	for _, tt := range []struct {
		name  string
		do    func(key string)
		code  int
		text  string
		again bool // whether the same request may be tried again
	}{
		{"declined", func(key string) { site.Tracker.AuthorizeAs(key, "UNAUTHORIZED", "kim") }, 502, "declined", false},
		{"answer lost", func(key string) {
			site.Tracker.AuthorizeAs(key, "WRITE_PUBLIC", "kim")
			site.Tracker.Fail(trackertest.OpAccessToken, trackertest.DropAfter)
		}, 503, "", true},
		{"account not read", func(key string) {
			site.Tracker.AuthorizeAs(key, "WRITE_PUBLIC", "kim")
			site.Tracker.Fail(trackertest.OpMe, trackertest.Error500)
		}, 503, "no usable answer", false},
		{"expired", func(key string) {
			site.Tracker.AuthorizeAs(key, "WRITE_PUBLIC", "kim")
			site.Tracker.Advance(3 * time.Hour)
		}, 409, "two hours", false},
	} {
		c := site.As(t, crash.RoleTriager)
		tt.do(beginOwn(t, c))
		a := c.Post(ownPath+"/access-token", nil).Want(tt.code)
		if got := a.Text("#own-problem"); got == "" || !strings.Contains(got, tt.text) {
			t.Errorf("%s: got %q, want %q in it", tt.name, got, tt.text)
		}
		if again := a.HTML().Find("#own-access-token").Length() == 1; again != tt.again {
			t.Errorf("%s: may be tried again: got %t", tt.name, again)
		}
		if a.HTML().Find("form[action='"+ownPath+"/request-token']").Length() == 0 {
			t.Errorf("%s: no way to start over", tt.name)
		}
		if tt.name == "account not read" { // the token was received, so testing it is enough
			c.Get("/account").WantText("#own-tracker", "Not checked")
			c.Post(ownPath+"/check", nil).WantRedirect(http.StatusSeeOther, "/account")
			c.Get("/account").WantText("#own-tracker .facts", "kim")
		}
	}
	site.Tracker.Fail(trackertest.OpRequestToken, trackertest.DropBefore)
	site.As(t, crash.RoleTriager).Post(ownPath+"/request-token", nil).Want(http.StatusServiceUnavailable).WantText(
		"#own-problem", "tracker")
}

// TestOwnAccountInBrowser connects an account on the page of the practice tracker, chooses it in a
// review, and files a bug under that name. The page fits on a phone.
func TestOwnAccountInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := nth(t, site, 1)
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.EmulateViewport(360, 800))
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/account"), handlertest.Click("#own-request-token button"),
		handlertest.WaitVisible("#authorize"))
	if over := handlertest.Eval[int](ctx, t, `document.documentElement.scrollWidth - window.innerWidth`); over > 0 {
		t.Errorf("at 360 px the page is %d px too wide", over)
	}
	address := handlertest.Eval[string](ctx, t, `document.querySelector("#authorize").href`)
	handlertest.Do(ctx, t, chromedp.Navigate(address), handlertest.WaitVisible("input[name=person]"))
	handlertest.Eval[bool](ctx, t, `document.querySelector("input[name=person]").value = "tria-lp"; true`)
	handlertest.Do(ctx, t, handlertest.Click("button[name='field.actions.WRITE_PRIVATE']"),
		handlertest.Until(`document.body.innerText.includes("Almost finished")`),
		chromedp.Navigate(site.URL+"/account"), handlertest.Click("#own-access-token button"),
		handlertest.WaitVisible("#own-preferred"), handlertest.WaitVisible("#flash"))

	handlertest.Do(ctx, t, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(site.URL+b.ID.Path()+"/review"),
		handlertest.Click("label[for=review-private]"), handlertest.WaitVisible("#file-as-own:checked"),
		handlertest.Click("#review-form button[value=file]"),
		handlertest.Until(`document.body.innerText.includes("You are its reporter, as ~tria-lp.")`))
	checktest.Equal(t, "bug by", reporterOf(t, site, b), "tria-lp")
}

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
	code := dbtest.Must(totp.GenerateCode(secret, time.Now().Add(-30*time.Second)))(t)
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
	code := dbtest.Must(totp.GenerateCode(secret, time.Now()))(t)
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
	checktest.NoError(t, site.People.SetPassword(t.Context(), "", user.Name, "another good one"))
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

// TestRequiredApp signs in where administrators need an authenticator app.
func TestRequiredApp(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{RequireApp: crash.AppForAdmins})
	site.As(t, crash.RoleTriager).Get("/my").Want(http.StatusOK)

	admin := site.AddUser(t, crash.RoleAdmin)
	token, _, err := site.People.AddToken(t.Context(), "", admin, "x", []crash.Scope{crash.ScopeRead},
		time.Now().AddDate(0, 0, 30))
	checktest.NoError(t, err)
	c := site.As(t, crash.RoleAdmin)
	for _, path := range []string{"/", "/admin", "/account", "/problems.csv", "/admin/people?person=x"} {
		c.Get(path).WantRedirect(http.StatusSeeOther, "/account/second-factor")
	}
	c.Get("/api/1.0/instance/?id=x", handlertest.Header{Name: "Accept", Value: "application/json"}).Want(
		http.StatusForbidden)
	c.Post("/account/tokens", url.Values{"name": {"x"}, "scope": {"read"}, "days": {"30"}}).Want(http.StatusForbidden).
		WantText("main", "need an authenticator app")
	c.Part("/").Want(http.StatusForbidden)
	site.Visitor(t).Get("/api/1.0/", handlertest.Header{Name: "Authorization", Value: "Bearer " + token}).
		Want(http.StatusOK)

	c.Get("/account/second-factor").Want(http.StatusOK).WantText("[role=alert]", "Set it up to continue")
	c.Post("/account/second-factor/begin", url.Values{"password": {handlertest.Password}}).Want(http.StatusSeeOther)
	secret := strings.ReplaceAll(c.Get("/account/second-factor").Text("code.break"), " ", "")
	code := dbtest.Must(totp.GenerateCode(secret, time.Now()))(t)
	done := c.Post("/account/second-factor/confirm", url.Values{"code": {code}}).Want(http.StatusOK).WantNone(
		"[role=alert]")
	if got := done.Attr("section a.button", "href"); got != "/admin/people?person=x" {
		t.Errorf("continue at: got %q, want the page that was asked for", got)
	}
	c.Get("/admin/people?person=x").Want(http.StatusOK)

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
	admin.Get("/admin/people").WantText("form[action='/admin/access/second-factor'] button", "Remove app")
	reset("ada-admin").Want(http.StatusConflict).WantText("main", "with your password")
	reset("nobody").Want(http.StatusNotFound)
	reset("ada-viewer").WantRedirect(http.StatusSeeOther, "/admin/people")
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
