package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// TestGatePage shows every state of the update gate, to a visitor and without JavaScript.
func TestGatePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	in := intake.New(intake.Config{MaxAgeDays: 366}, site.Store)
	process := 0
	save := func(machine, days int, version string, options ...crashtest.Option) {
		t.Helper()
		process++
		at := time.Now().AddDate(0, 0, -days)
		report := crashtest.Native(append([]crashtest.Option{crashtest.Version(version), crashtest.At(at),
			crashtest.Process(process)}, options...)...)
		if _, err := in.Accept(t.Context(), crash.Report{ID: crash.NewOopsID(at), Fields: report.Fields(),
			System: crash.NewSystemID(fmt.Sprint("machine ", machine))}); err != nil {
			t.Fatal(err)
		}
	}
	fresh := "/usr/bin/tidewatch:11:new_function"
	for machine := range 60 {
		save(machine, 80, "1.0", crashtest.Set("Package", "other 1.0"))
		save(machine, 40+machine%30, "1.9-1")
	}
	save(1, 30, "1.10-1")
	for machine := range 8 {
		save(machine, machine, "1.11-1", crashtest.Set("DuplicateSignature", fresh))
	}
	dbtest.Counted(t, site.Store)
	c := site.Visitor(t)
	ask := func(version string, more ...string) *handlertest.Answer {
		t.Helper()
		return c.Get("/gate?package=tidewatch&version=" + version + strings.Join(more, ""))
	}

	form := c.Get("/gate").Want(http.StatusOK).WantNone(".gate-verdict").WantNone(".error")
	if got := form.Attr("form.gate-form", "action") + " " + form.Attr("form.gate-form", "method"); got != "/gate get" {
		t.Errorf("form: got %q", got)
	}
	c.Get("/gate?package=nosuch&version=1").Want(http.StatusNotFound).WantText(".error", "No report of a binary "+
		"package nosuch")
	c.Get("/gate?package=tidewatch").Want(http.StatusUnprocessableEntity).WantText(".error", "Name a version")
	ask("1.10-1", "&against=1.11-1").Want(http.StatusUnprocessableEntity).WantText(".error", "not lower")
	ask("_").Want(http.StatusUnprocessableEntity).WantText(".error", "dpkg")
	unknown := ask("2.0").Want(http.StatusOK).WantText(".gate-verdict", "no release has a report of tidewatch 2.0")
	if got := unknown.Attr("main a[href*='version=1.11-1']", "href"); got != "/gate?package=tidewatch&version=1.11-1" {
		t.Errorf("unknown version: got link %q", got)
	}
	ask("1.9-1").Want(http.StatusOK).WantText(".gate-verdict .state-wait", "not enough data").
		WantText(".gate-reasons", "no report of a lower version")
	pass := ask("1.10-1").Want(http.StatusOK).WantText(".gate-verdict .state-done", "pass").
		WantText(".gate-reasons", "Compared with 1.9-1, the version before").WantText(".gate-rates tbody", "1.10-1")
	if got := pass.Attr("input[name=version]", "value"); got != "1.10-1" {
		t.Errorf("form: got version %q, want the one that was asked about", got)
	}
	release := "&release=" + url.QueryEscape("Ubuntu 24.04")
	ask("1.11-1", release).Want(http.StatusOK).WantText(".gate-verdict .state-error", "worse").
		WantText(".gate-problems", "new_function").WantText(".gate-problems .state-error", "yes").
		WantText(".gate-result h2", "Ubuntu 24.04 (noble)")
	ask("1.11-1", "&release=Debian+13").Want(http.StatusOK).WantText(".gate-verdict", "no report from Debian 13")

	page := c.Get("/package/tidewatch").Want(http.StatusOK)
	if got, want := page.Attr(".version-table tbody tr:first-child td:last-child a", "href"),
		"/gate?package=tidewatch"+"&release=Ubuntu+24.04&version=1.11-1"; got != want {
		t.Errorf("package page: got link %q, want %q", got, want)
	}
}
