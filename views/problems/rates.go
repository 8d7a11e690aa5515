package problems

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/stats"
)

// RateChart holds the reliability of releases: reports per active machine and day, one line per
// release.
type RateChart struct {
	Since, Until time.Time          // UTC days, both included; Since is the first day with a rate
	Lines        []RateLine         // known releases first, then newest first
	Marks        []crash.ReleaseDay // releases published in the span
	Top          float64            // the rate at the top of the drawing
	Days         []time.Time        // days with a rate, newest first, for the table below the chart
	Trends       []stats.Trend      // of the last week, by release with a line
	All          stats.Trend        // of all releases together
	cells        [][]rateCell       // by day and line
	few          bool               // some points rest on fewer than enoughReports
	now          time.Time
}

// rateCell is the rate of a release on a day.
type rateCell struct {
	rate *float64 // nil: no report
	few  bool     // it rests on fewer than enoughReports
}

// RateLine is the line of one release.
type RateLine struct {
	Release crash.Release
	Mean    RatePath // of the seven-day mean
	Raw     RatePath // of the daily rates; empty for a small release
	Small   bool     // few of the active machines have the release
	Week    float64  // reports per machine and day, of the last seven days
	Before  float64  // the same of the preceding seven days
	Change  stats.RateRatio
	Label   int     // vertical position of the label, in the drawing
	end     float64 // the last mean
}

// RatePath is a line as two SVG paths.
type RatePath struct {
	Sure string // between points of at least enoughReports each
	Few  string // the rest, which is dashed
}

// enoughReports is the number of reports on which a point of a line has to rest, so that it is not
// drawn as uncertain. The 95 % interval of 10 is half of it to twice as much.
const enoughReports = 10

const (
	rateHeight = 120 // of the drawing
	ratePad    = 8   // above the highest and below the lowest value
	dayWidth   = 10  // of a day
	labelStep  = 14  // least distance of two labels
)

// fewMachines is the least share of a release's highest number of active machines on a day. The
// chart omits days below it, such as the first days of a new release or of mishap itself, because
// so few machines say little about the release.
const fewMachines = 0.25

// smallShare is the share of all active machines below which a release is small. The chart draws
// it thin and pale, and it does not determine the scale.
const smallShare = 0.1

// rateSeries holds the rates of one release while a chart is made.
type rateSeries struct {
	days    []*float64      // by day; nil: no report, or too few machines
	reports []int64         // by day
	rates   []stats.DayRate // those that days was made of
	first   int             // the first day with a rate
	means   []float64       // by day, from first
	sums    []int64         // reports that the means rest on
}

// Rates is what a page shows of the reliability of releases.
type Rates struct {
	Trends []stats.Trend // of the last week, by release with a line
	All    stats.Trend   // of all releases together
	Chart  templ.Component
}

// Rates returns the chart as a page shows it.
func (c RateChart) Rates() Rates { return Rates{c.Trends, c.All, RatePart(c)} }

// NewRateChart returns the chart of rates from a day to today, which begins on the first day with a rate.
// A day without reports counts as 0. all is the trend of all releases together. The table decides which
// releases have a line.
func NewRateChart(
	rates []stats.DayRate, all stats.Trend, marks []crash.ReleaseDay, table *crash.ReleaseTable, since, now time.Time,
) RateChart {
	since, until := midnight(since), midnight(now)
	c := RateChart{Since: since, Until: until, now: now}
	c.Trends, c.All = stats.Trends(rates, until, crash.PeriodWeek.Days(), now), all
	reports := map[crash.Release]int64{}
	for _, r := range rates {
		reports[r.Release] += r.Reports
	}
	list := table.List(reports)
	c.Trends = slices.DeleteFunc(c.Trends, func(t stats.Trend) bool { return !list.Names(t.Release) })
	series := newSeries(rates, since, now, list)
	for _, release := range list.Descending() {
		if series[release] != nil {
			c.Lines = append(c.Lines, RateLine{Release: release})
		}
	}
	if len(c.Lines) == 0 {
		return c
	}
	c.addTrends()
	first, most := math.MaxInt, 0.0
	for _, line := range c.Lines {
		if s := series[line.Release]; !line.Small {
			first, most = min(first, s.first), max(most, slices.Max(s.raw()), slices.Max(s.means))
		}
	}
	c.Since, c.Top = since.AddDate(0, 0, first), roundUp(most)
	for _, m := range marks {
		if !m.Day.Before(c.Since) {
			c.Marks = append(c.Marks, m)
		}
	}
	for i := range c.Lines {
		line := &c.Lines[i]
		s := series[line.Release]
		hidden := max(first-s.first, 0)
		line.Mean = c.path(s.means[hidden:], s.sums[hidden:], max(s.first-first, 0))
		line.end = s.means[len(s.means)-1]
		if !line.Small {
			line.Raw = c.path(s.raw(), s.reports[s.first:], s.first-first)
		}
	}
	c.placeLabels()
	c.fillTable(series)
	return c
}

