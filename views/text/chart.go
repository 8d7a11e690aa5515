package text

import "fmt"

// Texts of the chart of reports per day.
const (
	ChartTitle = "Reports per day"
)

// ChartDay describes a bar: "2 Sep: 14 reports (24.04: 12, 22.04: 2)".
func ChartDay(day string, reports int64, releases string) string {
	return fmt.Sprintf("%s: %s (%s)", day, Reports(reports), releases)
}

// ChartLabel describes the chart for screen readers.
func ChartLabel(since, until, most, mostDay string) string {
	return fmt.Sprintf("Reports per day from %s to %s, at most %s on %s. The table below has the same numbers.",
		since, until, most, mostDay)
}

// SparklineNone says that a sparkline is empty.
func SparklineNone(days int) string { return fmt.Sprintf("none in the past %d days", days) }

// SparklineLabel describes a sparkline.
func SparklineLabel(most string, days int, day string) string {
	return fmt.Sprintf("at most %s a day in the past %d days, on %s", most, days, day)
}
