package webhook_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/notify/webhook"
)

// newClient returns a client that may send to some networks.
func newClient(t *testing.T, allow string, timeout time.Duration) *webhook.Client {
	t.Helper()
	allowed, err := crash.ParseNetworks(allow)
	checktest.NoError(t, err)
	return webhook.NewClient(webhook.Config{Allow: allowed, BaseURL: "https://crashes.example.com", Version: "1.0",
		Now: newClock().Now, Timeout: timeout})
}

func slackAt(address string) crash.Endpoint {
	return crash.Endpoint{Kind: crash.EndpointSlack, Address: crash.Secret(address)}
}

// TestFailures checks the result of a request to receivers that fail in every way.
func TestFailures(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, tt := range map[string]struct {
		answer  http.HandlerFunc
		status  int
		problem string // part of it; empty: success
		answers string // part of the answer
	}{
		"200":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }, 200, "", "ok"},
		"204":         {status(http.StatusNoContent), 204, "", ""},
		"404":         {status(http.StatusNotFound), 404, "404 Not Found", ""},
		"unknown 4xx": {status(499), 499, "It answered 499.", ""},
		"500": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte("<b>bad\x00\xff</b>"))
		}, 500, "500 Internal Server Error", "<b>bad�</b>"},
		"hang": {hang, 0, "no answer within", ""},
		"drop": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, 0, "closed the connection", ""},
		"nonsense": {func(w http.ResponseWriter, _ *http.Request) {
			conn, b, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = b.WriteString("220 mail.example.com ESMTP\r\n")
				_ = b.Flush()
				_ = conn.Close()
			}
		}, 0, "no valid answer", ""},
		"endless headers": {func(w http.ResponseWriter, _ *http.Request) {
			for range 200 {
				w.Header().Add("X-Filler", strings.Repeat("x", 1000))
			}
		}, 0, "no valid answer", ""},
		"slow body": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("beginning"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, 200, "", "beginning"},
		"huge body": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100_000 {
				if _, err := w.Write([]byte(strings.Repeat("é", 1000))); err != nil {
					return
				}
			}
		}, 200, "", "ééé"},
		"broken body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("short"))
		}, 200, "", "short"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t)
			r.answers(tt.answer)
			timeout := time.Minute
			if name == "hang" || name == "slow body" {
				timeout = 500 * time.Millisecond
			}
			got := newClient(t, "127.0.0.1", timeout).Send(t.Context(), slackAt(r.URL), "id", 0, "{}")
			if got.Status != tt.status || !strings.Contains(got.Problem, tt.problem) ||
				(got.Problem == "") != (tt.problem == "") || !strings.Contains(got.Answer, tt.answers) {
				t.Errorf("got %+v, want status %d and %q", got, tt.status, tt.problem)
			}
			if len(got.Answer) > 2048 {
				t.Errorf("got %d bytes of the answer, want at most 2048", len(got.Answer))
			}
		})
	}
}

// TestRedirect checks that a redirect is a failure and is not followed.
func TestRedirect(t *testing.T) {
	t.Parallel()
	inside, r := newReceiver(t), newReceiver(t)
	for _, code := range []int{301, 302, 303, 307, 308} {
		r.answers(func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, inside.URL+"/admin", code) })
		got := newClient(t, "127.0.0.1", 0).Send(t.Context(), slackAt(r.URL), "id", 0, "{}")
		if got.Status != code || !strings.Contains(got.Problem, "does not follow redirects") {
			t.Errorf("%d: got %+v, want a failure", code, got)
		}
	}
	if got := inside.got(); len(got) != 0 {
		t.Errorf("got %d requests where it redirects to, want none", len(got))
	}
}

// TestUnreachable checks the messages for receivers that cannot be reached. They do not contain the
// path of the address, which may be a secret.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	tls := httptest.NewTLSServer(status(http.StatusOK))
	t.Cleanup(tls.Close)
	for address, want := range map[string]string{
		tls.URL:                        "signed by an authority",
		crashtest.NobodyListens:        "refused",
		"https://no-such-host.invalid": "cannot be resolved",
		strings.Replace(tls.URL, "https", "http", 1): "400",
	} {
		got := newClient(t, "127.0.0.1", 0).Send(t.Context(), slackAt(address+"/s3cret"), "id", 0, "{}")
		if !strings.Contains(got.Problem, want) || strings.Contains(got.Problem+got.Answer, "s3cret") {
			t.Errorf("%s: got %+v, want %q", address, got, want)
		}
	}
}

