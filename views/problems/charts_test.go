package problems_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
	"mishap/views/layout"
	"mishap/views/problems"
)

func day(month time.Month, d int) time.Time { return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC) }

func TestNewChart(t *testing.T) {
	t.Parallel()
	c := problems.NewChart([]crash.DayCount{
		{Day: day(11, 19), Release: "Ubuntu 9.10", Reports: 2},
		{Day: day(11, 19), Release: "Ubuntu 24.04", Reports: 5},
		{Day: day(11, 21), Release: "Ubuntu 24.04", Reports: 1},
		{Day: day(11, 21), Release: "", Reports: 1},
		{Day: day(11, 17), Release: "Ubuntu 24.04", Reports: 100}, // before
		{Day: day(11, 22), Release: "Ubuntu 24.04", Reports: 100}, // after
	}, crash.BuiltInReleases(), day(11, 18), day(11, 21).Add(13*time.Hour))
	checktest.Diff(t, "releases, newest first", c.Releases, []crash.Release{"Ubuntu 24.04", "Ubuntu 9.10", ""})
	want := []problems.ChartBar{
		{Since: day(11, 18), Counts: []int64{0, 0, 0}},
		{Since: day(11, 19), Counts: []int64{5, 2, 0}, Total: 7},
		{Since: day(11, 20), Counts: []int64{0, 0, 0}},
		{Since: day(11, 21), Counts: []int64{1, 0, 1}, Total: 2},
	}
	checktest.Diff(t, "days", c.Bars, want)
	if c.Most != 7 || c.Total != 9 {
		t.Errorf("most and total: got %d and %d, want 7 and 9", c.Most, c.Total)
	}
}

// TestWeeks checks that a span of more than a quarter has a bar for each week.
func TestWeeks(t *testing.T) {
	t.Parallel()
	until := day(11, 21)
	since := until.AddDate(0, 0, -91) // 13 weeks and a day
	c := problems.NewChart([]crash.DayCount{
		{Day: since, Release: "Ubuntu 24.04", Reports: 1},
		{Day: since.AddDate(0, 0, 1), Release: "Ubuntu 24.04", Reports: 2},
		{Day: since.AddDate(0, 0, 7), Release: "Ubuntu 22.04", Reports: 4},
		{Day: until.AddDate(0, 0, -6), Release: "Ubuntu 24.04", Reports: 8},
		{Day: until, Release: "Ubuntu 22.04", Reports: 16},
	}, crash.BuiltInReleases(), since, until)
	if !c.Weekly || len(c.Bars) != 14 || c.Total != 31 || c.Most != 24 {
		t.Fatalf("got weekly %v, %d bars with %d reports, at most %d; want 14 weeks, 31 and 24", c.Weekly, len(c.Bars),
			c.Total, c.Most)
	}
	for i, want := range map[int]problems.ChartBar{
		0:  {Since: since, Counts: []int64{1, 0}, Total: 1},
		1:  {Since: since.AddDate(0, 0, 1), Counts: []int64{2, 4}, Total: 6},
		2:  {Since: since.AddDate(0, 0, 8), Counts: []int64{0, 0}},
		13: {Since: until.AddDate(0, 0, -6), Counts: []int64{8, 16}, Total: 24},
	} {
		checktest.Diff(t, fmt.Sprintf("bar %d", i), c.Bars[i], want)
	}
	doc := parse(t, render(t, problems.ChartPart(c, now)))
	for selector, want := range map[string]string{
		"#chart-title":                        "Reports per week",
		".chart-plot rect:last-of-type title": "Week from 15 Nov: 24 reports (24.04: 8, 22.04: 16)",
		".chart-table thead th:first-child":   "Week from (UTC)",
	} {
		checktest.Equal(t, selector, doc.Find(selector).Text(), want)
	}
	const want = "Reports per week from 22 Aug to 21 Nov, at most 24 in the week from 15 Nov. " +
		"The table below has the same numbers."
	checktest.Equal(t, "label", doc.Find(".chart-plot").AttrOr("aria-label", ""), want)
	if c = problems.NewChart(nil, crash.BuiltInReleases(), since.AddDate(0, 0, 1), until); c.Weekly || len(c.Bars) != 91 {
		t.Errorf("13 weeks: got %d bars, want 91 days", len(c.Bars))
	}
}

