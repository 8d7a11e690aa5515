package problems_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// TestHealthOnPages checks the hours and the machines without a crash on the pages of a release, a package and the
// gate, against the reports.
func TestHealthOnPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	yesterday := crash.Midnight(time.Now()).AddDate(0, 0, -1)
	for i := range 9 {
		at := yesterday.Add(9*time.Hour + time.Duration(i)*time.Minute)
		version := crashtest.Version("1.4-3")
		if i > 5 {
			at, version = at.AddDate(0, 0, -3).Add(5*time.Hour), crashtest.Version("1.4-2")
		}
		site.SaveFrom(t, crash.SystemID(fmt.Sprint("machine-", i%4)), crashtest.Native(crashtest.At(at), version,
			crashtest.Process(i+1)))
	}
	dbtest.Counted(t, site.Store)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := site.Store.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	c := site.Visitor(t)
	const release = "/release/Ubuntu%2024.04"
	page := c.Get(release).Want(http.StatusOK).
		WantText(".health", "Reports from Ubuntu 24.04 (noble) in the last 14 days.").
		WantText(".health", "cannot be told").WantText(".crash-free", "is not known: none with this release pings")
	row := page.HTML().Find(".hour-table tbody tr").Eq(1)
	checktest.Equal(t, "hours of yesterday", strings.Join(strings.Fields(row.Text()), ""),
		yesterday.Format(time.DateOnly)+"6·········6··············")
	gate := c.Get("/gate?package=tidewatch&version=1.4-3").Want(http.StatusOK)
	gate.WantText(".gate-result", "in the first 14 days of 1.4-3").
		WantText(".gate-result", "6 of the 6 reports are from 1.4-3.")
	c.Get("/package/tidewatch").WantNone(`.version-table th[title*="no report"]`)
	// 400 machines ping on each day. Yesterday, four of them at most have crashed.
	exec(`insert into ping_days select day::date, 'Ubuntu 24.04', 'amd64', 400 from
		generate_series($1::date - 6, $1::date, '1 day') as day`, yesterday)
	exec(`update counting set round = round + 1`)
	want := site.Value(t, `select count(distinct (day, system))::text from reports where day >= current_date - 7`)
	checktest.Equal(t, "machines with reports", want, "7")
	sentence := "At least 99.75% of the machines with Ubuntu 24.04 that ping sent no report on a day"
	c.Get(release).WantText(".crash-free", sentence)
	c.Get("/gate?package=tidewatch&version=1.4-3").WantText(".gate-result",
		"At least 99.85% of the machines with Ubuntu 24.04 that ping sent no report of tidewatch 1.4-3 on a day")
	c.Get("/package/tidewatch").WantText(".version-table", "≥ 99.85%")
	admin := site.As(t, crash.RoleAdmin)
	admin.Get("/admin/doors").WantText("main", "No number of installed machines was imported")
	exec(`insert into installs values ($1, 'Ubuntu 24.04', '', '', '', 50000, 'update server', now())`,
		yesterday)
	admin.Get("/admin/doors").WantText("#installs ~ .scroll", "50,000 1 0 update server")
	c.Get(release).WantText(".crash-free", "At most 99.9980% of the machines with Ubuntu 24.04 sent no report on a day").
		WantText(".crash-free", "by update server.")
	var answer struct {
		Objects []struct {
			Hours []struct {
				Hour    string
				Reports int64
			}
			CrashFree []struct{ Basis string } `json:"crash_free"`
		}
	}
	c.Get("/api/1.0/release-health/?release=Ubuntu+24.04&package=tidewatch&version=1.4-3").Want(http.StatusOK).
		JSON(&answer)
	if o := answer.Objects[0]; len(o.Hours) != 1 || o.Hours[0].Reports != 6 || len(o.CrashFree) != 2 ||
		o.Hours[0].Hour != yesterday.Format(time.DateOnly)+"T09:00:00" {
		t.Errorf("got %+v, want the hour of the update", answer)
	}
	for _, wrong := range []string{"release=Ubuntu+24.04&package=tidewatch", "release=Ubuntu+24.04&version=1", ""} {
		c.Get("/api/1.0/release-health/?" + wrong).Want(http.StatusBadRequest)
	}
	for _, unknown := range []string{"release=Nosuch", "release=Ubuntu+24.04&package=tidewatch&version=9"} {
		c.Get("/api/1.0/release-health/?" + unknown).Want(http.StatusNotFound)
	}
}