// newSeries sorts rates by release and computes their means.
func newSeries(rates []stats.DayRate, since, now time.Time, list crash.ReleaseList) map[crash.Release]*rateSeries {
	until := midnight(now)
	most := map[crash.Release]int64{}
	for _, r := range rates {
		most[r.Release] = max(most[r.Release], r.Machines)
	}
	n := int(until.Sub(since)/(24*time.Hour)) + 1
	all := map[crash.Release]*rateSeries{}
	for _, r := range rates {
		i := int(midnight(r.Day).Sub(since) / (24 * time.Hour))
		if i < 0 || i >= n || r.Machines <= 0 || r.Release == "" || !list.Names(r.Release) ||
			float64(r.Machines) < fewMachines*float64(most[r.Release]) {
			continue
		}
		s := all[r.Release]
		if s == nil {
			s = &rateSeries{days: make([]*float64, n), reports: make([]int64, n), first: i}
			all[r.Release] = s
		}
		rate := r.PerMachine()
		s.days[i], s.reports[i] = &rate, r.Reports
		s.first, s.rates = min(s.first, i), append(s.rates, r)
	}
	for _, s := range all {
		s.means, s.sums = stats.MovingRates(s.rates, since.AddDate(0, 0, s.first), until, crash.PeriodWeek.Days(), now)
	}
	return all
}

// raw returns the daily rates from the first day.
func (s *rateSeries) raw() []float64 {
	values := make([]float64, len(s.days)-s.first)
	for i := range values {
		if day := s.days[s.first+i]; day != nil {
			values[i] = *day
		}
	}
	return values
}

// addTrends adds the rates of the last two weeks to the lines, and finds small releases. At least
// one release is not small.
func (c *RateChart) addTrends() {
	machines := map[crash.Release]int64{}
	var most int64
	for _, t := range c.Trends {
		machines[t.Release], most = t.Machines, max(most, t.Machines)
		for i := range c.Lines {
			if line := &c.Lines[i]; line.Release == t.Release {
				line.Week, line.Before, line.Change = t.Now.Per1000/1000, t.Before.Per1000/1000, t.Change
			}
		}
	}
	for i := range c.Lines {
		n := machines[c.Lines[i].Release]
		c.Lines[i].Small = n < most && float64(n) < smallShare*float64(c.All.Machines)
	}
}

// roundUp returns a number that is at least v and easy to halve: 0.12, 0.2, 1.6.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8} {
		if top := step * unit; top >= v {
			return top
		}
	}
	return 10 * unit
}

// y returns the vertical position of a rate.
func (c *RateChart) y(rate float64) float64 {
	return ratePad + (rateHeight-2*ratePad)*(1-rate/c.Top)
}

// path returns the line of values, the first of which is that many days after the beginning. reports
// are those that each value rests on. The line has a gap where it is above the scale.
func (c *RateChart) path(values []float64, reports []int64, after int) RatePath {
	var sure, few strings.Builder
	var last *strings.Builder // the path that the previous point was added to; nil: there is none
	point := func(i int) string { return fmt.Sprintf("%d %.0f", (after+i)*dayWidth+dayWidth/2, c.y(values[i])) }
	for i := range values {
		if values[i] > c.Top {
			last = nil
			continue
		}
		to := &sure
		if reports[i] < enoughReports || last != nil && reports[i-1] < enoughReports {
			to, c.few = &few, true
		}
		switch {
		case last == nil:
			to.WriteString("M" + point(i))
		case to != last:
			to.WriteString("M" + point(i-1) + "L" + point(i))
		default:
			to.WriteString("L" + point(i))
		}
		last = to
	}
	if len(values) == 1 && last != nil {
		last.WriteString("h1") // a single day becomes a dot
	}
	return RatePath{sure.String(), few.String()}
}

