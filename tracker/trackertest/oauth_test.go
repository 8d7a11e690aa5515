package trackertest_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const signedEmpty = "oauth_consumer_key=app&oauth_signature_method=PLAINTEXT&oauth_signature=%26"

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
	decide := func(v url.Values, level string) answer {
		t.Helper()
		return b.form("/+authorize-token", "oauth_token="+v.Get("oauth_token")+"&field.actions."+level+"=x")
	}
	first := request()
	page := b.do(http.MethodGet, "/+authorize-token?oauth_token="+first.Get("oauth_token"), "")
	for _, part := range []string{"field.actions.UNAUTHORIZED", "field.actions.WRITE_PUBLIC",
		`name="oauth_token" value="` + first.Get("oauth_token"), "<b>app</b>"} {
		if !strings.Contains(page.body, part) {
			t.Errorf("the page does not contain %q:\n%s", part, page.body)
		}
	}
	if got := decide(first, "WRITE_PUBLIC"); got.status != 200 || !strings.Contains(got.body, "Almost finished") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := decide(first, "UNAUTHORIZED"); !strings.Contains(got.body, "decided already") {
		t.Errorf("deciding twice: got %s", got.body)
	}
	if got := exchange(first); got.status != 200 || !strings.HasSuffix(got.body, "&lp.context=None") {
		t.Errorf("exchange: got %d %s", got.status, got.body)
	}
	if got := exchange(first); got.status != 401 || got.body != "No request token specified." {
		t.Errorf("second exchange: got %d %s", got.status, got.body)
	}
	second := request()
	decide(second, "UNAUTHORIZED")
	for range 2 {
		if got := exchange(second); got.status != 403 || got.body != "End-user refused to authorize request token." {
			t.Errorf("after No Access: got %d %s", got.status, got.body)
		}
	}
	third := request()
	b.lp.Advance(2*time.Hour + time.Second)
	if got := decide(third, "WRITE_PUBLIC"); !strings.Contains(got.body, "expired") {
		t.Errorf("too late: got %s", got.body)
	}
	if got := exchange(third); got.status != 401 {
		t.Errorf("undecided and too late: got %d %s, want a permanent 401", got.status, got.body)
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

func TestAuthentication(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	revoked, denied := b.lp.Token("app"), b.lp.TokenOf("app", "UNAUTHORIZED")
	b.lp.Revoke(revoked.Token)
	key, secret := b.token.Token, string(b.token.Secret)
	spaced := b.lp.Token("my app")
	tests := []struct {
		name, header string
		status       int
		body         string
	}{
		{"good", b.signature(), 303, ""},
		{"nobody", "", 401, "You need to be logged in to view this URL."},
		{"scheme in small letters", strings.Replace(b.signature(), "OAuth", "oauth", 1), 401, "You need to be logged in to " +
			"view this URL."},
		{"unknown consumer", sign("who", key, secret), 401, "Unknown consumer (who)."},
		{"unknown token", sign("app", "nokey", secret), 401, "Unknown access token (nokey)."},
		{"another consumer's token", sign("my%20app", key, secret), 401, "Unknown access token (" + key + ")."},
		{"wrong secret", sign("app", key, "no"), 401, "Invalid signature."},
		{"encoded twice", strings.Replace(b.signature(), "%26", "%2526", 1), 401, "Invalid signature."},
		{"revoked", sign("app", revoked.Token, string(revoked.Secret)), 401, "Expired token (" + revoked.Token + ")."},
		{"no access", sign("app", denied.Token, string(denied.Secret)), 401, "Unauthorized token (" + denied.Token + ")."},
		{"blank as %20", sign("my%20app", spaced.Token, string(spaced.Secret)), 303, ""},
		{"plus is a plus", sign("my+app", spaced.Token, string(spaced.Secret)), 401, "Unknown consumer (my+app)."},
		{"not quoted", "OAuth oauth_token=x", 500, "ValueError"},
		{"empty token", sign("app", "", ""), 401, "You need to be logged in to view this URL."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := b.do(http.MethodGet, "/devel/people/+me", "", "Authorization", tt.header)
			if got.status != tt.status || got.body != tt.body {
				t.Errorf("got %d %q, want %d %q", got.status, got.body, tt.status, tt.body)
			}
		})
	}
}
