package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestMain(m *testing.M) { handlertest.Main(m) }

func TestListProblems(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	p.Several(2, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"))
	p.Several(4, crashtest.Unsymbolised)
	p.Several(1, crashtest.Python)
	for _, role := range handlertest.Roles {
		a := p.As(t, role).Get("/").Want(http.StatusOK)
		a.WantText(".totals", "3 problems · 10 reports")
		if got, want := column(a, ".reports"), []string{"5", "4", "1"}; !slices.Equal(got, want) {
			t.Errorf("reports by row: got %q, want %q", got, want)
		}
		if got, want := programs(a), []string{"tidewatch", "lumen-shell", "harbor-sync"}; !slices.Equal(got, want) {
			t.Errorf("packages by row: got %q, want %q", got, want)
		}
		row := "tbody tr:nth-child(1) "
		if got := a.Attr(row+".reports", "title"); got != "Rank 1 by reports" {
			t.Errorf("title of the first count: got %q", got)
		}
		a.WantNone("td.first").WantText(row+".last", "2 d 22.04 1.4.10-1")
		a.WantText(row+".problem", "tidewatch SIGSEGV new tide_parse_row → tide_load")
		want := handlertest.BucketOf(t, crashtest.Native()).Path()
		if role != crash.RoleNone {
			want += "?via=%2F%3Fperiod%3Dweek" // for the next and previous links
		}
		checktest.Equal(t, "link of the first problem", a.Attr(row+".problem .title", "href"), want)
		if got := a.Attr(row+".problem .title", "title"); !strings.HasPrefix(got, "/usr/bin/tidewatch:11:tide_parse_row:") {
			t.Errorf("hover text: got %q, want the signature", got)
		}
		a.WantText("tbody tr:nth-child(2) .problem .word:last-of-type", "not symbolised")
		create := a.HTML().Find(row+"button[form=create-bug][name=signature]").Length() == 1
		if may := role.Allows(crash.RoleTriager); may != create {
			t.Errorf("as %s: got Create %t, want %t", handlertest.RoleName(role), !may, may)
		}
		if role == crash.RoleNone {
			handlertest.WantNothingPrivate(t, a)
		}
	}
}

func TestListProblemsEmpty(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	a := p.Visitor(t).Get("/").Want(http.StatusOK)
	a.WantText(".empty", "No reports in the past week.").WantText(".empty", "mishap import").WantNone("table")
	p.Several(1, crashtest.Native)
	a = p.Visitor(t).Get("/?period=day").Want(http.StatusOK)
	a.WantText(".empty", "No reports in the past day.")
	checktest.Equal(t, "link to all problems", a.Attr(".empty a", "href"), "/?period=year")
	a = p.Visitor(t).Get("/?package=no-such%20%3Cb%3E").Want(http.StatusOK)
	a.WantText(".empty", "No counted reports of the package no-such <b> in the past week.")
}

func TestListProblemsFilters(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	p.Several(2, crashtest.Native, crashtest.On("Ubuntu 22.04"))
	p.Several(1, crashtest.Python)
	p.Several(1, crashtest.Python, crashtest.At(handlertest.Today.AddDate(0, 0, -20)))
	p.Several(1, crashtest.Python, crashtest.At(handlertest.Today.AddDate(0, 0, -200)))
	p.Several(1, crashtest.Python, crashtest.At(handlertest.Today))
	tests := []struct {
		query string
		want  []string // report counts by row
	}{
		{"", []string{"5", "2"}},
		{"period=&release=&package=", []string{"5", "2"}}, // the form as browsers without scripts send it
		{"period=day", []string{"1"}},
		{"period=week", []string{"5", "2"}},
		{"period=month", []string{"5", "3"}},
		{"period=year", []string{"5", "4"}},
		{"release=Ubuntu+22.04", []string{"2"}},
		{"release=Ubuntu+24.04", []string{"3", "2"}},
		{"package=tidewatch", []string{"5"}},
		{"package=+tidewatch+", []string{"5"}},
		{"package=harbor", []string{"2"}}, // a source package
		{"package=tidewatch&release=Ubuntu+22.04&period=month", []string{"2"}},
	}
	c := p.Visitor(t)
	for _, test := range tests {
		a := c.Get("/?" + test.query).Want(http.StatusOK)
		checktest.Diff(t, test.query+": reports by row", column(a, ".reports"), test.want)
	}
	a := c.Get("/?release=Ubuntu+22.04&package=tidewatch&period=month").Want(http.StatusOK)
	for selector, want := range map[string]string{
		"#release option[selected]": "Ubuntu 22.04", "#period option[selected]": "month", "#package": "tidewatch",
	} {
		checktest.Equal(t, selector, a.Attr(selector, "value"), want)
	}
}

// TestListProblemsNonsense checks that invalid values give the nearest list, with a notice that names them, and
// an error in parts and files.
func TestListProblemsNonsense(t *testing.T) {
	t.Parallel()
	c := handlertest.NewPages(t).Visitor(t)
	const noPage = "page of the list does not exist"
	for query, want := range map[string]struct{ problem, ignored string }{
		"period=fortnight":      {`"fortnight" is not a period; the periods are day, week, month and year.`, "period"},
		"release=Ubuntu+99.99":  {`No counted reports from the release "Ubuntu 99.99".`, "release"},
		"package=a%00b":         {"The package in the address contains invalid characters", "package"},
		"package=%ff":           {"The package in the address contains invalid characters", "package"},
		"release=" + longText:   {"The release in the address contains invalid characters", "release"},
		"type=" + longText:      {"The type in the address contains invalid characters", "type"},
		"after=x":               {noPage, "after"},
		"after=0.5." + sha1Text: {noPage, "after"}, "after=50.-1." + sha1Text: {noPage, "after"},
		"after=50.1.abcd":               {noPage, "after"},
		"period=%3Cscript%3E&package=x": {`"<script>" is not a period`, "period"},
		"period=fortnight&sort=luck":    {`"fortnight" is not a period`, "period, sort"},
		"state=happy":                   {`"happy" is not a state of problems.`, "state"},
		"sort=luck":                     {`"luck" is not a column`, "sort"},
		"from=yesterday":                {`"yesterday", is not a day like 2026-05-18.`, "from"},
		"to=1999-01-01":                 {`"1999-01-01", is not a day like 2026-05-18.`, "to"},
		"from=2026-05-02&to=2026-05-01": {"The last day, 2026-05-01, is before the first, 2026-05-02.", "from, to"},
	} {
		c.Part("/?"+query).Want(http.StatusBadRequest).WantText(".flash", want.problem).
			WantNone("html > body > header, main")
		for range 2 { // the second one from the cache
			page := c.Get("/?"+query).Want(http.StatusOK).WantText("main .notice", "ignored: "+want.ignored+".")
			handlertest.WantNoMarkup(t, page)
			if page.HTML().Find(".sentence select[name=period] option[selected]").Length() > 1 {
				t.Errorf("%s: got several periods selected", query)
			}
		}
		if want.ignored != "after" {
			c.Get("/problems.csv?" + query).Want(http.StatusBadRequest)
		}
	}
	c.Get("/search?q=tide&sort=luck").Want(http.StatusOK).WantText("main .notice", "ignored: sort.")
	c.Get("/?ignored=%3Cscript%3E").Want(http.StatusOK).WantNone("main .notice")
}

const sha1Text = "0123456789abcdef0123456789abcdef01234567"

var longText = strings.Repeat("x", 201)

func TestListProblemsPages(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	for i := range 60 {
		p.Several(1+i%3, crashtest.Recoverable, crashtest.Set("DuplicateSignature", fmt.Sprintf("/usr/bin/x:kind-%d", i)))
	}
	c := p.Visitor(t)
	first := c.Get("/?period=month").Want(http.StatusOK)
	first.WantText(".totals", "60 problems · 120 reports").WantText(".paging a", "Next 50")
	second := c.Get(first.Attr(".paging a", "href")).Want(http.StatusOK)
	if got := second.Attr("tbody tr:first-child .reports", "title"); got != "Rank 51 by reports" {
		t.Errorf("first row of the second page: got %q", got)
	}
	second.WantText(".totals", "60 problems · 120 reports")
	checktest.Equal(t, "link to the first page", second.Attr(".paging a", "href"), "/?period=month")
	links := append(links(first), links(second)...)
	slices.Sort(links)
	checktest.Equal(t, "both pages: different problems", len(slices.Compact(links)), 60)
	counts := append(column(first, ".reports"), column(second, ".reports")...)
	if !slices.IsSortedFunc(counts, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("reports by row: got %q, want descending counts", counts)
	}
}

func TestListProblemsPart(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(2, crashtest.Native)
	a := p.Visitor(t).Part("/?release=&package=&period=month").Want(http.StatusOK)
	a.WantText("#reliability[hx-swap-oob=innerHTML]", "Reports per machine and day") // the chart changes with the controls
	sorted := p.Visitor(t).Part("/?period=month&sort=first&order=up").Want(http.StatusOK)
	// The form sends these values with the next change of a control.
	for name, want := range map[string]string{"sort": "first", "order": "up", "shown": "month"} {
		if got := sorted.Attr("#carried[hx-swap-oob=innerHTML] [name="+name+"]", "value"); got != want {
			t.Errorf("%s in the form: got %q, want %q", name, got, want)
		}
	}
	a.WantNone(".sentence, header").WantText("#problems .totals", "1 problem · 2 reports")
	if strings.Contains(a.Body, "<html") {
		t.Errorf("got a whole page, want a part")
	}
	checktest.Equal(t, "stale messages: hx-swap-oob", a.Attr("#flash", "hx-swap-oob"), "innerHTML")
	checktest.Equal(t, "HX-Push-Url", a.Header.Get("HX-Push-Url"), "/?period=month")
	if got := strings.Join(a.Header.Values("Vary"), ", "); !strings.Contains(got, "HX-Request-Type") {
		t.Errorf("Vary: got %q, want HX-Request-Type in it", got)
	}
}

func TestListProblemsHostile(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Markup)
	p.Several(2, crashtest.Long)
	p.Several(1, crashtest.Unicode)
	p.Several(1, crashtest.Package)
	a := p.As(t, crash.RoleTriager).Get("/").Want(http.StatusOK)
	handlertest.WantNoMarkup(t, a)
	a.WantText("tbody tr:nth-child(1) .problem", `reefd new <script>alert("1")</script>`)
	if n := len(a.Body); n > 100_000 {
		t.Errorf("page with a long signature: got %d bytes, want it truncated", n)
	}
}

