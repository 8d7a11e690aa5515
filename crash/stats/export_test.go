package stats

// OddsRatio returns the odds ratio that several strata have in common, with its exact conditional interval, and
// the probability of as many machines with the trait here, or more, if it were 1.
func OddsRatio(confidence float64, strata ...Stratum) (Interval, float64) {
	d := newConditional(strata)
	return d.odds((1 - confidence) / 2), d.atLeast(0)
}
