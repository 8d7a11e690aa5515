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
	"mishap/tracker/trackertest"
)

// practice returns a client of a practice tracker, without a token and without a database.
func practice(t *testing.T, change ...func(*tracker.Config)) (*tracker.Client, *trackertest.Tracker) {
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
		if _, err := c.AccessToken(ctx, request); codeOf(err) != "oauth_not_authorised" || tracker.StartOver(err) {
			t.Errorf("got %v, want oauth_not_authorised without starting over", err)
		}
	}
	lp.Authorize(request.Key, "WRITE_PUBLIC")
	token, err := c.AccessToken(ctx, request)
	if err != nil || token.Token == "" || token.Secret == "" || token.Context != "None" {
		t.Fatalf("access token: got %+v, %v", token, err)
	}
	if _, err := c.AccessToken(ctx, request); codeOf(err) != "oauth_unknown_token" || !tracker.StartOver(err) {
		t.Errorf("second exchange: got %v, want oauth_unknown_token, with starting over", err)
	}
	if _, err := c.Check(ctx); codeOf(err) != "tracker_credentials" {
		t.Errorf("check before the token is saved: got %v, want tracker_credentials", err)
	}
	if err := c.Credentials().SaveToken(ctx, token, "ines"); err != nil {
		t.Fatal(err)
	}
	if name, err := c.Check(ctx); err != nil || name != "practice-person" {
		t.Errorf("check: got %q, %v", name, err)
	}
}

// TestExchangeFailures checks the code, the message and the next step of every answer to the
// exchange.
func TestExchangeFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		prepare   func(*trackertest.Tracker, *tracker.RequestToken)
		code      string
		kind      crash.Kind
		startOver bool
		says      string
	}{
		{"refused", func(lp *trackertest.Tracker, r *tracker.RequestToken) { lp.Authorize(r.Key, "UNAUTHORIZED") },
			"oauth_refused", crash.Refused, true, "start over"},
		{"expired", func(lp *trackertest.Tracker, r *tracker.RequestToken) {
			lp.Authorize(r.Key, "WRITE_PUBLIC")
			lp.Advance(2*time.Hour + time.Second)
		}, "oauth_expired", crash.Conflict, true, "start over"},
		{"undecided for ever",
			func(_ *trackertest.Tracker, r *tracker.RequestToken) { r.Made = r.Made.Add(-2*time.Hour - time.Second) },
			"oauth_expired", crash.Conflict, true, "start over"},
		{"unknown", func(_ *trackertest.Tracker, r *tracker.RequestToken) { r.Key = "nobody-knows-me" },
			"oauth_unknown_token", crash.Conflict, true, "Start over"},
		{"wrong secret", func(_ *trackertest.Tracker, r *tracker.RequestToken) { r.Secret = "wrong" }, "oauth_bad_signature",
			crash.Refused, true, "Start over"},
		{"not found", fails(trackertest.NotFound404), "tracker_wrong_address", crash.Refused, false, "tracker_url"},
		{"redirected", fails(trackertest.Redirect302), "tracker_wrong_address", crash.Refused, false, "https://"},
		{"turned away", fails(trackertest.FrontEnd403), "tracker_forbidden", crash.Refused, false, "tracker_url"},
		{"server error", fails(trackertest.Error500), "tracker_failed", crash.Unavailable, false, "no usable answer"},
		{"offline", fails(trackertest.Offline503), "tracker_failed", crash.Unavailable, false, "Launchpad is offline"},
		{"a page", fails(trackertest.PageBefore), "tracker_malformed", crash.Refused, true, "no token"},
		{"dropped", fails(trackertest.DropBefore), "tracker_failed", crash.Unavailable, false, "closed without an answer"},
		{"hangs", fails(trackertest.HangBefore), "tracker_failed", crash.Unavailable, false, "no answer in time"},
		{"cut short", func(lp *trackertest.Tracker, r *tracker.RequestToken) {
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
			if codeOf(err) != tt.code || crash.KindOf(err) != tt.kind || tracker.StartOver(err) != tt.startOver {
				t.Errorf("got %v (code %s, kind %v, start over %v), want code %s, kind %v, start over %v",
					err, codeOf(err), crash.KindOf(err), tracker.StartOver(err), tt.code, tt.kind, tt.startOver)
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

func fails(f trackertest.Fault) func(*trackertest.Tracker, *tracker.RequestToken) {
	return func(lp *trackertest.Tracker, _ *tracker.RequestToken) { lp.Fail(trackertest.OpAccessToken, f) }
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
			"/huge/+request-token":   strings.Repeat("x", 3<<20),
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
