package text

import "fmt"

// Texts of the chart of reliability.
const (
	RatesTitle = "Reports per machine and day"
	RatesMeans = "Seven-day mean; the faint line shows each day. Machines count as active for 90 days after a report. " +
		"Lines of releases with few machines are thin and pale, with a gap where they are above the scale. " +
		"What rests on fewer than 10 reports is dashed."
	RatesFew        = "from fewer than 10 reports"
	RatesDay        = "Day (UTC)"
	TrendWorse      = "worse"
	TrendBetter     = "better"
	TrendWorseList  = "Worse:"
	TrendBetterList = "Better:"
)

// NoChange stands for a change in per cent that chance explains.
const NoChange = "no clear change"

// RatesNone says that the chart has no data.
func RatesNone(since string) string { return "No counted reports since " + since + "." }

// RatesLabel describes the drawing.
func RatesLabel(since, until string) string {
	return "Reports per machine and day from " + since + " to " + until + ". The table below has the same numbers."
}

// RatesMark describes the mark of a release.
func RatesMark(release, day string) string { return release + " released " + day }

// RatesLine describes the line of a release.
func RatesLine(release, week, before string) string {
	return release + ": " + week + " this week, " + before + " last week"
}

// SignedPercent formats a change: "+12 %", "−3 %", "±0 %".
func SignedPercent(percent float64) string {
	switch {
	case percent >= .5:
		return fmt.Sprintf("+%.0f %%", percent)
	case percent <= -.5:
		return fmt.Sprintf("−%.0f %%", -percent)
	}
	return "±0 %"
}
