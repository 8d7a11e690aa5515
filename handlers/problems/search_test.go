package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	native := site.Save(t, crashtest.Native())
	python := site.Save(t, crashtest.Python())
	dbtest.Must(site.Bugs.LinkBug(t.Context(), python.ID, crash.Bug{Number: 2101233, URL: site.Tracker.URL +
		"/bugs/2101233", By: "ada"}))(t)
	rows, err := site.Problems.BucketReports(t.Context(), native.ID, crash.OopsID{}, 1)
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %d reports, %v", len(rows), err)
	}
	visitor, viewer := site.As(t, ""), site.As(t, crash.RoleViewer)

	for text, want := range map[string][]crash.Bucket{
		"tidewatch":                        {native},
		"frame:parse_row type:crash":       {native},
		"is:filed":                         {python},
		"-is:filed":                        {native},
		"bug:2101233 OR package:tidewatch": {native, python},
		"package:none-such":                {},
		"file:tidewatch":                   {native},
		"file:/usr/bin/*":                  {native, python},
		"file:tide_parse_row":              {},
		`release:"No such release"`:        {},
	} {
		page := visitor.Get(handlertest.SearchFor(text)).Want(http.StatusOK)
		checktest.Equal(t, text+": rows", page.HTML().Find("table.problems tbody tr").Length(),
			len(want))
		for _, b := range want {
			if page.HTML().Find(fmt.Sprintf(`table.problems a[href^="%s?via="]`, b.ID.Path())).Length() == 0 {
				t.Errorf("%s: got no row for %s", text, b.ID)
			}
		}
		checktest.Equal(t, text+": in the box", page.Attr("input[type=search]", "value"), text)
	}

	// The same search as files and as a feed.
	for format, want := range map[string]string{"csv": "tide_parse_row", "json": `"tidewatch"`, "atom": "<entry>"} {
		file := visitor.Get("/search." + format + "?" + url.Values{"q": {"frame:parse_row"}}.Encode()).Want(http.StatusOK)
		if text := file.Body; !strings.Contains(text, want) || strings.Contains(text, "harbor") {
			t.Errorf("%s: got %.300q, want %q and no other problem", format, text, want)
		}
	}
	visitor.Get("/search.csv?q=state:x").Want(http.StatusUnprocessableEntity)
	visitor.Get("/search.pdf?q=x").Want(http.StatusNotFound)

	// A name leads directly to its page. Only people who may see reports and machines get there.
	for text, place := range map[string]string{
		native.ID.String():                  native.ID.Path(),
		native.Signature:                    native.ID.Path(),
		strings.ToUpper(native.ID.String()): native.ID.Path(),
		" #2101233 ":                        "/bug/2101233",
		"LP: #2101233":                      "/bug/2101233",
		"https://bugs.launchpad.net/ubuntu/+source/tidewatch/+bug/2101233": "/bug/2101233",
		site.URL + native.ID.Path() + "?via=x":                             native.ID.Path(),
		site.URL + "/oops/" + rows[0].ID.String():                          "/oops/" + rows[0].ID.String(),
		"oops:" + rows[0].ID.String():                                      "/oops/" + rows[0].ID.String(),
		string(rows[0].System):                                             "/user/" + string(rows[0].System),
		"system:" + string(rows[0].System):                                 "/user/" + string(rows[0].System),
		site.URL + "/user/" + string(rows[0].System):                       "/user/" + string(rows[0].System),
		"2101233":           "/bug/2101233",
		rows[0].ID.String(): "/oops/" + rows[0].ID.String(),
	} {
		viewer.Get(handlertest.SearchFor(text)).WantRedirect(http.StatusSeeOther, place)
	}
	visitor.Get(handlertest.SearchFor(rows[0].ID.String())).Want(http.StatusOK).WantNone("table.problems").
		WantText(".notice",
			"the id of a report. Sign in")

	// A name that does not exist gets a message.
	for text, want := range map[string]string{
		"system:none-such": "No reports from this machine", strings.Repeat("0", 40): "No problem has this id",
		"#77":                                  "No problem has this bug",
		"00000000-0000-7000-8000-000000000000": "No report has this id", site.URL + "/bug/77": "No problem has this bug",
	} {
		viewer.Get(handlertest.SearchFor(text)).Want(http.StatusOK).WantText(".notice", want)
	}
	visitor.Get(handlertest.SearchFor("system:x")).Want(http.StatusOK).WantText(".notice", "the id of a machine. Sign in")
	visitor.Get(handlertest.SearchFor("no-such-word")).Want(http.StatusOK).WantText(".empty",
		"No problems match no-such-word in the "+
			"past year.")
	visitor.Get(handlertest.SearchFor("tidewatch")).Want(http.StatusOK).WantText("#period [selected]",
		"the past year")
	visitor.Get(handlertest.SearchFor("tidewatch since:2026-01-01")).Want(http.StatusOK).WantNone("#period, #from")
	visitor.Get(handlertest.SearchFor(`tidewatch release:"Ubuntu 24.04" version:1`)).Want(http.StatusOK).
		WantNone("#release, #version")

	// An invalid query shows the position of the error and stays in the box.
	bad := visitor.Get(handlertest.SearchFor(`tidewatch state:b<i>`)).Want(http.StatusUnprocessableEntity)
	bad.WantText(".search-problem", "none of regression, open").WantText(".search-place mark", "b<i>")
	visitor.Get("/search?q=%ff").Want(http.StatusBadRequest)
	visitor.Get("/search").Want(http.StatusOK).WantText(".search-fields", "frame:").
		WantText(".search-example", "seen:>=5.9")
	visitor.Get("/keys").Want(http.StatusOK).WantText("table.keys", "Next row")
	for _, path := range []string{"/", "/search", native.ID.Path(), "/login"} {
		if visitor.Get(path).HTML().Find(`search input[name=q][list]`).Length() != 1 {
			t.Errorf("%s has no search box", path)
		}
	}
	for params, want := range map[string]string{
		"of=package&package=ti": "tidewatch", "of=source&source=ti": "tidewatch",
		"of=version&package=tidewatch&version=1": "1.4.9-2", "of=version&package=none&version=1": "",
	} {
		offers := visitor.Part("/search/complete?" + params).Want(http.StatusOK)
		checktest.Equal(t, params+": offered", offers.HTML().Find("option").AttrOr("value", ""), want)
	}
	visitor.Part("/search/complete?of=x").Want(http.StatusBadRequest)
	offers := visitor.Part("/search/complete?" + url.Values{"q": {"is:filed package:tide"}}.Encode()).Want(http.StatusOK)
	if got := offers.Attr("option", "value"); got != "is:filed package:tidewatch" {
		t.Errorf("completion: got %q", got)
	}
	names := visitor.Part("/search/complete?" + url.Values{"q": {"is:filed tide"}}.Encode()).Want(http.StatusOK)
	names.WantText(`option[value="is:filed package:tidewatch"]`, "is:filed tidewatch (package)").
		WantText(`option[value="is:filed frame:tide_parse_row"]`, "is:filed tide_parse_row (function)")
}