// TestPrivateNetworks checks that no request reaches a private address, under any name, unless the
// configuration permits it.
func TestPrivateNetworks(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	port := r.URL[strings.LastIndexByte(r.URL, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::]",
		"[64:ff9b::7f00:1]", "[2002:7f00:1::]", "2130706433", "127.0.0.1.", "0x7f.1"} {
		got := newClient(t, "10.0.0.0/8", 0).Send(t.Context(), slackAt("http://"+host+port+"/"), "id", 0, "{}")
		if got.Status != 0 || got.Problem == "" {
			t.Errorf("%s: got %+v, want a refusal", host, got)
		}
	}
	if got := r.got(); len(got) != 0 {
		t.Fatalf("got %d requests, want none", len(got))
	}
	got := newClient(t, "", 0).Send(t.Context(), slackAt("http://localhost"+port), "id", 0, "{}")
	if !strings.Contains(got.Problem, "webhook_allow_networks") {
		t.Errorf("got %q, want the name of the key", got.Problem)
	}
	if got := newClient(t, "127.0.0.0/8, ::1", 0).Send(t.Context(), slackAt("http://localhost"+port), "id", 0,
		"{}"); got.Status != 200 {
		t.Errorf("permitted: got %+v", got)
	}
}

// TestNetworks checks single addresses.
func TestNetworks(t *testing.T) {
	t.Parallel()
	list, err := crash.ParseNetworks("10.1.0.0/16 fd00:1::/32 192.168.7.7")
	checktest.NoError(t, err)
	allow := webhook.Networks(list)
	for address, public := range map[string]bool{
		"93.184.215.14": true, "10.1.2.3": true, "fd00:1::5": true, "192.168.7.7": true, "2606:2800:21f::1": true,
		"::ffff:10.1.2.3": true, "::ffff:8.8.8.8": true,
		"10.2.0.1": false, "127.0.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false,
		"169.254.169.254": false,
		"172.16.0.1":      false, "172.31.255.255": false, "192.168.7.8": false, "192.0.0.1": false, "192.88.99.1": false,
		"198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::": false, "::1": false, "::127.0.0.1": false, "::ffff:127.0.0.1": false, "::ffff:192.168.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false,
		"fc00::1": false, "fd00:2::1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "ff02::1": false,
		"100::1": false, "3fff::1": false, "4000::1": false,
	} {
		at := address + ":443"
		if strings.Contains(address, ":") {
			at = "[" + address + "]:443"
		}
		err := allow.Check(at)
		_, refused := errors.AsType[*webhook.RefusedError](err)
		if (err == nil) != public || refused == public {
			t.Errorf("%s: got %v, want public %v", address, err, public)
		}
	}
	for _, bad := range []string{"x", "10.0.0.0/33", "::ffff:10.0.0.0/104", "fe80::1%eth0"} {
		if _, err := crash.ParseNetworks(bad); err == nil {
			t.Errorf("Parse(%q): got no error", bad)
		}
	}
}

// childVariable is set in the child process of the test below.
const childVariable = "WEBHOOK_TEST_CHILD"

// TestProxyOfEnvironment checks that a proxy in the environment is not used: it would reach addresses
// that are refused. Go reads the environment once per process, so another one makes the request. The
// name cannot be resolved, but a proxy would get it.
func TestProxyOfEnvironment(t *testing.T) {
	t.Parallel()
	if os.Getenv(childVariable) != "" {
		got := newClient(t, "127.0.0.1", 0).Send(t.Context(), slackAt("http://receiver.invalid/"), "id", 0, "{}")
		if !strings.Contains(got.Problem, "cannot be resolved") {
			t.Errorf("got %+v, want that the name cannot be resolved", got)
		}
		return
	}
	proxy := newReceiver(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyOfEnvironment$", "-test.v")
	cmd.Env = append(os.Environ(), "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=",
		childVariable+"=yes")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestProxyOfEnvironment") {
		t.Errorf("%v\n%s", err, out)
	}
	if got := proxy.got(); len(got) != 0 {
		t.Errorf("the proxy got %+v, want nothing", got)
	}
}

// hostile is text that tries to be markup or a mention in every format.
const hostile = "<!channel> @here @channel @everyone @all <https://evil.example|x> & | [y](http://evil.example) " +
	"![z](http://evil.example/z.png) `a` **b** _c_ ~~d~~ # <script>alert(1)</script> \"'\x00\x1b[31m\u2028\r\nEvil: header"

