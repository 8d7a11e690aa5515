package handlers_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
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

// publicPaths returns pages that are cached for visitors.
func publicPaths(t *testing.T) []string {
	id := handlertest.BucketOf(t, crashtest.Native())
	return []string{"/", "/?period=month", "/search", "/search?q=tide", "/search?q=nothing-like-that",
		"/package/tidewatch", "/release/Ubuntu%2024.04",
		id.Path(), id.Path() + "?versions=all", id.Path() + "?via=" + url.QueryEscape("/?period=month")}
}

// TestUnknownParameters adds unknown parameters to addresses. They return the same page and add no
// cache entries.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	visitor := p.Visitor(t)
	for _, path := range publicPaths(t) {
		first := visitor.Get(path).Want(http.StatusOK)
		pages := cachedPages(t, p)
		join := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
		for _, more := range []string{"u=1", "u=2", "utm_source=x", "new=0", "order=sideways", "sort=count", "complete=",
			"%00=1", "from2=3"} {
			other := visitor.Get(path + join + more).Want(http.StatusOK)
			if other.Body != first.Body || other.Header.Get("ETag") != first.Header.Get("ETag") {
				t.Errorf("%s with %s: got another page", path, more)
			}
		}
		if after := cachedPages(t, p); after != pages {
			t.Errorf("%s: got %d cached pages after unknown parameters, want still %d", path, after, pages)
		}
	}
	// Known parameters, and different spellings of the same values.
	pages := cachedPages(t, p)
	for i, same := range []string{"/?period=week", "/?shown=week", "/?release=&state=", "/?sort=count",
		"/?period=week&u=1", "/?new=no"} {
		visitor.Get(same).Want(http.StatusOK)
		if after := cachedPages(t, p); after != pages {
			t.Errorf("%d: got %d cached pages after %s, want still %d", i, after, same, pages)
		}
	}
}

// TestPublicPagesTellNothing requests public pages with every cookie and header that identifies a
// person.
func TestPublicPagesTellNothing(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	for _, path := range publicPaths(t) {
		a := p.Visitor(t).Get(path, handlertest.Header{Name: "Cookie", Value: "sessionid=mine; csrftoken=canary"},
			handlertest.Header{Name: "Referer", Value: p.URL + "/canary"},
			handlertest.Header{Name: "User-Agent", Value: "canary"}, handlertest.Header{Name: "X-Forwarded-For",
				Value: "192.0.2.77"}).Want(http.StatusOK)
		for _, private := range []string{"csrf_token", "canary", "192.0.2.77"} {
			if strings.Contains(a.Body, private) {
				t.Errorf("%s: got a cached page that contains %q, want nothing about a person", path, private)
			}
		}
		if b := p.Visitor(t).Get(path).Want(http.StatusOK); b.Body != a.Body {
			t.Errorf("%s: got a different page without cookies, want the same", path)
		}
	}
}

// cachedPages returns the number of cached pages from the metrics.
func cachedPages(t *testing.T, p *handlertest.Pages) int {
	t.Helper()
	return cached(t, p, "mishap_cache_entries", "pages")
}

// cached returns a metric of a cache.
func cached(t *testing.T, p *handlertest.Pages, metric, cache string) int {
	t.Helper()
	families, err := p.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == metric && m.GetLabel()[0].GetValue() == cache {
				return int(m.GetGauge().GetValue())
			}
		}
	}
	t.Fatalf("got no %s of cached %s", metric, cache)
	return 0
}

// TestCachedLists checks that the memory of cached lists is in the metrics.
func TestCachedLists(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	p.Visitor(t).Get("/?period=year").Want(http.StatusOK)
	for _, metric := range []string{"mishap_cache_entries", "mishap_cache_bytes"} {
		if cached(t, p, metric, "lists") == 0 {
			t.Errorf("%s: got 0 for lists, want what the page has computed", metric)
		}
	}
}

// TestPollChangesNothing reads unchanged bugs from the tracker again. Visitors still get the cached
// page.
func TestPollChangesNothing(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	if _, err := p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 4711, Title: "It fell over",
		URL: "https://bugs.example/4711", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	reading := crash.BugReading{Number: 4711, Title: "It fell over",
		Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Name: "tidewatch (Ubuntu)", Status: "New"}}}
	poll := func() {
		t.Helper()
		if err := p.Bugs.SaveBugReading(t.Context(), reading, "", 0); err != nil {
			t.Fatal(err)
		}
	}
	poll()
	for _, path := range []string{"/", id.Path(), "/problems.json", "/problems.atom"} {
		first := p.Visitor(t).Get(path).Want(http.StatusOK)
		before, err := p.Store.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		poll()
		same := p.Visitor(t).Get(path, handlertest.Header{Name: "If-None-Match", Value: first.Header.Get("ETag")})
		if after, err := p.Store.Revision(t.Context()); err != nil || after != before ||
			same.Status != http.StatusNotModified {
			t.Errorf("%s: got status %d and revision %s, %v after a poll that found nothing new, want 304 and %s", path,
				same.Status, after, err, before)
		}
	}
	reading.Tasks[0].Status = "Fix Released"
	before := p.Visitor(t).Get(id.Path()).Header.Get("ETag")
	poll()
	if after := p.Visitor(t).Get(id.Path()).Header.Get("ETag"); after == before {
		t.Error("got the stale page after the bug was fixed, want a new one")
	}
}

// TestPagesFollow checks that signed-in people see changes at once. It covers lists and the pages of problems,
// packages and releases.
func TestPagesFollow(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	ada := p.As(t, crash.RoleTriager)
	release := "/release/Ubuntu%2024.04"
	ada.Get(id.Path()).WantText(".figures", "reports (all time) 3 machines (all time) 3")
	ada.Get("/").WantText("td.reports", "3")
	ada.Get("/package/tidewatch").WantText("td.reports", "3")
	ada.Get(release).WantText("td.reports", "3")
	p.Several(2, crashtest.Native)
	ada.Get(id.Path()).WantText(".figures", "reports (all time) 5 machines (all time) 5")
	ada.Get("/").WantText("td.reports", "5")
	ada.Get("/package/tidewatch").WantText("td.reports", "5")
	ada.Get(release).WantText("td.reports", "5")
	if _, err := p.Bugs.LinkBug(t.Context(), id, crash.Bug{Number: 4711, Title: "It fell over",
		URL: "https://bugs.example/4711", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", id.Path()} {
		if a := ada.Get(path).Want(http.StatusOK); !strings.Contains(a.Body, "bugs.example/4711") {
			t.Errorf("%s: got a page without the bug, want it there at once", path)
		}
	}
}
