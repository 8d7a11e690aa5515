package tracker_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

var anIntent = crash.Intent{
	Target: "/ubuntu/+source/tidewatch", Title: "tidewatch crashed",
	Description: "It did.\nhttps://mishap.example/problem/1", Marker: "https://mishap.example/problem/1",
}

// authorised returns a client of a practice tracker with a token in its configuration.
func authorised(t *testing.T, change ...func(*tracker.Config)) (*tracker.Client, *trackertest.Tracker) {
	t.Helper()
	return finder(t, trackertest.Options{}, change...)
}

// finder is like authorised, for a practice tracker with options.
func finder(
	t *testing.T, o trackertest.Options, change ...func(*tracker.Config),
) (*tracker.Client, *trackertest.Tracker) {
	t.Helper()
	lp := trackertest.New(t, o)
	cfg := tracker.Config{
		URL: lp.URL, APIURL: lp.APIURL, ConsumerKey: consumer, Target: "ubuntu", BaseURL: "https://mishap.example",
		Token: lp.Token(consumer), Timeout: timeout, Transport: lp.TimeOutHung,
	}
	for _, c := range change {
		c(&cfg)
	}
	return tracker.NewClient(cfg, tracker.NewCredentials(cfg, newMemory())), lp
}

// TestOutcomesOfCreate checks the outcome after each failure. Only a certain outcome may be
// reported as certain.
func TestOutcomesOfCreate(t *testing.T) {
	t.Parallel()
	want := map[trackertest.Fault]tracker.Outcome{
		trackertest.TooMany429: tracker.OutcomeBusy, trackertest.FrontEnd403: tracker.OutcomeRefused,
		trackertest.NotFound404: tracker.OutcomeRefused, trackertest.Permission: tracker.OutcomeRefused,
		trackertest.UnknownConsum: tracker.OutcomeCredentials, trackertest.UnknownToken: tracker.OutcomeCredentials,
		trackertest.ExpiredToken: tracker.OutcomeCredentials, trackertest.NoAccessToken: tracker.OutcomeCredentials,
		trackertest.BadSignature: tracker.OutcomeCredentials, trackertest.Inactive: tracker.OutcomeCredentials,
	}
	for _, fault := range trackertest.Faults() {
		if fault == trackertest.Slow {
			continue // this fault does send an answer
		}
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			c, lp := authorised(t)
			lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: fault})
			_, err := c.CreateBug(t.Context(), anIntent)
			e, expected := asCall(err), want[fault]
			if expected == "" {
				expected = tracker.OutcomeUnknown
			}
			if e == nil || e.Outcome != expected || e.Text == "" {
				t.Errorf("got %v, want outcome %s and a text", err, expected)
			}
			if got := len(lp.Requests(trackertest.OpCreate)); got != 1 {
				t.Errorf("got %d requests, want 1: nothing may be sent twice", got)
			}
			if got := len(lp.Requests("")); got != 1 {
				t.Errorf("got %d requests in all, want 1: redirects must not be followed", got)
			}
			if fault == trackertest.Error503 && (e.RetryAfter != 900*time.Second || e.RequestID != "OOPS-practice503") {
				t.Errorf("got RetryAfter %v and id %q", e.RetryAfter, e.RequestID)
			}
		})
	}
}

// TestNotSent checks calls that certainly sent nothing, so that the bug may be sent again without a
// search.
func TestNotSent(t *testing.T) {
	t.Parallel()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(untrusted.Close)
	for name, address := range map[string]string{
		"nobody listens": crashtest.NobodyListens,
		"no such host":   "http://tracker.invalid", "unknown certificate": untrusted.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := authorised(t, func(cfg *tracker.Config) { cfg.APIURL = address + "/devel" })
			_, err := c.CreateBug(t.Context(), anIntent)
			if e := asCall(err); e == nil || e.Outcome != tracker.OutcomeNotSent || e.Text == "" {
				t.Errorf("got %v, want not sent, with a text", err)
			}
		})
	}
}

