package tracker_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	"mishap/tracker/trackertest"
)

// practice returns a client of a practice tracker, without a token and without a database.
func practice(t *testing.T, change ...func(*tracker.Config)) (*launchpad.Client, *trackertest.Tracker) {
	t.Helper()
	return authorised(t, append(change, withoutToken)...)
}

func TestOAuth(t *testing.T) {
	t.Parallel()
	c, lp := practice(t)
	ctx := t.Context()
	request, err := c.RequestToken(ctx)
	if err != nil {
		t.Fatalf("request token: %v", err)
	}
	if got, want := c.AuthorizeURL(request.Key), lp.URL+"/+authorize-token?oauth_token="+request.Key; got != want {
		t.Errorf("got authorise address %s, want %s", got, want)
	}
	for range 2 { // exchanging too early may be repeated
		if _, err := c.AccessToken(ctx, request); codeOf(err) != "oauth_not_authorised" || launchpad.StartOver(err) {
			t.Errorf("got %v, want oauth_not_authorised without starting over", err)
		}
	}
	lp.Authorize(request.Key, "WRITE_PUBLIC")
	token, err := c.AccessToken(ctx, request)
	if err != nil || token.Token == "" || token.Secret == "" || token.Context != "None" {
		t.Fatalf("access token: got %+v, %v", token, err)
	}
	if _, err := c.AccessToken(ctx, request); codeOf(err) != "oauth_unknown_token" || !launchpad.StartOver(err) {
		t.Errorf("second exchange: got %v, want oauth_unknown_token, with starting over", err)
	}
	if _, err := tracker.Check(ctx, c); codeOf(err) != "tracker_credentials" {
		t.Errorf("check before the token is saved: got %v, want tracker_credentials", err)
	}
	if err := c.Credentials().SaveToken(ctx, token, "ines"); err != nil {
		t.Fatal(err)
	}
	if name, err := tracker.Check(ctx, c); err != nil || name != "practice-person" {
		t.Errorf("check: got %q, %v", name, err)
	}
}

// TestExchangeFailures checks the code, the message and the next step of every answer to the
// exchange.
func TestExchangeFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		prepare   func(*trackertest.Tracker, *launchpad.RequestToken)
		code      string
		kind      crash.Kind
		startOver bool
		says      string
	}{
		{"refused", func(lp *trackertest.Tracker, r *launchpad.RequestToken) { lp.Authorize(r.Key, "UNAUTHORIZED") },
			"oauth_refused", crash.Refused, true, "start over"},
		{"expired", func(lp *trackertest.Tracker, r *launchpad.RequestToken) {
			lp.Authorize(r.Key, "WRITE_PUBLIC")
			lp.Advance(2*time.Hour + time.Second)
		}, "oauth_expired", crash.Conflict, true, "start over"},
		{"undecided for ever",
			func(_ *trackertest.Tracker, r *launchpad.RequestToken) {
				r.Made = r.Made.Add(-2*time.Hour - time.Second)
			},
			"oauth_expired", crash.Conflict, true, "start over"},
		{"unknown", func(_ *trackertest.Tracker, r *launchpad.RequestToken) { r.Key = "nobody-knows-me" },
			"oauth_unknown_token", crash.Conflict, true, "Start over"},
		{"wrong secret", func(_ *trackertest.Tracker, r *launchpad.RequestToken) { r.Secret = "wrong" },
			"oauth_bad_signature", crash.Refused, true, "Start over"},
		{"not found", fails(trackertest.NotFound404), "tracker_wrong_address", crash.Refused, false, "tracker_url"},
		{"redirected", fails(trackertest.Redirect302), "tracker_wrong_address", crash.Refused, false, "https://"},
		{"turned away", fails(trackertest.FrontEnd403), "tracker_forbidden", crash.Refused, false, "tracker_url"},
		{"server error", fails(trackertest.Error500), "tracker_failed", crash.Unavailable, false, "no usable answer"},
		{"offline", fails(trackertest.Offline503), "tracker_failed", crash.Unavailable, false, "Launchpad is offline"},
		{"a page", fails(trackertest.PageBefore), "tracker_malformed", crash.Refused, true, "no token"},
		{"dropped", fails(trackertest.DropBefore), "tracker_failed", crash.Unavailable, false, "closed without an answer"},
		{"hangs", fails(trackertest.HangBefore), "tracker_failed", crash.Unavailable, false, "no answer in time"},
		{"cut short", func(lp *trackertest.Tracker, r *launchpad.RequestToken) {
			lp.Authorize(r.Key, "WRITE_PUBLIC")
			fails(trackertest.Truncated)(lp, r)
		}, "tracker_failed", crash.Unavailable, false, "ended too early"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, lp := practice(t)
			request, err := c.RequestToken(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			secret := string(request.Secret)
			tt.prepare(lp, &request)
			_, err = c.AccessToken(t.Context(), request)
			if codeOf(err) != tt.code || crash.KindOf(err) != tt.kind || launchpad.StartOver(err) != tt.startOver {
				t.Errorf("got %v (code %s, kind %v, start over %v), want code %s, kind %v, start over %v",
					err, codeOf(err), crash.KindOf(err), launchpad.StartOver(err), tt.code, tt.kind, tt.startOver)
			}
			if e, ok := errors.AsType[*crash.Error](err); ok && !strings.Contains(e.Message, tt.says) {
				t.Errorf("got the message %q, want it to contain %q", e.Message, tt.says)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, request), secret) {
				t.Errorf("the error or a printed request token contains the secret")
			}
		})
	}
}

