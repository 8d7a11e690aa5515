package admin_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/tracker"
	"mishap/tracker/issuetest"
	"mishap/tracker/trackertest"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
)

// connect follows the steps up to the decision and returns the key of the request token.
func connect(t *testing.T, c *handlertest.Client) string {
	t.Helper()
	c.Post(handlertest.TrackerPath+"/request-token", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
	page := c.Get(handlertest.TrackerPath).Want(http.StatusOK)
	u, err := url.Parse(page.Attr("#authorize", "href"))
	if err != nil || u.Path != "/+authorize-token" {
		t.Fatalf("authorise link: got %v, %v", u, err)
	}
	return u.Query().Get("oauth_token")
}

func TestConnectTracker(t *testing.T) {
	t.Parallel()
	var log handlertest.SafeBuffer
	site := handlertest.New(t, handlertest.Options{Disconnected: true,
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	c := site.As(t, crash.RoleAdmin)
	b := site.Save(t, crashtest.Native())
	site.As(t, crash.RoleTriager).PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(
		http.StatusServiceUnavailable)

	page := c.Get(handlertest.TrackerPath).Want(http.StatusOK).WantText("main", "Not connected").WantText(".help",
		"./setup-oauth-token.sh").WantNone("#authorize")
	checktest.Equal(t, "method", page.Attr("form[action='/admin/tracker/request-token']", "method"), "post")
	key := connect(t, c)
	early := c.Post(handlertest.TrackerPath+"/access-token", nil).Want(http.StatusConflict).WantText("#tracker-problem",
		"mishap has not been authorised")
	if early.Attr("#authorize", "href") == "" || early.HTML().Find("#access-token button").Length() != 1 {
		t.Error("continuing too early removed the steps, want them to stay")
	}
	if !site.Tracker.Authorize(key, "WRITE_PUBLIC") {
		t.Fatalf("the tracker does not know the request %q", key)
	}
	c.Post(handlertest.TrackerPath+"/access-token", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
	page = c.Get(handlertest.TrackerPath).Want(http.StatusOK).WantText("#flash", "Connected to the practice tracker as "+
		"practice-person")
	page.WantText(".facts", "practice-person").WantText(".facts", "ada-admin").WantText(".facts",
		"no particular project").
		WantText(".facts", "the database").WantNone("#authorize").WantNone("#config-lines")

	if len(site.Written) != 1 || site.Written[0].Secret == "" {
		t.Fatalf("configuration file: got %v, want one token with its secret", site.Written)
	}
	secret := string(site.Written[0].Secret)
	for _, text := range []string{page.Body, early.Body, log.String()} {
		if strings.Contains(text, secret) {
			t.Error("the secret is in a page or the log")
		}
	}
	if err := site.Filer.StartDue(t.Context()); err != nil { // files the bug that was waiting
		t.Fatal(err)
	}
	for site.Bucket(t, b.ID).Bug.Number == 0 {
		checktest.NoError(t, site.Filer.Work(t.Context(), site.Bucket(t, b.ID).Filing.ID))
	}
	c.Post(handlertest.TrackerPath+"/access-token", nil).Want(http.StatusConflict).WantText("#tracker-problem",
		"Start over")
	c.Post(handlertest.TrackerPath+"/show-token", nil).Want(http.StatusConflict).WantNone("#config-lines")
	c.Post(handlertest.TrackerPath+"/check", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
	c.Post(handlertest.TrackerPath+"/forget", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
	c.Get(handlertest.TrackerPath).WantText("main", "Not connected").WantText("#flash", "Disconnected")
	c.Get("/admin").Want(http.StatusOK)
}

// TestConnectTrackerAnswers checks that every answer of the exchange leads to a message and a next
// step.
func TestConnectTrackerAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		do     func(*handlertest.Site, string)
		status int
		text   string
		again  bool // whether the same request may be tried again
	}{
		{"not yet", func(*handlertest.Site, string) {}, 409, "Do that first", true},
		{"declined", func(s *handlertest.Site, key string) { s.Tracker.Authorize(key, "UNAUTHORIZED") }, 502, "declined",
			false},
		{"expired", func(s *handlertest.Site, key string) {
			s.Tracker.Authorize(key, "WRITE_PUBLIC")
			s.Tracker.Advance(3 * time.Hour)
		}, 409, "two hours", false},
		{"answer lost", func(s *handlertest.Site, key string) {
			s.Tracker.Authorize(key, "WRITE_PUBLIC")
			s.Tracker.Fail(trackertest.OpAccessToken, trackertest.DropAfter)
		}, 503, "", true},
		{"tracker away", func(s *handlertest.Site, _ string) {
			s.Tracker.Fail(trackertest.OpAccessToken,
				trackertest.DropBefore)
		}, 503, "", true},
		{"tracker broken", func(s *handlertest.Site, _ string) {
			s.Tracker.Fail(trackertest.OpAccessToken,
				trackertest.Error500)
		}, 503, "", true},
		{"hotel page", func(s *handlertest.Site, _ string) {
			s.Tracker.Fail(trackertest.OpAccessToken,
				trackertest.PageBefore)
		}, 502, "no token", false},
		{"not there", func(s *handlertest.Site, _ string) {
			s.Tracker.Fail(trackertest.OpAccessToken, trackertest.NotFound404)
		}, 502, "tracker_url", true},
		{"redirect", func(s *handlertest.Site, _ string) {
			s.Tracker.Fail(trackertest.OpAccessToken, trackertest.Redirect307)
		}, 502, "tracker_url", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			site := handlertest.New(t, handlertest.Options{Disconnected: true})
			c := site.As(t, crash.RoleAdmin)
			tt.do(site, connect(t, c))
			a := c.Post(handlertest.TrackerPath+"/access-token", nil).Want(tt.status)
			if problem := a.Text("#tracker-problem"); problem == "" || !strings.Contains(problem, tt.text) {
				t.Errorf("got %q, want %q in it", problem, tt.text)
			}
			if again := a.HTML().Find("#access-token").Length() == 1; again != tt.again {
				t.Errorf("retry button: got %v, want %v", again, tt.again)
			}
			if a.HTML().Find("#request-token").Length() != 1 {
				t.Error("no way to start over, want one")
			}
			if len(site.Written) != 0 {
				t.Errorf("configuration file: got %v, want nothing", site.Written)
			}
		})
	}
}

func TestConnectTrackerLostAnswerThenAgain(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Disconnected: true})
	c := site.As(t, crash.RoleAdmin)
	site.Tracker.Authorize(connect(t, c), "WRITE_PUBLIC")
	site.Tracker.Fail(trackertest.OpAccessToken, trackertest.DropAfter)
	c.Post(handlertest.TrackerPath+"/access-token", nil).Want(http.StatusServiceUnavailable)
	c.Post(handlertest.TrackerPath+"/access-token", nil).Want(http.StatusConflict).WantText("#tracker-problem",
		"Start over").WantNone("#access-token")
	site.Tracker.Authorize(connect(t, c), "WRITE_PUBLIC")
	c.Post(handlertest.TrackerPath+"/access-token", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
}

func TestConnectTrackerRequestFails(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Disconnected: true})
	c := site.As(t, crash.RoleAdmin)
	site.Tracker.Fail(trackertest.OpRequestToken, trackertest.DropBefore)
	c.Post(handlertest.TrackerPath+"/request-token", nil).Want(http.StatusServiceUnavailable).WantText("#tracker-problem",
		"tracker").WantNone("#authorize")
}

