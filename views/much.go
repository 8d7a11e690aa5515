package views

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"mishap/crash/stats"
)

// Much holds the figures that show how much a problem matters.
type Much struct {
	Reports, Systems int64
	Active           int64 // active machines of the releases with the problem; 0: unknown
	AtMost           bool  // Systems may include machines that are not active
	Rate             stats.MachineRate
	Days             int // days of the rate, up to today
	First, Last      time.Time

	Week, WeekBefore int64 // reports in the seven whole days before today, and in the seven before those
}

// share returns the problem's share of the active machines, such as "0.8 %"; empty: unknown.
func (m Much) share() string {
	if m.Active == 0 || m.Systems == 0 {
		return ""
	}
	return figure(min(100*float64(m.Systems)/float64(m.Active), 100)) + " %"
}

func (m Much) shareLabel() string {
	if m.AtMost {
		return "of active machines, at most"
	}
	return "of active machines"
}

// trend returns the change of the number of reports from the previous week to the past one, such as
// "+40 %"; empty: there were none in the previous week.
func (m Much) trend() string {
	if m.WeekBefore == 0 {
		return ""
	}
	percent := math.Round(100 * float64(m.Week-m.WeekBefore) / float64(m.WeekBefore))
	switch {
	case percent > 0:
		return "+" + Count(int64(percent)) + " %"
	case percent < 0:
		return Count(int64(percent)) + " %"
	}
	return "±0 %"
}

// trendMeans explains the trend.
func (m Much) trendMeans() string {
	return fmt.Sprintf("%s in the seven days before today, %s in the seven before those",
		Counted(m.Week, "report", "reports"), Count(m.WeekBefore))
}

// rateMeans explains the rate.
func (m Much) rateMeans() string {
	return fmt.Sprintf("%s in the past %s, on %s active machine-days of the releases in which it was seen; "+
		"95 %% confidence interval: %s to %s",
		Counted(m.Rate.Reports, "report", "reports"), Counted(int64(m.Days), "day", "days"),
		Count(int64(m.Rate.MachineDays)), figure(m.Rate.Low), figure(m.Rate.High))
}

// shareMeans explains the share.
func (m Much) shareMeans() string {
	means := fmt.Sprintf("%s reported it; %s are active in the releases in which it was seen: "+
		"they sent any report in the past 90 days",
		Counted(m.Systems, "machine", "machines"), Count(m.Active))
	if m.AtMost {
		return means + ". Some of those with the problem may no longer be active"
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
	return Count(int64(f + .5))
}