// TestSearchFacets follows every link that narrows a search: it leads to as many problems as it says, and can be
// removed again.
func TestSearchFacets(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	native := site.Save(t, crashtest.Native())
	for n, report := range []crashtest.Report{
		crashtest.Native(crashtest.Process(2), crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.8-1")),
		crashtest.Hang(crashtest.On("Ubuntu 26.04")), crashtest.Recoverable(), crashtest.RustPanic(),
	} {
		b := site.Save(t, report)
		dbtest.Must(site.Problems.Tag(t.Context(), b.ID, []string{"sru", "urgent"}[n%2], "ada"))(t)
	}
	python := site.Save(t, crashtest.Python())
	dbtest.Must(site.Bugs.LinkBug(t.Context(), python.ID, crash.Bug{Number: 2101233, URL: "https://bugs.example/2101233",
		By: "ada"}))(t)
	tess, visitor := site.As(t, crash.RoleTriager), site.As(t, "")
	tess.Post(native.ID.Path()+"/assign", url.Values{"do": {"me"}}).Want(http.StatusSeeOther)
	const start = "/search?q=-zzz+OR+yyy"
	for name, c := range map[string]*handlertest.Client{"tess": tess, "a visitor": visitor} {
		found := func(path string) (*goquery.Document, string) {
			page := c.Get(path).Want(http.StatusOK)
			return page.HTML(), page.HTML().Find(".totals [role=status] span").First().Text()
		}
		page, all := found(start)
		checktest.Equal(t, name+": found", all, "5 problems")
		names := page.Find(".refine h2").Map(func(_ int, s *goquery.Selection) string { return s.Text() })
		want := []string{"Release", "Version", "Problem type", "Status", "Bug", "Assigned to", "Tag"}
		if c == visitor {
			want = want[:5]
		}
		checktest.Diff(t, name+": facets", names, want)
		page.Find(".refine li a").Each(func(_ int, s *goquery.Selection) {
			value := s.Find("span").First().Text()
			narrowed, n := found(s.AttrOr("href", ""))
			checktest.Equal(t, name+": "+value, n, s.AttrOr("title", ""))
			chip := narrowed.Find(".refined a")
			if chip.Length() != 1 || !strings.Contains(chip.Text(), value) {
				t.Errorf("%s: %s: got the terms %q", name, value, chip.Text())
			}
			if again, n := found(chip.AttrOr("href", "")); n != all || again.Find(".refined").Length() != 0 {
				t.Errorf("%s: without %s again: got %s", name, value, n)
			}
		})
		links := page.Find(".refine li a").Text()
		for _, want := range []string{"Ubuntu 22.04 (jammy) 1", "Hang 1", "without a bug 4with a bug 1"} {
			if !strings.Contains(links, want) {
				t.Errorf("%s: got no %q in %s", name, want, links)
			}
		}
	}

	// A search without the words keeps the filters, and a change of a filter in place keeps the words.
	page := tess.Get(start + "&release=Ubuntu+24.04&type=Hang&sort=last").Want(http.StatusOK)
	for name, want := range map[string]string{"release": "Ubuntu 24.04", "type": "Hang", "sort": "last"} {
		checktest.Equal(t, name, page.Attr(`[form="search-box"][name=`+name+`]`, "value"), want)
	}
	checktest.Equal(t, "words", page.Attr(".list-filter [name=q]", "value"), "-zzz OR yyy")
	page.WantNone("details.more[open]").WantNone("#reliability")
	part := tess.Part(start + "&release=Ubuntu+22.04").Want(http.StatusOK).WantNone("#reliability")
	part.WantText("#problems .totals", "1 problem").WantText(".refined", "Ubuntu 22.04").WantText(".refine h2", "Version")
	checktest.Equal(t, "address", part.Header.Get("HX-Push-Url"), "/search?period=year&q=-zzz+OR+yyy&release=Ubuntu+22.04")
	tess.Get("/?period=month").WantNone(".refine, .refined, [form=search-box]")
}

// TestSearchKeys searches and moves through a list using only the keyboard.
func TestSearchKeys(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	site.Save(t, crashtest.Python())
	ctx := handlertest.StartBrowser(t)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/"), handlertest.WaitVisible("#q"),
		handlertest.Press("/"), handlertest.WaitVisible("#q:focus"))
	handlertest.Do(ctx, t, handlertest.Type("#q", "package:tide"),
		handlertest.WaitPresent(`#search-offers option[value="package:tidewatch"]`),
		handlertest.Type("#q", "watch\r"), handlertest.WaitVisible(`table.problems a[href^="`+b.ID.Path()+`"]`))
	handlertest.Eval[bool](ctx, t, `document.activeElement.blur() ?? true`)
	handlertest.Do(ctx, t, handlertest.Press("j"), handlertest.WaitVisible("tr.current"), handlertest.Press("o"),
		handlertest.WaitVisible("#bugs"))
	checktest.Equal(t, "value", handlertest.Eval[string](ctx, t, "location.pathname"), b.ID.Path())
	help := "dialog[open] table.keys" // opens in place every time
	handlertest.Do(ctx, t, handlertest.Press("?"), handlertest.WaitVisible(help), handlertest.Press("?"),
		handlertest.WaitHidden("table.keys"),
		handlertest.Press("?"), handlertest.WaitVisible(help), handlertest.Click("dialog button"),
		handlertest.WaitHidden("table.keys"))
	checktest.Equal(t, "help", handlertest.Eval[string](ctx, t, "location.pathname"), b.ID.Path())
}

