package trackertest_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/tracker/trackertest"
)

const signedEmpty = "oauth_consumer_key=app&oauth_signature_method=PLAINTEXT&oauth_signature=%26"

func (b *browser) form(path string, body string, header ...string) answer {
	b.t.Helper()
	return b.do(http.MethodPost, path, body, append([]string{"Content-Type", formType}, header...)...)
}

func TestRequestTokens(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	tests := []struct {
		name, path, body string
		status           int
		challenge        bool
	}{
		{"good", "/+request-token", signedEmpty, 200, false},
		{"no consumer", "/+request-token", strings.Replace(signedEmpty, "=app", "=", 1), 401, true},
		{"wrong signature", "/+request-token", signedEmpty + "x", 401, true},
		{"no signature", "/+request-token", "oauth_consumer_key=app&oauth_signature_method=PLAINTEXT", 401, true},
		{"encoded twice", "/+request-token", strings.Replace(signedEmpty, "%26", "%2526", 1), 401, true},
		{"another method", "/+request-token", strings.Replace(signedEmpty, "PLAINTEXT", "HMAC-SHA1", 1), 400, false},
		{"no method", "/+request-token", "oauth_consumer_key=app&oauth_signature=%26", 400, false},
		{"a trailing slash", "/+request-token/", signedEmpty, 404, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := b.form(tt.path, tt.body)
			if got.status != tt.status || (got.header.Get("WWW-Authenticate") != "") != tt.challenge {
				t.Errorf("got %d, challenge %q, want %d, challenge %v", got.status, got.header.Get("WWW-Authenticate"), tt.status,
					tt.challenge)
			}
			if tt.status == 401 && got.body != "" {
				t.Errorf("got body %q, want none", got.body)
			}
		})
	}
	if got := b.form("/+request-token", signedEmpty, "Accept",
		"application/json"); got.header.Get("Content-Type") != "application/json" || !strings.Contains(got.body,
		`"WRITE_PUBLIC"`) {
		t.Errorf("as JSON: got %s %s", got.header.Get("Content-Type"), got.body)
	}
	// A GET request seems to work but stores nothing, as in Launchpad.
	values, err := url.ParseQuery(b.do(http.MethodGet, "/+request-token?"+signedEmpty, "").body)
	if err != nil || values.Get("oauth_token") == "" {
		t.Fatalf("by GET: got %v, %v", values, err)
	}
	if b.lp.Authorize(values.Get("oauth_token"), "WRITE_PUBLIC") {
		t.Error("by GET: got a token that exists, want none")
	}
}

// TestAuthorizePage decides as a person with a browser would, using only forms.
func TestAuthorizePage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	request := func() url.Values {
		t.Helper()
		values, err := url.ParseQuery(b.form("/+request-token", signedEmpty).body)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	exchange := func(v url.Values) answer {
		t.Helper()
		return b.form("/+access-token", "oauth_consumer_key=app&oauth_signature_method=PLAINTEXT&oauth_token="+
			v.Get("oauth_token")+"&oauth_signature=%26"+v.Get("oauth_token_secret"))
	}
	first := request()
	page := b.do(http.MethodGet, "/+authorize-token?oauth_token="+first.Get("oauth_token"), "")
	for _, part := range []string{"field.actions.UNAUTHORIZED", "field.actions.WRITE_PUBLIC",
		`name="oauth_token" value="` + first.Get("oauth_token"), "<b>app</b>"} {
		if !strings.Contains(page.body, part) {
			t.Errorf("the page does not contain %q:\n%s", part, page.body)
		}
	}
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
		strings.Contains(page.body, "<script") {
		t.Errorf("got policy %q", policy)
	}
	decide := func(v url.Values, level, more string) answer {
		t.Helper()
		return b.form("/+authorize-token", "oauth_token="+v.Get("oauth_token")+"&field.actions."+level+"=x"+more)
	}
	if got := decide(first, "WRITE_PUBLIC", ""); got.status != 200 || !strings.Contains(got.body, "Almost finished") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := decide(first, "UNAUTHORIZED", ""); !strings.Contains(got.body, "decided already") {
		t.Errorf("deciding twice: got %s", got.body)
	}
	if got := exchange(first); got.status != 200 || !strings.HasSuffix(got.body, "&lp.context=None") {
		t.Errorf("exchange: got %d %s", got.status, got.body)
	}
	if got := exchange(first); got.status != 401 || got.body != "No request token specified." {
		t.Errorf("second exchange: got %d %s", got.status, got.body)
	}
	second := request()
	callback := "https://mishap.example/back?state=1"
	if got := decide(second, "UNAUTHORIZED", "&oauth_callback="+url.QueryEscape(callback)); got.status != 303 ||
		got.header.Get("Location") != callback {
		t.Errorf("callback: got %d %s", got.status, got.header.Get("Location"))
	}
	for range 2 {
		if got := exchange(second); got.status != 403 || got.body != "End-user refused to authorize request token." {
			t.Errorf("after No Access: got %d %s", got.status, got.body)
		}
	}
	third := request()
	b.lp.Advance(2*time.Hour + time.Second)
	if got := decide(third, "WRITE_PUBLIC", ""); !strings.Contains(got.body, "expired") {
		t.Errorf("too late: got %s", got.body)
	}
	if got := exchange(third); got.status != 401 {
		t.Errorf("undecided and too late: got %d %s, want a permanent 401", got.status, got.body)
	}
	restricted := b.do(http.MethodGet, "/+authorize-token?allow_permission=READ_PUBLIC&oauth_token="+
		request().Get("oauth_token"), "")
	if strings.Contains(restricted.body, "WRITE_PUBLIC") && !strings.Contains(restricted.body, "expired") {
		t.Errorf("restricted: got %s", restricted.body)
	}
}

// TestExchangeReadsTheFormOnly checks that consumer key and token are read only from the form.
func TestExchangeReadsTheFormOnly(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	v, err := url.ParseQuery(b.form("/+request-token", signedEmpty).body)
	if err != nil {
		t.Fatal(err)
	}
	b.lp.Authorize(v.Get("oauth_token"), "WRITE_PUBLIC")
	got := b.form("/+access-token", "", "Authorization", sign("app", v.Get("oauth_token"), v.Get("oauth_token_secret")))
	if got.status != 401 || got.body != "" {
		t.Errorf("got %d %q, want 401 and an empty body", got.status, got.body)
	}
}

// TestPages checks that the web pages show any bug, whatever its text.
func TestPages(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	n := b.lp.Add(trackertest.Bug{Title: "<script>alert(1)</script>", Description: "one\n  two & <three>", Package: "bash",
		Tags: []string{"noble"}})
	for _, path := range []string{"/bugs/2100001", "/ubuntu/+source/bash/+bug/2100001"} {
		got := b.do(http.MethodGet, path, "")
		if got.status != 200 || strings.Contains(got.body, "<script") || !strings.Contains(got.body, "&lt;script&gt;") ||
			!strings.Contains(got.body, "<pre>one\n  two &amp; &lt;three&gt;</pre>") || !strings.Contains(got.body, "noble") {
			t.Errorf("%s: got %d\n%s", path, got.status, got.body)
		}
	}
	if got := b.do(http.MethodGet, "/", ""); !strings.Contains(got.body, `href="/bugs/2100001"`) {
		t.Errorf("got no link to bug %d:\n%s", n, got.body)
	}
	if got := b.do(http.MethodGet, "/bugs/7", ""); got.status != 404 {
		t.Errorf("got %d, want 404", got.status)
	}
}
