package handlers_test

import (
	"net/http"
	"net/url"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/handlers/handlertest"
)

func TestRedirectBucket(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.Visitor(t)
	for name, report := range map[string]crashtest.Report{
		"plain": crashtest.Native(), "markup": crashtest.Markup(), "newlines": crashtest.Package(),
		"Unicode": crashtest.Unicode(),
		"escapes": crashtest.Recoverable(crashtest.Set("DuplicateSignature", "a;b&c=d+e %41 %zz\n")),
	} {
		p.Accept(crash.SystemID(name), report)
		signature := grouping.SignatureOf(report.Fields()).Signature
		want := crash.BucketIDOf(signature).Path()
		for _, path := range []string{"/bucket/", "/bucket"} {
			if a := c.Get(path + "?id=" + url.QueryEscape(signature)); a.Header.Get("Location") != want {
				t.Errorf("%s%s: got %d to %q, want %q", path, name, a.Status, a.Header.Get("Location"), want)
			}
		}
	}
	c.Get("/bucket/?x=1&id=/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start").
		WantRedirect(http.StatusSeeOther, handlertest.BucketOf(t, crashtest.Native()).Path())
	for _, query := range []string{"", "?", "?id=", "?x=1"} {
		c.Get("/bucket/"+query).WantRedirect(http.StatusSeeOther, "/")
	}
	for _, query := range []string{"?id=unknown", "?id=%ff%00", "?id=%zz"} {
		c.Get("/bucket/"+query).Want(http.StatusNotFound).WantText("[role=alert]", "There is no such problem.")
	}
}

func TestRedirectBugUnknown(t *testing.T) {
	t.Parallel()
	c := handlertest.NewPages(t).Visitor(t)
	c.Get("/bug/2101233").Want(http.StatusNotFound).WantText("[role=alert]", "No problem here has the bug 2101233.")
	for _, path := range []string{"/bug/x", "/bug/0", "/bug/-1", "/bug/99999999999999999999"} {
		c.Get(path).Want(http.StatusNotFound).WantText("[role=alert]", "There is no bug with such a number.")
	}
}

// TestBugOfProblem checks that a filed bug appears, with its number, on the list and on the page of
// its problem.
func TestBugOfProblem(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	p.Several(1, crashtest.Native)
	report := crashtest.Native()
	var filed struct{ Report, URL string }
	p.As(t, crash.RoleTriager).PostJSON("/api/1.0/create-bug-report/", map[string]string{
		"signature": grouping.SignatureOf(report.Fields()).Signature,
	}).Want(http.StatusCreated).JSON(&filed)
	c := p.Visitor(t)
	c.Get("/bug/"+filed.Report).WantRedirect(http.StatusSeeOther, handlertest.BucketOf(t, report).Path())
	for path, selector := range map[string]string{"/": "tbody td.bug a", handlertest.BucketOf(t, report).
		Path(): "#bugs a.bug-link"} {
		a := c.Get(path).Want(http.StatusOK).WantText(selector, filed.Report)
		if got := a.Attr(selector, "href"); got != filed.URL {
			t.Errorf("%s: link to the bug: got %q, want %q", path, got, filed.URL)
		}
	}
}