func column(a *handlertest.Answer, class string) []string {
	return a.HTML().Find("tbody td" + class).Map(func(_ int, s *goquery.Selection) string {
		return strings.TrimSpace(s.Text())
	})
}

// programs returns the programs, by row.
func programs(a *handlertest.Answer) []string {
	return a.HTML().Find("tbody td.problem b").Map(func(_ int, s *goquery.Selection) string { return s.Text() })
}

func links(a *handlertest.Answer) []string {
	return a.HTML().Find("tbody td.problem a.title").Map(func(_ int, s *goquery.Selection) string {
		return s.AttrOr("href",
			"")
	})
}

func TestListProblemsUnavailable(t *testing.T) {
	t.Parallel()
	a := handlertest.BrokenSite(t).Get("/").Want(http.StatusServiceUnavailable)
	a.WantText("main", "Temporarily unavailable").WantNone("table")
	if strings.Contains(a.Body, "pool") || strings.Contains(a.Body, "sql") {
		t.Errorf("got the cause in the page, want a general message")
	}
}

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
		checktest.Diff(t, query+": reports by row", got, want)
	}
	a := c.Get("/?pkg_arch=arm64&version=1.5-1&type=Crash&state=none&from=2026-05-01&new=1").Want(http.StatusOK)
	for selector, want := range map[string]string{
		"#pkg_arch option[selected]": "arm64", "#version": "1.5-1", "#type option[selected]": "Crash",
		"#state option[selected]": "none", "#from": "2026-05-01", "[name=new][checked]": "1",
	} {
		checktest.Equal(t, selector, a.Attr(selector, "value"), want)
	}
	if a.HTML().Find("details.more[open]").Length() != 1 {
		t.Error("controls in use are folded, want them visible")
	}
	c.Get("/").WantNone("details.more[open]")
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
	checktest.Equal(t, "aria-sort", a.Attr("th.count", "aria-sort"), "descending")
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
		checktest.Equal(t, fmt.Sprintf("row %d", row+1), turned.HTML().Find("td.reports").Eq(row).AttrOr("title", ""),
			want)
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
	checktest.Equal(t, "title", a.Attr("td.reports", "title"), "Rank 1 by reports; 9 reports in the 7 days before")
	a.WantText(".problems tbody tr:nth-child(1) .spark title", "at most 30 a day in the past 28 days, on 18 May")
}