// placeLabels puts a label at the end of each line, and moves labels apart that would overlap.
func (c *RateChart) placeLabels() {
	order := make([]*RateLine, len(c.Lines))
	for i := range c.Lines {
		order[i] = &c.Lines[i]
	}
	slices.SortStableFunc(order, func(a, b *RateLine) int { return cmp.Compare(b.end, a.end) })
	low := ratePad - labelStep
	for _, line := range order { // downwards
		line.Label = max(int(max(c.y(line.end), ratePad)), low+labelStep)
		low = line.Label
	}
	high := rateHeight - ratePad + labelStep
	for _, line := range slices.Backward(order) { // back up, if there is no more space
		line.Label = min(line.Label, high-labelStep)
		high = line.Label
	}
}

func (c *RateChart) fillTable(series map[crash.Release]*rateSeries) {
	first := c.Since
	for _, s := range series {
		n := len(s.days)
		for i := n - 1; i >= 0; i-- {
			day := c.Until.AddDate(0, 0, i-n+1)
			if s.days[i] != nil && !day.Before(first) && !slices.ContainsFunc(c.Days, day.Equal) {
				c.Days = append(c.Days, day)
			}
		}
	}
	slices.SortFunc(c.Days, func(a, b time.Time) int { return b.Compare(a) })
	for _, day := range c.Days {
		row := make([]rateCell, len(c.Lines))
		for j, line := range c.Lines {
			s := series[line.Release]
			at := len(s.days) - 1 - int(c.Until.Sub(day)/(24*time.Hour))
			row[j] = rateCell{s.days[at], s.reports[at] < enoughReports}
		}
		c.cells = append(c.cells, row)
	}
}

// fewCell reports whether a rate in the table rests on few reports.
func (c *RateChart) fewCell() bool {
	return slices.ContainsFunc(c.cells, func(row []rateCell) bool {
		return slices.ContainsFunc(row, func(cell rateCell) bool { return cell.rate != nil && cell.few })
	})
}

// markX returns the position of the mark of a release.
func (c RateChart) markX(m crash.ReleaseDay) string {
	return fmt.Sprint(int(midnight(m.Day).Sub(c.Since)/(24*time.Hour))*dayWidth + dayWidth/2)
}

// markPlace returns the position of the mark of a release as a part of the width.
func (c RateChart) markPlace(m crash.ReleaseDay) float64 {
	days := float64(c.width()) / dayWidth
	return (midnight(m.Day).Sub(c.Since).Hours()/24 + 0.5) / days
}

// markAnchor returns the side of the text of a mark that is at the mark, so that the text stays within
// the chart.
func (c RateChart) markAnchor(m crash.ReleaseDay) string {
	switch place := c.markPlace(m); {
	case place < 0.25:
		return "start"
	case place > 0.75:
		return "end"
	}
	return "middle"
}

func (c RateChart) width() int { return (int(c.Until.Sub(c.Since)/(24*time.Hour)) + 1) * dayWidth }

func (c RateChart) viewBox() string { return fmt.Sprintf("0 0 %d %d", c.width(), rateHeight) }

// value formats the rate of the last week and its change, if that is more than chance explains:
// "0.084 +70 %".
func (l RateLine) value() string {
	value := stats.FormatRate(l.Week)
	if l.Before > 0 && l.Week > 0 && (l.Change.Worse() || l.Change.Better()) {
		return value + " " + change(l.Change)
	}
	return value
}

// Texts of the chart of reliability.
const (
	ratesDay = "Day (UTC)"
)

// ratesNone says that the chart has no data.
func ratesNone(since string) string { return "No counted reports since " + since + "." }