func TestChartSpan(t *testing.T) {
	t.Parallel()
	now := day(11, 21).Add(5 * time.Hour)
	for first, want := range map[time.Time]time.Time{
		day(11, 21):                 day(10, 25),
		day(10, 25):                 day(10, 25),
		day(10, 24):                 day(8, 23),
		day(8, 22):                  day(11, 22).AddDate(0, 0, -52*7),
		day(1, 1):                   day(11, 22).AddDate(0, 0, -52*7),
		day(1, 1).AddDate(-3, 0, 0): day(11, 22).AddDate(0, 0, -52*7),
	} {
		since, until := problems.ChartSpan(first, now)
		if !since.Equal(want) || !until.Equal(day(11, 21)) {
			t.Errorf("ChartSpan(%s): got %s to %s, want %s to 2026-11-21", first.Format(time.DateOnly),
				since.Format(time.DateOnly), until.Format(time.DateOnly), want.Format(time.DateOnly))
		}
	}
}

func TestChartPart(t *testing.T) {
	t.Parallel()
	text := render(t, problems.ChartPart(problems.NewChart([]crash.DayCount{
		{Day: day(11, 19), Release: "Ubuntu 22.04", Reports: 25}, {Day: day(11, 19), Release: "Ubuntu 24.04", Reports: 75},
		{Day: day(11, 21), Release: "Ubuntu 24.04", Reports: 1},
	}, crash.BuiltInReleases(), day(11, 18), day(11, 21)), now))
	doc := parse(t, text)
	checktest.Equal(t, "viewBox", doc.Find(".chart-plot").AttrOr("viewBox", ""), "0 0 40 1000")
	first := doc.Find(".chart-plot rect").First()
	checktest.Equal(t, "title of the first day", first.Find("title").Text(),
		"19 Nov: 100 reports (24.04: 75, 22.04: 25)")
	checktest.Equal(t, "the first day", first.AttrOr("x", ""), "10")
	for class, want := range map[string]string{".release-0": "m15 1000v-750m20 750v-10",
		".release-3": "m15 250v-250"} {
		checktest.Equal(t, class, doc.Find(".chart-plot "+class).AttrOr("d", ""), want)
	}
	if got := doc.Find(".chart-plot rect").Length(); got != 2 {
		t.Errorf("days: got %d, want 2: those without reports have none", got)
	}
	if got, want := rows(doc, ".chart-table tbody tr"),
		[]string{"2026-11-21 1 · 1", "2026-11-19 75 25 100"}; !cmp.Equal(got, want) {
		t.Errorf("table: got %q, want %q", got, want)
	}
}

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
	checktest.Equal(t, "line", c.Lines[1].Mean, mean)
	if got, want := c.Lines[1].Raw.Few, "M5 60L15 112L25 8L35 112"; !strings.HasPrefix(got, want) {
		t.Errorf("got the faint line %s, want %s…", got, want)
	}
	if c.Lines[0].Mean.Sure != "M85 62h1" {
		t.Errorf("a single day: got %s, want a dot", c.Lines[0].Mean)
	}
	if a, b := c.Lines[0].Label, c.Lines[1].Label; a != 62 || b != 92 {
		t.Errorf("labels: got %d and %d, want them at the ends of the lines", a, b)
	}
	doc := parse(t, render(t, problems.RatePart(c)))
	checktest.Equal(t, "days in the table", doc.Find("tbody tr").Length(), 3)
	checktest.Equal(t, "value", rows(doc, "tbody tr")[0], "2026-05-20 0.30 0.25")
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
	if want := "24.04 0.48 22.04 0.19 −56%"; text != want {
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
	doc := parse(t, render(t, problems.RatePart(c)))
	checktest.Equal(t, "value", rows(doc, "tbody tr")[0], "2026-05-20 0.090* 0.10 500.00")
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
