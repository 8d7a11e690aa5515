package gate

import (
	"math"

	"mishap/crash/stats"
)

const (
	// Level is the one-sided level of each of the two tests, of rates and of problems, when the gate
	// is asked once. It is so low that asking every day raises few false alarms, too.
	Level = .0025
	// power is the probability with which a pass must have noticed an increase.
	power = .9
	// Noticeable is the number of further reports per machine-day that a pass must have noticed, on
	// machines with the update, unless a doubled rate is more.
	Noticeable = .001
)

// requiredRate returns the rate per machine-day of the whole release that a pass must have noticed,
// if share of the machines have the update.
func requiredRate(before Sample, share float64) float64 {
	rate := float64(before.Reports) / before.MachineDays
	return rate + share*max(rate, Noticeable)
}

// chance returns the probability that the test notices a rate per machine-day after machineDays.
func chance(before Sample, machineDays, rate, dispersion float64) float64 {
	if before.MachineDays <= 0 || machineDays <= 0 {
		return 0
	}
	b := before.scaled(dispersion)
	p := shareOf(before, Sample{MachineDays: machineDays})
	least := search(.001, func(a float64) bool { return stats.BinomialTail(a, b, p) <= Level })
	if math.IsInf(least, 1) {
		return 0
	}
	return stats.PoissonTail(max(least, minMachines), rate*machineDays/dispersion)
}

// neededMachineDays returns the machine-days after which the test has the required power to notice
// a rate, or infinity if it never has.
func neededMachineDays(before Sample, rate, dispersion float64) float64 {
	return search(.02, func(days float64) bool { return chance(before, days, rate, dispersion) >= power })
}

// search returns the least positive number for which a monotonic condition holds, with the given
// relative accuracy, or infinity.
func search(accuracy float64, holds func(float64) bool) float64 {
	const most = 1e10
	high := 1.
	for !holds(high) {
		if high *= 2; high > most {
			return math.Inf(1)
		}
	}
	low := high / 2
	if high == 1 {
		low = 0
	}
	for high-low > high*accuracy {
		if middle := (low + high) / 2; holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
