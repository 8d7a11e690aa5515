package tracker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/kinds"
	"mishap/tracker/launchpad"
	"mishap/tracker/trackertest"
)

var anIntent = crash.Intent{
	Target: "/ubuntu/+source/tidewatch", Title: "tidewatch crashed",
	Description: "It did.\nhttps://mishap.example/problem/1", Marker: "https://mishap.example/problem/1",
}

// authorised returns a client of a practice tracker with a token in its configuration.
func authorised(t *testing.T, change ...func(*tracker.Config)) (*launchpad.Client, *trackertest.Tracker) {
	t.Helper()
	return finder(t, trackertest.Options{}, change...)
}

// finder is like authorised, for a practice tracker with options.
func finder(
	t *testing.T, o trackertest.Options, change ...func(*tracker.Config),
) (*launchpad.Client, *trackertest.Tracker) {
	t.Helper()
	lp := trackertest.New(t, o)
	cfg := tracker.Config{
		URL: lp.URL, APIURL: lp.APIURL, ConsumerKey: consumer, Target: "ubuntu", BaseURL: "https://mishap.example",
		Token: lp.Token(consumer), Timeout: timeout, Transport: lp.TimeOutHung,
	}
	for _, c := range change {
		c(&cfg)
	}
	return launchpad.New(cfg, tracker.NewCredentials(cfg, newMemory())), lp
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
			_, err := c.Create(t.Context(), anIntent, tracker.MaxSending)
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
			_, err := c.Create(t.Context(), anIntent, tracker.MaxSending)
			if e := asCall(err); e == nil || e.Outcome != tracker.OutcomeNotSent || e.Text == "" {
				t.Errorf("got %v, want not sent, with a text", err)
			}
		})
	}
}

