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
	if len(c.Lines) != 2 || c.Lines[0].Release != "Ubuntu 24.04" || c.Top != 0.5 || c.Since.Day() != 12 {
		t.Fatalf("got %+v", c)
	}
	// The means of 22.04 begin on day 12: 0.5, 0.25, then 150 reports of 300 machine-days.
	if got, want := c.Lines[1].Mean, "M5 8L15 60L25 8L35 34L45 50L55 60L65 67L75 82L85 75"; got != want {
		t.Errorf("got the line %s, want %s", got, want)
	}
	if got, want := c.Lines[1].Raw, "M5 8L15 112L25 -96L35 112"; !strings.HasPrefix(got, want) {
		t.Errorf("got the faint line %s, want %s…", got, want)
	}
	if c.Lines[0].Mean != "M85 50h1" {
		t.Errorf("a single day: got %s, want a dot", c.Lines[0].Mean)
	}
	if a, b := c.Lines[0].Label, c.Lines[1].Label; a != 49 || b != 74 {
		t.Errorf("labels: got %d and %d, want them at the ends of the lines", a, b)
	}
	doc := parse(t, render(t, views.RatePart(c, until)))
	if got := doc.Find("tbody tr").Length(); got != 3 {
		t.Errorf("days in the table: got %d, want 3", got)
	}
	if got, want := rows(doc, "tbody tr")[0], "2026-05-20 0.30 0.25"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, _ := doc.Find(".release-mark").Attr("x1"); got != "55" {
		t.Errorf("mark of a release: got x = %s, want 105", got)
	}
	if got := strings.Join(strings.Fields(doc.Find(".release-note").Text()), " "); got != "26.04 released 17 May" {
		t.Errorf("note of a release: got %q", got)
	}
	if got, _ := doc.Find(".release-note").Attr("x"); got != "61.1%" { // 55 of 90
		t.Errorf("note of a release: got x = %q, want the place of its mark", got)
	}
	text := strings.Join(strings.Fields(doc.Find(".legend").Text()), " ")
	if want := "24.04 0.30 22.04 0.18 −59 %"; text != want {
		t.Errorf("legend: got %q, want %q", text, want)
	}
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC)
	s := views.NewSparkline([]int64{0, 4, 1, 4}, until)
	if want := "M4 16v-16M7 16v-4M10 16v-16"; s.Path != want || s.Label != "at most 4 a day in the past 4 "+
		"days, on 20 May" {
		t.Errorf("got %+v, want the path %s", s, want)
	}
	if none := views.NewSparkline(make([]int64, 28), until); none.Any || none.Label != "none in the past 28 days" {
		t.Errorf("got %+v, want nothing", none)
	}
	if small := views.NewSparkline([]int64{1, 1000}, until); !strings.HasPrefix(small.Path, "M1 16v-1") {
		t.Errorf("got %s, want a visible mark even for small values", small.Path)
	}
}
