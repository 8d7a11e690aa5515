// Package stats draws conclusions from counts: rates with confidence intervals, trends, conspicuous
// traits, the history of a package's versions, the status of a problem in each release, and whether an
// update made things worse. All functions are pure; callers pass in the time.
package stats

import (
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
	if !r.Known() {
		return r
	}
	per := 1000 / machineDays
	low, high := CountInterval(float64(reports))
	r.Per1000, r.Low, r.High = float64(reports)*per, low*per, high*per
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
	a, b := float64(r.Reports), float64(other.Reports)
	exposure := other.MachineDays / r.MachineDays
	low, high := ShareInterval(a, b)
	share := r.MachineDays / (r.MachineDays + other.MachineDays)
	return RateRatio{Ratio: a / b * exposure, Low: low / (1 - low) * exposure, High: high / (1 - high) * exposure,
		P: 2 * min(BinomialTail(a, b, share), BinomialTail(b, a, 1-share))}
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
