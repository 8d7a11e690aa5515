package views_test

import (
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views"
)

func TestRateChart(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 5, 20, 15, 0, 0, 0, time.UTC)
	since := until.AddDate(0, 0, -13)
	rate := func(release crash.Release, day int, reports, machines int64) stats.DayRate {
		return stats.DayRate{Release: release, Day: time.Date(2026, 5, day, 0, 0, 0, 0, time.UTC), Reports: reports,
			Machines: machines}
	}
	c := views.NewRateChart([]stats.DayRate{
		rate("Ubuntu 22.04", 8, 40, 2), // too few of its machines
		rate("Ubuntu 22.04", 12, 50, 100), rate("Ubuntu 22.04", 14, 100, 100), rate("Ubuntu 22.04", 20, 25, 100),
		rate("Ubuntu 24.04", 20, 30, 100), rate("Ubuntu 24.04", 21, 30, 100), rate("", 20, 3, 1),
	}, []crash.ReleaseDay{{Release: "Ubuntu 26.04", Day: until.AddDate(0, 0, -3)}}, crash.BuiltInReleases(), since, until)
	if len(c.Lines) != 2 || c.Lines[0].Release != "Ubuntu 24.04" || c.Most != 1 {
		t.Fatalf("got %+v", c)
	}
	// Day 12 is the sixth of the span. Between days 12 and 14, the day without reports is at the
	// bottom.
	if got, want := c.Lines[1].Path, "M55 50.0L65 100.0L75 0.0L85 100.0L95 100.0L105 100.0L115 100.0L125 "+
		"100.0L135 75.0"; got != want {
		t.Errorf("got the line %s, want %s", got, want)
	}
	if c.Lines[0].Path != "M135 70.0h1" {
		t.Errorf("a single day: got %s, want a dot", c.Lines[0].Path)
	}
	doc := parse(t, render(t, views.RatePart(c, until)))
	if got := doc.Find("tbody tr").Length(); got != 3 {
		t.Errorf("days in the table: got %d, want 3", got)
	}
	if got, want := rows(doc, "tbody tr")[0], "2026-05-20 0.30 0.25"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, _ := doc.Find(".release-mark").Attr("x1"); got != "105" {
		t.Errorf("mark of a release: got x = %s, want 105", got)
	}
	if got := strings.Join(strings.Fields(doc.Find(".release-note").Text()), " "); got != "26.04 came out on 17 May" {
		t.Errorf("note of a release: got %q", got)
	}
	text := strings.Join(strings.Fields(doc.Find(".legend").Text()), " ")
	if want := "24.04 0.30 22.04 0.18 down 59 %"; text != want {
		t.Errorf("legend: got %q, want %q", text, want)
	}
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC)
	s := views.NewSparkline([]int64{0, 4, 1, 4}, until)
	if want := "M4 16v-16M7 16v-4M10 16v-16"; s.Path != want || s.Words != "at most 4 a day in 4 "+
		"days, on 20 May" {
		t.Errorf("got %+v, want the path %s", s, want)
	}
	if none := views.NewSparkline(make([]int64, 28), until); none.Any || none.Words != "none in 28 days" {
		t.Errorf("got %+v, want nothing", none)
	}
	if small := views.NewSparkline([]int64{1, 1000}, until); !strings.HasPrefix(small.Path, "M1 16v-1") {
		t.Errorf("got %s, want a visible mark even for small values", small.Path)
	}
}
