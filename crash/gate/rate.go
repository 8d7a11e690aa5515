package gate

import (
	"math"

	"mishap/crash/stats"
)

// Sample is a number of reports and the machine-days on which they were counted.
type Sample struct {
	Reports     int64
	MachineDays float64
}

// Interval is an estimate with its 95 % confidence interval. An end that is unknown is infinite.
type Interval struct{ Value, Low, High float64 }

// Known reports whether there is an estimate.
func (i Interval) Known() bool { return !math.IsNaN(i.Value) && !math.IsInf(i.Value, 0) }

// scaled returns the sample with independent reports only: dispersion is the factor by which the
// variance of the number of reports exceeds that of a Poisson distribution.
func (s Sample) scaled(dispersion float64) float64 { return float64(s.Reports) / dispersion }

// Rate returns the number of reports per 1,000 machine-days. The interval is that of the number of
// independent reports.
func (s Sample) Rate(dispersion float64) Interval {
	if s.MachineDays <= 0 {
		return Interval{Value: math.NaN(), High: math.Inf(1)}
	}
	n, scale := s.scaled(dispersion), 1000*dispersion/s.MachineDays
	low, high := stats.CountInterval(n)
	return Interval{n * scale, low * scale, high * scale}
}

// Ratio returns the rate of after divided by that of before, as [stats.MachineRate.Times] does, for
// independent reports.
func Ratio(before, after Sample, dispersion float64) Interval {
	r := Interval{Value: math.NaN(), High: math.Inf(1)}
	if before.MachineDays <= 0 || after.MachineDays <= 0 {
		return r
	}
	a, b := after.scaled(dispersion), before.scaled(dispersion)
	exposure := before.MachineDays / after.MachineDays
	if a+b > 0 {
		r.Value = a / b * exposure // infinite if b is 0
	}
	low, high := stats.ShareInterval(a, b)
	r.Low, r.High = low/(1-low)*exposure, high/(1-high)*exposure
	return r
}

// Increase returns the probability of as many reports in after, or more, if the rates were equal.
// It is one-sided.
func Increase(before, after Sample, dispersion float64) float64 {
	if after.Reports == 0 || before.MachineDays <= 0 || after.MachineDays <= 0 {
		return 1
	}
	return stats.BinomialTail(after.scaled(dispersion), before.scaled(dispersion), shareOf(before, after))
}

// shareOf returns the share of the machine-days that are in after.
func shareOf(before, after Sample) float64 {
	return after.MachineDays / (before.MachineDays + after.MachineDays)
}
