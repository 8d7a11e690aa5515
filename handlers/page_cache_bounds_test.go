package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// publicPaths are pages that visitors get from the cache.
func publicPaths(t *testing.T) []string {
	id := bucketOf(t, crashtest.Native())
	return []string{"/", "/?period=month", "/search", "/search?q=tide", "/search?q=nothing-like-that",
		"/package/tidewatch", "/release/Ubuntu%2024.04",
		id.Path(), id.Path() + "?versions=all", id.Path() + "?via=" + url.QueryEscape("/?period=month")}
}

// TestUnknownParameters writes the same address in other ways: they get the same page, and make no entries in the cache.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	p.several(3, crashtest.Native)
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
			t.Errorf("%s: got %d cached pages after unknown parameters, want the %d of before", path, after, pages)
		}
	}
	// What is known and the same in other words.
	pages := cachedPages(t, p)
	for i, same := range []string{"/?period=week", "/?shown=week", "/?release=&state=", "/?sort=count",
		"/?period=week&u=1", "/?new=no"} {
		visitor.Get(same).Want(http.StatusOK)
		if after := cachedPages(t, p); after != pages {
			t.Errorf("%d: got %d cached pages after %s, want the %d of before", i, after, same, pages)
		}
	}
}

// TestPublicPagesTellNothing asks for public pages with every cookie and header that says something of a person.
func TestPublicPagesTellNothing(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	p.several(3, crashtest.Native)
	for _, path := range publicPaths(t) {
		a := p.Visitor(t).Get(path, handlertest.Header{Name: "Cookie", Value: "sessionid=mine; csrftoken=canary"},
			handlertest.Header{Name: "Referer", Value: p.URL + "/canary"},
			handlertest.Header{Name: "User-Agent", Value: "canary"}, handlertest.Header{Name: "X-Forwarded-For",
				Value: "192.0.2.77"}).Want(http.StatusOK)
		for _, private := range []string{"csrf_token", "canary", "192.0.2.77"} {
			if strings.Contains(a.Body, private) {
				t.Errorf("%s: got a page with %q in it, which all visitors would get", path, private)
			}
		}
		if b := p.Visitor(t).Get(path).Want(http.StatusOK); b.Body != a.Body {
			t.Errorf("%s: got another page without cookies", path)
		}
	}
}

// cachedPages returns how many pages are cached, as the metrics have it.
func cachedPages(t *testing.T, p *pages) int {
	t.Helper()
	families, err := p.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "mishap_cache_entries" && m.GetLabel()[0].GetValue() == "pages" {
				return int(m.GetGauge().GetValue())
			}
		}
	}
	t.Fatal("got no metric of cached pages")
	return 0
}

// TestPollChangesNothing reads the tracker again, which says the same: visitors get the page that they have.
func TestPollChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	p.several(3, crashtest.Native)
	id := bucketOf(t, crashtest.Native())
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
		t.Error("got the same page after the bug was fixed, want that it says so")
	}
}