func TestConnectTrackerFileNotWritten(t *testing.T) {
	t.Parallel()
	var got []crash.AccessToken
	site := handlertest.New(t, handlertest.Options{Disconnected: true, Environment: true,
		WriteTokens: func(_ context.Context, token crash.AccessToken) error {
			got = append(got, token)
			return errors.New("open /etc/mishap/x: permission denied")
		}})
	c, other := site.As(t, crash.RoleAdmin), site.As(t, crash.RoleAdmin)
	site.Tracker.Authorize(connect(t, c), "WRITE_PUBLIC")
	c.Post(handlertest.TrackerPath+"/access-token", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
	page := c.Get(handlertest.TrackerPath).WantText("#flash", "could not be written").WantText("#lines",
		"could not be written").
		WantText("main", "MISHAP_TRACKER_OAUTH_TOKEN")
	if len(got) != 1 || strings.Contains(page.Body, string(got[0].Secret)) || strings.Contains(page.Body, "/etc/mishap") {
		t.Errorf("tokens %v; the page contains the secret or the text of the log: %s", got, page.Body)
	}
	lines := c.Post(handlertest.TrackerPath+"/show-token", nil).Want(http.StatusOK)
	want := "tracker_oauth_token = \"" + got[0].Token + "\"\ntracker_oauth_secret = \"" + string(got[0].Secret) + "\"\n"
	checktest.Diff(t, "lines", lines.HTML().Find("#config-lines").Text(), want)
	checktest.Equal(t, "Cache-Control", lines.Header.Get("Cache-Control"), "no-store")
	other.Get(handlertest.TrackerPath).WantNone("#config-lines")
	if a := other.Post(handlertest.TrackerPath+"/show-token", nil).Want(http.StatusConflict); strings.Contains(a.Body,
		string(got[0].Secret)) {
		t.Error("another session sees the secret, want it hidden")
	}
	c.Post("/logout", nil)
	c.SignIn("ada-admin", handlertest.Password).Want(http.StatusSeeOther)
	c.Post(handlertest.TrackerPath+"/show-token", nil).Want(http.StatusConflict)
}

func TestTrackerFromConfiguration(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	c.Get(handlertest.TrackerPath).WantText("main", "Connected").WantText(".facts", "the configuration file "+
		"of this instance").WantText(".facts", "by the configuration")
	c.Post(handlertest.TrackerPath+"/check", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
	c.Get(handlertest.TrackerPath).WantText(".facts", "practice-person")
	site.Tracker.Fail(trackertest.OpMe, trackertest.ExpiredToken)
	c.Post(handlertest.TrackerPath+"/forget", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
	c.Get(handlertest.TrackerPath).WantText("#flash", "This instance stays connected").WantText("main", "Connected").
		WantText("#forget button", "Remove token from the database")
	c.Post(handlertest.TrackerPath+"/check", nil).Want(http.StatusServiceUnavailable).WantText("#tracker-problem",
		"Expired token").WantText("main", "No longer accepted")
}

// TestRequestTokenIsSealed checks that the stored session does not reveal the secret of the request
// token.
func TestRequestTokenIsSealed(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	site := handlertest.New(t, handlertest.Options{Disconnected: true, Store: dbtest.Open(t, url)})
	c := site.As(t, crash.RoleAdmin)
	key := connect(t, c)
	conn := dbtest.Must(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	var data string
	checktest.NoError(t, conn.QueryRow(t.Context(),
		`select convert_from(data, 'UTF8') from sessions where data like '%tracker_request_key%'`).Scan(&data))
	found := regexp.MustCompile(`"tracker_request_secret":"([^"]+)"`).FindStringSubmatch(data)
	if found == nil {
		t.Fatalf("got the session %s, want a sealed secret in it", data)
	}
	sealed := found[1]
	secret, err := site.Store.OpenSecret(sealed, "request token of the tracker\x00"+key)
	if err != nil || secret == "" || strings.Contains(data, string(secret)) {
		t.Errorf("got the session %s, %v, want the secret in it sealed", data, err)
	}
	if _, err := site.Store.OpenSecret(sealed, "request token of the tracker\x00another"); err == nil {
		t.Error("the sealed secret can be opened for another request token, want an error")
	}
	if !site.Tracker.Authorize(key, "WRITE_PUBLIC") {
		t.Fatalf("the tracker does not know the request %q", key)
	}
	c.Post(handlertest.TrackerPath+"/access-token", nil).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{CreateWait: handlertest.Patience})
	b := site.Save(t, crashtest.Native())
	other := site.Save(t, crashtest.Python())
	c := site.As(t, crash.RoleAdmin)
	page := c.Get(handlertest.TemplatesPath + "?package=tidewatch&type=Crash").Want(http.StatusOK)
	page.WantText("#template", "bugs use the built-in template").WantText(".template-names",
		"versions_table").WantNone("button[value=default]")
	if got := strings.TrimPrefix(page.Text("#template-body"), "\n"); !strings.Contains(got, "{how_often}") {
		t.Errorf("got %q, want the built-in template", got)
	}
	mine := url.Values{"package": {"tidewatch"}, "type": {"Crash"},
		"body": {"Hello {program} <b>\r\n\r\n{problem_url}\r\n{?kernel_message}\r\nno\r\n{/kernel_message}\r\n"}}

	for name, headers := range map[string][]handlertest.Header{"page": nil, "part": handlertest.AsPart} {
		preview := c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "preview"), headers...).Want(http.StatusOK)
		want := "Hello /usr/bin/tidewatch <b>\n\n" + site.URL + b.ID.Path() + "\n"
		checktest.Equal(t, name, preview.HTML().Find(".tracker-text").Text(), want)
		preview = c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "preview", "bucket",
			site.URL+other.ID.Path()),
			headers...).Want(http.StatusOK)
		preview.WantText(".tracker-text", other.ID.String())
		c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "preview", "bucket", "nonsense"),
			headers...).Want(http.StatusUnprocessableEntity).WantText(".error", "no such problem")
		bad := c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "save", "body", "{hostname} {?trace}"),
			headers...).Want(http.StatusUnprocessableEntity)
		for _, problem := range []string{"“hostname”", "{?trace} is never ended", "{problem_url} is missing"} {
			bad.WantText("#template-problems", problem)
		}
		bad.WantText("#template-body", "{hostname} {?trace}")
	}
	if all, err := site.Bugs.BugTemplates(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("got templates %v, %v, want none saved yet", all, err)
	}

	address := handlertest.TemplatesPath + "?package=tidewatch&type=Crash"
	c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "save")).WantRedirect(http.StatusSeeOther, address)
	c.Get(address).WantText(".flash-done", "saved. New bugs will use it.").WantText("#template-body", "Hello {program}").
		WantText(".admin-nav [aria-current]", "Bug tracker").WantText("[aria-label=Breadcrumb]", "Bug tracker")
	c.Get(handlertest.TrackerPath).WantText(".templates", "tidewatch, Crash").WantText(".templates", "ada-admin")
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	if got := site.Tracker.Bugs()[0].Description; !strings.HasPrefix(got, "Hello /usr/bin/tidewatch <b>\n\n") {
		t.Errorf("got bug %q, want it by the template", got)
	}
	c.Get(handlertest.TemplatesPath+"?package=tidewatch&type=Package").WantText("#template",
		"bugs use the built-in template")

	drop := c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "default"), handlertest.AsPart...).
		Want(http.StatusOK)
	checktest.Equal(t, "removed: redirected to", drop.Header.Get("HX-Redirect"), address)
	c.Get(address).WantText(".flash-done", "deleted").WantNone("button[value=default]")
	c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "default")).Want(http.StatusNotFound)
	c.Get(handlertest.TemplatesPath + "?package=%ff").Want(http.StatusBadRequest)

	// Typed text outlives the session.
	c.SetCookie("sessionid", "ended")
	kept := c.Post(handlertest.TemplatesPath, handlertest.With(mine, "do", "save")).Want(http.StatusUnauthorized)
	c.Post("/login", url.Values{
		"username": {"ada-admin"}, "password": {handlertest.Password}, "next": {kept.Attr("[name=next]", "value")},
		"kept": {kept.Attr("[name=kept]", "value")},
	}).WantRedirect(http.StatusSeeOther, handlertest.TemplatesPath)
	c.Get(handlertest.TemplatesPath).WantText("#template-trouble", "has been restored").WantText("#template-body",
		"Hello {program}").WantText("#template-title", "tidewatch, Crash")
}

