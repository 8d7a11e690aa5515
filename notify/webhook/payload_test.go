package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mishap/crash"
	"mishap/notify/webhook"
)

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
	if err := json.Unmarshal([]byte(payload), &all); err != nil {
		t.Fatal(err)
	}
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
