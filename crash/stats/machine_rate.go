package stats

import "math"

// confidence is the quantile of the normal distribution for 95 % confidence intervals.
const confidence = 1.959963984540054

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

// NewMachineRate returns the rate of a number of reports. The interval is Byar's approximation of
// the exact Poisson interval.
func NewMachineRate(reports int64, machineDays float64) MachineRate {
	r := MachineRate{Reports: reports, MachineDays: machineDays}
	if !r.Known() {
		return r
	}
	per := 1000 / machineDays
	r.Per1000 = float64(reports) * per
	if n := float64(reports); n > 0 {
		r.Low = max(0, n*math.Pow(1-1/(9*n)-confidence/(3*math.Sqrt(n)), 3)*per)
	}
	n := float64(reports) + 1
	r.High = n * math.Pow(1-1/(9*n)+confidence/(3*math.Sqrt(n)), 3) * per
	return r
}

// RateRatio is the ratio of two rates, with its 95 % confidence interval. It is zero if either rate
// is unknown.
type RateRatio struct{ Ratio, Low, High float64 }

// Times returns the ratio of r to other. It adds half a report to both counts, so that a count of 0
// has an interval, too. The interval is that of the logarithm of the ratio.
func (r MachineRate) Times(other MachineRate) RateRatio {
	if !r.Known() || !other.Known() {
		return RateRatio{}
	}
	a, b := float64(r.Reports)+.5, float64(other.Reports)+.5
	value := a / r.MachineDays / (b / other.MachineDays)
	width := math.Exp(confidence * math.Sqrt(1/a+1/b))
	return RateRatio{Ratio: value, Low: value / width, High: value * width}
}

// Known reports whether both rates are known.
func (r RateRatio) Known() bool { return r.Ratio > 0 }

// Worse reports whether r is significantly above 1.
func (r RateRatio) Worse() bool { return r.Known() && r.Low > 1 }

// Better reports whether r is significantly below 1.
func (r RateRatio) Better() bool { return r.Known() && r.High < 1 }