// TestShippedTemplate checks that saving the shipped text does not change bugs.
func TestShippedTemplate(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	before := dbtest.Must(site.Filer.Propose(t.Context(), b, false))(t)
	site.As(t, crash.RoleAdmin).Post(handlertest.TemplatesPath, url.Values{
		"do": {"save"}, "body": {strings.ReplaceAll(tracker.DefaultTemplate, "\n", "\r\n")},
	}).Want(http.StatusSeeOther)
	after, err := site.Filer.Propose(t.Context(), b, false)
	if err != nil || before.Description != after.Description {
		t.Errorf("got %q, %v, want %q", after.Description, err, before.Description)
	}
}

func TestUpdatePoliciesPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	c := site.As(t, crash.RoleAdmin)
	post := func(fields ...string) *handlertest.Answer {
		t.Helper()
		form := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		return c.Post(bugsview.PathUpdates, form)
	}
	patterns := func() (out []string) {
		t.Helper()
		rules := dbtest.Must(site.Store.UpdatePolicies(t.Context()))(t)
		for _, r := range rules {
			out = append(out, r.Pattern)
		}
		return out
	}
	const updates = handlertest.TrackerPath + "#updates"
	c.Get(bugsview.PathUpdates).WantRedirect(http.StatusMovedPermanently, updates)
	page := c.Get(handlertest.TrackerPath).Want(http.StatusOK).
		WantText(".update-rules tbody tr", "All other packages for weeks never Save")
	page.WantNone(".update-rules input[checked]")

	post("do", "add", "pattern", " linux* ", "quiet", "on", "weeks", "6").WantRedirect(http.StatusSeeOther, updates)
	post("do", "add", "pattern", "linux-firmware", "weeks", "12").WantRedirect(http.StatusSeeOther, updates)
	post("do", "save", "pattern", "*", "again", "on", "section", "on", "weeks", "3").
		WantRedirect(http.StatusSeeOther, updates)
	if got := strings.Join(patterns(), " "); got != "linux* linux-firmware *" {
		t.Errorf("got the rules %s", got)
	}
	post("do", "raise", "pattern", "linux-firmware").WantRedirect(http.StatusSeeOther, updates)
	if got := strings.Join(patterns(), " "); got != "linux-firmware linux* *" {
		t.Errorf("moved up: got the rules %s", got)
	}
	rules := dbtest.Must(site.Store.UpdatePolicies(t.Context()))(t)
	if r := rules.For("linux"); !r.Quiet || r.QuietWeeks != 6 || r.Again || r.Section || r.Person == "" ||
		r.Changed.IsZero() {
		t.Errorf("got %+v, want what the form says", r)
	}
	if r := rules.For("bash"); r.Quiet || !r.Again || !r.Section || r.QuietWeeks != 3 {
		t.Errorf("got %+v, want the rule for all others", r)
	}
	on := c.Get(handlertest.TrackerPath).HTML().Find(".update-rules tbody tr:last-child input[checked]")
	checktest.Equal(t, "updates that are on for all other packages", on.Length(), 2)

	for name, refused := range map[string]struct {
		form []string
		says string
	}{
		"no name":       {[]string{"do", "add", "pattern", "", "weeks", "12"}, "Use the name"},
		"capitals":      {[]string{"do", "add", "pattern", "Linux", "weeks", "12"}, "Use the name"},
		"a known one":   {[]string{"do", "add", "pattern", "*", "weeks", "12"}, "already a row"},
		"no weeks":      {[]string{"do", "save", "pattern", "linux*", "weeks", ""}, "between 1 and 260"},
		"too many":      {[]string{"do", "save", "pattern", "linux*", "weeks", "261"}, "between 1 and 260"},
		"weeks in text": {[]string{"do", "add", "pattern", "vim", "section", "on", "weeks", "six"}, "between 1 and 260"},
	} {
		answer := post(refused.form...).Want(http.StatusUnprocessableEntity).WantText("p.error", refused.says)
		if name == "weeks in text" && (answer.Attr("#rule-pattern", "value") != "vim" ||
			answer.HTML().Find("#rule-new input[name=section][checked]").Length() != 1) {
			t.Errorf("%s: the form has lost what was typed", name)
		}
	}
	post("do", "drop", "pattern", "*").Want(http.StatusNotFound)
	post("do", "drop", "pattern", "no-such").Want(http.StatusNotFound)
	post("do", "raise", "pattern", "no-such").Want(http.StatusNotFound)
	post("do", "drop", "pattern", "linux*").WantRedirect(http.StatusSeeOther, updates)
	if got := strings.Join(patterns(), " "); got != "linux-firmware *" {
		t.Errorf("got the rules %s", got)
	}
}

