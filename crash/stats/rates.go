// Package stats draws conclusions from counts: rates with confidence intervals, trends, conspicuous
// traits, the history of a package's versions, the status of a problem in each release, and whether an
// update made things worse. All functions are pure; callers pass in the time.
package stats

import (
	"fmt"
	"math"
	"slices"
	"time"

	"mishap/crash"
)

// DayRate is the number of reports on a day, with the number of active machines.
type DayRate struct {
	Release  crash.Release
	Day      time.Time
	Reports  int64
	OfType   int64 // those of Reports with the problem type of the request
	Machines int64 // active machines: those that reported anything for the release in the 90 days up to the day; never 0
}

// PerMachine returns the number of reports per active machine.
func (r DayRate) PerMachine() float64 { return float64(r.Reports) / float64(r.Machines) }

// VersionDay is the number of crashes of two versions of a package on a day.
type VersionDay struct {
	Day              time.Time
	New, NewProposed int64 // crashes, and the part from the proposed pocket
	Old, OldProposed int64
	Machines         int64 // active in the release on that day
}

// NewBucket is a bucket that was seen in a new version of a package, but not in the previous one.
type NewBucket struct {
	ID        crash.BucketID
	Signature string
	Reports   int64 // in the new version
	Systems   int64 // distinct machines, in the new version
}

// BucketVersion is a version and release in which a problem was seen.
type BucketVersion struct {
	VersionSpan
	Systems int64 // distinct machines
}

// MachineRate is a number of reports per 1,000 machine-days, with its 95 % confidence interval.
// Without machine-days, the rate is unknown.
type MachineRate struct {
	Reports     int64
	MachineDays float64
	Per1000     float64
	Low, High   float64
}

// Known reports whether there were any machine-days.
func (r MachineRate) Known() bool { return r.MachineDays > 0 }

// MachineDays adds up the machines that were active on each UTC day from since. Today counts as far as it has
// come at now.
func MachineDays(machines []int64, since, now time.Time) (sum float64) {
	for i, n := range machines {
		sum += float64(n) * crash.Elapsed(since.AddDate(0, 0, i), now)
	}
	return sum
}

// NewMachineRate returns the rate of a number of reports.
func NewMachineRate(reports int64, machineDays float64) MachineRate {
	r := MachineRate{Reports: reports, MachineDays: machineDays}
	if r.Known() {
		rate := Sample{reports, machineDays}.Rate(1)
		r.Per1000, r.Low, r.High = rate.Value, rate.Low, rate.High
	}
	return r
}

// RateRatio is the ratio of two rates, with its 95 % confidence interval. It is zero if either rate
// is unknown, or both are 0.
type RateRatio struct {
	Ratio, Low, High float64 // infinite if only the other rate is 0
	P                float64 // probability of such a difference by chance, corrected for the number of comparisons
}

// Times returns the ratio of r to other. Given the sum of both numbers of reports, those of r have a
// binomial distribution; the interval is that of their share.
func (r MachineRate) Times(other MachineRate) RateRatio {
	if !r.Known() || !other.Known() || r.Reports+other.Reports == 0 {
		return RateRatio{}
	}
	after, before := Sample{r.Reports, r.MachineDays}, Sample{other.Reports, other.MachineDays}
	ratio := Ratio(before, after, 1)
	return RateRatio{Ratio: ratio.Value, Low: ratio.Low, High: ratio.High,
		P: 2 * min(Increase(before, after, 1), Increase(after, before, 1))}
}

// Among returns the ratio as one of several that are compared at the same time.
func (r RateRatio) Among(comparisons int) RateRatio {
	r.P *= float64(max(comparisons, 1))
	return r
}

// Known reports whether both rates are known.
func (r RateRatio) Known() bool { return r.High > 0 }

// Worse reports whether r is above 1 by more than chance explains.
func (r RateRatio) Worse() bool { return r.Ratio > 1 && Significant(r.P, 1) }

// Better reports whether r is below 1 by more than chance explains.
func (r RateRatio) Better() bool { return r.Known() && r.Ratio < 1 && Significant(r.P, 1) }

// MovingRates returns the mean number of reports per machine and day of one release, for each day
// from since to until (UTC days, both included). Each mean covers that day and the days before it,
// up to days in all, back to since. A day without an entry in rates has no reports; its number of
// machines is that of the day before. Today counts as far as it has come at now. A mean without machines
// is 0. sums are the reports that each mean rests on.
func MovingRates(rates []DayRate, since, until time.Time, days int, now time.Time) (means []float64, sums []int64) {
	by := map[time.Time]DayRate{}
	for _, r := range rates {
		by[crash.Midnight(r.Day)] = r
	}
	since, until = crash.Midnight(since), crash.Midnight(until)
	var reports []int64
	var machines []float64
	var known int64
	for day := since; !day.After(until); day = day.AddDate(0, 0, 1) {
		r, ok := by[day]
		if ok {
			known = r.Machines
		}
		reports, machines = append(reports, r.Reports), append(machines, float64(known)*crash.Elapsed(day, now))
	}
	means, sums = make([]float64, len(reports)), make([]int64, len(reports))
	var sum int64
	var machineDays float64
	for i := range reports {
		sum, machineDays = sum+reports[i], machineDays+machines[i]
		if i >= days {
			sum, machineDays = sum-reports[i-days], machineDays-machines[i-days]
		}
		sums[i] = sum
		if machineDays > 0 {
			means[i] = float64(sum) / machineDays
		}
	}
	return means, sums
}

