package problems_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestShowProblem(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(3, crashtest.Native)
	p.Several(2, crashtest.Native, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.4.10-1"),
		crashtest.At(handlertest.Today.AddDate(0, 0, -40)))
	id := handlertest.BucketOf(t, crashtest.Native())
	for _, role := range handlertest.Roles {
		a := p.As(t, role).Get(id.Path()).Want(http.StatusOK)
		a.WantText("title", "tidewatch crashed with SIGSEGV in tide_parse_row()")
		a.WantText("h1", "tidewatch crashed with SIGSEGV in tide_parse_row()")
		a.WantText(".signature", "tidewatch SIGSEGV tide_parse_row → tide_load → on_open_clicked")
		a.WantText(".figures", "reports (all time) 5 machines (all time) 5")
		a.WantText(".problem-facts", "tidewatch").WantText(".problem-facts", "/usr/bin/tidewatch")
		a.WantText(".grouping", "same functions on top of the stack")
		a.WantText(".grouping pre", grouping.SignatureOf(crashtest.Native().Fields()).Signature)
		a.WantText(".address", p.URL+id.Path())
		a.WantText(".versions thead", "Version Last seen 24.04 22.04 All")
		a.WantText(".versions tbody tr:nth-child(2)", "1.4.10-1 10 Apr · 2 2")
		a.WantText(".versions tbody tr:nth-child(1)", "1.4.9-2 18 May 3 · 3")
		a.WantText(".versions tfoot", "all versions 3 2 5")
		a.WantText(".chart-table tbody tr:nth-child(1)", "2026-05-18 3 · 3")
		a.WantText(".chart-table tbody tr:nth-child(2)", "2026-04-10 · 2 2")
		if got := a.HTML().Find(".chart-plot rect").Length(); got != 2 {
			t.Errorf("bars: got %d, want 2", got)
		}
		if role == crash.RoleNone {
			handlertest.WantNothingPrivate(t, a)
			a.WantText(".stack", "Sign in to see the stack").WantText(".reports", "Sign in to see the reports")
			if got, want := a.Attr(".stack a", "href"), "/login?next=%2Fproblem%2F"+id.String(); got != want {
				t.Errorf("sign-in link: got %q, want %q", got, want)
			}
			continue
		}
		a.WantText(".frame-table tbody tr:nth-child(1)", "0 tide_parse_row tidewatch parse.c:88").WantText(".stack pre",
			"../src/parse.c:88")
		if got := a.HTML().Find(".reports tbody tr").Length(); got != 5 {
			t.Errorf("reports: got %d rows, want 5", got)
		}
	}
}

func TestShowProblemHidesReportsFromVisitors(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	for name, build := range map[string]func(...crashtest.Option) crashtest.Report{
		"Python": crashtest.Python, "unsymbolised": crashtest.Unsymbolised, "recoverable": crashtest.Recoverable,
		"oops": crashtest.Oops,
	} {
		p.Several(1, build)
		a := p.Visitor(t).Get(handlertest.BucketOf(t, build()).Path()).Want(http.StatusOK)
		handlertest.WantNothingPrivate(t, a)
		if strings.Contains(a.Body, "invalid literal") {
			t.Errorf("%s: got the message of the exception, want it hidden from visitors", name)
		}
	}
	id := handlertest.BucketOf(t, crashtest.Python())
	p.Visitor(t).Part(id.Path()).Want(http.StatusUnauthorized).WantNone("table")
	p.As(t, crash.RoleViewer).Get(id.Path()).Want(http.StatusOK).WantText("h1", "invalid literal").
		WantText(".frame-table tbody tr:nth-child(3)", "2 load io.py:77 return int(s)").WantText(".exception",
		"ValueError: invalid literal").
		WantText(".stack pre", "Traceback (most recent call last)")
}

func TestShowProblemPagesOfReports(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(55, crashtest.Native)
	id := handlertest.BucketOf(t, crashtest.Native())
	c := p.As(t, crash.RoleViewer)
	first := c.Get(id.Path()).Want(http.StatusOK)
	next := first.Attr("#reports .paging a", "hx-get")
	if got, want := first.Attr("#reports .paging a", "href"), next+"#reports"; got != want {
		t.Errorf("link without scripts: got %q, want %q", got, want)
	}
	page, part := c.Get(next).Want(http.StatusOK), c.Part(next).Want(http.StatusOK)
	for what, a := range map[string]*handlertest.Answer{"page": page, "part": part} {
		if got := a.HTML().Find("#reports tbody tr").Length(); got != 5 {
			t.Errorf("%s: got %d rows, want 5", what, got)
		}
		if got, want := a.Attr("#reports .paging a", "href"), id.Path()+"#reports"; got != want {
			t.Errorf("%s: link to newer reports: got %q, want %q", what, got, want)
		}
	}
	page.WantText("h1", "tidewatch")
	part.WantNone("h1, header")
	c.Get(id.Path() + "?after=nonsense").Want(http.StatusBadRequest)
	c.Get(id.Path()+"?after="+crash.OopsID{7: 1}.String()).Want(http.StatusOK).WantText("#reports",
		"There are no older reports.")
}

func TestShowProblemManyVersions(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	for i := range 20 {
		p.Several(1, crashtest.Native, crashtest.Version(fmt.Sprintf("1.%d-1", i)))
	}
	id := handlertest.BucketOf(t, crashtest.Native())
	a := p.Visitor(t).Get(id.Path()).Want(http.StatusOK)
	a.WantText(".versions tbody tr:first-child", "1.19-1 highest").WantText(".versions .paging", "5 older versions")
	if got := a.HTML().Find(".versions tbody tr").Length(); got != 15 {
		t.Errorf("versions: got %d rows, want 15", got)
	}
	a = p.Visitor(t).Get(id.Path() + "?versions=all").Want(http.StatusOK)
	a.WantText(".versions tbody tr:last-child", "1.0-1 first").WantText(".versions .paging", "Show fewer versions")
}

