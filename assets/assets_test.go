package assets_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mishap/assets"
)

// htmxSHA256 is the checksum of dist/htmx.min.js in htmx.org 4.0.1 on npm.
const htmxSHA256 = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"

func TestVendoredHTMX(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("static/htmx-4.0.1.min.js")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); got != htmxSHA256 {
		t.Errorf("sha256 of htmx-4.0.1.min.js: got %s, want %s", got, htmxSHA256)
	}
	if _, err := os.Stat("static/htmx-4.0.1.LICENSE.txt"); err != nil {
		t.Errorf("the licence of htmx must stay beside it: %v", err)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	want := regexp.MustCompile(`^/assets/app\.[0-9a-f]{8}\.css$`)
	if got := assets.URL("app.css"); !want.MatchString(got) {
		t.Errorf(`URL("app.css"): got %q, want a match of %s`, got, want)
	}
	if got, want := assets.URL("no-such.css"), "/assets/no-such.css"; got != want {
		t.Errorf(`URL("no-such.css"): got %q, want %q`, got, want)
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	scripts := assets.Scripts()
	if len(scripts) != 2 || !strings.HasPrefix(scripts[0], "/assets/htmx-4.0.1.min.") {
		t.Fatalf("Scripts: got %q, want htmx first", scripts)
	}
	for _, url := range scripts {
		if status, _, _ := get(t, assets.Handler("", nil), url); status != http.StatusOK {
			t.Errorf("GET %s: got %d, want 200", url, status)
		}
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	h := assets.Handler("", nil)
	for _, name := range []string{"app.css", "app.js", "htmx-4.0.1.min.js", "icon.svg"} {
		status, header, body := get(t, h, assets.URL(name))
		if status != http.StatusOK || body == "" {
			t.Errorf("GET %s: got %d with %d bytes, want 200 and content", name, status, len(body))
		}
		if got, want := header.Get("Cache-Control"), "public, max-age=31536000, immutable"; got != want {
			t.Errorf("GET %s: got Cache-Control %q, want %q", name, got, want)
		}
	}
	_, header, sheet := get(t, h, assets.URL("app.css"))
	if strings.Contains(sheet, "/*") || strings.Contains(sheet, "\n\t") || !strings.Contains(sheet, "\n--page:") {
		t.Errorf("app.css: got %.300q…, want the styles without comments and indentation", sheet)
	}
	if got, want := header.Get("Content-Type"), "text/css; charset=utf-8"; got != want {
		t.Errorf("app.css: got Content-Type %q, want %q", got, want)
	}
	h = assets.Handler("", func(header string) bool { return header == "gzip" })
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, assets.URL("app.css"), nil)
	r.Header.Set("Accept-Encoding", "gzip")
	h.ServeHTTP(w, r)
	if plain, err := gzip.NewReader(w.Body); err != nil || w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("app.css for a browser with gzip: got %v, %v", w.Header(), err)
	} else if content, err := io.ReadAll(plain); err != nil || string(content) != sheet {
		t.Errorf("app.css for a browser with gzip: got %.100q…, %v, want the same styles", content, err)
	}
	for _, url := range []string{
		"/assets/app.00000000.css", "/assets/app.css", "/assets/", "/assets/../assets.go", "/assets/css/10-tokens.css",
		"/elsewhere",
	} {
		if status, _, _ := get(t, h, url); status != http.StatusNotFound {
			t.Errorf("GET %s: got %d, want 404", url, status)
		}
	}
}

func TestHandlerFromDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "css"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := assets.Handler(dir, nil)
	sheet := filepath.Join(dir, "css", "10-a.css")
	for _, text := range []string{"body { color: red }", "body { color: green }"} {
		if err := os.WriteFile(sheet, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		status, header, body := get(t, h, assets.URL("app.css"))
		if status != http.StatusOK || strings.TrimSpace(body) != text {
			t.Errorf("app.css from disk: got %d %q, want 200 %q", status, body, text)
		}
		if got, want := header.Get("Cache-Control"), "no-store"; got != want {
			t.Errorf("app.css from disk: got Cache-Control %q, want %q", got, want)
		}
	}
	if status, _, _ := get(t, h, assets.URL("icon.svg")); status != http.StatusNotFound {
		t.Errorf("a missing file: got %d, want 404", status)
	}
}

func get(t *testing.T, h http.Handler, url string) (int, http.Header, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, w.Header(), string(body)
}
