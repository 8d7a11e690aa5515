package handlers

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	chimw "github.com/go-chi/chi/v5/middleware"
)

func TestPercentDecoded(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                        "",
		"/usr/bin/foo:11:a:b":     "/usr/bin/foo:11:a:b",
		"%2Fusr%2fbin:11:a%20b":   "/usr/bin:11:a b",
		"100%":                    "100%",
		"100%2":                   "100%2",
		"%zz%+1%-1%_1":            "%zz%+1%-1%_1",
		"a+b%2Bc":                 "a+b+c",
		"%2525":                   "%25",
		"%C3%A9%0A%22":            "é\n\"",
		"%FF":                     "\xff",
		"%":                       "%",
		"%%41":                    "%A",
		"encodeURIComponent%3A é": "encodeURIComponent: é",
	} {
		if got := percentDecoded(sent); got != want {
			t.Errorf("percentDecoded(%q): got %q, want %q", sent, got, want)
		}
	}
}

func TestShapeOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, accept, contentType, requestType string
		want                                   shape
	}{
		{"/", "text/html,*/*", "", "", shapePage},
		{"/", "", "", "", shapePage},
		{"/", "*/*", "", "", shapePage},
		{"/", "application/json", "", "", shapeJSON},
		{"/", "text/html", "", "partial", shapePart},
		{"/", "text/html", "", "full", shapePage},
		{"/api/1.0/x", "*/*", "", "", shapeJSON},
		{"/api/1.0/x", "text/html,application/xhtml+xml,*/*;q=0.8", "", "", shapeJSON},
		{"/api/1.0/x", "*/*", "application/json", "", shapeJSON},
		{"/api/1.0/x", "*/*", "application/x-www-form-urlencoded", "", shapeJSON},
		{"/api/1.0/create-bug-report/", "*/*", "application/x-www-form-urlencoded", "", shapePage},
		{"/api/1.0/x", "application/json", "application/x-www-form-urlencoded", "", shapeJSON},
		{"/api/1.0/x", "text/html", "application/json", "partial", shapePart},
		{"/apix", "*/*", "", "", shapePage},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.path, nil)
		r.Header.Set("Accept", tt.accept)
		r.Header.Set("Content-Type", tt.contentType)
		r.Header.Set("HX-Request-Type", tt.requestType)
		if got := shapeOf(r); got != tt.want {
			t.Errorf("%+v: got %v, want %v", tt, got, tt.want)
		}
	}
}

func TestSecure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		peer, proto string
		tls, want   bool
	}{
		{"127.0.0.1:1", "", false, false},
		{"127.0.0.1:1", "https", false, true},
		{"127.0.0.1:1", "HTTPS", false, true},
		{"127.0.0.1:1", "http", false, false},
		{"[::1]:1", "https", false, true},
		{"[::ffff:10.0.0.1]:1", "https", false, true},
		{"192.168.1.1:1", "https", false, true},
		{"192.0.2.1:1", "https", false, false},
		{"192.0.2.1:1", "", true, true},
		{"nonsense", "https", false, false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = tt.peer
		r.Header.Set("X-Forwarded-Proto", tt.proto)
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if got := secure(r); got != tt.want {
			t.Errorf("%+v: got %v, want %v", tt, got, tt.want)
		}
	}
}

func TestParseBase(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://localhost:8080":            "http://localhost:8080",
		"http://localhost:8080/":           "http://localhost:8080",
		"https://Crashes.Example.ORG:443/": "https://crashes.example.org",
		"http://example.org:80":            "http://example.org",
		"http://example.org:443":           "http://example.org:443",
		"":                                 "",
		"localhost:8080":                   "",
		"ftp://example.org":                "",
		"http://":                          "",
		"http://[::1":                      "",
	} {
		got := ""
		if u, err := parseBase(address); err == nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("parseBase(%q): got %q, want %q", address, got, want)
		}
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := New(Deps{Config: Config{BaseURL: "nonsense"}, Now: time.Now})
	want := "handlers: base address \"nonsense\" is not an http or https address\n" +
		"handlers: missing: Store, Accounts, Filer, Tracker, Credentials, WriteTokens, Log, Registerer"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ peer, forwarded, want string }{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.7", "192.0.2.1"},
		{"127.0.0.1:5", "", "127.0.0.1"},
		{"127.0.0.1:5", "198.51.100.7", "198.51.100.7"},
		{"127.0.0.1:5", "203.0.113.9, 198.51.100.7, 10.0.0.1", "198.51.100.7"},
		{"127.0.0.1:5", "nonsense", "127.0.0.1"},
		{"[::ffff:192.0.2.1]:5", "", "192.0.2.1"},
		{"[2001:db8:1:2:3:4:5:6]:5", "", "2001:db8:1:2::/64"},
		{"[2001:db8:1:2:ffff::]:5", "", "2001:db8:1:2::/64"},
		{"[fe80::1%eth0]:5", "", "fe80::/64"},
		{"nonsense", "", ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/login", nil)
		r.RemoteAddr = tt.peer
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		var got string
		chimw.ClientIPFromXFF(trustedProxies...)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = clientAddress(r)
		})).ServeHTTP(httptest.NewRecorder(), r)
		if got != tt.want {
			t.Errorf("%s, forwarded %q: got %q, want %q", tt.peer, tt.forwarded, got, tt.want)
		}
	}
}