// TestUpdatesOfBug checks what the page of a problem and the filing log say about updates of its bug,
// and that a triager can resume the section.
func TestUpdatesOfBug(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	triager, viewer, visitor := site.As(t, crash.RoleTriager), site.As(t, crash.RoleViewer), site.As(t, crash.RoleNone)
	triager.Post(b.ID.Path()+"/link", url.Values{"bug": {"7"}}).Want(http.StatusSeeOther)
	store, ctx := site.Bugs, t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for kind, about := range map[crash.UpdateKind]string{crash.UpdateQuiet: "2026-08-01", crash.UpdateAgain: "1.4-2"} {
		_, err := store.BeginComment(ctx, 7, kind, about, b.ID)
		must(err)
	}
	must(store.EndComment(ctx, 7, crash.UpdateQuiet, "2026-08-01", "sent", ""))
	must(store.EndComment(ctx, 7, crash.UpdateAgain, "1.4-2", "refused", "no permission"))
	section := crash.BugSection{Number: 7, Hashes: []string{"x"}, Written: time.Now()}
	must(store.AddSection(ctx, section, time.Hour))
	viewer.Get(b.ID.Path()).WantText(".bug-list", "Section in the description updated").
		WantText(".bug-list", "Commented: no report since 2026-08-01.").
		WantText(".bug-list", "Comment (seen again in 1.4-2) refused: no permission.")
	visitor.Get(b.ID.Path()).WantNone(".bug-section").WantNone(".bug-comment")

	must(store.StopSection(ctx, section, crash.SectionChanged))
	stopped := "Someone changed the section, so mishap no longer updates it."
	viewer.Get(b.ID.Path()).WantText(".bug-section", stopped).WantNone("form[action$='/resume-section']")
	triager.Get(b.ID.Path()).WantText(".bug-section", stopped).WantText("form[action$='/resume-section']",
		"Update it again")
	resume := url.Values{"bug": {strconv.Itoa(7)}}
	viewer.Post(b.ID.Path()+"/resume-section", resume).Want(http.StatusForbidden)
	other := site.Save(t, crashtest.Python())
	triager.Post(other.ID.Path()+"/resume-section", resume).Want(http.StatusNotFound)
	triager.Post(b.ID.Path()+"/resume-section", resume).WantRedirect(http.StatusSeeOther, b.ID.Path())
	triager.Get(b.ID.Path()).WantText(".bug-section", "Section in the description updated")
	triager.Post(b.ID.Path()+"/resume-section", resume).Want(http.StatusNotFound)
	must(store.DelaySection(ctx, section, "The tracker is upset.", time.Hour))
	viewer.Get(b.ID.Path()).WantText(".bug-list", "Section not updated The tracker is upset.")
}

