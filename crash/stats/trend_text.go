package stats

import (
	"fmt"
	"math"
)

// FormatRate formats a number of reports per machine and day: "0.081", "0.34", "< 0.001".
func FormatRate(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.001:
		return "< 0.001"
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// interval formats the confidence interval of a rate per machine and day.
func (r MachineRate) interval() string {
	return "95 % CI " + FormatRate(r.Low/1000) + "–" + FormatRate(r.High/1000)
}

// asMany is the change of a rate that stays the same.
const asMany = "as many"

// Text describes the ratio of two rates: "4 % more", "as many", "3.2 times as many".
func (r RateRatio) Text() string {
	switch percent := 100 * (r.Ratio - 1); {
	case math.IsInf(r.Ratio, 1):
		return "more, from none"
	case percent >= 200:
		return fmt.Sprintf("%.1f times as many", r.Ratio)
	case percent >= .5:
		return fmt.Sprintf("%.0f %% more", percent)
	case percent <= -.5:
		return fmt.Sprintf("%.0f %% fewer", math.Max(1, -percent))
	}
	return asMany
}

// than describes the ratio of two rates compared with what follows: "4 % more than".
func (r RateRatio) than() string {
	if text := r.Text(); text == asMany || r.Ratio >= 3 && !math.IsInf(r.Ratio, 1) {
		return text + " as"
	}
	return r.Text() + " than"
}

// Verdict says whether the ratio of two rates differs from 1 by more than chance explains.
func (r RateRatio) Verdict() string {
	if r.Worse() || r.Better() {
		return "more than chance explains"
	}
	return "within normal variation"
}

// Text compares the rate of this week with the week before, in a sentence.
func (t Trend) Text() string {
	text := fmt.Sprintf("Machines sent %s reports a day each this week (%s)", FormatRate(t.Now.Per1000/1000),
		t.Now.interval())
	if !t.Change.Known() {
		return text + "; there is no data for last week."
	}
	return fmt.Sprintf("%s, %s last week: %s.", text, t.Change.than(), t.Change.Verdict())
}

// ReleaseText compares the rates of two releases in the same week, in a sentence. The names are
// those of this release and the one before.
func (t Trend) ReleaseText(before Trend, name, nameBefore string) string {
	ratio := t.Now.Times(before.Now)
	if !ratio.Known() {
		return "There is no data for " + nameBefore + " this week."
	}
	return fmt.Sprintf("This week, machines with %s sent %s reports a day each (%s), %s machines with %s (%s; %s): %s.",
		name, FormatRate(t.Now.Per1000/1000), t.Now.interval(), ratio.than(), nameBefore,
		FormatRate(before.Now.Per1000/1000), before.Now.interval(), ratio.Verdict())
}

// SameAgeText compares the rates of two releases at the same age in days, each over as many days.
func SameAgeText(now, then MachineRate, age, days int) string {
	ratio := now.Times(then)
	return fmt.Sprintf("At the same age (%d days after its release, over %d days), it had %s (%s). This one has %s (%s), "+
		"%s it: %s.", age, days, FormatRate(then.Per1000/1000), then.interval(), FormatRate(now.Per1000/1000),
		now.interval(), ratio.than(), ratio.Verdict())
}
