package problems

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/stats"
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
	day := layout.Date(bar.Since, now)
	if c.Weekly {
		day = "Week from " + day
	}
	return fmt.Sprintf("%s: %s (%s)", day, crash.Counted(bar.Total, "report", "reports"), strings.Join(parts, ", "))
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
	on := "on "
	if c.Weekly {
		on = "in the week from "
	}
	return fmt.Sprintf("%s from %s to %s, at most %s %s. The table below has the same numbers.", chartTitle(c.Weekly),
		layout.Date(c.Since, now), layout.Date(c.Until, now), crash.Count(c.Most), on+layout.Date(c.fullest().Since, now))
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
// drawn as uncertain. The 95% interval of 10 is half of it to twice as much.
const enoughReports = 10

const (
	rateHeight = 120 // of the drawing
	ratePad    = 8   // above the highest and below the lowest value
	dayWidth   = 10  // of a day
	labelStep  = 24  // distance of two labels, if there is enough space: large enough for fingers
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
	Trends []stats.Trend   // of the last week, by release with a line
	All    stats.Trend     // of all releases together
	Line   templ.Component // the chart in one line
	Chart  templ.Component
}

// Rates returns the chart as a page shows it.
func (c RateChart) Rates() Rates { return Rates{c.Trends, c.All, RateLinePart(c), RatePart(c)} }

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
		ofLine := func(l RateLine) bool { return l.Release.SameDistribution(m.Release) }
		if !m.Day.Before(c.Since) && slices.ContainsFunc(c.Lines, ofLine) {
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
	step := min(labelStep, (rateHeight-2*ratePad)/max(len(order)-1, 1))
	low := ratePad - step
	for _, line := range order { // downwards
		line.Label = max(int(max(c.y(line.end), ratePad)), low+step)
		low = line.Label
	}
	high := rateHeight - ratePad + step
	for _, line := range slices.Backward(order) { // back up, if there is no more space
		line.Label = min(line.Label, high-step)
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

func (c *RateChart) fewCell() bool {
	return slices.ContainsFunc(c.cells, func(row []rateCell) bool {
		return slices.ContainsFunc(row, func(cell rateCell) bool { return cell.rate != nil && cell.few })
	})
}

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
// "0.084 +70%".
func (l RateLine) value() string {
	value := stats.FormatRate(l.Week)
	if l.Before > 0 && l.Week > 0 && (l.Change.Worse() || l.Change.Better()) {
		return value + " " + change(l.Change)
	}
	return value
}

// ratesNone says that the chart has no data.
func ratesNone(since string) string { return "No counted reports since " + since + "." }

// ReleasePath returns the address of the page of a release.
func ReleasePath(r crash.Release) string { return "/release/" + url.PathEscape(string(r)) }

// changedTrends returns the releases that have become significantly worse, or better.
func changedTrends(each []stats.Trend, worse bool) []stats.Trend {
	var some []stats.Trend
	for _, t := range each {
		if t.Release != "" && (worse && t.Change.Worse() || !worse && t.Change.Better()) {
			some = append(some, t)
		}
	}
	return some
}

// Impact holds the figures that show how much a problem matters.
type Impact struct {
	Reports, Systems int64
	Active           int64           // active machines of the releases with the problem; 0: unknown
	AtMost           bool            // Systems may include machines that are not active
	Releases         []crash.Release // those with the problem, which Active is about
	Rate             stats.MachineRate
	Days             int     // days of the rate, up to today
	Today            float64 // the share of today that has passed
	First, Last      time.Time

	Week, WeekBefore int64 // reports in the past week, and in the week before
}

// share returns the problem's share of the active machines, such as "0.8%"; empty: unknown.
func (m Impact) share() string {
	if m.Active == 0 || m.Systems == 0 {
		return ""
	}
	return figure(min(100*float64(m.Systems)/float64(m.Active), 100)) + "%"
}

// shareLabel names the machines that the share is of, those of the releases with the problem: "of
// active machines with 24.04".
func (m Impact) shareLabel() string {
	names := make([]string, len(m.Releases))
	for i, r := range m.Releases {
		names[i] = releaseName(r)
	}
	label := "of active machines with " + strings.Join(names, " or ")
	if n := len(names); n > maxShareReleases {
		label = "of active machines with its " + strconv.Itoa(n) + " releases"
	}
	if m.AtMost {
		return label + ", at most"
	}
	return label
}

// trend returns the change of the number of reports from the previous week to the past one, such as
// "+40%", or that it is within normal variation; empty: there were none in the previous week.
func (m Impact) trend() string {
	if m.WeekBefore == 0 {
		return ""
	}
	return change(stats.NewMachineRate(m.Week, 6+m.Today).Times(stats.NewMachineRate(m.WeekBefore, 7)))
}

// noClearChange says that chance explains a change.
const noClearChange = "no clear change"

// change returns the change of a rate: "+12%", or that it is within normal variation.
func change(r stats.RateRatio) string {
	if r.Worse() || r.Better() {
		return signedPercent(100 * (r.Ratio - 1))
	}
	return noClearChange
}

func (m Impact) trendMeans() string {
	return crash.Counted(m.Week, "report", "reports") + " in the past week, today included, " +
		crash.Count(m.WeekBefore) + " in the seven days before"
}

func (m Impact) rateLabel() string {
	return "per 1,000 machine-days, past " + crash.Counted(int64(m.Days), "day", "days") + " (" + figure(m.Rate.Low) +
		"–" + figure(m.Rate.High) + ")"
}

func (m Impact) rateMeans() string {
	return fmt.Sprintf("%s in the past %s, on %s active machine-days of its releases; 95%% confidence interval: %s "+
		"to %s", crash.Counted(m.Rate.Reports, "report", "reports"), crash.Counted(int64(m.Days),
		"day", "days"), crash.Count(int64(m.Rate.MachineDays)), figure(m.Rate.Low), figure(m.Rate.High))
}

func (m Impact) shareMeans() string {
	means := fmt.Sprintf("%s reported it; %s were active in the same releases in the past 90 days",
		crash.Counted(m.Systems, "machine", "machines"), crash.Count(m.Active))
	if m.AtMost {
		return means + ". Some of the affected machines may no longer be active"
	}
	return means
}

// figure formats a number with two significant digits: "0.034", "1.2", "34", "1,204".
func figure(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f < 0.001:
		return "less than 0.001"
	case f < 10:
		return strconv.FormatFloat(f, 'g', 2, 64)
	}
	return crash.Count(int64(f + .5))
}

// signedPercent formats a change: "+12%", "−3%", "±0%".
func signedPercent(percent float64) string {
	switch {
	case percent >= .5:
		return fmt.Sprintf("+%.0f%%", percent)
	case percent <= -.5:
		return fmt.Sprintf("−%.0f%%", -percent)
	}
	return "±0%"
}
