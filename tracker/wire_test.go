package tracker_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

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

func (r *replay) client(t *testing.T) *tracker.Client {
	cfg := tracker.Config{
		URL: r.URL, APIURL: r.URL + "/devel", ConsumerKey: consumer, BaseURL: "https://mishap.example", Version: "1.2.3",
		Token:   crash.AccessToken{Token: "ACCESSKEY", Secret: "ACCESSSECRET"},
		Timeout: 5 * time.Second,
	}
	return tracker.NewClient(cfg, tracker.NewCredentials(cfg, newMemory()))
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
	if n, err := c.CreateBug(ctx, full); err != nil || n != 2100001 {
		t.Errorf("create: got %d, %v, want 2100001", n, err)
	}
	if n, err := c.CreateBug(ctx, crash.Intent{Target: "/ubuntu/+source/bash", Title: "minimal",
		Description: "d"}); err != nil || n != 2100002 {
		t.Errorf("create minimal: got %d, %v, want 2100002", n, err)
	}
	r.skip(t, "searchTasks") // our search has other parameters; see TestSearchParameters
	if name, err := c.Me(ctx); err != nil || name != "test-user" {
		t.Errorf("me: got %q, %v, want test-user", name, err)
	}
	if err := c.Subscribe(ctx, 2100002, "test-user"); err != nil {
		t.Errorf("subscribe: %v", err)
	}
	_, err = c.CreateBug(ctx, crash.Intent{Target: "/ubuntu/+source/bash", Title: strings.Repeat("x", 201),
		Description: "d", Tags: []string{"Bad Tag"}})
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
