package stats

import (
	"time"

	"mishap/crash"
)

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
