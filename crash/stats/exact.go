package stats

import (
	"math"
	"slices"
)

// Confidence is the confidence of all intervals and judgements of mishap.
const Confidence = .95

// Significant reports whether an outcome is evidence: chance leads to it with a probability of at
// most 5 %, divided by the number of comparisons that are made at the same time (Bonferroni's
// correction). So it is wrong about any of them in at most 5 % of cases.
func Significant(p float64, comparisons int) bool {
	return p <= level(comparisons)
}

// possible returns for how many comparisons a test must be corrected, if least are the lowest p that
// the sums of their counts permit. As Tarone proposed, comparisons that cannot be significant do not
// count.
func possible(least []float64) int {
	slices.Sort(least)
	k := 1
	for k < len(least) && Significant(least[k], k) { // more than k tests can be significant
		k++
	}
	return k
}

// level is the greatest probability that is significant. It allows for rounding errors of p.
func level(comparisons int) float64 { return (1 - Confidence + 1e-12) / float64(max(comparisons, 1)) }

// BinomialTail returns the probability of at least a successes among a+b trials that succeed with
// probability p each. It is the test of all comparisons of rates: if two rates are equal, the reports
// of both are distributed over their machine-days by chance. The numbers need not be whole.
func BinomialTail(a, b, p float64) float64 {
	if a <= 0 {
		return 1
	}
	return betaShare(a, b+1, p)
}

// PoissonTail returns the probability of at least n events if mean are expected. n need not be
// whole.
func PoissonTail(n, mean float64) float64 {
	if n <= 0 {
		return 1
	}
	return gammaShare(n, mean)
}

// MoreFrequent returns the probability that at least a of n reports have a property, and at most b
// of m others, if the a+b reports with it are distributed over both by chance. It is Fisher's exact
// test, one-sided. All numbers must be whole.
func MoreFrequent(a, n, b, m float64) float64 {
	all, with := n+m, a+b
	p, sum := math.Exp(choose(n, a)+choose(m, b)-choose(all, with)), 0.
	for ; a <= n && b >= 0 && p > sum*1e-16; a, b = a+1, b-1 {
		sum += p
		p *= (n - a) / (a + 1) * b / (m - b + 1)
	}
	return min(sum, 1)
}

// reportsNeeded returns the least number of reports that are evidence, if none of them is of a
// problem that with of the of reports before were. Some comparisons are made at the same time.
// Machines that report the problem several times count once, so all numbers are divided by its
// reports per machine.
func reportsNeeded(with, of int64, perMachine float64, comparisons int) int64 {
	k := max(math.Round(float64(with)/perMachine), 1)
	n := max(math.Round(float64(of)/perMachine), k)
	enough := func(m float64) bool { return Significant(MoreFrequent(k, n, 0, m), comparisons) }
	// p is about the k-th power of the middle share, which leads to a number close to the right one.
	m := math.Floor((n - (k-1)/2) * (math.Pow(level(comparisons), -1/k) - 1))
	for !enough(m) {
		m++
	}
	for m > 0 && enough(m-1) {
		m--
	}
	return int64(math.Ceil(m * perMachine))
}

// perMachine returns the mean number of reports of the machines that have a problem, at least 1. It
// is 1 if no machine has a hash.
func perMachine(reports, machines int64) float64 {
	if machines == 0 {
		return 1
	}
	return max(float64(reports)/float64(machines), 1)
}

// choose returns the logarithm of the number of ways to choose k of n.
func choose(n, k float64) float64 { return logGamma(n+1) - logGamma(k+1) - logGamma(n-k+1) }

// CountInterval returns the interval of the mean of a number of events: Garwood's exact interval of
// a Poisson distribution. n need not be whole.
func CountInterval(n float64) (low, high float64) {
	const tail = (1 - Confidence) / 2
	most := n + 1
	for gammaShare(n+1, most) < 1-tail {
		most *= 2
	}
	if n > 0 {
		low = inverse(tail, most, func(x float64) (share, density float64) { return gammaShare(n, x), gammaDensity(n, x) })
	}
	return low, inverse(1-tail, most, func(x float64) (share, density float64) {
		return gammaShare(n+1, x), gammaDensity(n+1, x)
	})
}

// ShareInterval returns the interval of the share of successes, given a successes and b failures:
// that of Clopper and Pearson. The numbers need not be whole.
func ShareInterval(a, b float64) (low, high float64) {
	const tail = (1 - Confidence) / 2
	low, high = 0, 1
	if a > 0 {
		low = inverse(tail, 1, func(p float64) (share, density float64) {
			return betaShare(a, b+1, p), betaDensity(a, b+1, p)
		})
	}
	if b > 0 {
		high = inverse(1-tail, 1, func(p float64) (share, density float64) {
			return betaShare(a+1, b, p), betaDensity(a+1, b, p)
		})
	}
	return low, high
}

// inverse returns the x between 0 and most of which a distribution has the given share below it. It uses
// Newton's method, and halves the interval where a step would leave it.
func inverse(share, most float64, at func(x float64) (below, density float64)) float64 {
	low, high := 0., most
	for x := most / 2; ; {
		below, density := at(x)
		if below < share {
			low = x
		} else {
			high = x
		}
		next := x - (below-share)/density
		if !(next > low && next < high) { // also if density is 0
			next = (low + high) / 2
		}
		if math.Abs(next-x) <= 1e-10*x {
			return next
		}
		x = next
	}
}

func logGamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

// betaShare returns the regularised incomplete beta function I_x(a, b), by its continued fraction.
func betaShare(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges slowly
		return 1 - betaFraction(b, a, 1-x)
	}
	return betaFraction(a, b, x)
}

func betaFraction(a, b, x float64) float64 {
	return betaDensity(a, b, x) * x * (1 - x) / a / fraction(1, func(i float64) (float64, float64) {
		m := math.Floor(i / 2)
		if i == 2*m {
			return m * (b - m) * x / ((a + i - 1) * (a + i)), 1
		}
		return -(a + m) * (a + b + m) * x / ((a + i - 1) * (a + i)), 1
	})
}

func betaDensity(a, b, x float64) float64 {
	return math.Exp(logGamma(a+b) - logGamma(a) - logGamma(b) + (a-1)*math.Log(x) + (b-1)*math.Log1p(-x))
}

// gammaShare returns the regularised incomplete gamma function P(a, x), by its series or its
// continued fraction.
func gammaShare(a, x float64) float64 {
	if x <= 0 {
		return 0
	}
	scale := gammaDensity(a, x) * x
	if x >= a+1 {
		return 1 - scale/fraction(x+1-a, func(i float64) (float64, float64) { return i * (a - i), x + 1 - a + 2*i })
	}
	term := 1 / a
	sum := term
	for n := a + 1; term > sum*1e-16; n++ {
		term *= x / n
		sum += term
	}
	return sum * scale
}

func gammaDensity(a, x float64) float64 { return math.Exp((a-1)*math.Log(x) - x - logGamma(a)) }

// fraction returns a continued fraction, b + a₁/(b₁ + a₂/(b₂ + …)), by the method of Lentz. terms
// returns a and b of a number from 1.
func fraction(b float64, terms func(i float64) (a, b float64)) float64 {
	const tiny = 1e-300 // instead of zero
	f, c, d := b, b, 0.
	for i := 1.; ; i++ {
		an, bn := terms(i)
		if d = bn + an*d; d == 0 {
			d = tiny
		}
		if c = bn + an/c; c == 0 {
			c = tiny
		}
		d = 1 / d
		f *= c * d
		if math.Abs(c*d-1) < 1e-14 {
			return f
		}
	}
}