// TestReviewShowsSection checks that the review of a bug shows the section which mishap will add, and
// that the filed bug has it below the typed text.
func TestReviewShowsSection(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c, path := site.As(t, crash.RoleTriager), b.ID.Path()+"/review"
	c.Get(path).Want(http.StatusOK).WantNone(".review-section")
	if err := site.Bugs.SaveUpdatePolicy(t.Context(), crash.UpdatePolicy{Pattern: b.SourcePackage, Section: true,
		QuietWeeks: crash.DefaultQuietWeeks}); err != nil {
		t.Fatal(err)
	}
	page := c.Get(path).Want(http.StatusOK).WantText(".review-section pre", "1 report from 1 machine")
	form := handlertest.ReviewForm(t, page)
	if strings.Contains(form.Get("description"), "=== Crash reports") {
		t.Errorf("got the draft\n%s\nwant it without the section", form.Get("description"))
	}
	typed := "Typed. http://localhost:8080" + b.ID.Path()
	c.Post(path, handlertest.With(form, "do", "file", "description", typed)).Want(http.StatusSeeOther)
	filed := site.Tracker.Bugs()
	if len(filed) != 1 || !strings.HasPrefix(filed[0].Description, typed) ||
		strings.Count(filed[0].Description, "=== Crash reports") != 1 {
		t.Errorf("got %+v, want one bug with the typed text and the section", filed)
	}
}

