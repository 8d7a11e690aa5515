package problems_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// TestOneWeek checks that everything that counts the reports of the past week counts the same seven
// UTC days, today included, and the same seven days before. API 1.0 counts eight days, as documented.
func TestOneWeek(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.OpenAt(t, dbtest.URL(t), handlertest.Today)})
	days := map[int]int{+1: 1, 0: 3, -1: 2, -6: 4, -7: 11, -13: 25, -14: 11} // reports by day, from today
	for day, n := range days {
		p.Several(n, crashtest.Native, crashtest.At(handlertest.Today.AddDate(0, 0, day).Add(-11*time.Hour)))
	}
	p.Several(1, crashtest.Python, crashtest.At(crash.Midnight(handlertest.Today).AddDate(0, 0, -6)))
	const week, before, year = "9", 36, 56 // tomorrow's report counts from tomorrow on
	path := handlertest.BucketOf(t, crashtest.Native()).Path()
	list := p.As(t, crash.RoleViewer).Get("/?period=week").Want(http.StatusOK)
	list.WantText("tbody tr:nth-child(1) .reports", week)
	if got, want := list.Attr("tbody tr:nth-child(1) .reports", "title"),
		fmt.Sprintf("Rank 1 by reports; %d reports in the 7 days before", before); got != want {
		t.Errorf("title of the count: got %q, want %q", got, want)
	}
	list.WantText("tbody tr:nth-child(2) .problem", "new") // first seen at the first moment of the week
	var file struct {
		Objects []struct{ Count int64 }
	}
	p.As(t, crash.RoleViewer).Get("/problems.json?period=week").Want(http.StatusOK).JSON(&file)
	if len(file.Objects) != 2 || fmt.Sprint(file.Objects[0].Count) != week {
		t.Errorf("problems.json: got %v, want %s reports", file.Objects, week)
	}
	if rows := handlertest.CSVOf(t, p.As(t, crash.RoleViewer).Get("/problems.csv?period=week").
		Want(http.StatusOK)); len(rows) != 2 ||
		rows[0]["count"] != week {
		t.Errorf("problems.csv: got %v, want %s reports", rows, week)
	}
	var eight struct {
		Objects []struct{ Count int64 }
	}
	p.Visitor(t).Get("/api/1.0/most-common-problems/?period=week").Want(http.StatusOK).JSON(&eight)
	if len(eight.Objects) != 2 || eight.Objects[0].Count != 20 {
		t.Errorf("API: got %v, want 20 reports in eight days", eight.Objects)
	}
	p.As(t, crash.RoleViewer).Get("/?period=year").WantText("tbody tr:nth-child(1) .reports", fmt.Sprint(year))
	page := p.As(t, crash.RoleViewer).Get(path).Want(http.StatusOK)
	page.WantText(".status-releases", week+" reports this week")
	if got, want := page.Attr(".figures div:last-child", "title"),
		"9 reports in the past week, today included, 36 in the seven days before"; got != want {
		t.Errorf("title of the change since last week: got %q, want %q", got, want)
	}
	page.WantText(".figures", "vs last week −73 %") // 9 in 6.5 days, 36 in 7
}

// TestMachineCountsOnce checks that a machine that was active in two releases counts once in figures of
// both, and that a share names its base.
func TestMachineCountsOnce(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.OpenAt(t, dbtest.URL(t), handlertest.Today)})
	for i, release := range []crash.Release{"Ubuntu 22.04", "Ubuntu 24.04"} {
		for n := range 5 {
			p.Accept(crash.SystemID(fmt.Sprint("machine-", n)), crashtest.Native(crashtest.At(handlertest.Today.Add(-time.Hour)),
				crashtest.On(release), crashtest.Process(100*i+n)))
		}
	}
	p.Accept("machine-9", crashtest.Python(crashtest.At(handlertest.Today.Add(-time.Hour)), crashtest.On("Ubuntu 24.04")))
	front := p.As(t, crash.RoleViewer).Get("/?period=week").Want(http.StatusOK)
	front.WantText(".trend", "Machines sent 3.67 reports a day each this week") // 11 reports from 6 machines, at noon
	page := p.As(t, crash.RoleViewer).Get(handlertest.BucketOf(t, crashtest.Native()).Path()).Want(http.StatusOK)
	page.WantText(".figures", "of machines with 24.04 or 22.04, active in 90 days 83 %") // 5 of 6
	page.WantText(".figures", "3,333")                                                   // 10 reports on 3 machine-days
	other := p.As(t, crash.RoleViewer).Get(handlertest.BucketOf(t, crashtest.Python()).Path()).Want(http.StatusOK)
	other.WantText(".figures", "of machines with 24.04, active in 90 days 17 %")
}
