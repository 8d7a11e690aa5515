package handlers_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// walk follows the next links from a page to the end and returns the text of each page.
func walk(t *testing.T, c *handlertest.Client, path, what string) (seen []string) {
	t.Helper()
	for range 20 {
		a := c.Get(path).Want(http.StatusOK)
		seen = append(seen, strings.ReplaceAll(a.Text(what), " ", "")) // long ids have a gap in the middle
		next := a.HTML().Find(".pager a[rel=next]")
		if next.Length() == 0 {
			return seen
		}
		path, _ = next.Attr("href")
	}
	t.Fatalf("the next links from %s do not end", path)
	return nil
}

func TestWalkThroughChosenReports(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(2, crashtest.Native)
	p.Several(3, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"))
	p.Several(2, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	c := p.As(t, crash.RoleViewer)
	chosen := id.Path() + "?release=Ubuntu+22.04"
	list := c.Get(chosen).Want(http.StatusOK)
	seen := walk(t, c, list.Attr("#reports tbody tr:first-child a[href^='/oops/']", "href"), ".report-facts code")
	if len(seen) != 3 {
		t.Errorf("got %d reports by next links, want 3", len(seen))
	}
	a := c.Get(list.Attr("#reports tbody tr:nth-child(2) a[href^='/oops/']", "href"))
	a.WantText(".pager", "reports of this problem (Ubuntu 22.04)")
	if got := a.Attr(".pager-list a", "href"); got != chosen {
		t.Errorf("link to the list: got %q, want %q", got, chosen)
	}
	back := strings.ReplaceAll(c.Get(a.Attr(".pager a[rel=prev]", "href")).Text(".report-facts code"), " ", "")
	if back != seen[0] {
		t.Errorf("back from the second: got %s, want %s", back, seen[0])
	}
	newest := c.Get(id.Path()).Attr("#reports tbody tr:first-child a[href^='/oops/']", "href")
	if all := walk(t, c, newest, ".report-facts code"); len(all) != 7 {
		t.Errorf("without a choice: got %d reports by next links, want 7", len(all))
	}
}

func TestWalkThroughSearch(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	p.Several(1, crashtest.Native, crashtest.On("Ubuntu 22.04"))
	p.Several(2, crashtest.Python)
	p.Several(1, crashtest.Java)
	const search = `/search?q=release%3A"Ubuntu+24.04"+-type%3ASnap`
	c := p.As(t, crash.RoleViewer)
	list := c.Get(search).Want(http.StatusOK)
	first := list.Attr("tbody tr:first-child td.problem a", "href")
	ids := walk(t, c, first, ".page-head .page-nav .mono")
	if len(ids) != 3 {
		t.Fatalf("got problems %v by next links, want 3", ids)
	}
	page := c.Get(first).Want(http.StatusOK)
	page.WantText(".pager", "1 of 3").WantText(".pager", "search: release:")
	reports := walk(t, c, page.Attr("#reports tbody tr:first-child a[href^='/oops/']", "href"), ".report-facts code")
	if got := len(reports); got != 6 && got != 7 { // the newest report may be that of 22.04
		t.Errorf("got %d reports by next links, want the 6 that the search counts", got)
	}
	last := c.Get("/oops/" + reports[len(reports)-1] + "?via=" + url.QueryEscape(search)).Want(http.StatusOK)
	var back []string
	for a := last; ; {
		back = append(back, strings.ReplaceAll(a.Text(".report-facts code"), " ", ""))
		if a.HTML().Find(".pager a[rel=prev]").Length() == 0 {
			break
		}
		a = c.Get(a.Attr(".pager a[rel=prev]", "href")).Want(http.StatusOK)
	}
	slices.Reverse(back)
	if !slices.Equal(back, reports[len(reports)-len(back):]) || len(back) != 6 {
		t.Errorf("backwards: got %v, want the reverse of %v", back, reports)
	}
	p.Visitor(t).Get(first).Want(http.StatusOK).WantText(".pager", "1 of 3")
}

// TestWalkOddWays checks that no page follows a "via" parameter that points elsewhere.
func TestWalkOddWays(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(2, crashtest.Native)
	c := p.As(t, crash.RoleViewer)
	problem := handlertest.BucketOf(t, crashtest.Native()).Path()
	report := c.Get(problem).Attr("#reports tbody tr:first-child a[href^='/oops/']", "href")
	for _, via := range []string{
		"https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)", "/problem/x", "/search?q=%28",
		"/?release=Plan+9", "/admin", "\x00", "%",
	} {
		for _, path := range []string{problem, report} {
			a := c.Get(path + "?via=" + url.QueryEscape(via)).Want(http.StatusOK)
			a.WantNone(".pager-list a")
		}
	}
}

func TestWalkThroughMachine(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Accept("m", crashtest.Native())
	p.Accept("m", crashtest.Python())
	p.Accept("other", crashtest.Python())
	p.Accept("", crashtest.Java())
	c := p.As(t, crash.RoleViewer)
	for path, want := range map[string]int{"/user/m": 2, "/user/": 1} {
		a := c.Get(path).Want(http.StatusOK)
		if seen := walk(t, c, a.Attr("#reports tbody tr:first-child a[href^='/oops/']", "href"),
			".report-facts code"); len(seen) != want {
			t.Errorf("%s: got %d reports by next links, want %d", path, len(seen), want)
		}
	}
}