// hostile returns a client of a tracker that calls answer.
func hostile(t *testing.T, answer http.HandlerFunc) *tracker.Client {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	c, _ := authorised(t, func(cfg *tracker.Config) {
		cfg.APIURL = s.URL + "/devel"
		cfg.Token = crash.AccessToken{Token: "key", Secret: "s3cret/+with odd=bytes"}
	})
	return c
}

func TestHostileWords(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, want string }{
		{"several lines", "title: wrong\r\ntags: wrong too\n\n", "title: wrong; tags: wrong too"},
		{"control characters", "a\x00b\x1b[31mred\u202eevil\u200b\x07", "ab[31mredevil"},
		{"not UTF-8", "caf\xe9 \xff", "caf\uFFFD \uFFFD"},
		{"very long", strings.Repeat("é", 5000), strings.Repeat("é", 399) + "…"},
		{"a page", "<!DOCTYPE html><html><head><title>Go\naway</title></head><body>secret text</body></html>", "Go; away"},
		{"a page without title", "<html>x</html>", "Bad Request"},
		{"nothing", "", "Bad Request"},
		{"our secret", "bad signature &s3cret/+with odd=bytes or s3cret%2F%2Bwith%20odd%3Dbytes", "bad signature &[secret] " +
			"or [secret]"},
		{"endless", strings.Repeat("x", 5<<20), strings.Repeat("x", 399) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, tt.body)
			})
			_, err := c.CreateBug(t.Context(), anIntent)
			if e := asCall(err); e == nil || e.Text != tt.want {
				t.Errorf("got %q, want %q", err, tt.want)
			}
		})
	}
}

func TestLocations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		location string
		want     int64
	}{
		{"{root}/devel/bugs/7", 7},
		{"/devel/bugs/7", 7},
		{"{root}/1.0/bugs/123456789012345678", 123456789012345678},
		{"{root}/devel/bugs/7?x=1", 0},
		{"{root}/devel/bugs/7/", 0},
		{"{root}/devel/bugs/-7", 0},
		{"{root}/devel/bugs/07", 0},
		{"{root}/devel/bugs/0", 0},
		{"{root}/devel/bugs/99999999999999999999", 0},
		{"{root}/devel/bugs/7x", 0},
		{"http://user@{host}/devel/bugs/7", 0},
		{"https://{host}/devel/bugs/7", 0},
		{"http://tracker.invalid/devel/bugs/7", 0},
		{"//tracker.invalid/devel/bugs/7", 0},
		{"http://[bad/bugs/7", 0},
		{"", 0},
	}
	for _, tt := range tests {
		t.Run(tt.location, func(t *testing.T) {
			t.Parallel()
			c := hostile(t, func(w http.ResponseWriter, r *http.Request) {
				location := strings.NewReplacer("{root}", "http://"+r.Host, "{host}", r.Host).Replace(tt.location)
				w.Header()["Location"] = []string{location}
				w.WriteHeader(http.StatusCreated)
			})
			got, err := c.CreateBug(t.Context(), anIntent)
			if got != tt.want || (tt.want == 0) != (asCall(err) != nil && asCall(err).Outcome == tracker.OutcomeUnknown) {
				t.Errorf("got %d, %v, want %d", got, err, tt.want)
			}
		})
	}
}

