package problems_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// TestListProblemsControls checks that every control of the front page narrows the list and keeps
// its value in the form.
func TestListProblemsControls(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	p.Several(2, crashtest.Native, crashtest.Set("Architecture", "arm64"), crashtest.Set("PackageArchitecture", "arm64"),
		crashtest.Version("1.5-1"))
	p.Several(4, crashtest.Unsymbolised)
	p.Several(1, crashtest.Python)
	p.Several(1, crashtest.Hang)
	p.Several(6, crashtest.Python, crashtest.At(handlertest.Today.AddDate(0, 0, -20)))
	c := p.Visitor(t)
	for query, want := range map[string][]string{
		"":                          {"5", "4", "1", "1"},
		"pkg_arch=arm64":            {"2"},
		"pkg_arch=s390x":            {},
		"version=1.5-1":             {"2"},
		"type=Hang":                 {"1"},
		"state=none":                {"5", "4", "1", "1"},
		"state=bug":                 {},
		"source=tidewatch&package=": {"5"},
		"source=no-such":            {},
		"period=range":              {"5", "4", "1", "1"}, // before days are chosen
		"period=range&from=2026-04-25&to=2026-05-05":             {"6"},
		"period=week&shown=week&from=2026-04-25&to=2026-05-05":   {"6"},                // days chosen without scripts
		"period=week&shown=range&from=2026-04-25&to=2026-05-05":  {"5", "4", "1", "1"}, // another period chosen
		"period=month&shown=range&from=2026-04-25&to=2026-05-05": {"7", "5", "4", "1"},
		"new=1":                             {"5", "4", "1"}, // Python's was seen before this week
		"new=1&version=1.4.9-2":             {"3"},
		"from=2026-04-25&to=2026-05-05":     {"6"},
		"from=20260425&to=20260505":         {"6"},
		"to=2026-05-05":                     {"6"},
		"from=2026-04-25":                   {"7", "5", "4", "1"},
		"period=month&sort=package":         {"7", "4", "1", "5"}, // harbor-sync, two of lumen-shell, tidewatch
		"period=month&order=up":             {"1", "4", "5", "7"},
		"sort=count":                        {"5", "4", "1", "1"},
		"release=&package=&version=&from=&": {"5", "4", "1", "1"}, // the form as browsers without scripts send it
	} {
		a := c.Get("/?" + query).Want(http.StatusOK)
		got := column(a, ".reports")
		if query == "" || strings.HasPrefix(query, "release") || query == "sort=count" || query == "state=none" ||
			strings.HasPrefix(query, "period=range&") == false && strings.HasPrefix(query, "period=range") ||
			strings.HasPrefix(query, "period=week&shown=range") {
			got, want = got[:2], want[:2] // the rest are equal
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: reports by row (-want +got):\n%s", query, diff)
		}
	}
	a := c.Get("/?pkg_arch=arm64&version=1.5-1&type=Crash&state=none&from=2026-05-01&new=1").Want(http.StatusOK)
	for selector, want := range map[string]string{
		"#pkg_arch option[selected]": "arm64", "#version": "1.5-1", "#type option[selected]": "Crash",
		"#state option[selected]": "none", "#from": "2026-05-01", "[name=new][checked]": "1",
	} {
		if got := a.Attr(selector, "value"); got != want {
			t.Errorf("%s: got %q, want %q", selector, got, want)
		}
	}
	if a.HTML().Find("details.more[open]").Length() != 1 {
		t.Error("controls in use are folded, want them visible")
	}
	c.Get("/").WantNone("details.more[open]")
}

// TestListProblemsIgnoresNonsense checks that invalid values give the nearest list, with a notice.
func TestListProblemsIgnoresNonsense(t *testing.T) {
	t.Parallel()
	c := handlertest.NewPages(t).Visitor(t)
	for query, want := range map[string]string{
		"state=happy": "state", "sort=luck": "sort", "sort=reports": "sort", "from=yesterday": "from",
		"to=1999-01-01": "to", "from=2026-05-02&to=2026-05-01": "from, to", "version=%00": "version",
		"type=" + longText: "type", "period=fortnight&sort=luck": "period, sort", "release=Ubuntu+99.99": "release",
		"after=x": "after",
	} {
		for range 2 { // the second one from the cache
			page := c.Get("/?"+query).Want(http.StatusOK).WantText("main .notice", "ignored: "+want+".")
			if page.HTML().Find(".sentence select[name=period] option[selected]").Length() > 1 {
				t.Errorf("%s: got several periods selected", query)
			}
		}
		c.Get("/problems.csv?" + strings.Replace(query, "after=x", "sort=luck", 1)).Want(http.StatusBadRequest)
	}
	c.Get("/search?q=tide&sort=luck").Want(http.StatusOK).WantText("main .notice", "ignored: sort.")
	c.Get("/?ignored=%3Cscript%3E").Want(http.StatusOK).WantNone("main .notice")
}

