package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestShapeOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, accept, contentType, requestType string
		want                                   answerFormat
	}{
		{"/", "text/html,*/*", "", "", formatPage},
		{"/", "", "", "", formatPage},
		{"/", "*/*", "", "", formatPage},
		{"/", "application/json", "", "", formatJSON},
		{"/", "text/html", "", "partial", formatPart},
		{"/", "text/html", "", "full", formatPage},
		{"/api/1.0/x", "*/*", "", "", formatJSON},
		{"/api/1.0/x", "text/html,application/xhtml+xml,*/*;q=0.8", "", "", formatJSON},
		{"/api/1.0/x", "*/*", "application/json", "", formatJSON},
		{"/api/1.0/x", "*/*", "application/x-www-form-urlencoded", "", formatJSON},
		{"/api/1.0/create-bug-report/", "*/*", "application/x-www-form-urlencoded", "", formatPage},
		{"/api/1.0/x", "application/json", "application/x-www-form-urlencoded", "", formatJSON},
		{"/api/1.0/x", "text/html", "application/json", "partial", formatPart},
		{"/apix", "*/*", "", "", formatPage},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.path, nil)
		r.Header.Set("Accept", tt.accept)
		r.Header.Set("Content-Type", tt.contentType)
		r.Header.Set("HX-Request-Type", tt.requestType)
		if got := formatOf(r); got != tt.want {
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
