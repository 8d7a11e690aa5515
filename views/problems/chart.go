package problems

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// Chart holds the reports of each day or, if the span is longer than a quarter, of each week. Bars are
// stacked by release.
type Chart struct {
	Since, Until time.Time // UTC days, both included
	// Releases has known releases first, then newest first: the order of a stack from the bottom.
	Releases []crash.Release
	Weekly   bool
	Bars     []ChartBar // one per day or week of the span
	Most     int64      // the highest sum of a bar
	Total    int64
}

// ChartBar is one bar.
type ChartBar struct {
	Since  time.Time // first day
	Counts []int64   // in the order of Releases
	Total  int64
}

// quarter is the longest span, in days, with a bar for each day. In a year, such bars would be two pixels
// wide and hide the trend, and they would be most of the size of a page.
const quarter = 91

// NewChart returns the chart of the counts in a span of days. The last week ends with the span, so the
// first one may have fewer than seven days. NewChart drops counts outside the span, and adds up as "other
// releases" those releases that the table does not allow in lists.
func NewChart(counts []crash.DayCount, table *crash.ReleaseTable, since, until time.Time) Chart {
	since, until = midnight(since), midnight(until)
	c := Chart{Since: since, Until: until}
	ago := func(day time.Time) int { return int(until.Sub(midnight(day)) / (24 * time.Hour)) }
	longest, step := ago(since), 1
	if c.Weekly = longest >= quarter; c.Weekly {
		step = 7
	}
	reports := map[crash.Release]int64{}
	for _, n := range counts {
		if n.Reports > 0 {
			reports[n.Release] += n.Reports
		}
	}
	list := table.List(reports)
	c.Releases = list.Descending()
	for bar := longest / step; bar >= 0; bar-- {
		first := until.AddDate(0, 0, 1-step*(bar+1))
		if first.Before(since) {
			first = since
		}
		c.Bars = append(c.Bars, ChartBar{Since: first, Counts: make([]int64, len(c.Releases))})
	}
	for _, n := range counts {
		days := ago(n.Day)
		if n.Reports <= 0 || days < 0 || days > longest {
			continue
		}
		bar := &c.Bars[len(c.Bars)-1-days/step]
		bar.Counts[slices.Index(c.Releases, list.Of(n.Release))] += n.Reports
		bar.Total += n.Reports
		c.Total += n.Reports
		c.Most = max(c.Most, bar.Total)
	}
	return c
}

// ChartSpan returns the shortest span that covers everything since firstSeen: four weeks, a quarter
// or a year of 52 weeks.
func ChartSpan(firstSeen, now time.Time) (since, until time.Time) {
	until = midnight(now)
	for _, days := range []int{28, quarter} {
		if since = until.AddDate(0, 0, 1-days); !firstSeen.Before(since) {
			return since, until
		}
	}
	return until.AddDate(0, 0, 1-52*7), until
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Sizes in the units of the drawing, which is stretched to its box. Whole units are precise enough.
const (
	barWidth    = 10   // of a bar with the gap beside it
	chartHeight = 1000 // of the highest bar
)

func (c Chart) viewBox() string { return fmt.Sprintf("0 0 %d %d", len(c.Bars)*barWidth, chartHeight) }

// path returns the bars of one release as a single SVG path of vertical strokes, stacked on those of
// newer releases.
func (c Chart) path(release int) string {
	var d []byte
	number := func(before string, n int) { d = strconv.AppendInt(append(d, before...), int64(n), 10) }
	x, y := 0, 0 // where the previous stroke ended
	for i, bar := range c.Bars {
		if bar.Counts[release] == 0 {
			continue
		}
		bottom, top := chartHeight, chartHeight
		for _, count := range bar.Counts[:release+1] {
			bottom = top
			if count > 0 { // at least a hundredth of the height, to be visible
				top -= max(int(math.Round(chartHeight*float64(count)/float64(c.Most))), chartHeight/100)
			}
		}
		number("m", i*barWidth+barWidth/2-x)
		number(" ", bottom-y)
		number("v", top-bottom)
		x, y = i*barWidth+barWidth/2, top
	}
	return string(d)
}

// describe returns the tooltip of a bar: "2 Sep: 14 reports (24.04: 12, 22.04: 2)".
func (c Chart) describe(bar ChartBar, now time.Time) string {
	var parts []string
	for i, count := range bar.Counts {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", releaseName(c.Releases[i]), crash.Count(count)))
		}
	}
	return chartBar(layout.Date(bar.Since, now), c.Weekly, bar.Total, strings.Join(parts, ", "))
}

// fullest returns the last bar with the most reports.
func (c Chart) fullest() ChartBar {
	var fullest ChartBar
	for _, bar := range c.Bars {
		if bar.Total > 0 && bar.Total >= fullest.Total {
			fullest = bar
		}
	}
	return fullest
}

// label describes the chart for screen readers.
func (c Chart) label(now time.Time) string {
	return chartLabel(layout.Date(c.Since, now), layout.Date(c.Until, now), c.Weekly, crash.Count(c.Most),
		layout.Date(c.fullest().Since, now))
}

// rows returns the bars with reports, newest first, for the table below the chart.
func (c Chart) rows() []ChartBar {
	var rows []ChartBar
	for _, bar := range slices.Backward(c.Bars) {
		if bar.Total > 0 {
			rows = append(rows, bar)
		}
	}
	return rows
}

func releaseName(r crash.Release) string {
	if r == "" {
		return "unknown release"
	}
	return layout.ShortRelease(r)
}

// chartBar describes a bar: "2 Sep: 14 reports (24.04: 12, 22.04: 2)", or "Week from 2 Sep: …".
func chartBar(day string, weekly bool, reports int64, releases string) string {
	if weekly {
		day = "Week from " + day
	}
	return fmt.Sprintf("%s: %s (%s)", day, crash.Counted(reports, "report", "reports"), releases)
}

// chartLabel describes the chart for screen readers.
func chartLabel(since, until string, weekly bool, most, fullest string) string {
	on := "on " + fullest
	if weekly {
		on = "in the week from " + fullest
	}
	return fmt.Sprintf("%s from %s to %s, at most %s %s. The table below has the same numbers.",
		chartTitle(weekly), since, until, most, on)
}
