package handlers_test

import (
	"net/http"
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
	dbtest.Counted(t, site.Store)
	newer := c.Get("/package/tidewatch").HTML().Find("#package-versions ~ .scroll tbody tr").First()
	if got := newer.Find("td:nth-child(7) li").First().Text(); !strings.HasPrefix(got, "a <b>second</b> problem") {
		t.Errorf("new in 1.10-1: got %q, want the second problem", got)
	}
	if got := newer.Find("td:nth-child(8)").Text(); !strings.Contains(got, "gone by now") ||
		strings.Contains(got, "second") {
		t.Errorf("gone in 1.10-1: got %q, want the problem of 1.9-1", got)
	}
	if strings.Contains(page.Body, "<b>second</b>") {
		t.Error("a signature became markup")
	}
	rows := csvOf(t, c.Get("/package/tidewatch.csv").Want(http.StatusOK))
	if len(rows) != 3 || rows[0]["count"] != "43" {
		t.Errorf("CSV: got %v", rows)
	}
	f := feedOf(t, c.Get("/package/tidewatch.atom").Want(http.StatusOK))
	if len(f.Entries) != 3 || f.Title != "Problems of tidewatch · mishap" ||
		f.Entries[0].Title != "a <b>second</b> problem" {
		t.Errorf("Atom: got %+v, want the new problem first", f)
	}
	c.Get("/package/nosuch").Want(http.StatusNotFound)
	c.Get("/package/nosuch.json").Want(http.StatusOK)
	c.Get("/package/tidewatch/").WantRedirect(http.StatusMovedPermanently, "/package/tidewatch")
	page.WantText("main .exports", "Atom feed")
}