// TestColumns switches columns of lists on. The browser remembers them, for each list.
func TestColumns(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(1, crashtest.Native, crashtest.At(handlertest.Today.AddDate(0, 0, -9)))
	p.Several(1, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"))
	c := p.Visitor(t)
	c.Get("/?sort=first").WantText("th.first", "First seen") // to be sorted by, it is shown
	form := c.Get("/?period=month").WantNone(".first, .machines")
	next := form.Attr(".drop-panel [name=next]", "value")
	c.Get("/columns?"+url.Values{"column": {"machines", "first", "<b>"}, "next": {next}}.Encode()).
		WantRedirect(http.StatusSeeOther, "/?period=month")
	with := c.Get(next).WantText("td.first", "9 d 24.04 1.4.9-2").WantText("td.last", "2 d 22.04 1.4.10-1")
	with.WantText("th.machines", "Machines ever").WantText("td.machines", "2")
	if got := with.HTML().Find(".drop-panel :checked, .drop-panel [checked]").Length(); got != 2 {
		t.Errorf("checked columns: got %d, want 2", got)
	}
	c.Get("/search?q=tidewatch").WantText("td.machines", "2")
	p.Visitor(t).Get(next).WantNone(".first, .machines") // other visitors keep theirs
	c.Get("/columns?next=%2F").WantRedirect(http.StatusSeeOther, "/")
	c.Get(next).WantNone(".first, .machines")
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

// TestListInBrowser changes the controls of the front page in place, goes back, and links a bug
// using only the keyboard.
func TestListInBrowser(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	lately := crashtest.At(time.Now())
	b := site.Save(t, crashtest.Native(lately))
	site.Save(t, crashtest.Python(lately))
	site.Save(t, crashtest.Native(lately, crashtest.On("Ubuntu 22.04"), crashtest.Process(77)))
	site.Save(t, crashtest.Native(lately, crashtest.Without("SourcePackage"), crashtest.Process(9),
		crashtest.Set("DuplicateSignature", "cannot be filed")))
	ctx := handlertest.StartBrowser(t)
	site.SignInBrowser(ctx, t, crash.RoleTriager)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), handlertest.WaitVisible("table.problems"))
	// The chart unfolds, and a column appears, for good. A menu closes by Escape.
	handlertest.Do(ctx, t, handlertest.Click(".rates-fold > summary"), handlertest.WaitVisible(".rate-plot"),
		handlertest.Click(".drop:has(#save-search) summary"), handlertest.WaitVisible("#search-name"),
		handlertest.Press(kb.Escape), handlertest.WaitAbsent(".drop[open]"),
		handlertest.Click(".drop:has([name=column]) summary"), handlertest.Click("[name=column][value=first]"),
		handlertest.Click(".drop:has([name=column]) button"), handlertest.WaitVisible("th.first"),
		handlertest.WaitVisible(".rates-fold[open] .rate-plot"))
	handlertest.Eval[bool](ctx, t, `window.stays = true`)
	choose := func(control, value string) {
		t.Helper()
		handlertest.Eval[bool](ctx, t, `(() => { const c = document.querySelector("`+control+`"); c.value = "`+value+
			`"; return c.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	}
	handlertest.Do(ctx, t,
		handlertest.Click("th.first a[data-htmx-powered]"), handlertest.WaitVisible("th.first[aria-sort]"))
	choose("#release", "Ubuntu 22.04") // the chart follows; the sort order stays
	handlertest.Do(ctx, t, handlertest.WaitVisible(`.rate-labels a:only-of-type[href="/release/Ubuntu%2022.04"]`),
		handlertest.WaitVisible("th.first[aria-sort]"), handlertest.WaitAbsent(".htmx-request"))
	choose("#from", "2026-01-01")
	handlertest.Do(ctx, t, handlertest.WaitVisible(`th.first a[href*="from=2026-01-01"]`),
		handlertest.WaitAbsent(".htmx-request"))
	if got := handlertest.Eval[string](ctx, t, `document.querySelector("#period").value`); got != "range" {
		t.Errorf("period with days: got %q, want the chosen days", got)
	}
	choose("#period", "month")
	handlertest.Do(ctx, t, handlertest.WaitVisible(`th.first a[href*="period=month"]`),
		handlertest.WaitAbsent(".htmx-request"))
	got := handlertest.Eval[string](ctx, t, `document.querySelector("#from").value + location.search`)
	if got != "?period=month&release=Ubuntu+22.04&sort=first" {
		t.Errorf("days after choosing a period: got %q, want none", got)
	}
	if !handlertest.Eval[bool](ctx, t, `window.stays === true`) {
		t.Error("the page was reloaded, want it to stay")
	}
	handlertest.Do(ctx, t, chromedp.NavigateBack(), handlertest.WaitVisible(`#from[value="2026-01-01"]`),
		handlertest.WaitVisible(`th.first a[href*="from=2026-01-01"]`))

	// The bar counts only rows that will get a bug.
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), handlertest.Click("#select-all"),
		handlertest.WaitVisible("#bulk [data-many]"))
	if got := handlertest.Eval[string](ctx, t, `document.querySelector("#bulk .bulk-count").textContent + ", " +
		document.querySelector("#bulk [data-many]").textContent`); got != "3 selected, Create 2 bugs…" {
		t.Errorf("bar: got %q, want 3 selected rows and 2 bugs", got)
	}
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), handlertest.WaitVisible("table.problems"),
		handlertest.Press("j"), handlertest.WaitVisible("tr.current td.problem a:focus"),
		handlertest.Press("x"), handlertest.WaitVisible("tr.current :checked"), handlertest.Press("x"),
		handlertest.WaitAbsent("tr.current :checked"),
		handlertest.Press("l"), handlertest.WaitVisible("#dialog #bug:focus"))
	if got := handlertest.Eval[string](ctx, t, `document.querySelector(".link-bug form").action`); !strings.Contains(got,
		b.ID.String()) {
		t.Errorf("got %s, want the form that links a bug to %s", got, b.ID)
	}
	// On the page of a problem, the same keys go through the list.
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL+"/?period=year"), handlertest.WaitVisible("table.problems"),
		handlertest.Press("k"), handlertest.Press("k"), handlertest.WaitVisible("tr.current"), handlertest.Press("o"),
		handlertest.WaitVisible(".pager a[rel=next]"), handlertest.Press("j"),
		handlertest.WaitVisible(".pager a[rel=prev]"), handlertest.Press("k"), handlertest.WaitAbsent(".pager a[rel=prev]"))
}

