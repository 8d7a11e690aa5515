package handlers_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// TestPageCache checks that visitors get the same page until something on it changes, and that
// signed-in people get their own.
func TestPageCache(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	for _, path := range []string{"/", "/?period=day", "/search?q=tide", "/package/tidewatch", id.Path()} {
		first := p.Visitor(t).Get(path).Want(http.StatusOK)
		tag := first.Header.Get("ETag")
		again := p.Visitor(t).Get(path).Want(http.StatusOK)
		if tag == "" || again.Header.Get("ETag") != tag || again.Body != first.Body ||
			again.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
			t.Errorf("%s: got %q and %q, want the same page with an entity tag", path, tag, again.Header.Get("ETag"))
		}
		if strings.Contains(first.Body, "csrf_token") {
			t.Errorf("%s: got a POST form, want none for visitors", path)
		}
		same := p.Visitor(t).Get(path, handlertest.Header{Name: "If-None-Match", Value: tag}).Want(http.StatusNotModified)
		if same.Body != "" || same.Header.Get("ETag") != tag ||
			!strings.Contains(strings.Join(same.Header.Values("Vary"), ","), "Cookie") {
			t.Errorf("%s: got %q and %v, want an empty body, the tag and Vary: Cookie", path, same.Body, same.Header)
		}
		own := p.As(t, crash.RoleTriager).Get(path, handlertest.Header{Name: "If-None-Match", Value: tag}).Want(http.StatusOK)
		if own.Header.Get("ETag") != "" || own.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: signed in: got %v, want a private page", path, own.Header)
		}
	}
	page, part := p.Visitor(t).Get("/").Want(http.StatusOK), p.Visitor(t).Part("/").Want(http.StatusOK)
	if part.WantNone("header, main"); part.Header.Get("ETag") == page.Header.Get("ETag") {
		t.Error("got the entity tag of the page on a part of it")
	}
}

// TestPageCacheFollows checks that cached pages show changes at once.
func TestPageCacheFollows(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	visitor := p.Visitor(t)
	visitor.Get(id.Path()).WantText(".figures", "reports (all time) 3 machines (all time) 3")
	p.Several(1, crashtest.Native, crashtest.Version("2.0-1"))
	visitor.Get(id.Path()).WantText(".figures", "reports (all time) 4 machines (all time) 4")
	visitor.Get("/").WantNone(".status-mark a")
	if _, err := p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 4711, Title: "It fell over",
		URL: "https://bugs.example/4711", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", id.Path()} {
		if a := visitor.Get(path).Want(http.StatusOK); !strings.Contains(a.Body, "4711") {
			t.Errorf("%s: got a page without the bug, want it there at once", path)
		}
	}
	visitor.Get("/?state=none").WantNone("#problems tbody tr")
	if err := p.Bugs.UnlinkBug(t.Context(), id, 4711, "ada"); err != nil {
		t.Fatal(err)
	}
	if a := visitor.Get(id.Path()).Want(http.StatusOK); strings.Contains(a.Body, "bugs.example/4711\"") {
		t.Error("got a page with the bug, want it gone at once")
	}
}

// TestCachedPagesAsSent checks that cached pages are sent compressed only to clients that accept
// it, and that redirects and errors are not cached.
func TestCachedPagesAsSent(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	body := map[string]string{}
	for accept, want := range map[string]string{"gzip, br": "gzip", "gzip;q=0": "", "identity": "",
		"br;q=1, *;q=0.1": "gzip", "*, gzip;q=0": "", "GZIP; q=0.5": "gzip"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", accept)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Content-Encoding"); got != want {
			t.Errorf("%s: got %q, want %q", accept, got, want)
		}
		var plain io.Reader = resp.Body
		if want == "gzip" {
			if plain, err = gzip.NewReader(resp.Body); err != nil {
				t.Fatal(err)
			}
		}
		read, err := io.ReadAll(plain)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		body[string(read)] = accept
	}
	if len(body) != 1 {
		t.Errorf("got %d different pages, want one", len(body))
	}
	visitor := p.Visitor(t)
	for range 2 {
		visitor.Get("/search?q="+handlertest.BucketOf(t, crashtest.Native()).String()).WantRedirect(http.StatusSeeOther,
			handlertest.BucketOf(t, crashtest.Native()).Path())
		if a := visitor.Get("/release/none").Want(http.StatusNotFound); a.Header.Get("ETag") != "" {
			t.Errorf("not found: got the tag %q, want none", a.Header.Get("ETag"))
		}
		if a := visitor.Get("/search?q=" + "package%3A%3A(").Want(http.StatusUnprocessableEntity); a.Header.Get(
			"ETag") != "" {
			t.Errorf("invalid query: got the tag %q, want none", a.Header.Get("ETag"))
		}
	}
}