// TestSeveralTrackers lists the trackers of a site and tests their tokens.
func TestSeveralTrackers(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Trackers: []string{"bugzilla", "debian"},
		Upstreams: []string{"gitlab"}})
	c := site.As(t, crash.RoleAdmin)
	list := "section[aria-labelledby=trackers]"
	c.Get(handlertest.TrackerPath).Want(http.StatusOK).WantText(list, "GitLab GitLab, upstream sandbox/trial").
		WantText(list, "a person reviews each bug 10 a day").WantText(list, "MISHAP_TRACKER_GITLAB_TOKEN").
		WantText(list, "without a route").WantText(".attention", "Nothing needs attention").
		WantText("#connection", "Connection")
	test := func(name string) *handlertest.Answer {
		return c.Post(handlertest.TrackerPath+"/test", url.Values{"tracker": {name}})
	}
	for name, want := range map[string]string{"gitlab": "Connected to GitLab as mishap.",
		"debian": "Connected to Debian as mishap@example.org.", "launchpad": "Connected to the practice tracker as"} {
		test(name).WantRedirect(http.StatusSeeOther, handlertest.TrackerPath)
		c.Get(handlertest.TrackerPath).WantText("#flash", want)
	}
	c.Get(handlertest.TrackerPath).WantText(list, "Connected as mishap token in its [[tracker]] table")

	site.Practice["gitlab"].Fail("me", issuetest.Expired)
	test("gitlab").Want(http.StatusServiceUnavailable).WantText("#problem-gitlab", "GitLab").
		WantText(list+" tbody tr:first-child", "No longer accepted").
		WantText(".attention", "GitLab no longer accepts mishap’s access token. Set token in its [[tracker]] table, or "+
			"MISHAP_TRACKER_GITLAB_TOKEN, and restart.")
	test("gone").Want(http.StatusNotFound)
	site.As(t, crash.RoleTriager).Post(handlertest.TrackerPath+"/test", url.Values{"tracker": {"gitlab"}}).
		Want(http.StatusForbidden)
}

