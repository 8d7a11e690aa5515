package views_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/views"
)

func day(month time.Month, d int) time.Time { return time.Date(2026, month, d, 0, 0, 0, 0, time.UTC) }

func TestNewChart(t *testing.T) {
	t.Parallel()
	c := views.NewChart([]crash.DayCount{
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
	want := []views.ChartDay{
		{Day: day(11, 18), Counts: []int64{0, 0, 0}},
		{Day: day(11, 19), Counts: []int64{5, 2, 0}, Total: 7},
		{Day: day(11, 20), Counts: []int64{0, 0, 0}},
		{Day: day(11, 21), Counts: []int64{1, 0, 1}, Total: 2},
	}
	if diff := cmp.Diff(want, c.Days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	if c.Most != 7 || c.Total != 9 {
		t.Errorf("most and total: got %d and %d, want 7 and 9", c.Most, c.Total)
	}
}

func TestChartSpan(t *testing.T) {
	t.Parallel()
	now := day(11, 21).Add(5 * time.Hour)
	for first, want := range map[time.Time]time.Time{
		day(11, 21):                 day(10, 25),
		day(10, 25):                 day(10, 25),
		day(10, 24):                 day(8, 23),
		day(8, 22):                  day(1, 1).AddDate(0, 0, 325-365),
		day(1, 1):                   day(1, 1).AddDate(0, 0, 325-365),
		day(1, 1).AddDate(-3, 0, 0): day(1, 1).AddDate(0, 0, 325-365),
	} {
		since, until := views.ChartSpan(first, now)
		if !since.Equal(want) || !until.Equal(day(11, 21)) {
			t.Errorf("ChartSpan(%s): got %s to %s, want %s to 2026-11-21", first.Format(time.DateOnly),
				since.Format(time.DateOnly), until.Format(time.DateOnly), want.Format(time.DateOnly))
		}
	}
}

func TestChartPart(t *testing.T) {
	t.Parallel()
	text := render(t, views.ChartPart(views.NewChart([]crash.DayCount{
		{Day: day(11, 19), Release: "Ubuntu 22.04", Reports: 25}, {Day: day(11, 19), Release: "Ubuntu 24.04", Reports: 75},
		{Day: day(11, 21), Release: "Ubuntu 24.04", Reports: 1},
	}, crash.BuiltInReleases(), day(11, 18), day(11, 21)), now))
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
