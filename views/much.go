package views

import (
	"fmt"
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
}

// share returns the problem's share of the active machines, such as "0.8 %"; empty: unknown.
func (m Much) share() string {
	if m.Active == 0 || m.Systems == 0 {
		return ""
	}
	share := min(100*float64(m.Systems)/float64(m.Active), 100)
	words := figure(share) + " %"
	if m.AtMost {
		return "at most " + words
	}
	return words
}

// rateMeans explains the rate.
func (m Much) rateMeans() string {
	return fmt.Sprintf("%s in the past %s, on %s active machine-days of the releases that it was seen in; "+
		"with 95 %% confidence between %s and %s",
		Counted(m.Rate.Reports, "report", "reports"), Counted(int64(m.Days), "day", "days"),
		Count(int64(m.Rate.MachineDays)), figure(m.Rate.Low), figure(m.Rate.High))
}

// shareMeans explains the share.
func (m Much) shareMeans() string {
	means := fmt.Sprintf("%s have reported it; %s are active in the releases that it was seen in: "+
		"they reported anything in the past 90 days",
		Counted(m.Systems, "machine", "machines"), Count(m.Active))
	if m.AtMost {
		return means + ". Some that have it may be active no longer"
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