// TestSavedSearches saves a search from the filter, shares, renames, deletes and restores it.
func TestSavedSearches(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(2, crashtest.Native)
	vera, tess, visitor := p.As(t, crash.RoleViewer), p.As(t, crash.RoleTriager), p.Visitor(t)
	const path = "/?package=tidewatch&period=month&state=none"
	saved := func(a *handlertest.Answer) []string {
		return a.HTML().Find(".totals nav a:not(.quiet)").Map(func(_ int, s *goquery.Selection) string {
			return s.Text() + " " + s.AttrOr("href", "")
		})
	}
	want := func(who string, a *handlertest.Answer, searches ...string) {
		t.Helper()
		checktest.Diff(t, who+": saved searches", saved(a), searches, cmpopts.EquateEmpty())
	}
	list := vera.Get("/?state=none&package=tidewatch&period=month&shown=month").Want(http.StatusOK)
	checktest.Equal(t, "address to save", list.Attr("#save-search [name=path]", "value"), path)
	list.WantNone("#save-search [name=shared]") // viewers cannot share
	form := url.Values{"name": {" Mine "}, "path": {path}}
	vera.Post("/searches", form).WantRedirect(http.StatusSeeOther, path)
	want("vera", vera.Get(path).WantText(".flash", "Saved as “Mine”."), "Mine "+path)
	vera.Get(path).WantText(".totals nav [aria-current]", "Mine")
	want("tess", tess.Get("/"))
	want("a visitor", visitor.Get("/").WantNone("#save-search"))

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
