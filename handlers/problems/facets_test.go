package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

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
		"?facet=kernel":           {"6.8-generic 57 % 4 25 %", "7.0-generic 29 % 2 50 %", "5.15-generic 14 % 1 0 %"},
		"?facet=release":          {"Ubuntu 24.04 71 % 5 100 %", "Ubuntu 26.04 29 % 2 0 %"},
		"?facet=package:libtide1": {"1.0-1 57 % 4 0 %", "1.1-1 43 % 3 0 %"},
		"?facet=Signal":           {"11 100 % 7 0 %"},
		"?facet=AssertionMessage": {"not in the report 100 % 7 100 %"},
	} {
		if diff := cmp.Diff(want, table(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	page := c.Get(path+"?facet=kernel").Want(http.StatusOK).
		WantText(".facet-table caption", "The newest 7 reports of this problem, compared with 4 reports of other problems "+
			"of tidewatch")
	if got := reportRows(page); got != 7 {
		t.Errorf("a comparison without a value: got %d reports, want all 7", got)
	}

	// A value selects its reports, as a page and in place.
	link := page.Attr(".facet-table tbody tr:nth-child(2) a", "hx-get")
	if want := path + "?facet=kernel&value=7.0-generic"; link != want {
		t.Errorf("link of a value: got %q, want %q", link, want)
	}
	chosen := c.Get(link).Want(http.StatusOK).WantText(".facet-table .current", "7.0-generic").
		WantText("#report-section .section-head", "2 reports with Kernel “7.0-generic” among the newest 7. All reports")
	part := c.PartFor(link, "section#report-section").Want(http.StatusOK).WantNone("h1").
		WantText("#facets .current", "7.0-generic")
	for what, a := range map[string]*handlertest.Answer{"page": chosen, "part": part} {
		if got := reportRows(a); got != 2 {
			t.Errorf("%s with a value: got %d reports, want 2", what, got)
		}
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
		c.Get(path+query).Want(http.StatusOK).WantText(".facet-table", "100 %")
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
	if diff := cmp.Diff(want, tableRows(both, ".compare-table tbody tr")); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	both.WantText(".compare-summary", "2 frames are the same, 1 at another place, 1 only in A, 1 only in B.").
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
