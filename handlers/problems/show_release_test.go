package problems_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestReleasePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	process := 0
	save := func(days int, release string, options ...crashtest.Option) {
		t.Helper()
		process++
		options = append(options, crashtest.At(time.Now().AddDate(0, 0, -days).Add(-time.Hour)), crashtest.Process(process),
			crashtest.Set("DistroRelease", release))
		site.Save(t, crashtest.Native(options...))
	}
	other := crashtest.Set("DuplicateSignature", "a <b>second</b> problem")
	for range 2 {
		save(9, "Ubuntu 24.04")
	}
	for range 30 {
		save(1, "Ubuntu 24.04")
	}
	save(1, "Ubuntu 26.04")
	save(1, "Ubuntu 26.04", other)
	save(1, "Ubuntu 26.04", other)
	save(0, "Sea Monkey")
	dbtest.Counted(t, site.Store)
	c := site.Visitor(t)

	front := c.Get("/").Want(http.StatusOK)
	front.WantText(".trend", "Machines sent")
	front.WantText(".trend", "Worse: 24.04")

	noble := c.Get("/release/Ubuntu%2024.04").Want(http.StatusOK).WantText("h1", "Ubuntu 24.04 (noble)")
	noble.WantText(".trend", "worse Machines sent")
	if got := noble.HTML().Find("#release-worst ~ table tbody tr").Length(); got != 1 {
		t.Errorf("24.04: got %d problems, want 1", got)
	}
	resolute := c.Get("/release/Ubuntu%2026.04").Want(http.StatusOK)
	resolute.WantText("main", "This week, machines with 26.04 sent ")
	if got := resolute.HTML().Find("#release-worst ~ table tbody tr"); got.Length() != 2 ||
		!strings.Contains(got.First().Text(), "second") {
		t.Errorf("26.04: got problems %s, want two, by frequency", got.Text())
	}
	if got := resolute.HTML().Find("#release-new ~ table tbody tr"); got.Length() != 1 || !strings.Contains(got.Text(),
		"second") {
		t.Errorf("26.04, new: got %s, want the problem that 24.04 lacks", got.Text())
	}
	if got := resolute.HTML().Find("#release-packages ~ .scroll tbody tr"); got.Length() != 1 ||
		!strings.Contains(got.Text(), "tidewatch") {
		t.Errorf("26.04, packages: got %s", got.Text())
	}
	if strings.Contains(resolute.Body, "<b>second</b>") {
		t.Error("a signature became markup")
	}
	if rows := handlertest.CSVOf(t, c.Get("/release/Ubuntu%2026.04.csv").Want(http.StatusOK)); len(rows) != 2 ||
		rows[0]["count"] != "2" {
		t.Errorf("CSV: got %v", rows)
	}
	if f := handlertest.FeedOf(t, c.Get("/release/Ubuntu%2026.04.atom").Want(http.StatusOK)); len(f.Entries) != 2 ||
		f.Title != "Problems of Ubuntu 26.04 · mishap" {
		t.Errorf("Atom: got %+v", f)
	}
	c.Get("/release/Sea%20Monkey").Want(http.StatusOK).WantText("h1", "Sea Monkey")
	c.Get("/release/Ubuntu%204.10").Want(http.StatusNotFound)
	c.Get("/release/").Want(http.StatusNotFound)
}
