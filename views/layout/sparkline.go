package layout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// Sparkline is a small chart in a line of text: one bar per day, all in one SVG path.
type Sparkline struct {
	Path  string // SVG path, in a box of sparkWidth by sparkHeight
	Label string // its description: "most on 3 May: 14"
	Any   bool
}

// The box of a sparkline. Each bar is a line two units wide, with one unit of space beside it.
const (
	sparkStep   = 3
	sparkHeight = 16
)

// NewSparkline returns the chart of counts by day, of which the last is until.
func NewSparkline(days []int64, until time.Time) Sparkline {
	var most, at int64
	for i, n := range days {
		if n > 0 && n >= most {
			most, at = n, int64(i)
		}
	}
	if most == 0 {
		return Sparkline{Label: fmt.Sprintf("none in the past %d days", len(days))}
	}
	const bytesPerBar = len("M100 16v-16")
	var path strings.Builder
	path.Grow(bytesPerBar * len(days))
	number := func(before string, n int64) {
		path.WriteString(before)
		path.WriteString(strconv.FormatInt(n, 10)) // numbers below 100 need no memory
	}
	for i, n := range days {
		if n <= 0 {
			continue
		}
		height := max(int64(1), (n*sparkHeight+most/2)/most)
		number("M", int64(i*sparkStep+1))
		number(" ", sparkHeight)
		number("v-", height)
	}
	day := until.AddDate(0, 0, int(at)-len(days)+1)
	return Sparkline{Path: path.String(), Any: true,
		Label: fmt.Sprintf("at most %s a day in the past %d days, on %s", crash.Count(most), len(days), Date(day, until))}
}
