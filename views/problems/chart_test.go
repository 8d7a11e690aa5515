package problems_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/views/problems"
	"mishap/views/viewstest"
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
	if diff := cmp.Diff([]crash.Release{"Ubuntu 24.04", "Ubuntu 9.10", ""}, c.Releases); diff != "" {
		t.Errorf("releases, newest first (-want +got):\n%s", diff)
	}
	want := []problems.ChartBar{
		{Since: day(11, 18), Counts: []int64{0, 0, 0}},
		{Since: day(11, 19), Counts: []int64{5, 2, 0}, Total: 7},
		{Since: day(11, 20), Counts: []int64{0, 0, 0}},
		{Since: day(11, 21), Counts: []int64{1, 0, 1}, Total: 2},
	}
	if diff := cmp.Diff(want, c.Bars); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
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
		if diff := cmp.Diff(want, c.Bars[i]); diff != "" {
			t.Errorf("bar %d (-want +got):\n%s", i, diff)
		}
	}
	doc := parse(t, viewstest.Render(t, problems.ChartPart(c, viewstest.Now)))
	for selector, want := range map[string]string{
		"#chart-title":                        "Reports per week",
		".chart-plot rect:last-of-type title": "Week from 15 Nov: 24 reports (24.04: 8, 22.04: 16)",
		".chart-table thead th:first-child":   "Week from (UTC)",
	} {
		if got := doc.Find(selector).Text(); got != want {
			t.Errorf("%s: got %q, want %q", selector, got, want)
		}
	}
	const want = "Reports per week from 22 Aug to 21 Nov, at most 24 in the week from 15 Nov. " +
		"The table below has the same numbers."
	if got := doc.Find(".chart-plot").AttrOr("aria-label", ""); got != want {
		t.Errorf("label: got %q, want %q", got, want)
	}
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
	text := viewstest.Render(t, problems.ChartPart(problems.NewChart([]crash.DayCount{
		{Day: day(11, 19), Release: "Ubuntu 22.04", Reports: 25}, {Day: day(11, 19), Release: "Ubuntu 24.04", Reports: 75},
		{Day: day(11, 21), Release: "Ubuntu 24.04", Reports: 1},
	}, crash.BuiltInReleases(), day(11, 18), day(11, 21)), viewstest.Now))
	doc := parse(t, text)
	if got, want := doc.Find(".chart-plot").AttrOr("viewBox", ""), "0 0 40 1000"; got != want {
		t.Errorf("viewBox: got %q, want %q", got, want)
	}
	first := doc.Find(".chart-plot rect").First()
	if got, want := first.Find("title").Text(), "19 Nov: 100 reports (24.04: 75, 22.04: 25)"; got != want {
		t.Errorf("title of the first day: got %q, want %q", got, want)
	}
	if got := first.AttrOr("x", ""); got != "10" {
		t.Errorf("the first day: got %s, want it at 10", got)
	}
	for class, want := range map[string]string{".release-0": "m15 1000v-750m20 750v-10",
		".release-3": "m15 250v-250"} {
		if got := doc.Find(".chart-plot "+class).AttrOr("d", ""); got != want {
			t.Errorf("%s: got %q, want %q", class, got, want)
		}
	}
	if got := doc.Find(".chart-plot rect").Length(); got != 2 {
		t.Errorf("days: got %d, want 2: those without reports have none", got)
	}
	if got, want := rows(doc, ".chart-table tbody tr"),
		[]string{"2026-11-21 1 · 1", "2026-11-19 75 25 100"}; !cmp.Equal(got, want) {
		t.Errorf("table: got %q, want %q", got, want)
	}
}