// TestWithoutLaunchpad visits the pages of a site whose only tracker is a GitLab.
func TestWithoutLaunchpad(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{NoLaunchpad: true, Trackers: []string{"gitlab"},
		CreateWait: handlertest.Patience})
	c := site.As(t, crash.RoleAdmin)
	b := site.Save(t, crashtest.Native())
	for _, path := range []string{"/", "/admin", handlertest.TrackerPath, layout.PathRoutes, handlertest.TemplatesPath,
		handlertest.FilingsPath, "/account", "/my", b.ID.Path(), b.ID.Path() + "/review", b.ID.Path() + "/review?search=1",
		"/api/1.0/"} {
		a := c.Get(path).Want(http.StatusOK).WantNone(".banner").WantNone("#request-token").WantNone("#own-request-token").
			WantNone("#tracker-name")
		for _, word := range []string{"onnect to", "setup-oauth-token", "the practice tracker"} {
			if strings.Contains(a.Text("body"), word) {
				t.Errorf("%s: the page has the words %q", path, word)
			}
		}
	}
	c.Get(handlertest.TrackerPath).WantText("section[aria-labelledby=trackers]", "GitLab").WantNone("#connection")
	for _, path := range []string{handlertest.TrackerPath + "/request-token", handlertest.TrackerPath + "/access-token",
		handlertest.TrackerPath + "/check", handlertest.TrackerPath + "/show-token", handlertest.TrackerPath + "/forget",
		"/account/tracker/request-token", "/account/tracker/access-token", "/account/tracker/check",
		"/account/tracker/disconnect", "/account/tracker/preference"} {
		c.Post(path, nil).Want(http.StatusNotFound).WantText("main", "Launchpad is not configured here")
	}
	c.Post("/account", url.Values{"tracker_name": {"ada"}}).WantRedirect(http.StatusSeeOther, "/account")
	c.PostJSON(handlertest.CreatePath, map[string]string{"signature": b.Signature}).Want(http.StatusCreated)
	if issues := site.Practice["gitlab"].Issues(); len(issues) != 1 || issues[0].Project != "sandbox/trial" {
		t.Errorf("got the issues %v, want one in sandbox/trial", issues)
	}

	site.Practice["gitlab"].Fail("me", issuetest.Expired)
	c.Post(handlertest.TrackerPath+"/test", url.Values{"tracker": {"gitlab"}}).Want(http.StatusServiceUnavailable)
	c.Get("/").WantText(".banner", "GitLab no longer accepts mishap’s access token").WantText(".banner a", "More")
}