// TestListProblemsSortLinks checks that column heads sort, reverse on a second click, and mark the
// sorted column.
func TestListProblemsSortLinks(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(2, crashtest.Native)
	p.Several(1, crashtest.Python)
	c := p.Visitor(t)
	a := c.Get("/?period=month").Want(http.StatusOK)
	if got := a.Attr("th.count", "aria-sort"); got != "descending" {
		t.Errorf("aria-sort: got %q, want descending", got)
	}
	by := c.Get(a.Attr("th.problem a:first-of-type", "href")).Want(http.StatusOK)
	if got := by.Attr("th.problem", "aria-sort"); got != "ascending" ||
		by.Attr("th.problem a:first-of-type", "href") != "/?order=up&period=month&sort=package" {
		t.Errorf("got %q and %q", got, by.Attr("th.problem a:first-of-type", "href"))
	}
	turned := c.Get(by.Attr("th.problem a:first-of-type", "href")).Want(http.StatusOK)
	if got, want := programs(turned), []string{"tidewatch", "harbor-sync"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for row, want := range []string{"Rank 1 by reports", "Rank 2 by reports"} {
		if got := turned.HTML().Find("td.reports").Eq(row).AttrOr("title", ""); got != want {
			t.Errorf("row %d: got %q, want %q", row+1, got, want)
		}
	}
}

// TestListProblemsWords checks the words for problems that are new, or that rise, and that files call the
// same ones rising.
func TestListProblemsWords(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(30, crashtest.Native)
	p.Several(9, crashtest.Native, crashtest.At(handlertest.Today.AddDate(0, 0, -9)))
	p.Several(8, crashtest.Python)
	p.Several(9, crashtest.Python, crashtest.At(handlertest.Today.AddDate(0, 0, -9)))
	p.Several(1, crashtest.Hang)
	a := p.Visitor(t).Get("/").Want(http.StatusOK)
	for row, want := range []string{"rising", "", "new"} {
		if got := a.HTML().Find("tbody tr:has(td.problem)").Eq(row).Find(".word-warn").Text(); got != want {
			t.Errorf("row %d: got %q, want %q", row+1, got, want)
		}
	}
	for _, path := range []string{"/problems.json", "/search.json?q=type:Crash"} {
		var file struct {
			Objects []struct {
				Count  int64
				Rising bool
			}
		}
		p.Visitor(t).Get(path).Want(http.StatusOK).JSON(&file)
		if len(file.Objects) < 2 {
			t.Fatalf("%s: got %v, want the problems", path, file.Objects)
		}
		for i, o := range file.Objects {
			if o.Rising != (i == 0) {
				t.Errorf("%s: got %v, want the first one rising", path, file.Objects)
			}
		}
	}
	if got, want := a.Attr("td.reports", "title"), "Rank 1 by reports; 9 reports in the 7 days before"; got != want {
		t.Errorf("title: got %q, want %q", got, want)
	}
	a.WantText(".problems tbody tr:nth-child(1) .spark title", "at most 30 a day in the past 28 days, on 18 May")
}

// TestListProblemsFirstSeen shows the column First seen on demand, by an address.
func TestListProblemsFirstSeen(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(1, crashtest.Native, crashtest.At(handlertest.Today.AddDate(0, 0, -9)))
	p.Several(1, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"))
	c := p.Visitor(t)
	a := c.Get("/?period=month&release=").WantText(".columns-link", "Show first seen").WantNone(".first")
	with := c.Get(a.Attr(".columns-link", "href")).Want(http.StatusOK)
	with.WantText("td.first", "9 d 24.04 1.4.9-2").WantText("td.last", "2 d 22.04 1.4.10-1")
	if got := with.Attr("#carried [name=columns]", "value"); got != "first" {
		t.Errorf("column in the form: got %q, want first", got)
	}
	if got, want := with.Attr(".columns-link", "href"), "/?period=month"; got != want {
		t.Errorf("without the column: got %q, want %q", got, want)
	}
	c.Get("/?sort=first").WantText("th.first", "First seen") // to be sorted by, it is shown
}

// TestReliabilityChart checks that the chart shows reports per machine and day, as a drawing and as
// a table.
func TestReliabilityChart(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	p.Several(1, crashtest.Native, crashtest.On("Ubuntu 22.04"))
	p.Several(1, crashtest.Native, crashtest.At(handlertest.Today.AddDate(0, 0, -1)))
	c := p.Visitor(t)
	a := c.Get("/").Want(http.StatusOK)
	if got := a.HTML().Find(".rate-plot .rate-line").Length(); got != 2 {
		t.Errorf("lines: got %d, want one for each release", got)
	}
	a.WantText(".rates thead", "24.04").WantText(".rates thead", "22.04")
	// There are three reports of the three machines that were active by then.
	a.WantText(".rates tbody tr:nth-child(2)", "2026-05-18 1.00* 1.00*")
	c.Get("/?release=Ubuntu+22.04").WantText(".rates .legend", "22.04")
	if got := c.Get("/?release=Ubuntu+22.04").HTML().Find(".rate-plot .rate-line").Length(); got != 1 {
		t.Errorf("lines of one release: got %d", got)
	}
	handlertest.NewPages(t).Visitor(t).Get("/").WantText(".rates", "No counted reports since")
}
