package problems_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// TestSavedSearches saves a search from the filter, shares, renames, deletes and restores it.
func TestSavedSearches(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(2, crashtest.Native)
	vera, tess, visitor := p.As(t, crash.RoleViewer), p.As(t, crash.RoleTriager), p.Visitor(t)
	const path = "/?package=tidewatch&period=month&state=none"
	saved := func(a *handlertest.Answer) []string {
		return a.HTML().Find(".saved nav a:not(.quiet)").Map(func(_ int, s *goquery.Selection) string {
			return s.Text() + " " + s.AttrOr("href", "")
		})
	}
	want := func(who string, a *handlertest.Answer, searches ...string) {
		t.Helper()
		if diff := cmp.Diff(searches, saved(a), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: saved searches (-want +got):\n%s", who, diff)
		}
	}
	list := vera.Get("/?state=none&package=tidewatch&period=month&shown=month").Want(http.StatusOK)
	if got := list.Attr("#save-search [name=path]", "value"); got != path {
		t.Errorf("address to save: got %q, want %q", got, path)
	}
	list.WantNone("#save-search [name=shared]") // viewers cannot share
	form := url.Values{"name": {" Mine "}, "path": {path}}
	vera.Post("/searches", form).WantRedirect(http.StatusSeeOther, path)
	want("vera", vera.Get(path).WantText(".flash", "Saved as “Mine”."), "Mine "+path)
	vera.Get(path).WantText(".saved [aria-current]", "Mine")
	want("tess", tess.Get("/"))
	want("a visitor", visitor.Get("/").WantNone(".saved"))

	tess.Get("/").WantText("#save-search label:has([name=shared])", "Share with everyone")
	tess.Post("/searches", url.Values{"name": {"Ours"}, "path": {"/search?q=sigsegv"}, "shared": {"1"}}).
		WantRedirect(http.StatusSeeOther, "/search?period=year&q=sigsegv")
	want("vera", vera.Get("/?period=week"), "Mine "+path, "Ours /search?period=year&q=sigsegv")
	want("vera, in place", vera.Part("/?period=week"), "Mine "+path, "Ours /search?period=year&q=sigsegv")
	vera.Get("/searches").WantText(".saved-list", "Shared by").WantNone("#search-2")

	vera.Post("/searches/1", url.Values{"name": {"My <b>"}}).WantRedirect(http.StatusSeeOther, "/searches")
	handlertest.WantNoMarkup(t, vera.Get("/searches").WantText(".saved-list", "My <b>"))
	vera.Post("/searches/1/delete", nil).WantRedirect(http.StatusSeeOther, "/searches")
	deleted := vera.Get("/searches").WantText(".flash", "Deleted “My <b>”.")
	want("vera, deleted", vera.Get("/"), "Ours /search?period=year&q=sigsegv")
	vera.Post(deleted.Attr(".flash form", "action"), nil).WantRedirect(http.StatusSeeOther, "/searches")
	want("vera, restored", vera.Get("/"), "My <b> "+path, "Ours /search?period=year&q=sigsegv")
	admin := p.As(t, crash.RoleAdmin)
	admin.Post("/searches/2", url.Values{"name": {"All of ours"}, "shared": {"1"}}).Want(http.StatusSeeOther)
	want("vera, renamed by an admin", vera.Get("/"), "All of ours /search?period=year&q=sigsegv", "My <b> "+path)
}

// TestSavedSearchesRefused refuses what people may not do.
func TestSavedSearchesRefused(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	vera, tess, visitor := p.As(t, crash.RoleViewer), p.As(t, crash.RoleTriager), p.Visitor(t)
	save := func(c *handlertest.Client, name, path, shared string) *handlertest.Answer {
		return c.Post("/searches", url.Values{"name": {name}, "path": {path}, "shared": {shared}})
	}
	for _, path := range []string{"/searches", "/searches/1", "/searches/1/delete", "/searches/1/restore"} {
		tess.Post(path, url.Values{"csrf_token": {""}, "name": {"x"}, "path": {"/?period=week"}}).Want(
			http.StatusUnauthorized)
	}
	save(visitor, "x", "/?period=week", "").Want(http.StatusUnauthorized)
	visitor.Get("/searches").Want(http.StatusSeeOther)
	save(vera, "x", "/?period=week", "1").Want(http.StatusForbidden)
	save(tess, "Personal", "/?period=week", "").Want(http.StatusSeeOther)
	save(tess, "Shared", "/?period=week", "1").Want(http.StatusSeeOther)
	save(tess, "shared", "/?period=day", "").Want(http.StatusConflict)
	for _, path := range []string{"", "/admin", "https://example.org/", "//example.org/?period=week", "/?period=fortnight",
		"/search?q=", "/search?period=week"} {
		save(tess, "bad", path, "").Want(http.StatusBadRequest)
	}
	for _, name := range []string{"", " ", "a\nb", longText} {
		save(tess, name, "/?period=week", "").Want(http.StatusBadRequest)
	}
	for _, action := range []string{"", "/delete"} {
		visitor.Post("/searches/1"+action, nil).Want(http.StatusUnauthorized)
		vera.Post("/searches/1"+action, url.Values{"name": {"x"}}).Want(http.StatusNotFound)  // not visible
		vera.Post("/searches/2"+action, url.Values{"name": {"x"}}).Want(http.StatusForbidden) // visible, not hers
		tess.Post("/searches/99"+action, url.Values{"name": {"x"}}).Want(http.StatusNotFound)
		tess.Post("/searches/x"+action, url.Values{"name": {"x"}}).Want(http.StatusNotFound)
	}
	tess.Post("/searches/1/restore", nil).Want(http.StatusNotFound) // it is not deleted
	tess.Get("/searches").WantText(".saved-list", "Personal").WantText(".saved-list", "Shared")
}