// Trend compares the rate of reports in two consecutive periods of equal length.
type Trend struct {
	Release     crash.Release // empty: all releases together
	Now, Before MachineRate
	Change      RateRatio // of the present rate to the previous one
	Machines    int64     // active at the end
}

// Trends compares the days up to and including until (a UTC day) with as many days before. It
// returns the trend of each release with active machines, newest first. rates contains no days
// without reports; for those, Trends assumes the number of active machines of the day before. Today counts
// as far as it has come at now.
func Trends(rates []DayRate, until time.Time, days int, now time.Time) (each []Trend) {
	until = crash.Midnight(until)
	middle := until.AddDate(0, 0, 1-days)
	since := middle.AddDate(0, 0, -days)
	byRelease := map[crash.Release]map[time.Time]DayRate{}
	for _, r := range rates {
		if byRelease[r.Release] == nil {
			byRelease[r.Release] = map[time.Time]DayRate{}
		}
		byRelease[r.Release][crash.Midnight(r.Day)] = r
	}
	for release, of := range byRelease {
		machines := machinesBefore(of, since)
		var reports [2]int64 // before, now
		var machineDays [2]float64
		for day := since; !day.After(until); day = day.AddDate(0, 0, 1) {
			if r, ok := of[day]; ok {
				machines = r.Machines
			}
			half := 0
			if !day.Before(middle) {
				half = 1
			}
			reports[half] += of[day].Reports
			machineDays[half] += float64(machines) * crash.Elapsed(day, now)
		}
		if machineDays[1] == 0 {
			continue
		}
		each = append(each, Trend{
			Release: release, Machines: machines,
			Before: NewMachineRate(reports[0], machineDays[0]), Now: NewMachineRate(reports[1], machineDays[1]),
		})
	}
	slices.SortFunc(each, func(a, b Trend) int { return b.Release.Compare(a.Release) })
	for i := range each {
		each[i].Change = each[i].Now.Times(each[i].Before).Among(len(each))
	}
	return each
}

// TotalTrend compares the same days as Trends, up to today, for all releases together. machines has the
// number of machines that were active in any of them on each of the two periods' days: the sum of the
// releases counts machines twice that were active in two.
func TotalTrend(rates []DayRate, machines []int64, now time.Time, days int) Trend {
	until := crash.Midnight(now)
	middle := until.AddDate(0, 0, 1-days)
	since := middle.AddDate(0, 0, -days)
	var reports [2]int64 // before, now
	for _, r := range rates {
		switch day := crash.Midnight(r.Day); {
		case day.Before(since) || day.After(until):
		case day.Before(middle):
			reports[0] += r.Reports
		default:
			reports[1] += r.Reports
		}
	}
	t := Trend{
		Machines: machines[len(machines)-1],
		Before:   NewMachineRate(reports[0], MachineDays(machines[:days], since, now)),
		Now:      NewMachineRate(reports[1], MachineDays(machines[days:], middle, now)),
	}
	t.Change = t.Now.Times(t.Before)
	return t
}

// machinesBefore returns the number of active machines on the last day before day for which it is
// known. It looks back 89 days, since a machine counts as active for 90.
func machinesBefore(of map[time.Time]DayRate, day time.Time) int64 {
	for n := 1; n < 90; n++ {
		if r, ok := of[day.AddDate(0, 0, -n)]; ok {
			return r.Machines
		}
	}
	return 0
}

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

// risingFactor is the least ratio of two counts that counts as rising.
const risingFactor = 1.5

// Rise is the number of reports of a problem in the past seven UTC days, today included, and in the
// seven before.
type Rise struct{ Week, Before int64 }

// Rising returns for each of some problems whether it is rising: it has at least 1.5 times as many
// reports as in the week before, and more than chance explains. Only problems that were seen before
// the past week are compared; the others are new.
func Rising(all []Rise) []bool {
	least := make([]float64, len(all)) // p if all reports were of the past week
	for i, r := range all {
		least[i] = math.Ldexp(1, -int(r.Week+r.Before))
	}
	comparisons := possible(least)
	rising := make([]bool, len(all))
	for i, r := range all {
		rising[i] = float64(r.Week) >= risingFactor*float64(r.Before) &&
			Significant(BinomialTail(float64(r.Week), float64(r.Before), .5), comparisons)
	}
	return rising
}
