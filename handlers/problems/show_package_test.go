package problems_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestPackagePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	process := 0
	save := func(days int, options ...crashtest.Option) {
		t.Helper()
		process++
		options = append(options, crashtest.At(time.Now().AddDate(0, 0, -days).Add(-time.Hour)), crashtest.Process(process))
		site.Save(t, crashtest.Native(options...))
	}
	for range 3 {
		save(5, crashtest.Version("1.9-1"))
	}
	for range 40 {
		save(0, crashtest.Version("1.10-1"))
	}
	save(0, crashtest.Version("1.10-1"), crashtest.Set("DuplicateSignature", "a <b>second</b> problem"))
	dbtest.Counted(t, site.Store)
	c := site.Visitor(t)
	page := c.Get("/package/tidewatch").Want(http.StatusOK).WantText("h1", "tidewatch")
	if got := page.HTML().Find("#package-problems ~ table tbody tr").Length(); got != 2 {
		t.Errorf("got %d problems, want 2", got)
	}
	versions := page.HTML().Find("#package-versions ~ .scroll tbody tr")
	if versions.Length() != 2 || !strings.Contains(versions.First().Text(), "1.10-1") ||
		!strings.Contains(versions.First().Text(), "more") || !strings.Contains(versions.Last().Text(), "1.9-1") {
		t.Errorf("versions: got %s", versions.Text())
	}
	save(5, crashtest.Version("1.9-1"), crashtest.Set("DuplicateSignature", "gone by now"))
	for range 3 { // other versions and releases do not count
		save(5, crashtest.Version("1.8-1"), crashtest.Set("DuplicateSignature", "gone by now"))
		save(0, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.10-1"),
			crashtest.Set("DuplicateSignature", "a <b>second</b> problem"))
	}
	dbtest.Counted(t, site.Store)
	compared := c.Get("/package/tidewatch?" + url.Values{"a": {"Ubuntu 24.04/1.10-1"},
		"b": {"Ubuntu 24.04/1.9-1"}}.Encode())
	compared.WantText("#compare", "New in 1.10-1 since 1.9-1 a <b>second</b> problem 1 report from 1.10-1").
		WantText("#compare", "Gone in 1.10-1 since 1.9-1 gone by now 1 report from 1.9-1").WantText("tr.chosen-version "+
		".letter", "A").
		WantText(".compared", "): more").WantNone("#compare .notice")
	if got := compared.Attr(`select[name=b] option[selected]`, "value"); got != "Ubuntu 24.04/1.9-1" {
		t.Errorf("compared: got B %q, want what was chosen", got)
	}
	// The other way round, the rate is smaller, and what is new and gone stays.
	reverse := c.Get("/package/tidewatch?" + url.Values{"a": {"Ubuntu 24.04/1.9-1"},
		"b": {"Ubuntu 24.04/1.10-1"}}.Encode())
	reverse.WantText(".compared", "): fewer").WantText("#compare", "New in 1.10-1 since 1.9-1")
	c.Get("/package/tidewatch?a=nosuch&b=x").Want(http.StatusOK).WantText("#compare .notice", "newest one")
	same := url.Values{"a": {"Ubuntu 24.04/1.9-1"}, "b": {"Ubuntu 24.04/1.9-1"}}.Encode()
	c.Get("/package/tidewatch?"+same).WantText("#compare .notice", "same version").WantNone(".comparison")
	if got := compared.HTML().Find("svg.interval").First().AttrOr("aria-label", ""); !strings.Contains(got,
		"95 % interval") {
		t.Errorf("interval bar: got %q, want its figures", got)
	}
	if strings.Contains(page.Body, "<b>second</b>") {
		t.Error("a signature became markup")
	}
	rows := handlertest.CSVOf(t, c.Get("/package/tidewatch.csv").Want(http.StatusOK))
	if len(rows) != 3 || rows[0]["count"] != "43" {
		t.Errorf("CSV: got %v", rows)
	}
	f := handlertest.FeedOf(t, c.Get("/package/tidewatch.atom").Want(http.StatusOK))
	if len(f.Entries) != 3 || f.Title != "Problems of tidewatch · mishap" ||
		f.Entries[0].Title != "a <b>second</b> problem" {
		t.Errorf("Atom: got %+v, want the new problem first", f)
	}
	c.Get("/package/nosuch").Want(http.StatusNotFound)
	c.Get("/package/nosuch.json").Want(http.StatusOK)
	c.Get("/package/tidewatch/").WantRedirect(http.StatusMovedPermanently, "/package/tidewatch")
	page.WantText("main .exports", "Atom feed")
}
