package stats

import "math"

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