// facetSite returns a site with a problem of seven reports with three kernels, and with four reports
// of another problem of its package.
func facetSite(t *testing.T) (*handlertest.Site, crash.Bucket) {
	t.Helper()
	site := handlertest.New(t, handlertest.Options{})
	var b crash.Bucket
	uname := func(kernel string) crashtest.Option {
		return crashtest.Set("Uname", "Linux "+kernel+"-generic x86_64")
	}
	for pid, kernel := range strings.Fields("6.8 6.8 6.8 6.8 7.0 7.0 5.15") {
		release := crash.Release("Ubuntu 24.04")
		if kernel == "7.0" {
			release = "Ubuntu 26.04"
		}
		b = site.Save(t, crashtest.Native(crashtest.Process(pid+1), crashtest.On(release), uname(kernel),
			crashtest.Set("Dependencies", fmt.Sprintf("libc6 2.39\nlibtide1 1.%d-1", pid%2))))
	}
	for pid, kernel := range strings.Fields("6.8 7.0 7.0 6.17") {
		site.Save(t, crashtest.Native(crashtest.Process(pid+100), uname(kernel), crashtest.Set("Signal", "6")))
	}
	return site, b
}

func TestFacets(t *testing.T) {
	t.Parallel()
	site, b := facetSite(t)
	c := site.As(t, crash.RoleViewer)
	limited := site.AsWithoutPrivate(t, crash.RoleTriager)
	path := b.ID.Path()
	table := func(query string) []string {
		t.Helper()
		return tableRows(c.Get(path+query).Want(http.StatusOK), ".facet-table tbody tr")
	}
	for query, want := range map[string][]string{
		"":                        nil,
		"?facet=kernel":           {"6.8-generic 57% 4 25%", "7.0-generic 29% 2 50%", "5.15-generic 14% 1 0%"},
		"?facet=release":          {"Ubuntu 24.04 71% 5 100%", "Ubuntu 26.04 29% 2 0%"},
		"?facet=package:libtide1": {"1.0-1 57% 4 0%", "1.1-1 43% 3 0%"},
		"?facet=Signal":           {"11 100% 7 0%"},
		"?facet=AssertionMessage": {"not in the report 100% 7 100%"},
	} {
		checktest.Diff(t, query, table(query), want)
	}
	page := c.Get(path+"?facet=kernel").Want(http.StatusOK).
		WantText(".facet-table caption", "The newest 7 reports of this problem, compared with 4 reports of other problems "+
			"of tidewatch")
	checktest.Equal(t, "a comparison without a value: reports", reportRows(page), 7)

	// A value selects its reports, as a page and in place.
	link := page.Attr(".facet-table tbody tr:nth-child(2) a", "hx-get")
	if want := path + "?facet=kernel&value=7.0-generic"; link != want {
		t.Errorf("link of a value: got %q, want %q", link, want)
	}
	chosen := c.Get(link).Want(http.StatusOK).WantText(".facet-table .current", "7.0-generic").
		WantText("#report-section details > p", "2 reports with Kernel “7.0-generic” among the newest 7. All reports")
	part := c.PartFor(link, "section#report-section").Want(http.StatusOK).WantNone("h1").
		WantText("#facets .current", "7.0-generic")
	for what, a := range map[string]*handlertest.Answer{"page": chosen, "part": part} {
		checktest.Equal(t, what+" with a value: reports", reportRows(a), 2)
	}
	c.PartFor(path+"?facet=kernel", "section#facets").Want(http.StatusOK).WantText("#facets", "6.8-generic").
		WantNone("#report-section, h1")

	// It combines with the filter, which keeps it.
	both := c.Get(path+"?"+url.Values{"facet": {"kernel"}, "value": {"6.8-generic"},
		"release": {"Ubuntu 26.04"}}.Encode()).Want(http.StatusOK).WantText("#reports", "No report matches.")
	for name, want := range map[string]string{"facet": "kernel", "value": "6.8-generic"} {
		if got := both.Attr(`.report-filter input[name=`+name+`]`, "value"); got != want {
			t.Errorf("the filter sends %s %q, want %q", name, got, want)
		}
	}

	// Values of private fields are only for people with the right to private data.
	for _, query := range []string{"?facet=ProcEnviron", "?facet=ProcCmdline&value=x"} {
		c.Get(path+query).Want(http.StatusOK).WantText(".facet-table", "100%")
		limited.Get(path+query).Want(http.StatusOK).WantNone(".facet-table").WantText("#facets", "right to private data")
		limited.PartFor(path+query, "section#facets").Want(http.StatusOK).WantNone("table")
	}
	if offers := limited.Get(path).Want(http.StatusOK).HTML().Find("datalist").Text(); strings.Contains(offers,
		"ProcEnviron") {
		t.Errorf("got the offers %q, want none of private fields", offers)
	}
	limited.Get(path+"?facet=kernel").Want(http.StatusOK).WantText(".facet-table", "6.8-generic")
	c.Get(path + "?facet=" + strings.Repeat("x", 300)).Want(http.StatusBadRequest)
	visitor := site.Visitor(t)
	visitor.Get(path + "?facet=kernel").Want(http.StatusOK).WantNone(".facets, .facet-table")
	limited.Get(path+"?facet=release").Want(http.StatusOK).WantText(".facet-table", "Ubuntu 24.04")
	visitor.PartFor(path+"?facet=kernel", "section#facets").Want(http.StatusUnauthorized).WantNone("table")
}

