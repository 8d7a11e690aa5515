package problems

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
)

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

// share returns the problem's share of the active machines, such as "0.8 %"; empty: unknown.
func (m Impact) share() string {
	if m.Active == 0 || m.Systems == 0 {
		return ""
	}
	return figure(min(100*float64(m.Systems)/float64(m.Active), 100)) + " %"
}

// shareLabel names the machines that the share is of, those of the releases with the problem: "of
// machines with 24.04, active in 90 days".
func (m Impact) shareLabel() string {
	names := make([]string, len(m.Releases))
	for i, r := range m.Releases {
		names[i] = releaseName(r)
	}
	label := "of machines with " + strings.Join(names, " or ") + ", active in 90 days"
	if n := len(names); n > maxShareReleases {
		label = "of machines with any of its " + strconv.Itoa(n) + " releases, active in 90 days"
	}
	if m.AtMost {
		return label + ", at most"
	}
	return label
}

// trend returns the change of the number of reports from the previous week to the past one, such as
// "+40 %", or that it is within normal variation; empty: there were none in the previous week.
func (m Impact) trend() string {
	if m.WeekBefore == 0 {
		return ""
	}
	return change(stats.NewMachineRate(m.Week, 6+m.Today).Times(stats.NewMachineRate(m.WeekBefore, 7)))
}

// change returns the change of a rate: "+12 %", or that it is within normal variation.
func change(r stats.RateRatio) string {
	if r.Worse() || r.Better() {
		return signedPercent(100 * (r.Ratio - 1))
	}
	return "no clear change"
}

// trendMeans explains the trend.
func (m Impact) trendMeans() string {
	return crash.Counted(m.Week, "report", "reports") + " in the past week, today included, " +
		crash.Count(m.WeekBefore) + " in the seven days before"
}

func (m Impact) rateLabel() string {
	return "per 1,000 machine-days, past " + crash.Counted(int64(m.Days), "day", "days") + " (" + figure(m.Rate.Low) +
		"–" + figure(m.Rate.High) + ")"
}

// rateMeans explains the rate.
func (m Impact) rateMeans() string {
	return fmt.Sprintf("%s in the past %s, on %s active machine-days of the releases in which it was seen; 95 %% "+
		"confidence interval: %s to %s", crash.Counted(m.Rate.Reports, "report", "reports"), crash.Counted(int64(m.Days),
		"day", "days"), crash.Count(int64(m.Rate.MachineDays)), figure(m.Rate.Low), figure(m.Rate.High))
}

// shareMeans explains the share.
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

// signedPercent formats a change: "+12 %", "−3 %", "±0 %".
func signedPercent(percent float64) string {
	switch {
	case percent >= .5:
		return fmt.Sprintf("+%.0f %%", percent)
	case percent <= -.5:
		return fmt.Sprintf("−%.0f %%", -percent)
	}
	return "±0 %"
}