// hostileClaim returns a delivery whose texts are hostile and long.
func hostileClaim(kind crash.EndpointKind, events int) crash.DeliveryClaim {
	bucket := crash.BucketIDOf("x")
	e := crash.Event{ID: 7, Kind: crash.EventRegressed, At: newClock().Now(), Bucket: &bucket,
		Title: strings.Repeat(hostile, 50), Text: strings.Repeat("\"\\ "+hostile, 50), Package: hostile,
		Source: strings.Repeat(hostile, 9), Release: crash.Release(hostile), Version: strings.Repeat("9", 5000),
		Machines: 12}
	claim := crash.DeliveryClaim{Delivery: crash.Delivery{ID: "id", Event: e}, To: crash.Endpoint{Kind: kind}}
	for range events {
		e.Title = strings.Repeat("\"\\漢", 500)
		claim.Summarised = append(claim.Summarised, e)
	}
	return claim
}

// TestPayloads checks every format with hostile text: it contains no markup of the event and no
// mention, is below 20 kB, and is the same each time.
func TestPayloads(t *testing.T) {
	t.Parallel()
	c := newClient(t, "", 0)
	for _, kind := range crash.EndpointKinds {
		for _, events := range []int{0, 20} {
			claim := hostileClaim(kind, events)
			payload := c.Payload(claim)
			if !json.Valid([]byte(payload)) || len(payload) > 20_000 || payload != c.Payload(claim) {
				t.Errorf("%s: got %d bytes: %s", kind, len(payload), payload)
			}
			if strings.ContainsAny(payload, "\x00\x1b") || strings.Contains(payload, `\u001b`) {
				t.Errorf("%s: got control characters", kind)
			}
			if kind == crash.EndpointWebhook {
				continue // the receiver renders it
			}
			for _, mention := range []string{"@here", "@channel", "@everyone", "@all"} {
				if strings.Contains(payload, mention) {
					t.Errorf("%s: got the mention %s in %s", kind, mention, payload)
				}
			}
		}
	}
	slack := textOf(t, c.Payload(hostileClaim(crash.EndpointSlack, 1)), "text")
	if n := strings.Count(slack, "<"); n != 2 || strings.Count(slack, ">") != 2 || strings.Count(slack, "|") != 2 {
		t.Errorf("slack: got %d links, want 2 in %s", n, slack)
	}
	mattermost := textOf(t, c.Payload(hostileClaim(crash.EndpointMattermost, 0)), "text")
	for _, markup := range []string{"](http://evil", "**b", "<", "~~", " `a"} {
		if strings.Contains(mattermost, markup) {
			t.Errorf("mattermost: got %q in %s", markup, mattermost)
		}
	}
	formatted := textOf(t, c.Payload(hostileClaim(crash.EndpointMatrix, 1)), "formatted_body")
	tokens := html.NewTokenizer(strings.NewReader(formatted))
	for tokens.Next() != html.ErrorToken {
		if name, _ := tokens.TagName(); !strings.Contains(" a strong br ul li ", " "+string(name)+" ") && len(name) > 0 {
			t.Errorf("matrix: got element %q in %s", name, formatted)
		}
	}
}

func textOf(t *testing.T, payload, name string) string {
	t.Helper()
	var all map[string]any
	checktest.NoError(t, json.Unmarshal([]byte(payload), &all))
	text, ok := all[name].(string)
	if !ok {
		t.Fatalf("no text %q in %s", name, payload)
	}
	return text
}

