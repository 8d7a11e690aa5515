package problems_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/handlers/handlertest"
)

func TestShowReport(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	id := p.Accept("machine/1 ?", crashtest.Native())
	a := p.As(t, crash.RoleViewer).Get("/oops/" + id.String()).Want(http.StatusOK)
	a.WantText("h1", "tidewatch crashed with SIGSEGV in tide_parse_row()").
		WantText(".stack tbody tr:nth-child(1)", "0 tide_parse_row tidewatch parse.c:88")
	if got := a.HTML().Find("#report-id").Text(); got != id.String() {
		t.Errorf("text that the button copies: got %q, want %q", got, id)
	}
	if got, want := a.Attr(".report-facts a[href^='/problem/']", "href"),
		handlertest.BucketOf(t, crashtest.Native()).Path(); got != want {
		t.Errorf("link to the problem: got %q, want %q", got, want)
	}
	if got, want := a.Attr(".report-facts a[href^='/user/']", "href"), "/user/machine%2F1%20%3F"; got != want {
		t.Errorf("link to the machine: got %q, want %q", got, want)
	}
	headings := a.HTML().Find(".field-group h2").Map(func(_ int, s *goquery.Selection) string { return s.Text() })
	if diff := cmp.Diff([]string{"What crashed", "Where", "When", "Traces", "System"}, headings); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	shown := map[string]string{}
	a.HTML().Find(".fields dt").Each(func(_ int, s *goquery.Selection) {
		value := s.Next()
		if pre := value.Find("pre"); pre.Length() > 0 {
			value = pre
		}
		shown[s.Find(".field-name").Text()] = value.Text()
	})
	report, err := p.Store.Report(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range report.Fields {
		if got := shown[name]; strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("field %s: got %q, want %q", name, got, want)
		}
	}
	a.WantText(".fields dt", "program that crashed").WantText(".fields summary", "lines")
	a.WantNone(".page-nav a")
}

func TestShowReportNeighbours(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	var ids []crash.OopsID
	for pid := range 3 {
		ids = append(ids, p.Accept("m", crashtest.Native(crashtest.Process(pid))))
	}
	c := p.As(t, crash.RoleViewer)
	first := c.Get("/oops/" + ids[0].String()).Want(http.StatusOK)
	seen := map[string]bool{}
	for a := first; ; {
		seen[a.Text(".report-facts code")] = true
		if a.HTML().Find(".page-nav a[rel=prev]").Length() == 0 {
			break
		}
		a = c.Get(a.Attr(".page-nav a[rel=prev]", "href")).Want(http.StatusOK)
	}
	for a := first; a.HTML().Find(".page-nav a[rel=next]").Length() > 0; {
		a = c.Get(a.Attr(".page-nav a[rel=next]", "href")).Want(http.StatusOK)
		seen[a.Text(".report-facts code")] = true
	}
	if len(seen) != 3 {
		t.Errorf("reports reached through newer and older links: got %d, want 3", len(seen))
	}
}

func TestShowReportUnbucketed(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	id := p.Accept("", crashtest.Ungroupable())
	a := p.As(t, crash.RoleViewer).Get("/oops/" + id.String()).Want(http.StatusOK)
	a.WantText(".report-facts", "not grouped "+grouping.SignatureOf(crashtest.Ungroupable().Fields()).Reason)
	a.WantText(".report-facts", "Machine no machine id").WantNone(".report-facts a[href^='/problem/'], .report-facts " +
		"a[href^='/user/']")
}

func TestShowReportHostile(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.As(t, crash.RoleViewer)
	for _, report := range []crashtest.Report{
		crashtest.Markup(crashtest.Set(`<script>x</script>`, "<script>y</script>")), crashtest.Long(), crashtest.Unicode(),
		crashtest.Package(),
	} {
		handlertest.WantNoMarkup(t, c.Get("/oops/"+p.Accept(`<script>"'`, report).String()).Want(http.StatusOK))
	}
}

func TestShowReportUnknown(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	id := p.Accept("m", crashtest.Native())
	c := p.As(t, crash.RoleViewer)
	for _, path := range []string{"/oops/" + crash.NewOopsID(handlertest.Today).String(), "/oops/x", "/oops/%00"} {
		c.Get(path).Want(http.StatusNotFound).WantText("[role=alert]", "There is no report with this id.")
	}
	path := "/oops/" + id.String()
	p.Visitor(t).Get(path).WantRedirect(http.StatusSeeOther, "/login?next=%2Foops%2F"+id.String())
}
