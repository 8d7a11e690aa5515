package handlers

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
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
