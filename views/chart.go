package views

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/text"
)

// Chart holds reports per day, stacked by release.
type Chart struct {
	Since, Until time.Time // UTC days, both included
	// Releases has known releases first, then newest first: the order of a stack from the bottom.
	Releases []crash.Release
	Days     []ChartDay // one per day of the span
	Most     int64      // the highest sum of a day
	Total    int64
}

// ChartDay is one bar.
type ChartDay struct {
	Day    time.Time
	Counts []int64 // in the order of Releases
	Total  int64
}

// NewChart returns the chart of the counts in a span of days. It drops counts outside the span, and
// adds up as "other releases" those releases that the table does not allow in lists.
func NewChart(counts []crash.DayCount, table *crash.ReleaseTable, since, until time.Time) Chart {
	since, until = midnight(since), midnight(until)
	c := Chart{Since: since, Until: until}
	reports := map[crash.Release]int64{}
	for _, n := range counts {
		if n.Reports > 0 {
			reports[n.Release] += n.Reports
		}
	}
	list := table.List(reports)
	c.Releases = list.Descending()
	for day := since; !day.After(until); day = day.AddDate(0, 0, 1) {
		c.Days = append(c.Days, ChartDay{Day: day, Counts: make([]int64, len(c.Releases))})
	}
	for _, n := range counts {
		i := int(midnight(n.Day).Sub(since) / (24 * time.Hour))
		if n.Reports <= 0 || n.Day.Before(since) || i >= len(c.Days) {
			continue
		}
		day := &c.Days[i]
		day.Counts[slices.Index(c.Releases, list.Of(n.Release))] += n.Reports
		day.Total += n.Reports
		c.Total += n.Reports
		c.Most = max(c.Most, day.Total)
	}
	return c
}

// ChartSpan returns the shortest span that covers everything since firstSeen: four weeks, a quarter
// or a year.
func ChartSpan(firstSeen, now time.Time) (since, until time.Time) {
	until = midnight(now)
	for _, days := range []int{28, 91} {
		if since = until.AddDate(0, 0, 1-days); !firstSeen.Before(since) {
			return since, until
		}
	}
	return until.AddDate(0, 0, -364), until
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// The drawing is stretched to its box. A day is 10 units wide, and the highest bar is 1000 units
// high, so that whole numbers are precise enough.
const (
	dayWidth    = 10
	chartHeight = 1000
)

func (c Chart) viewBox() string { return fmt.Sprintf("0 0 %d %d", len(c.Days)*dayWidth, chartHeight) }

// bars returns the bars of one release as a single SVG path of vertical strokes, stacked on those of
// newer releases. A year of days would need too many elements, and outlines too many bytes.
func (c Chart) bars(release int) string {
	var d []byte
	number := func(before string, n int) { d = strconv.AppendInt(append(d, before...), int64(n), 10) }
	x, y := 0, 0 // where the previous stroke ended
	for i, day := range c.Days {
		if day.Counts[release] == 0 {
			continue
		}
		bottom, top := chartHeight, chartHeight
		for _, count := range day.Counts[:release+1] {
			bottom = top
			if count > 0 { // at least a hundredth of the height, to be visible
				top -= max(int(math.Round(chartHeight*float64(count)/float64(c.Most))), chartHeight/100)
			}
		}
		number("m", i*dayWidth+dayWidth/2-x)
		number(" ", bottom-y)
		number("v", top-bottom)
		x, y = i*dayWidth+dayWidth/2, top
	}
	return string(d)
}

// describe returns the tooltip of a bar: "2 Sep: 14 reports (24.04: 12, 22.04: 2)".
func (c Chart) describe(day ChartDay, now time.Time) string {
	var parts []string
	for i, count := range day.Counts {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", releaseName(c.Releases[i]), Count(count)))
		}
	}
	return text.ChartDay(Date(day.Day, now), day.Total, strings.Join(parts, ", "))
}

// fullest returns the last day with the most reports.
func (c Chart) fullest() ChartDay {
	var fullest ChartDay
	for _, day := range c.Days {
		if day.Total > 0 && day.Total >= fullest.Total {
			fullest = day
		}
	}
	return fullest
}

// label describes the chart for screen readers.
func (c Chart) label(now time.Time) string {
	return text.ChartLabel(Date(c.Since, now), Date(c.Until, now), Count(c.Most), Date(c.fullest().Day, now))
}

// rows returns the days with reports, newest first, for the table below the chart.
func (c Chart) rows() []ChartDay {
	var rows []ChartDay
	for _, day := range slices.Backward(c.Days) {
		if day.Total > 0 {
			rows = append(rows, day)
		}
	}
	return rows
}

func releaseName(r crash.Release) string {
	if r == "" {
		return text.UnknownRelease
	}
	return ShortRelease(r)
}
