package text

import "fmt"

// ChartTitle is the title of the chart of reports per day or per week.
func ChartTitle(weekly bool) string {
	if weekly {
		return "Reports per week"
	}
	return "Reports per day"
}

// ChartColumn is the title of the first column of the chart's table: of the days or weeks.
func ChartColumn(weekly bool) string {
	if weekly {
		return "Week from (UTC)"
	}
	return RatesDay
}

// ChartBar describes a bar: "2 Sep: 14 reports (24.04: 12, 22.04: 2)", or "Week from 2 Sep: …".
func ChartBar(day string, weekly bool, reports int64, releases string) string {
	if weekly {
		day = "Week from " + day
	}
	return fmt.Sprintf("%s: %s (%s)", day, Reports(reports), releases)
}

// ChartLabel describes the chart for screen readers.
func ChartLabel(since, until string, weekly bool, most, fullest string) string {
	on := "on " + fullest
	if weekly {
		on = "in the week from " + fullest
	}
	return fmt.Sprintf("%s from %s to %s, at most %s %s. The table below has the same numbers.",
		ChartTitle(weekly), since, until, most, on)
}

// SparklineNone says that a sparkline is empty.
func SparklineNone(days int) string { return fmt.Sprintf("none in the past %d days", days) }

// SparklineLabel describes a sparkline.
func SparklineLabel(most string, days int, day string) string {
	return fmt.Sprintf("at most %s a day in the past %d days, on %s", most, days, day)
}