// TestForeignLinksAreNotFollowed checks that links of a search or an account to another host are
// not followed. Otherwise our credentials would go there.
func TestForeignLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	visited := make(chan string, 10)
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		visited <- r.RequestURI
	}))
	t.Cleanup(foreign.Close)
	for name, page := range map[string]string{
		"next page": `{"entries": [], "next_collection_link": "` + foreign.URL + `/devel/x"}`,
		"bug":       `{"entries": [{"bug_link": "` + foreign.URL + `/devel/bugs/7"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := hostile(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/+me") {
					w.Header().Set("Location", "http://"+r.Host+"/devel/~ines")
					w.WriteHeader(http.StatusSeeOther)
					return
				}
				_, _ = io.WriteString(w, page)
			})
			if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); err == nil || n != 0 {
				t.Errorf("got %d, %v, want an error: the result is unknown", n, err)
			}
		})
	}
	t.Run("account", func(t *testing.T) {
		t.Parallel()
		c := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", foreign.URL+"/devel/~ines")
			w.WriteHeader(http.StatusSeeOther)
		})
		if name, err := c.Me(t.Context()); err == nil {
			t.Errorf("got %q, want an error", name)
		}
	})
	t.Cleanup(func() {
		select {
		case uri := <-visited:
			t.Errorf("got a request for %s on a foreign host, want none", uri)
		default:
		}
	})
}

// TestSecretsStayInside checks that no error or log line contains a secret, after any failure.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
	token := crash.AccessToken{Token: "thekey", Secret: "thesecret"}
	for _, fault := range trackertest.Faults() {
		c, lp := authorised(t, func(cfg *tracker.Config) { cfg.Log, cfg.Token = slog.New(handler), token })
		lp.Fail(trackertest.OpCreate, fault)
		lp.Fail(trackertest.OpMe, fault)
		_, err := c.CreateBug(t.Context(), anIntent)
		_, checked := c.Check(t.Context())
		for _, e := range []error{err, checked} {
			slog.New(handler).Error("failed", "error", e, "token", token, "secret", token.Secret)
			if s := fmt.Sprintf("%v|%+v|%#v|%s|%q", e, e, token, token.Secret, token.Secret); strings.Contains(s, "thesecret") {
				t.Errorf("%s: got the secret in %s", fault, s)
			}
		}
	}
	if strings.Contains(log.String(), "thesecret") {
		t.Errorf("the log contains the secret:\n%s", log.String())
	}
}

// TestTextsArriveUnchanged checks texts and tags that look like JSON, numbers or escapes.
func TestTextsArriveUnchanged(t *testing.T) {
	t.Parallel()
	c, lp := authorised(t)
	for _, s := range []string{"24.10", "null", "true", `"quoted"`, `{"a": 1}`, "[1]", "a+b %41 & c=d",
		"é 日本語 😀 \u2028", `back\slash`, "<script>"} {
		in := anIntent
		in.Title, in.Description = s, s+"\n"+in.Marker
		in.Tags = []string{"noble", "24.10", "true", "null", "1e3", "007", "c++"}
		if _, err := c.CreateBug(t.Context(), in); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		bugs := lp.Bugs()
		if last := bugs[len(bugs)-1]; last.Title != s || last.Description != in.Description ||
			!slices.Equal(last.Tags, in.Tags) {
			t.Errorf("got title %q, description %q, tags %q, want those of %+v", last.Title, last.Description, last.Tags, in)
		}
	}
}

func TestBugNumber(t *testing.T) {
	t.Parallel()
	c := tracker.NewClient(tracker.Config{URL: "https://launchpad.net", APIURL: "https://api.launchpad.net/devel"}, nil)
	for text, want := range map[string]int64{
		"2100001": 2100001, " #2100001 ": 2100001, "LP: #7": 7, "lp:7": 7, "LP #7": 7, "bug 7": 7, "0007": 7,
		"https://launchpad.net/bugs/7":                                  7,
		"https://bugs.launchpad.net/ubuntu/+source/tidewatch/+bug/7":    7,
		"https://bugs.launchpad.net/ubuntu/+source/a/+bug/7/comments/3": 7,
		"https://BUGS.launchpad.net/bugs/7?x=1#y":                       7,
		"https://api.launchpad.net/devel/bugs/7":                        7,
		"https://bugs.launchpad.net.evil.example/bugs/7":                0,
		"https://github.com/a/b/issues/7":                               0,
		"javascript:alert(7)":                                           0,
		"//launchpad.net/bugs/7":                                        0,
		"https://launchpad.net/ubuntu/7":                                0,
		"":                                                              0,
		"0":                                                             0,
		"-7":                                                            0,
		"7.0":                                                           0,
		"99999999999999999999":                                          0,
		"1234567890123456789":                                           0,
		"seven":                                                         0,
		"7 8":                                                           0,
		"\x00":                                                          0,
	} {
		got, err := c.BugNumber(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
}
