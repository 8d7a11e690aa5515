package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/browsertest"
	"mishap/handlers/handlertest"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	native := site.Save(t, crashtest.Native())
	python := site.Save(t, crashtest.Python())
	if _, err := site.Bugs.LinkBug(t.Context(), python.ID, crash.Bug{Number: 2101233, URL: site.Tracker.URL +
		"/bugs/2101233", By: "ada"}); err != nil {
		t.Fatal(err)
	}
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
		if got := page.HTML().Find("table.problems tbody tr").Length(); got != len(want) {
			t.Errorf("%s: got %d rows, want %d", text, got, len(want))
		}
		for _, b := range want {
			if page.HTML().Find(fmt.Sprintf(`table.problems a[href^="%s?via="]`, b.ID.Path())).Length() == 0 {
				t.Errorf("%s: got no row for %s", text, b.ID)
			}
		}
		if got := page.Attr("input[type=search]", "value"); got != text {
			t.Errorf("%s: got %q in the box, want the query", text, got)
		}
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
	visitor.Get(handlertest.SearchFor("tidewatch")).Want(http.StatusOK).WantText("nav.periods [aria-current]",
		"the past year")
	visitor.Get(handlertest.SearchFor("tidewatch since:2026-01-01")).Want(http.StatusOK).WantNone("nav.periods")

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
		if got := offers.HTML().Find("option").AttrOr("value", ""); got != want {
			t.Errorf("%s: got %q offered, want %q", params, got, want)
		}
	}
	visitor.Part("/search/complete?of=x").Want(http.StatusBadRequest)
	offers := visitor.Part("/search/complete?" + url.Values{"q": {"is:filed package:tide"}}.Encode()).Want(http.StatusOK)
	if got := offers.Attr("option", "value"); got != "is:filed package:tidewatch" {
		t.Errorf("completion: got %q", got)
	}
}

// TestSearchKeys searches and moves through a list using only the keyboard.
func TestSearchKeys(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	site.Save(t, crashtest.Python())
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL+"/"), browsertest.WaitVisible("#q"),
		browsertest.Press("/"), browsertest.WaitVisible("#q:focus"))
	browsertest.Do(ctx, t, browsertest.Type("#q", "package:tide"),
		browsertest.WaitPresent(`#search-offers option[value="package:tidewatch"]`),
		browsertest.Type("#q", "watch\r"), browsertest.WaitVisible(`table.problems a[href^="`+b.ID.Path()+`"]`))
	browsertest.Eval[bool](ctx, t, `document.activeElement.blur() ?? true`)
	browsertest.Do(ctx, t, browsertest.Press("j"), browsertest.WaitVisible("tr.current"), browsertest.Press("o"),
		browsertest.WaitVisible("#bugs"))
	if got := browsertest.Eval[string](ctx, t, "location.pathname"); got != b.ID.Path() {
		t.Errorf("got %s, want %s", got, b.ID.Path())
	}
	help := "dialog[open] table.keys" // opens in place every time
	browsertest.Do(ctx, t, browsertest.Press("?"), browsertest.WaitVisible(help), browsertest.Press("?"),
		browsertest.WaitHidden("table.keys"),
		browsertest.Press("?"), browsertest.WaitVisible(help), browsertest.Click("dialog button"),
		browsertest.WaitHidden("table.keys"))
	if got := browsertest.Eval[string](ctx, t, "location.pathname"); got != b.ID.Path() {
		t.Errorf("help: got %s, want still %s", got, b.ID.Path())
	}
}