// tableRows returns the texts of the matching rows.
func tableRows(a *handlertest.Answer, selector string) []string {
	var rows []string
	for i := range a.HTML().Find(selector).Length() {
		rows = append(rows, a.Text(fmt.Sprintf("%s:nth-child(%d)", selector, i+1)))
	}
	return rows
}

func reportRows(a *handlertest.Answer) int { return a.HTML().Find("#reports tbody tr").Length() }

func TestReportColumns(t *testing.T) {
	t.Parallel()
	site, b := facetSite(t)
	c := site.As(t, crash.RoleViewer)
	path := b.ID.Path()
	page := c.Get(path).Want(http.StatusOK).WantText("#reports thead", "Selected Report Occurred Release").
		WantText("#reports .toolbar", "In common: tidewatch, 1.4.9-2, amd64, Crash")
	if text := page.Text("#reports thead"); strings.Contains(text, "Version") || strings.Contains(text, "Architecture") {
		t.Errorf("got the columns %q, want only those in which the reports differ", text)
	}
	c.Get(path+"?columns=version&columns=machine").Want(http.StatusOK).
		WantText("#reports thead", "Selected Report Version Machine").WantText("#reports tbody tr", "1.4.9-2").
		WantText(".column-choice", "Only those that differ")
	c.Get(path+"?columns=version,machine&facet=kernel").Want(http.StatusOK).
		WantText("#reports thead", "Selected Report Version Machine").WantText(".facet-table", "6.8-generic")
	c.Get(path+"?columns=nonsense").Want(http.StatusOK).WantText("#reports thead", "Selected Report Occurred Release")
}