// TestFormats checks the texts of an ordinary event.
func TestFormats(t *testing.T) {
	t.Parallel()
	bucket := crash.BucketIDOf("x")
	e := crash.Event{ID: 7, Kind: crash.EventRegressed, At: newClock().Now(), Bucket: &bucket,
		Title: "zsh crashed in a_b()",
		Text:  "Seen again in 5.9-2.", Package: "zsh", Source: "zsh", Release: "Ubuntu 26.04", Version: "5.9-2", Machines: 12}
	c, link := newClient(t, "", 0), "https://crashes.example.com"+bucket.Path()
	for kind, want := range map[crash.EndpointKind]string{
		crash.EndpointWebhook: `{"type":"problem.regressed","timestamp":"2026-11-22T12:00:00Z","data":{"event":7,` +
			`"title":"zsh crashed in a_b()","text":"Seen again in 5.9-2.","problem":"` + bucket.String() + `","package":"zsh",` +
			`"source_package":"zsh","release":"Ubuntu 26.04","version":"5.9-2","machines":12,"url":"` + link + `"}}`,
		crash.EndpointSlack: `{"link_names":false,"text":"Regression: <` + link +
			`|zsh crashed in a_b()>\nSeen again in 5.9-2.\n` +
			`Package: zsh · Release: Ubuntu 26.04 · Version: 5.9-2 · Machines: 12","unfurl_links":false}`,
		crash.EndpointMattermost: `{"attachments":[{"fallback":"Regression – zsh crashed in a_b()","fields":[` +
			`{"title":"Package","value":"zsh","short":true},{"title":"Release","value":"Ubuntu 26.04","short":true},` +
			`{"title":"Version","value":"5.9-2","short":true},{"title":"Machines","value":"12","short":true}],` +
			`"text":"Seen again in 5.9-2."}],"channel":"ops","text":"Regression – [zsh crashed in a\\_b\\(\\)](` + link + `)",` +
			`"username":"mishap"}`,
		crash.EndpointMatrix: `{"body":"Regression: zsh crashed in a_b()\nSeen again in 5.9-2.\nPackage: zsh · Release: Ubuntu 26.04` +
			` · Version: 5.9-2 · Machines: 12\n` + link + `","format":"org.matrix.custom.html","formatted_body":` +
			`"<strong>Regression</strong>: <a href=\"` + link + `\">zsh crashed in a_b()</a><br>Seen again in 5.9-2.<br>` +
			`Package: zsh · Release: Ubuntu 26.04 · Version: 5.9-2 · Machines: 12","m.mentions":{},"msgtype":"m.notice"}`,
	} {
		claim := crash.DeliveryClaim{Delivery: crash.Delivery{Event: e}, To: crash.Endpoint{Kind: kind, Channel: "ops"}}
		if got := c.Payload(claim); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", kind, got, want)
		}
	}
}

// TestEveryKindHasAType checks that no kind of event was forgotten.
func TestEveryKindHasAType(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{webhook.TypeTest: true}
	for _, kind := range crash.EventKinds {
		if name := webhook.EventType(kind); name == "" || seen[name] {
			t.Errorf("%s: got type %q, want one of its own", kind, name)
		} else {
			seen[name] = true
		}
	}
}

// TestCheckSettings checks settings that are refused, and the host that pages show.
func TestCheckSettings(t *testing.T) {
	t.Parallel()
	good := crash.Endpoint{Name: "ops", Kind: crash.EndpointSlack, PerMinute: 20,
		Address: "https://hooks.slack.example/services/T0/B0/s3cret"}
	if wrong := webhook.CheckSettings(&good, true); len(wrong) > 0 || good.Host != "https://hooks.slack.example" {
		t.Errorf("got %v, host %q", wrong, good.Host)
	}
	for name, tt := range map[string]struct {
		change func(*crash.Endpoint)
		field  string
	}{
		"no name":    {func(e *crash.Endpoint) { e.Name = "" }, "name"},
		"long name":  {func(e *crash.Endpoint) { e.Name = strings.Repeat("x", 61) }, "name"},
		"control":    {func(e *crash.Endpoint) { e.Name = "a\x00b" }, "name"},
		"no address": {func(e *crash.Endpoint) { e.Address = "" }, "address"},
		"file":       {func(e *crash.Endpoint) { e.Address = "file:///etc/passwd" }, "address"},
		"gopher":     {func(e *crash.Endpoint) { e.Address = "gopher://a.example/" }, "address"},
		"no host":    {func(e *crash.Endpoint) { e.Address = "https:///x" }, "address"},
		"fragment":   {func(e *crash.Endpoint) { e.Address = "https://a.example/#x" }, "address"},
		"limit 0":    {func(e *crash.Endpoint) { e.PerMinute = 0 }, "per_minute"},
		"limit":      {func(e *crash.Endpoint) { e.PerMinute = 601 }, "per_minute"},
		"no room":    {func(e *crash.Endpoint) { e.Kind, e.Secret = crash.EndpointMatrix, "t" }, "channel"},
		"alias": {func(e *crash.Endpoint) { e.Kind, e.Secret, e.Channel = crash.EndpointMatrix, "t", "#a:b" },
			"channel"},
		"no token":      {func(e *crash.Endpoint) { e.Kind, e.Channel = crash.EndpointMatrix, "!a:b" }, "secret"},
		"header inside": {func(e *crash.Endpoint) { e.Secret = "a\r\nX-Evil: 1" }, "secret"},
		"channel":       {func(e *crash.Endpoint) { e.Kind, e.Channel = crash.EndpointMattermost, "a b" }, "channel"},
	} {
		e := good
		tt.change(&e)
		if wrong := webhook.CheckSettings(&e, true); wrong[tt.field] == "" || len(wrong) != 1 {
			t.Errorf("%s: got %v, want a message about %s", name, wrong, tt.field)
		}
	}
}