func fails(f trackertest.Fault) func(*trackertest.Tracker, *launchpad.RequestToken) {
	return func(lp *trackertest.Tracker, _ *launchpad.RequestToken) { lp.Fail(trackertest.OpAccessToken, f) }
}

func TestRequestTokenFailures(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(map[string]string{
			"/empty/+request-token":  "",
			"/half/+request-token":   "oauth_token=x",
			"/broken/+request-token": "oauth_token=%zz;secret=hush",
			"/odd/+request-token":    "oauth_token=a%00b&oauth_token_secret=c",
			"/long/+request-token":   "oauth_token=" + strings.Repeat("x", 2000) + "&oauth_token_secret=c",
			"/huge/+request-token":   strings.Repeat("x", 17<<20),
		}[r.URL.Path]))
	}))
	t.Cleanup(other.Close)
	tests := []struct {
		name, url, consumer, code string
		kind                      crash.Kind
	}{
		{"no consumer key", "", "", "oauth_bad_consumer", crash.Refused},
		{"unreachable", crashtest.NobodyListens, consumer, "tracker_unreachable", crash.Unavailable},
		{"no such host", "http://tracker.invalid", consumer, "tracker_unreachable", crash.Unavailable},
		{"not https", strings.Replace(other.URL, "http:", "https:", 1), consumer, "tracker_unreachable", crash.Unavailable},
		{"trailing slash is forgiven", "slash", consumer, "", 0},
		{"empty answer", other.URL + "/empty", consumer, "tracker_malformed", crash.Refused},
		{"half an answer", other.URL + "/half", consumer, "tracker_malformed", crash.Refused},
		{"broken answer", other.URL + "/broken", consumer, "tracker_malformed", crash.Refused},
		{"odd bytes", other.URL + "/odd", consumer, "tracker_malformed", crash.Refused},
		{"long token", other.URL + "/long", consumer, "tracker_malformed", crash.Refused},
		{"huge answer", other.URL + "/huge", consumer, "tracker_failed", crash.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, _ := practice(t, func(cfg *tracker.Config) {
				cfg.ConsumerKey = tt.consumer
				switch tt.url {
				case "":
				case "slash":
					cfg.URL += "/"
				default:
					cfg.URL = tt.url
				}
			})
			_, err := c.RequestToken(t.Context())
			if codeOf(err) != tt.code || crash.KindOf(err) != tt.kind {
				t.Errorf("got %v (code %q, kind %v), want code %q, kind %v", err, codeOf(err), crash.KindOf(err), tt.code, tt.kind)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("the error contains the secret of the answer: %v", err)
			}
		})
	}
}

func withoutToken(c *tracker.Config) { c.Token = crash.AccessToken{} }