func TestCompareStacks(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	stack := func(lines ...string) crashtest.Option {
		return func(r crashtest.Report) {
			r["Stacktrace"], r["StacktraceTop"], r["DuplicateSignature"] = strings.Join(lines, "\n"), "", "the same fault"
		}
	}
	b := site.Save(t, crashtest.Native(crashtest.Process(1), stack("#0  tide_parse_row () at ../src/parse.c:88",
		"#1  tide_load () at ../src/load.c:41", "#2  on_open_clicked () at ../src/win.c:207", "#3  main () at main.c:1")))
	site.Save(t, crashtest.Native(crashtest.Process(2), crashtest.Version("1.5-1"),
		crashtest.Set("Uname", "Linux 9.9 x86_64"), stack("#0  tide_parse_row () at ../src/parse.c:91",
			"#1  tide_cache () at ../src/cache.c:5", "#2  tide_load () at ../src/load.c:41",
			"#3  on_open_clicked () at ../src/win.c:207")))
	c := site.As(t, crash.RoleViewer)
	page := c.Get(b.ID.Path()).Want(http.StatusOK)
	compare := page.Attr(".report-choice", "action")
	newest := page.Attr("#reports tbody tr:nth-child(1) input[name=report]", "value")
	oldest := page.Attr("#reports tbody tr:nth-child(2) input[name=report]", "value")
	want := []string{
		"0 0 at another place tide_parse_row parse.c:88 → parse.c:91", "1 only in B tide_cache cache.c:5",
		"1 2 same tide_load load.c:41", "2 3 same on_open_clicked win.c:207", "3 only in A main main.c:1",
	}
	both := c.Get(compare + "?report=" + oldest + "&report=" + newest).Want(http.StatusOK)
	checktest.Diff(t, "lines", tableRows(both, ".compare-table tbody tr"), want)
	both.WantText(".compare-sides dd:nth-of-type(2)", "representative report").
		WantText(".compare-summary", "2 frames are the same, 1 at another place, 1 only in A, 1 only in B.").
		WantText(".compare-sides", "Version 1.4.9-2 → 1.5-1").WantText(".compare-sides", "→ 9.9")
	if got := both.Attr(".compare-summary a", "href"); got != compare+"?report="+newest+"&report="+oldest {
		t.Errorf("swap: got %q", got)
	}

	// The representative report, here the newest, is not compared with itself.
	c.Get(compare+"?report="+newest).Want(http.StatusBadRequest).WantText("main", "Select another one")
	c.Get("/oops/" + newest).Want(http.StatusOK).WantNone(".stack a[href*=compare]")
	if got := c.Get("/oops/"+oldest).Attr(".stack a[href*=compare]", "href"); got != compare+"?report="+oldest {
		t.Errorf("link to the comparison: got %q", got)
	}

	// One report is compared with the representative one.
	c.Get(compare+"?report="+oldest).Want(http.StatusOK).WantText(".compare-sides", "representative report of "+
		"the problem").
		WantText(".compare-summary", "1 only in A, 1 only in B.")

	c.Get(compare).Want(http.StatusBadRequest).WantText("[role=alert]", "Select two reports")
	c.Get(compare + "?report=nonsense").Want(http.StatusNotFound)
	c.Get(compare + "?report=" + crash.OopsID{7: 1}.String()).Want(http.StatusNotFound)
	site.Visitor(t).Get(compare + "?report=" + oldest).Want(http.StatusSeeOther) // to the sign-in page
}

