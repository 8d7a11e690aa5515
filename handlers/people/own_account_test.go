package people_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

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
	if got := page.Attr("#tracker-name", "value"); got != "tria-lp" {
		t.Errorf("name at the tracker: got %q, want tria-lp", got)
	}

	// Each way to file a bug, by preference and by choice.
	file := func(n int, do func(b crash.Bucket), want string) {
		t.Helper()
		b := nth(t, site, n)
		do(b)
		waitFor(t, func() bool { return site.Bucket(t, b.ID).Bug.Number != 0 })
		if got := reporterOf(t, site, b); got != want {
			t.Errorf("problem %d: got a bug by %q, want by %q", n, got, want)
		}
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
	site.Tracker.Suspend("tria-lp")
	c.Get("/").WantNone(".banner")
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