func (h *fixture) status(u *instance) crash.Connection {
	h.t.Helper()
	s, err := u.creds.Status(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// TestWhichToken checks that a configured token takes precedence over the saved one. An instance
// without a token works as soon as any instance has been connected.
func TestWhichToken(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := t.Context()
	bare, configured := h.instance(withoutToken), h.instance()
	if _, err := bare.creds.Current(ctx); codeOf(err) != "tracker_credentials" || !strings.Contains(err.Error(),
		"/admin/tracker") {
		t.Errorf("without a token: got %v, want tracker_credentials with the address of the page", err)
	}
	if s := h.status(bare); s.Source != crash.NotConnected {
		t.Errorf("without a token: got %+v, want not connected", s)
	}

	if _, err := tracker.Check(ctx, configured.lp); err != nil {
		t.Fatal(err)
	}
	if got, err := bare.creds.Current(ctx); err != nil || got.Token != h.cfg.Token.Token ||
		got.Secret != h.cfg.Token.Secret {
		t.Errorf("after another instance used its token: got %v, %v, want its token", got, err)
	}
	if s := h.status(bare); s.Source != crash.FromDatabase || s.Account != "practice-person" || s.LastSuccess.IsZero() ||
		s.Person != "" {
		t.Errorf("after another instance used its token: got %+v", s)
	}

	connected := h.lp.Token(consumer)
	if err := bare.creds.SaveToken(ctx, connected, "ines"); err != nil {
		t.Fatal(err)
	}
	if got, err := bare.creds.Current(ctx); err != nil || got.Token != connected.Token {
		t.Errorf("after connecting: got %v, %v, want the new token", got, err)
	}
	if s := h.status(bare); s.Person != "ines" || s.Since.IsZero() || s.Context != "None" || !s.LastSuccess.IsZero() {
		t.Errorf("after connecting: got %+v", s)
	}
	if got, err := configured.creds.Current(ctx); err != nil || got.Token != h.cfg.Token.Token {
		t.Errorf("a configured instance after another has connected: got %v, %v, want its own token", got, err)
	}
	if err := configured.creds.SaveToken(ctx, connected, "theo"); err != nil {
		t.Fatal(err)
	}
	if got, err := configured.creds.Current(ctx); err != nil || got.Token != connected.Token {
		t.Errorf("a configured instance that has just connected: got %v, %v, want the new token", got, err)
	}

	if err := bare.creds.DeleteToken(ctx, "ines"); err != nil {
		t.Fatal(err)
	}
	if _, err := bare.creds.Current(ctx); codeOf(err) != "tracker_credentials" {
		t.Errorf("after forgetting: got %v, want tracker_credentials", err)
	}
}

// TestForgottenStaysForgotten checks that an instance with a configured token does not restore a
// token that a person removed.
func TestForgottenStaysForgotten(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if _, err := tracker.Check(t.Context(), h.instance().lp); err != nil {
		t.Fatal(err)
	}
	bare := h.instance(withoutToken)
	if err := bare.creds.DeleteToken(t.Context(), "ines"); err != nil {
		t.Fatal(err)
	}
	if _, err := tracker.Check(t.Context(), h.instance().lp); err != nil {
		t.Errorf("a configured instance: got %v, want no error", err)
	}
	if s := h.status(bare); s.Source != crash.NotConnected {
		t.Errorf("got %+v, want not connected", s)
	}
}

// TestNoCredentials checks that nothing is sent without credentials. The filing waits, states the
// reason, and continues when a person has connected.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance(withoutToken)
	signature := h.problem(1)
	_, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: patience})
	if crash.KindOf(err) != crash.Unavailable || codeOf(err) != "tracker_credentials" {
		t.Errorf("got %v, want tracker_credentials", err)
	}
	if got := len(h.lp.Requests("")); got != 0 {
		t.Errorf("got %d requests, want none", got)
	}
	if f := h.bucket(signature).Filing; f.State != crash.FilingQueued || f.Problem != "tracker_credentials" ||
		f.Reason == "" {
		t.Errorf("got %+v, want it queued with the reason", f)
	}
	if err := u.creds.SaveToken(t.Context(), h.lp.Token(consumer), "theo"); err != nil {
		t.Fatal(err)
	}
	h.until("the bug is filed", []*instance{u}, func() bool {
		return h.bucket(signature).Filing.State == crash.FilingFiled
	})
	h.wantOneBug(signature)
}

// TestHealthIsSavedRarely checks that health is saved when it changes, and otherwise once a minute.
func TestHealthIsSavedRarely(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := newMemory()
	lp := trackertest.New(t)
	cfg := tracker.Config{
		URL: lp.URL, APIURL: lp.APIURL, ConsumerKey: consumer, Token: lp.Token(consumer), Timeout: patience,
		Now: func() time.Time { return now },
	}
	c := launchpad.New(cfg, tracker.NewCredentials(cfg, m))
	check := func(want int, when string) {
		t.Helper()
		_, _ = tracker.Check(t.Context(), c)
		if m.writes != want {
			t.Errorf("%s: got %d writes, want %d", when, m.writes, want)
		}
	}
	check(1, "first success")
	check(1, "second success")
	lp.Fail(trackertest.OpMe, trackertest.Error500)
	check(2, "first failure")
	lp.Fail(trackertest.OpMe, trackertest.Error500)
	check(2, "the same failure again")
	now = now.Add(time.Minute)
	check(3, "a minute later")
	lp.Fail(trackertest.OpMe, trackertest.ExpiredToken)
	check(4, "dead")
	check(5, "alive again")
}

// TestCredentialsAreOfOneConsumer checks that another tracker or consumer has separate credentials.
func TestCredentialsAreOfOneConsumer(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if err := h.instance().creds.SaveToken(t.Context(), h.cfg.Token, "ines"); err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	for name, change := range map[string]func(*tracker.Config){
		"consumer": func(c *tracker.Config) { c.ConsumerKey = "another" },
		"tracker":  func(c *tracker.Config) { c.URL = elsewhere.URL },
	} {
		u := h.instance(withoutToken, change)
		if s := h.status(u); s.Source != crash.NotConnected {
			t.Errorf("another %s: got %+v, want not connected", name, s)
		}
	}
}