// TestOneWeek checks that everything that counts the reports of the past week counts the same seven
// UTC days, today included, and the same seven days before. API 1.0 counts eight days, as documented.
func TestOneWeek(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.OpenAt(t, dbtest.URL(t), handlertest.Today)})
	days := map[int]int{+1: 1, 0: 3, -1: 2, -6: 4, -7: 11, -13: 25, -14: 11} // reports by day, from today
	for day, n := range days {
		p.Several(n, crashtest.Native, crashtest.At(handlertest.Today.AddDate(0, 0, day).Add(-11*time.Hour)))
	}
	p.Several(1, crashtest.Python, crashtest.At(crash.Midnight(handlertest.Today).AddDate(0, 0, -6)))
	const week, before, year = "9", 36, 56 // tomorrow's report counts from tomorrow on
	path := handlertest.BucketOf(t, crashtest.Native()).Path()
	list := p.As(t, crash.RoleViewer).Get("/?period=week").Want(http.StatusOK)
	list.WantText("tbody tr:nth-child(1) .reports", week)
	checktest.Equal(t, "title of the count", list.Attr("tbody tr:nth-child(1) .reports", "title"),
		fmt.Sprintf("Rank 1 by reports; %d reports in the 7 days before", before))
	list.WantText("tbody tr:nth-child(2) .problem", "new") // first seen at the first moment of the week
	var file struct {
		Objects []struct{ Count int64 }
	}
	p.As(t, crash.RoleViewer).Get("/problems.json?period=week").Want(http.StatusOK).JSON(&file)
	if len(file.Objects) != 2 || fmt.Sprint(file.Objects[0].Count) != week {
		t.Errorf("problems.json: got %v, want %s reports", file.Objects, week)
	}
	if rows := handlertest.CSVOf(t, p.As(t, crash.RoleViewer).Get("/problems.csv?period=week").
		Want(http.StatusOK)); len(rows) != 2 ||
		rows[0]["count"] != week {
		t.Errorf("problems.csv: got %v, want %s reports", rows, week)
	}
	var eight struct {
		Objects []struct{ Count int64 }
	}
	p.Visitor(t).Get("/api/1.0/most-common-problems/?period=week").Want(http.StatusOK).JSON(&eight)
	if len(eight.Objects) != 2 || eight.Objects[0].Count != 20 {
		t.Errorf("API: got %v, want 20 reports in eight days", eight.Objects)
	}
	p.As(t, crash.RoleViewer).Get("/?period=year").WantText("tbody tr:nth-child(1) .reports", fmt.Sprint(year))
	page := p.As(t, crash.RoleViewer).Get(path).Want(http.StatusOK)
	page.WantText(".status-releases", week+" reports this week")
	checktest.Equal(t, "title of the change since last week", page.Attr(".figures div:last-child", "title"),
		"9 reports in the past week, today included, 36 in the seven days before")
	page.WantText(".figures", "vs last week −73%") // 9 in 6.5 days, 36 in 7
}

// TestMachineCountsOnce checks that a machine that was active in two releases counts once in figures of
// both, and that a share names its base.
func TestMachineCountsOnce(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.OpenAt(t, dbtest.URL(t), handlertest.Today)})
	for i, release := range []crash.Release{"Ubuntu 22.04", "Ubuntu 24.04"} {
		for n := range 5 {
			p.Accept(crash.SystemID(fmt.Sprint("machine-", n)), crashtest.Native(crashtest.At(handlertest.Today.Add(-time.Hour)),
				crashtest.On(release), crashtest.Process(100*i+n)))
		}
	}
	p.Accept("machine-9", crashtest.Python(crashtest.At(handlertest.Today.Add(-time.Hour)), crashtest.On("Ubuntu 24.04")))
	front := p.As(t, crash.RoleViewer).Get("/?period=week").Want(http.StatusOK)
	front.WantText(".trend", "Machines sent 3.67 reports a day each this week") // 11 reports from 6 machines, at noon
	page := p.As(t, crash.RoleViewer).Get(handlertest.BucketOf(t, crashtest.Native()).Path()).Want(http.StatusOK)
	page.WantText(".figures", "of active machines with 24.04 or 22.04 83%") // 5 of 6
	page.WantText(".figures", "3,333")                                      // 10 reports on 3 machine-days
	other := p.As(t, crash.RoleViewer).Get(handlertest.BucketOf(t, crashtest.Python()).Path()).Want(http.StatusOK)
	other.WantText(".figures", "of active machines with 24.04 17%")
}