// TestTemplatesOfTrackers saves a template for one of two trackers, and previews it.
func TestTemplatesOfTrackers(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Upstreams: []string{"gitlab"}})
	site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleAdmin)
	address := handlertest.TemplatesPath + "?package=tidewatch&tracker=gitlab&type="
	c.Get(address).Want(http.StatusOK).WantText("#template-title", "tidewatch, all types, gitlab").
		WantText("#template", "For GitLab, mishap puts the text into a code block").
		WantText("#template", "bugs use the built-in template").WantText("#template-tracker option[selected]", "GitLab")
	form := url.Values{"package": {"tidewatch"}, "type": {""}, "tracker": {"gitlab"},
		"body": {"For GNOME: {problem_url}"}}
	c.Post(handlertest.TemplatesPath, handlertest.With(form, "do", "preview")).Want(http.StatusOK).
		WantText(".tracker-text", "For GNOME: http").WantText("#template", "GitLab")
	c.Post(handlertest.TemplatesPath, handlertest.With(form, "do", "save")).WantRedirect(http.StatusSeeOther, address)
	c.Get(handlertest.TrackerPath).WantText(".templates", "tidewatch, all types, gitlab")
	c.Get(handlertest.TemplatesPath+"?package=tidewatch").WantText("#template", "bugs use the built-in template")
	c.Get(address).WantText("#template-body", "For GNOME")
	c.Post(handlertest.TemplatesPath, handlertest.With(form, "do", "default")).WantRedirect(http.StatusSeeOther, address)
	c.Post(handlertest.TemplatesPath, handlertest.With(form, "tracker", "\x00")).Want(http.StatusBadRequest)
}