func TestShowProblemHostile(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.As(t, crash.RoleTriager)
	for name, build := range map[string]func(...crashtest.Option) crashtest.Report{
		"markup": crashtest.Markup, "long": crashtest.Long, "Unicode": crashtest.Unicode, "newlines": crashtest.Package,
		"escapes": func(o ...crashtest.Option) crashtest.Report {
			return crashtest.Recoverable(append(o, crashtest.Set("DuplicateSignature", "\n 100 % %41 %zz\n\n\tend "))...)
		},
	} {
		p.Several(1, build)
		report := build()
		a := c.Get(handlertest.BucketOf(t, report).Path()).Want(http.StatusOK)
		handlertest.WantNoMarkup(t, a)
		if got, want := a.HTML().Find(".grouping pre").Text(), grouping.SignatureOf(report.Fields()).Signature; got != want {
			t.Errorf("%s: signature on the page: got %q, want %q", name, got, want)
		}
	}
}

func TestShowProblemNotCounted(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Accept("deadbeef-1", crashtest.Native())
	a := p.As(t, crash.RoleViewer).Get(handlertest.BucketOf(t, crashtest.Native()).Path()).Want(http.StatusOK)
	a.WantText(".figures", "reports (all time) 0").WantText(".problem-facts", "First seen never").WantText(".chart",
		"No counted reports")
	if got := a.HTML().Find(".reports tbody tr").Length(); got != 1 {
		t.Errorf("reports: got %d rows, want the report of the test machine", got)
	}
}

func TestShowProblemUnknown(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(1, crashtest.Native)
	c := p.Visitor(t)
	for _, path := range []string{"/problem/" + sha1Text, "/problem/xyz", "/problem/" + sha1Text + "00", "/problem/%00"} {
		c.Get(path).Want(http.StatusNotFound).WantText("[role=alert]", "There is no such problem.")
	}
	id := handlertest.BucketOf(t, crashtest.Native())
	c.Get("/problem/"+strings.ToUpper(id.String())).Want(http.StatusOK).WantText("h1", "tidewatch")
}

// TestShowProblemVersions checks in which versions a problem begins and ends.
func TestShowProblemVersions(t *testing.T) {
	t.Parallel()
	links, err := grouping.ParseLinkTemplates("Ubuntu https://archive.example/{source}/{version}/{file}#{line}")
	if err != nil {
		t.Fatal(err)
	}
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.OpenAt(t, dbtest.URL(t), handlertest.Today),
		SourceLinks:  links,
		VersionLinks: links})
	p.Several(1, crashtest.Assertion, crashtest.Set("Package", "tidewatch 1.4.1-1"))
	p.Several(3, crashtest.Native)
	b := p.Save(t, crashtest.Native())
	a := p.As(t, crash.RoleViewer).Get(b.ID.Path()).Want(http.StatusOK)
	a.WantText(".status-text", "new Open in 24.04").WantText(".verdict", "First seen in the past week. No bug "+
		"filed. 24.04").
		WantText(".status-releases", "24.04 seen in 1.4.9-2, the newest version in use; 4 reports this week")
	a.WantText(".figures", "reports (all time) 4 machines (all time) 4").WantText(".figures",
		"of machines with 24.04, active in 90 days").WantText(".figures", "per 1,000 machine-days, past ")
	a.WantText(".matrix thead", "Last seen").WantText(".matrix tbody tr:nth-child(1)", "18 May")
	if got, want := a.Attr(".matrix tbody tr:nth-child(1) a", "href"),
		"https://archive.example/tidewatch/1.4.9-2/#1"; got != want {
		t.Errorf("link of the version: got %q, want %q", got, want)
	}
	if got, want := a.Attr(".stack > .scroll .frame-table tbody tr:nth-child(1) a", "href"),
		"https://archive.example/tidewatch/1.4.9-2/src/parse.c#88"; got != want {
		t.Errorf("link of the first frame: got %q, want %q", got, want)
	}
	a.WantText(".stack .section-head", "the newest complete one (1.4.9-2 on Ubuntu 24.04)")

	p.Several(1, crashtest.Python, crashtest.Set("Package", "tidewatch 1.5.0-1"),
		crashtest.Set("SourcePackage", "tidewatch"))
	a = p.As(t, crash.RoleViewer).Get(b.ID.Path()).Want(http.StatusOK)
	a.WantText(".status-text", "new Open in 24.04").
		WantText(".status-releases", "24.04 seen up to 1.4.9-2; too few reports of 1.5.0-1 to tell (0 of 1; 2 more would "+
			"tell); 4 "+
			"reports this week")
	a.WantText(".verdict", "No bug filed. The newest versions in use have not shown it. Too few reports to "+
		"tell whether 1.5.0-1 of 24.04 has it (0 of 1; 2 more would tell).")
	a.WantText(".matrix tbody tr:nth-child(1)", "1.4.9-2 last").WantText(".versions .paging", "2 versions without reports")
	a = p.As(t, crash.RoleViewer).Get(b.ID.Path() + "?versions=all").Want(http.StatusOK)
	a.WantText(".matrix tbody tr:nth-child(1)", "1.5.0-1 not seen yet 0 0")
}
