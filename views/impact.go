package views

import (
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views/text"
)

// Impact holds the figures that show how much a problem matters.
type Impact struct {
	Reports, Systems int64
	Active           int64           // active machines of the releases with the problem; 0: unknown
	AtMost           bool            // Systems may include machines that are not active
	Releases         []crash.Release // those with the problem, which Active is about
	Rate             stats.MachineRate
	Days             int // days of the rate, up to today
	First, Last      time.Time

	Week, WeekBefore int64 // reports in the past week, and in the week before
}

// share returns the problem's share of the active machines, such as "0.8 %"; empty: unknown.
func (m Impact) share() string {
	if m.Active == 0 || m.Systems == 0 {
		return ""
	}
	return figure(min(100*float64(m.Systems)/float64(m.Active), 100)) + " %"
}

// shareLabel names the machines that the share is of: those of the releases with the problem.
func (m Impact) shareLabel() string {
	names := make([]string, len(m.Releases))
	for i, r := range m.Releases {
		names[i] = releaseName(r)
	}
	return text.ShareLabel(names, m.AtMost)
}

// trend returns the change of the number of reports from the previous week to the past one, such as
// "+40 %", or that it is within normal variation; empty: there were none in the previous week.
func (m Impact) trend() string {
	if m.WeekBefore == 0 {
		return ""
	}
	return change(stats.NewMachineRate(m.Week, 1).Times(stats.NewMachineRate(m.WeekBefore, 1)))
}

// change returns the change of a rate: "+12 %", or that it is within normal variation.
func change(r stats.RateRatio) string {
	if r.Worse() || r.Better() {
		return text.SignedPercent(100 * (r.Ratio - 1))
	}
	return text.NoChange
}

// trendMeans explains the trend.
func (m Impact) trendMeans() string { return text.TrendMeans(m.Week, m.WeekBefore) }

func (m Impact) rateLabel() string {
	return text.RateLabel(int64(m.Days), figure(m.Rate.Low), figure(m.Rate.High))
}

// rateMeans explains the rate.
func (m Impact) rateMeans() string {
	return text.RateMeans(m.Rate.Reports, int64(m.Days), int64(m.Rate.MachineDays),
		figure(m.Rate.Low), figure(m.Rate.High))
}

// shareMeans explains the share.
func (m Impact) shareMeans() string { return text.ShareMeans(m.Systems, m.Active, m.AtMost) }

// figure formats a number with two significant digits: "0.034", "1.2", "34", "1,204".
func figure(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f < 0.001:
		return text.LessThan("0.001")
	case f < 10:
		return strconv.FormatFloat(f, 'g', 2, 64)
	}
	return Count(int64(f + .5))
}
