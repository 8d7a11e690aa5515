package problems_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views/layout"
	"mishap/views/problems"
	"mishap/views/viewstest"
)

func TestRateChart(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 5, 20, 15, 0, 0, 0, time.UTC)
	since := until.AddDate(0, 0, -13)
	rate := func(release crash.Release, day int, reports, machines int64) stats.DayRate {
		return stats.DayRate{Release: release, Day: time.Date(2026, 5, day, 0, 0, 0, 0, time.UTC), Reports: reports,
			Machines: machines}
	}
	c := problems.NewRateChart([]stats.DayRate{
		rate("Ubuntu 22.04", 8, 40, 2), // too few of its machines
		rate("Ubuntu 22.04", 12, 50, 100), rate("Ubuntu 22.04", 14, 100, 100), rate("Ubuntu 22.04", 20, 25, 100),
		rate("Ubuntu 24.04", 20, 30, 100), rate("Ubuntu 24.04", 21, 30, 100), rate("", 20, 3, 1),
	}, stats.Trend{Machines: 201}, []crash.ReleaseDay{{Release: "Ubuntu 26.04", Day: until.AddDate(0, 0, -3)}},
		crash.BuiltInReleases(), since, until)
	if len(c.Lines) != 2 || c.Lines[0].Release != "Ubuntu 24.04" || c.Top != 1 || c.Since.Day() != 12 {
		t.Fatalf("got %+v", c)
	}
	// The means of 22.04 begin on day 12: 0.5, 0.25, then 150 reports of 300 machine-days. The last one counts
	// 15 hours of day 20.
	mean := problems.RatePath{Sure: "M5 60L15 86L25 60L35 73L45 81L55 86L65 90L75 97L85 92"}
	if got, want := c.Lines[1].Mean, mean; got != want {
		t.Errorf("got the line %s, want %s", got, want)
	}
	if got, want := c.Lines[1].Raw.Few, "M5 60L15 112L25 8L35 112"; !strings.HasPrefix(got, want) {
		t.Errorf("got the faint line %s, want %s…", got, want)
	}
	if c.Lines[0].Mean.Sure != "M85 62h1" {
		t.Errorf("a single day: got %s, want a dot", c.Lines[0].Mean)
	}
	if a, b := c.Lines[0].Label, c.Lines[1].Label; a != 62 || b != 92 {
		t.Errorf("labels: got %d and %d, want them at the ends of the lines", a, b)
	}
	doc := parse(t, viewstest.Render(t, problems.RatePart(c)))
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
	if want := "24.04 0.48 22.04 0.19 −56 %"; text != want {
		t.Errorf("legend: got %q, want %q", text, want)
	}
}

// TestRateChartFewReports checks that points from fewer than ten reports look different, in the drawing
// and in the table, and that no line leaves the plot.
func TestRateChartFewReports(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC)
	var rates []stats.DayRate
	for i := range 14 {
		day := until.AddDate(0, 0, -i)
		rates = append(rates, stats.DayRate{Release: "Ubuntu 24.04", Day: day, Reports: []int64{100, 900}[i/13],
			Machines: 1000}, stats.DayRate{Release: "Ubuntu 26.04", Day: day, Reports: 9, Machines: 100})
	}
	// One machine crashes in a loop, far above the scale of the others.
	rates = append(rates, stats.DayRate{Release: "Ubuntu 22.04", Day: until, Reports: 500, Machines: 1})
	c := problems.NewRateChart(rates, stats.Trend{Machines: 900}, nil, crash.BuiltInReleases(),
		until.AddDate(0, 0, -13), until.Add(24*time.Hour-time.Minute))
	if len(c.Lines) != 3 || c.Top != 1 {
		t.Fatalf("got %d lines up to %v, want 3 up to 1", len(c.Lines), c.Top)
	}
	for _, line := range c.Lines {
		for _, path := range []string{line.Mean.Sure, line.Mean.Few, line.Raw.Sure, line.Raw.Few} {
			for _, point := range strings.FieldsFunc(path, func(r rune) bool { return r == 'M' || r == 'L' }) {
				var x, y int
				if _, err := fmt.Sscan(point, &x, &y); err != nil || y < 8 || y > 112 {
					t.Errorf("%s: the point %q is outside of the plot", line.Release, point)
				}
			}
		}
	}
	resolute, noble, jammy := c.Lines[0], c.Lines[1], c.Lines[2]
	if resolute.Mean.Few != "M5 103L15 103" || !strings.HasPrefix(resolute.Mean.Sure, "M15 103L25 103") {
		t.Errorf("26.04: got %+v, want the first mean dashed, which rests on nine reports", resolute.Mean)
	}
	if resolute.Raw.Sure != "" || noble.Raw.Few != "" || jammy.Mean != (problems.RatePath{}) {
		t.Errorf("got %+v, %+v, %+v; want dashes only, no dash, nothing within the plot", resolute.Raw, noble.Raw, jammy.Mean)
	}
	doc := parse(t, viewstest.Render(t, problems.RatePart(c)))
	if got, want := rows(doc, "tbody tr")[0], "2026-05-20 0.090* 0.10 500.00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if doc.Find(".rate-key").Length() != 1 || doc.Find(".chart-table .hint").Text() != "* from fewer than 10 reports" ||
		doc.Find("path.few").Length() != 3 {
		t.Errorf("got no explanation of the dashes, or %d dashed paths", doc.Find("path.few").Length())
	}
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC)
	s := layout.NewSparkline([]int64{0, 4, 1, 4}, until)
	if want := "M4 16v-16M7 16v-4M10 16v-16"; s.Path != want || s.Label != "at most 4 a day in the past 4 "+
		"days, on 20 May" {
		t.Errorf("got %+v, want the path %s", s, want)
	}
	if none := layout.NewSparkline(make([]int64, 28), until); none.Any || none.Label != "none in the past 28 days" {
		t.Errorf("got %+v, want nothing", none)
	}
	if small := layout.NewSparkline([]int64{1, 1000}, until); !strings.HasPrefix(small.Path, "M1 16v-1") {
		t.Errorf("got %s, want a visible mark even for small values", small.Path)
	}
}
