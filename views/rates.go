package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
)

// RateChart holds the reliability of releases: reports per active machine and day, one line per
// release.
type RateChart struct {
	Since, Until time.Time          // UTC days, both included
	Lines        []RateLine         // known releases first, then newest first
	Marks        []crash.ReleaseDay // releases published in the span
	Most         float64            // the highest rate
	Days         []time.Time        // days with a rate, newest first, for the table below the chart
	Trends       []stats.Trend      // of the last week, by release with a line
	All          stats.Trend        // of all releases together
	cells        [][]*float64       // by day and line; nil: no report
}

// RateLine is the line of one release.
type RateLine struct {
	Release crash.Release
	Path    string  // SVG path
	Week    float64 // reports per machine and day, of the last seven days
	Before  float64 // the same of the preceding seven days
}

const (
	rateHeight = 100
	trendDays  = 7
)

// fewMachines is the least share of a release's highest number of active machines on a day. The
// chart omits days below it, such as the first days of a new release or of mishap itself, because
// so few machines say little about the release.
const fewMachines = 0.25

// NewRateChart returns the chart of rates in a span of days. A day without reports counts as 0
// between the first and the last day with reports of a release. The table decides which releases
// have a line.
func NewRateChart(
	rates []stats.DayRate, marks []crash.ReleaseDay, table *crash.ReleaseTable, since, until time.Time,
) RateChart {
	since, until = midnight(since), midnight(until)
	n := int(until.Sub(since)/(24*time.Hour)) + 1
	c := RateChart{Since: since, Until: until, Marks: marks}
	c.Trends, c.All = stats.Trends(rates, until, trendDays)
	values := map[crash.Release][]*float64{}
	most := map[crash.Release]int64{}
	reports := map[crash.Release]int64{}
	for _, r := range rates {
		most[r.Release] = max(most[r.Release], r.Machines)
		reports[r.Release] += r.Reports
	}
	list := table.List(reports)
	c.Trends = slices.DeleteFunc(c.Trends, func(t stats.Trend) bool { return !list.Names(t.Release) })
	for _, r := range rates {
		if float64(r.Machines) < fewMachines*float64(most[r.Release]) {
			continue
		}
		i := int(midnight(r.Day).Sub(since) / (24 * time.Hour))
		if i < 0 || i >= n || r.Machines <= 0 || r.Release == "" || !list.Names(r.Release) {
			continue
		}
		if values[r.Release] == nil {
			values[r.Release] = make([]*float64, n)
			c.Lines = append(c.Lines, RateLine{Release: r.Release})
		}
		rate := r.PerMachine()
		values[r.Release][i] = &rate
		c.Most = max(c.Most, rate)
	}
	order := list.Descending()
	slices.SortFunc(c.Lines, func(a, b RateLine) int {
		return slices.Index(order, a.Release) - slices.Index(order, b.Release)
	})
	for i := range c.Lines {
		line := &c.Lines[i]
		days := values[line.Release]
		line.Path = ratePath(days, c.Most)
		for _, t := range c.Trends {
			if t.Release == line.Release {
				line.Week, line.Before = t.Now.Per1000/1000, t.Before.Per1000/1000
			}
		}
	}
	for i := n - 1; i >= 0; i-- {
		row, found := make([]*float64, len(c.Lines)), false
		for j, line := range c.Lines {
			row[j] = values[line.Release][i]
			found = found || row[j] != nil
		}
		if found {
			c.Days, c.cells = append(c.Days, since.AddDate(0, 0, i)), append(c.cells, row)
		}
	}
	return c
}

// ratePath returns the SVG path of a line through the days, in a box of ten units per day and
// rateHeight.
func ratePath(days []*float64, most float64) string {
	first := slices.IndexFunc(days, func(v *float64) bool { return v != nil })
	last := len(days) - 1
	for last >= 0 && days[last] == nil {
		last--
	}
	var b strings.Builder
	for i := max(first, 0); i <= last; i++ {
		value := 0.0
		if days[i] != nil {
			value = *days[i]
		}
		command := "L"
		if b.Len() == 0 {
			command = "M"
		}
		fmt.Fprintf(&b, "%s%d %.1f", command, i*dayWidth+dayWidth/2, rateHeight*(1-value/most))
	}
	if first == last && first >= 0 {
		b.WriteString("h1") // a single day becomes a dot
	}
	return b.String()
}

// markX returns the position of the mark of a release.
func (c RateChart) markX(m crash.ReleaseDay) string {
	return fmt.Sprint(int(midnight(m.Day).Sub(c.Since)/(24*time.Hour))*dayWidth + dayWidth/2)
}

func (c RateChart) viewBox() string {
	return fmt.Sprintf("0 0 %d %d", (int(c.Until.Sub(c.Since)/(24*time.Hour))+1)*dayWidth, rateHeight)
}

// rate formats a number of reports per machine and day.
func rate(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.001:
		return "< 0.001"
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// change compares the last week with the one before: "up 12 %".
func (l RateLine) change() string {
	if l.Before == 0 || l.Week == 0 {
		return ""
	}
	percent := 100 * (l.Week - l.Before) / l.Before
	switch {
	case percent >= 1:
		return fmt.Sprintf("up %.0f %%", percent)
	case percent <= -1:
		return fmt.Sprintf("down %.0f %%", -percent)
	}
	return "steady"
}
