package problems_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

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
		if got := a.Attr(row+".problem .title", "href"); got != want {
			t.Errorf("link of the first problem: got %q, want %q", got, want)
		}
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
	if got, want := a.Attr(".empty a", "href"), "/?period=year"; got != want {
		t.Errorf("link to all problems: got %q, want %q", got, want)
	}
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
		if diff := cmp.Diff(test.want, column(a, ".reports")); diff != "" {
			t.Errorf("%s: reports by row (-want +got):\n%s", test.query, diff)
		}
	}
	a := c.Get("/?release=Ubuntu+22.04&package=tidewatch&period=month").Want(http.StatusOK)
	for selector, want := range map[string]string{
		"#release option[selected]": "Ubuntu 22.04", "#period option[selected]": "month", "#package": "tidewatch",
	} {
		if got := a.Attr(selector, "value"); got != want {
			t.Errorf("%s: got %q, want %q", selector, got, want)
		}
	}
}

func TestListProblemsRefusesNonsense(t *testing.T) {
	t.Parallel()
	c := handlertest.NewPages(t).Visitor(t)
	for query, want := range map[string]string{
		"period=fortnight":              `"fortnight" is not a period; the periods are day, week, month and year.`,
		"release=Ubuntu+99.99":          `No counted report came from the release "Ubuntu 99.99".`,
		"package=a%00b":                 "The package in the address contains invalid characters",
		"package=%ff":                   "The package in the address contains invalid characters",
		"release=" + longText:           "The release in the address contains invalid characters",
		"after=x":                       "a page of the list that does not exist",
		"after=0.5." + sha1Text:         "a page of the list that does not exist",
		"after=50.-1." + sha1Text:       "a page of the list that does not exist",
		"after=50.1.abcd":               "a page of the list that does not exist",
		"period=%3Cscript%3E&package=x": `"<script>" is not a period`,
		"state=happy":                   `"happy" is not a state of problems.`,
		"sort=luck":                     `"luck" is not a column`,
		"from=yesterday":                `"yesterday", is not a day like 2026-05-18.`,
		"from=2026-05-02&to=2026-05-01": "The last day, 2026-05-01, is before the first, 2026-05-02.",
	} {
		a := c.Part("/?" + query).Want(http.StatusBadRequest)
		a.WantText(".flash", want).WantNone("html > body > header, main")
		handlertest.WantNoMarkup(t, c.Get("/?"+query).Want(http.StatusOK))
	}
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
	if got, want := second.Attr(".paging a", "href"), "/?period=month"; got != want {
		t.Errorf("link to the first page: got %q, want %q", got, want)
	}
	links := append(links(first), links(second)...)
	slices.Sort(links)
	if got := len(slices.Compact(links)); got != 60 {
		t.Errorf("both pages: got %d different problems, want 60", got)
	}
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
	a.WantNone("form, header").WantText("#problems .totals", "1 problem · 2 reports")
	if strings.Contains(a.Body, "<html") {
		t.Errorf("got a whole page, want a part")
	}
	if got, want := a.Attr("#flash", "hx-swap-oob"), "innerHTML"; got != want {
		t.Errorf("stale messages: got hx-swap-oob %q, want %q, which removes them", got, want)
	}
	if got, want := a.Header.Get("HX-Push-Url"), "/?period=month"; got != want {
		t.Errorf("HX-Push-Url: got %q, want %q", got, want)
	}
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