// TestInventedReleases has anonymous machines send reports with hundreds of invented releases,
// types and architectures. All reports are counted and can be found. They do not displace known
// releases, and no list grows.
func TestInventedReleases(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Disconnected: true})
	in := intake.New(intake.Config{MaxAgeDays: 366}, site.Store)
	n := 0
	send := func(release crash.Release, changes ...crashtest.Option) {
		t.Helper()
		n++
		report := crashtest.Native(append([]crashtest.Option{crashtest.On(release), crashtest.Process(9000 + n),
			crashtest.At(time.Now())}, changes...)...)
		dbtest.Must(in.Accept(t.Context(), crash.Report{System: crash.SystemID(fmt.Sprintf("machine-%d", n)),
			Fields: report.Fields()}))(t)
	}
	for range 3 {
		send("Ubuntu 24.04")
	}
	send("Linux Mint 22")
	for i := range 200 {
		odd := fmt.Sprintf("%03d", i)
		release := []string{"Plum " + odd, "zzz" + odd, "Ubuntu 98." + odd, "Linux Mint 22 " + odd}[i%4]
		send(crash.Release(release), crashtest.Set("ProblemType", "Odd"+odd), crashtest.Set("Architecture", "odd"+odd),
			crashtest.Set("PackageArchitecture", "odd"+odd))
		send(crash.Release(release))
	}
	// The type of a problem comes from its newest report. Reports of the same millisecond have no
	// order.
	for i := range 2 {
		send("Ubuntu 24.04", crashtest.Set("DuplicateSignature", fmt.Sprint("of a known type ", i)))
	}
	checktest.NoError(t, site.Store.WaitCounted(t.Context()))
	c := site.As(t, crash.RoleViewer)
	home := c.Get("/").Want(http.StatusOK)
	for name, known := range map[string]string{"release": "Ubuntu 24.04", "pkg_arch": "amd64", "type": "Crash"} {
		options := home.HTML().Find(`select[name="` + name + `"] option`)
		if options.Length() > 20 {
			t.Errorf("%s: got %d options, want few", name, options.Length())
		}
		checktest.Equal(t, name+": first", options.Eq(1).AttrOr("value", ""), known)
	}
	bucket := site.Save(t, crashtest.Native(crashtest.On("Ubuntu 24.04"), crashtest.At(time.Now())))
	checktest.NoError(t, site.Store.WaitCounted(t.Context()))
	problem := c.Get(bucket.ID.Path()).Want(http.StatusOK)
	pkg := c.Get("/package/" + bucket.Package).Want(http.StatusOK)
	for name, most := range map[string]int{".legend li": 12, ".matrix thead th": 15, `select[name="release"] option`: 12} {
		for page, a := range map[string]*handlertest.Answer{"front page": home, "problem": problem, "package": pkg} {
			if got := a.HTML().Find(name).Length(); got > most {
				t.Errorf("%s of the %s: got %d, want at most %d", name, page, got, most)
			}
		}
	}
	if legend := problem.Text(".legend"); !strings.Contains(legend, "24.04") ||
		!strings.Contains(legend, "other releases") {
		t.Errorf("legend of the problem: got %q, want 24.04 and the other releases", strings.Join(strings.Fields(legend),
			" "))
	}
	heads := problem.HTML().Find(".matrix thead tr:nth-child(2) th")
	if heads.Eq(0).Text() != "24.04" || heads.Eq(1).Text() != "Linux Mint 22" {
		t.Errorf("columns of the problem: got %q, want the known releases first", heads.Text())
	}
	for _, path := range []string{"average-crashes/", "instances-count/", "average-instances/?id=" +
		url.QueryEscape(bucket.Signature)} {
		var list struct {
			Meta    struct{ Next *string }
			Objects []struct{ Key, Release string }
		}
		c.Get("/api/1.0/" + path).Want(http.StatusOK).JSON(&list)
		var names []string
		for _, o := range list.Objects {
			names = append(names, o.Key+o.Release)
		}
		if len(names) > 60 || list.Meta.Next != nil || !slices.Contains(names, "Ubuntu 24.04") ||
			!slices.Contains(names, "Linux Mint 22") {
			t.Errorf("%s: got %d objects: %q", path, len(names), names)
		}
	}
	var day struct{ Value map[string]any }
	var days struct{ Objects []struct{ Date string } }
	c.Get("/api/1.0/retracers-results/?limit=1").Want(http.StatusOK).JSON(&days)
	c.Get("/api/1.0/retracers-results/" + days.Objects[0].Date + "/").Want(http.StatusOK).JSON(&day)
	if len(day.Value) > 40 || day.Value["Ubuntu 24.04"] == nil || day.Value[string(crash.OtherReleases)] == nil {
		t.Errorf("retracers-results: got %d keys", len(day.Value))
	}
	offers := c.Part("/search/complete?q=release:").Want(http.StatusOK)
	if !strings.Contains(offers.Body, "Ubuntu 24.04") {
		t.Errorf("completion: got %s, want Ubuntu 24.04 in it", offers.Body)
	}
	// Values that lists omit are still counted and can be found.
	for _, path := range []string{"/?release=" + url.QueryEscape("Plum 000"), "/search?q=" +
		url.QueryEscape(`release:"Plum 000"`), "/release/" + url.PathEscape("Plum 000")} {
		c.Get(path).Want(http.StatusOK)
	}
	var found struct{ Objects []struct{ Count int } }
	c.Get("/api/1.0/most-common-problems/?release=" + url.QueryEscape("Plum 000")).Want(http.StatusOK).JSON(&found)
	sum := 0
	for _, o := range found.Objects {
		sum += o.Count
	}
	checktest.Equal(t, "reports of an invented release", sum, 2)
	if selected := c.Get("/?release="+url.QueryEscape("Plum 000")).Attr(`select[name="release"] option[selected]`,
		"value"); selected != "Plum 000" {
		t.Errorf("got %q selected, want the requested release", selected)
	}
	c.Get("/?release=nothing").Want(http.StatusOK).WantText("main .notice", "ignored: release")
}
