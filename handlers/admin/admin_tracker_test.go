package admin_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
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

	page := c.Get(handlertest.TrackerPath).Want(http.StatusOK).WantText("main", "Not connected").WantText("main",
		"./setup-oauth-token.sh").WantNone("#authorize")
	if got := page.Attr("form[action='/admin/tracker/request-token']", "method"); got != "post" {
		t.Errorf("method: got %q, want post", got)
	}
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
		if err := site.Filer.Work(t.Context(), site.Bucket(t, b.ID).Filing.ID); err != nil {
			t.Fatal(err)
		}
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
	if diff := cmp.Diff(want, lines.HTML().Find("#config-lines").Text()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if cache := lines.Header.Get("Cache-Control"); cache != "no-store" {
		t.Errorf("Cache-Control: got %q, want no-store", cache)
	}
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
		WantText("#forget ~ form button", "Remove token from the database")
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
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	var data string
	if err := conn.QueryRow(t.Context(),
		`select convert_from(data, 'UTF8') from sessions where data like '%tracker_request_key%'`).Scan(&data); err != nil {
		t.Fatal(err)
	}
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