// hostile returns a client of a tracker that calls answer.
func hostile(t *testing.T, answer http.HandlerFunc) *launchpad.Client {
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
			_, err := c.Create(t.Context(), anIntent, tracker.MaxSending)
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
		{"{root}/1.0/bugs/123456789012", 123456789012},
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
			got, err := c.Create(t.Context(), anIntent, tracker.MaxSending)
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
		_, err := c.Create(t.Context(), anIntent, tracker.MaxSending)
		_, checked := tracker.Check(t.Context(), c)
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
		if _, err := c.Create(t.Context(), in, tracker.MaxSending); err != nil {
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
	cfg := tracker.Config{
		Kind: kinds.Launchpad, URL: "https://launchpad.net", APIURL: "https://api.launchpad.net/devel",
	}
	sites := tracker.NewSites(bugs.New(dbtest.Open(t, dbtest.URL(t))), tracker.Member{Config: cfg})
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
		"1234567890129":                                                 0,
		"seven":                                                         0,
		"7 8":                                                           0,
		"\x00":                                                          0,
	} {
		got, err := sites.BugNumber(t.Context(), text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
}

// exchange is one captured request of the tracker's own client, and the answer. Names and secrets
// are replaced.
type exchange struct {
	name, method, uri string
	header            http.Header
	body              string
	status            int
	answer            http.Header
	text              string
}

const capturedRoot = "http://tracker.example"

// readWire reads testdata/wire.txt.
func readWire(t *testing.T) []exchange {
	t.Helper()
	b, err := os.ReadFile("testdata/wire.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []exchange
	for block := range strings.SplitSeq("\n"+string(b), "\n# ") {
		if strings.TrimSpace(block) == "" {
			continue
		}
		asked, answered, ok := strings.Cut(block, "\n<<< ")
		name, head, _ := strings.Cut(asked, "\n")
		head, body, _ := strings.Cut(head, "\n\n")
		if !ok {
			t.Fatalf("wire.txt: no answer in %q", name)
		}
		e := exchange{name: name, body: strings.TrimSpace(body), header: http.Header{}, answer: http.Header{}}
		for i, line := range strings.Split(head, "\n") {
			if i == 0 {
				words := strings.Fields(line)
				e.method, e.uri = words[0], words[1]
				continue
			}
			if k, v, ok := strings.Cut(line, ": "); ok {
				e.header.Set(k, v)
			}
		}
		status, rest, _ := strings.Cut(answered, "\n")
		if e.status, err = strconv.Atoi(status); err != nil {
			t.Fatalf("wire.txt: %v", err)
		}
		rest, e.text, _ = strings.Cut(rest, "    | ")
		e.text = strings.TrimRight(e.text, "\n")
		for line := range strings.SplitSeq(strings.TrimSpace(rest), "\n") {
			k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
			e.answer.Set(k, v)
		}
		out = append(out, e)
	}
	return out
}

// replay answers each request with the next captured answer and records the request.
type replay struct {
	*httptest.Server
	mu    sync.Mutex
	todo  []exchange
	asked []exchange
}

func newReplay(t *testing.T, exchanges ...exchange) *replay {
	t.Helper()
	r := &replay{todo: exchanges}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		body, _ := io.ReadAll(req.Body)
		r.asked = append(r.asked, exchange{method: req.Method, uri: req.RequestURI, header: req.Header, body: string(body)})
		if len(r.todo) == 0 {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		e := r.todo[0]
		r.todo = r.todo[1:]
		for k := range e.answer {
			w.Header().Set(k, strings.ReplaceAll(e.answer.Get(k), capturedRoot, r.URL))
		}
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, strings.ReplaceAll(e.text, capturedRoot, r.URL))
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *replay) client(t *testing.T) *launchpad.Client {
	cfg := tracker.Config{
		URL: r.URL, APIURL: r.URL + "/devel", ConsumerKey: consumer, BaseURL: "https://mishap.example", Version: "1.2.3",
		Token:   crash.AccessToken{Token: "ACCESSKEY", Secret: "ACCESSSECRET"},
		Timeout: 5 * time.Second,
	}
	return launchpad.New(cfg, tracker.NewCredentials(cfg, newMemory()))
}

// TestWire checks that our requests are equivalent to those of the tracker's own client, and that
// we parse its answers.
func TestWire(t *testing.T) {
	t.Parallel()
	captured := readWire(t)
	r := newReplay(t, captured...)
	c := r.client(t)
	ctx := t.Context()

	request, err := c.RequestToken(ctx)
	if err != nil || request.Key != "REQUESTKEY" || string(request.Secret) != "REQUESTSECRET" {
		t.Errorf("request token: got %+v, %v", request, err)
	}
	if _, err = c.AccessToken(ctx, request); codeOf(err) != "oauth_not_authorised" {
		t.Errorf("exchange before the decision: got %v, want oauth_not_authorised", err)
	}
	token, err := c.AccessToken(ctx, request)
	if err != nil || token.Token != "ACCESSKEY" || string(token.Secret) != "ACCESSSECRET" || token.Context != "None" {
		t.Errorf("access token: got %+v, %v", token, err)
	}
	full := crash.Intent{
		Target: "/ubuntu/+source/bash", Title: `bash crashed with SIGSEGV in main() & "quotes" é`,
		Description: "First line\nSecond line: 100% <b>+plus+</b>\n", Tags: []string{"apport-crash", "noble"},
	}
	if n, err := c.Create(ctx, full, tracker.MaxSending); err != nil || n != 2100001 {
		t.Errorf("create: got %d, %v, want 2100001", n, err)
	}
	if n, err := c.Create(ctx, crash.Intent{Target: "/ubuntu/+source/bash", Title: "minimal",
		Description: "d"}, tracker.MaxSending); err != nil || n != 2100002 {
		t.Errorf("create minimal: got %d, %v, want 2100002", n, err)
	}
	r.skip(t, "searchTasks") // our search has other parameters; see TestSearchParameters
	if name, err := c.Me(ctx); err != nil || name != "test-user" {
		t.Errorf("me: got %q, %v, want test-user", name, err)
	}
	if err := c.Subscribe(ctx, 2100002, "test-user"); err != nil {
		t.Errorf("subscribe: %v", err)
	}
	_, err = c.Create(ctx, crash.Intent{Target: "/ubuntu/+source/bash", Title: strings.Repeat("x", 201),
		Description: "d", Tags: []string{"Bad Tag"}}, tracker.MaxSending)
	want := `title: ('` + strings.Repeat("x", 201)
	if e := asCall(err); e == nil || e.Outcome != tracker.OutcomeRefused || e.Status != 400 || !strings.HasPrefix(e.Text,
		want) || !strings.HasSuffix(e.Text, "', 200); tags: ([ConstraintNotSatisfied('Bad Tag', '')], 'tags')") {
		t.Errorf("create refused: got %v, want a refusal with the tracker's text", err)
	}

	i := 0
	for _, want := range captured {
		if strings.HasPrefix(want.name, "searchTasks") {
			continue
		}
		got := r.asked[i]
		i++
		if diff := cmp.Diff(sense(t, want, capturedRoot), sense(t, got, r.URL)); diff != "" {
			t.Errorf("%s: our request differs from the captured one (-captured +ours):\n%s", want.name, diff)
		}
		if agent := got.header.Get("User-Agent"); agent != "mishap/1.2.3 (+https://mishap.example)" {
			t.Errorf("got User-Agent %q", agent)
		}
		for _, name := range []string{"Cookie", "Idempotency-Key", "X-Idempotency-Key"} {
			if v := got.header.Get(name); v != "" {
				t.Errorf("%s: got header %s: %s, want none", want.name, name, v)
			}
		}
	}
	if i != len(r.asked) {
		t.Errorf("got %d requests, want %d", len(r.asked), i)
	}
}

// skip skips captured exchanges.
func (r *replay) skip(t *testing.T, name string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !strings.HasPrefix(r.todo[0].name, name) {
		t.Fatalf("next is %q, want %q", r.todo[0].name, name)
	}
	r.todo = r.todo[1:]
}

var headerValue = regexp.MustCompile(`(\w+)="([^"]*)"`)

// sense returns the significant parts of a request: method, address, media type, credentials, and
// the parameters as the tracker decodes them. It ignores the order of parameters, nonces, the
// realm, and parameters that we never send.
func sense(t *testing.T, e exchange, root string) map[string]any {
	t.Helper()
	form, err := url.ParseQuery(e.body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{"method": e.method, "uri": e.uri}
	for name := range form {
		if name == "information_type" || name == "private" {
			continue
		}
		raw := strings.ReplaceAll(form.Get(name), root, capturedRoot)
		var v any = raw
		if strings.HasPrefix(raw, `"`) || strings.HasPrefix(raw, "[") {
			if err := json.Unmarshal([]byte(raw), &v); err != nil {
				t.Fatalf("%s=%s: %v", name, raw, err)
			}
		}
		out[name] = v
	}
	if e.method == http.MethodPost && strings.Contains(e.uri, "/devel/") {
		out["type"] = e.header.Get("Content-Type")
	}
	authorization := map[string]string{}
	for _, m := range headerValue.FindAllStringSubmatch(e.header.Get("Authorization"), -1) {
		if m[1] != "realm" && m[1] != "oauth_nonce" && m[1] != "oauth_timestamp" {
			authorization[m[1]] = m[2]
		}
	}
	out["authorization"] = authorization
	if len(authorization) > 0 {
		out["accept"] = e.header.Get("Accept")
	}
	return out
}

// TestPracticeTrackerAnswersAsCaptured checks that the practice tracker answers captured requests
// like the captured tracker.
func TestPracticeTrackerAnswersAsCaptured(t *testing.T) {
	t.Parallel()
	lp := trackertest.New(t, trackertest.Options{Person: "test-user"})
	replaced := strings.NewReplacer(capturedRoot, lp.URL, url.QueryEscape(capturedRoot), url.QueryEscape(lp.URL))
	secrets := map[string]string{}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i, e := range readWire(t) {
		if strings.Contains(e.name, "exchange after") {
			lp.Authorize(secrets["REQUESTKEY"], "WRITE_PUBLIC")
		}
		swap := func(s string) string {
			s = replaced.Replace(s)
			for placeholder, value := range secrets {
				s = strings.ReplaceAll(s, placeholder, value)
			}
			return s
		}
		req, err := http.NewRequestWithContext(t.Context(), e.method, lp.URL+e.uri, strings.NewReader(swap(e.body)))
		if err != nil {
			t.Fatal(err)
		}
		for name := range e.header {
			if name != "Host" {
				req.Header.Set(name, swap(e.header.Get(name)))
			}
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if values, err := url.ParseQuery(string(b)); err == nil && values.Get("oauth_token_secret") != "" {
			kind := map[bool]string{true: "ACCESS", false: "REQUEST"}[values.Has("lp.context")]
			secrets[kind+"KEY"], secrets[kind+"SECRET"] = values.Get("oauth_token"), values.Get("oauth_token_secret")
		}
		if resp.StatusCode != e.status {
			t.Errorf("%d %s: got status %d, want %d (%s)", i, e.name, resp.StatusCode, e.status, b)
		}
		for name := range e.answer {
			if got, want := resp.Header.Get(name), swap(e.answer.Get(name)); got != want && !strings.HasPrefix(want, got) {
				t.Errorf("%d %s: got header %s: %q, want %q", i, e.name, name, got, want)
			}
		}
		if want := swap(e.text); !strings.HasPrefix(e.text, "{") && string(b) != want {
			t.Errorf("%d %s: got body %q, want %q", i, e.name, b, want)
		}
	}
}

func contains(s, sub string) bool { return strings.Contains(s, sub) }

// TestEveryFaultEndsInOneBug lets creating a bug fail, once or several times, and also the searches
// after it, or rejects the person's own account after it. In the end the tracker has exactly one bug
// for the bucket, and the bucket has this bug. Unless the run is thorough, each fault meets two of the six
// situations.
func TestEveryFaultEndsInOneBug(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	for faults := range slices.Chunk(trackertest.Faults(), 8) {
		cases := map[string]numberedFault{}
		for i, fault := range faults {
			cases[string(fault)] = numberedFault{fault, i}
		}
		t.Run(string(faults[0]), func(t *testing.T) {
			t.Parallel()
			inTurn(t, cases, everyFault)
		})
	}
}

// numberedFault is a fault; its number chooses the situations that it meets.
type numberedFault struct {
	trackertest.Fault
	number int
}

func everyFault(t *testing.T, h *fixture, numbered numberedFault) {
	fault := numbered.Fault
	if fault == trackertest.LateWork {
		// The tracker continues after we have stopped waiting, so only a search that is late enough
		// gives the right result.
		h.cfg.Settle = time.Second
	}
	i, u := h.instance(), h.person("ines")
	type situation struct {
		create, search trackertest.FaultSpec
		own            bool
	}
	for n, tt := range checktest.EveryNth([]situation{
		{trackertest.FaultSpec{Fault: fault}, trackertest.FaultSpec{}, false},
		{trackertest.FaultSpec{Fault: fault, Times: 3}, trackertest.FaultSpec{}, false},
		{trackertest.FaultSpec{Fault: fault}, trackertest.FaultSpec{Fault: fault, Times: 2}, false},
		{trackertest.FaultSpec{Fault: trackertest.DropAfter}, trackertest.FaultSpec{Fault: fault}, false},
		{trackertest.FaultSpec{Fault: trackertest.DropBefore}, trackertest.FaultSpec{Fault: fault}, false},
		{trackertest.FaultSpec{Fault: fault}, trackertest.FaultSpec{}, true},
	}, 3, numbered.number) {
		for operation, spec := range map[trackertest.Operation]trackertest.FaultSpec{
			trackertest.OpCreate: tt.create, trackertest.OpSearch: tt.search,
		} {
			if spec.Operation, spec.Delay = operation, 10*time.Millisecond; spec.Fault != "" {
				h.lp.FailWith(spec)
			}
		}
		h.exerciseFault(i, n, u, tt.own)
		h.lp.ClearFaults()
		if got := len(h.lp.Bugs()); got != n+1 {
			t.Fatalf("after %+v: got %d bugs in the tracker, want %d", tt, got, n+1)
		}
	}
}

// exerciseFault requests a bug again and again, like a persistent person, whose own account the
// tracker rejects after the first request.
func (h *fixture) exerciseFault(i *instance, n int, u crash.User, withOwn bool) {
	h.t.Helper()
	signature := h.problem(n)
	opts := tracker.Options{Person: u.Name, Wait: 50 * time.Millisecond}
	var token crash.AccessToken
	if withOwn {
		token, opts.Own = h.connect(i, u, "WRITE_PUBLIC"), u.ID
	}
	press := func() {
		_, err := i.filer.CreateBug(h.t.Context(), signature, opts)
		if err != nil && crash.KindOf(err) != crash.Refused && crash.KindOf(err) != crash.Unavailable {
			h.t.Errorf("got error %v of kind %v, want Refused or Unavailable", err, crash.KindOf(err))
		}
	}
	press()
	if withOwn {
		h.lp.Revoke(token.Token)
	}
	h.until("the bug is filed", []*instance{i}, func() bool {
		filing := h.bucket(signature).Filing
		if filing.State == crash.FilingRefused || filing.Problem == "tracker_credentials" { // a person clicks again
			press()
		}
		return filing.State == crash.FilingFiled && h.lp.Working() == 0
	})
	by, fallback := h.reporter(signature), h.filing(signature).Fallback // only a rejection changes the account
	if (by == robot) != (!withOwn || fallback != "") {
		h.t.Errorf("got a bug by %s, with the reason %q", by, fallback)
	}
}
