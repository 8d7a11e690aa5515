package stats

import "math"

// confidence is the quantile of the normal distribution for intervals that hold the truth in 95 of 100 cases.
const confidence = 1.959963984540054

// MachineRate is how often something was reported per 1000 machine-days, and the interval in which the true rate lies with
// 95 % confidence. Without machine-days nothing is known.
type MachineRate struct {
	Reports     int64
	MachineDays float64
	Per1000     float64
	Low, High   float64
}

// Known reports whether there were machines.
func (r MachineRate) Known() bool { return r.MachineDays > 0 }

// NewMachineRate works out a rate. Its interval is Byar's approximation to the exact one of a Poisson count.
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

// RateRatio is how many times one rate another is, and the interval in which the true ratio lies with 95 % confidence; all
// of it 0 when either is not known.
type RateRatio struct{ Ratio, Low, High float64 }

// Times says how many times the other rate this one is. Half a report is added to both, so that a count of 0 has an interval
// too; the interval is that of the logarithm.
func (r MachineRate) Times(other MachineRate) RateRatio {
	if !r.Known() || !other.Known() {
		return RateRatio{}
	}
	a, b := float64(r.Reports)+.5, float64(other.Reports)+.5
	value := a / r.MachineDays / (b / other.MachineDays)
	width := math.Exp(confidence * math.Sqrt(1/a+1/b))
	return RateRatio{Ratio: value, Low: value / width, High: value * width}
}

// Known reports whether there is something to compare.
func (r RateRatio) Known() bool { return r.Ratio > 0 }

// Worse and Better report whether the difference is more than chance explains.
func (r RateRatio) Worse() bool  { return r.Known() && r.Low > 1 }
func (r RateRatio) Better() bool { return r.Known() && r.High < 1 }
