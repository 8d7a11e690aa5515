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

// MachineRate is a number of reports per 1,000 machine-days, with its 95% confidence interval.
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

// RateRatio is the ratio of two rates, with its 95% confidence interval. It is zero if either rate
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

func (r MachineRate) interval() string {
	return "95% CI " + FormatRate(r.Low/1000) + "–" + FormatRate(r.High/1000)
}

const asMany = "as many"

// Text describes the ratio of two rates: "4% more", "as many", "3.2 times as many".
func (r RateRatio) Text() string {
	switch percent := 100 * (r.Ratio - 1); {
	case math.IsInf(r.Ratio, 1):
		return "more, from none"
	case percent >= 200:
		return fmt.Sprintf("%.1f times as many", r.Ratio)
	case percent >= .5:
		return fmt.Sprintf("%.0f%% more", percent)
	case percent <= -.5:
		return fmt.Sprintf("%.0f%% fewer", math.Max(1, -percent))
	}
	return asMany
}

// than describes the ratio of two rates compared with what follows: "4% more than".
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
	return fmt.Sprintf("At the same age (%d days after its release, over %d days), it had %s (%s). This one has %s "+
		"(%s), %s it: %s.", age, days, FormatRate(then.Per1000/1000), then.interval(), FormatRate(now.Per1000/1000),
		now.interval(), ratio.than(), ratio.Verdict())
}

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
	comparisons := possible(least, 1-Confidence)
	rising := make([]bool, len(all))
	for i, r := range all {
		rising[i] = float64(r.Week) >= risingFactor*float64(r.Before) &&
			Significant(BinomialTail(float64(r.Week), float64(r.Before), .5), comparisons)
	}
	return rising
}

// Confidence is the confidence of all intervals and judgements of mishap.
const Confidence = .95

// Significant reports whether an outcome is evidence: chance leads to it with a probability of at
// most 5%, divided by the number of comparisons that are made at the same time (Bonferroni's
// correction). So it is wrong about any of them in at most 5% of cases.
func Significant(p float64, comparisons int) bool {
	return p <= level(comparisons, 1-Confidence)
}

// possible returns for how many comparisons a test must be corrected, if least are the lowest p that
// the sums of their counts permit, and chance may lead to a wrong result with the probability risk. As
// Tarone proposed, comparisons that cannot be significant do not count.
func possible(least []float64, risk float64) int {
	slices.Sort(least)
	k := 1
	for k < len(least) && least[k] <= level(k, risk) { // more than k tests can be significant
		k++
	}
	return k
}

// level is the greatest probability that is significant. It allows for rounding errors of p.
func level(comparisons int, risk float64) float64 {
	return (risk + 1e-12) / float64(max(comparisons, 1))
}

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
	return int64(math.Ceil(machinesNeeded(k, n, comparisons) * perMachine))
}

// machinesNeeded returns the least number of machines that are evidence, if none of them has a problem
// that k of n others have.
func machinesNeeded(k, n float64, comparisons int) float64 {
	enough := func(m float64) bool { return Significant(noneOf(k, n, m), comparisons) }
	// p is about the k-th power of the middle share, which leads to a number close to the right one.
	m := math.Floor((n - (k-1)/2) * (math.Pow(level(comparisons, 1-Confidence), -1/k) - 1))
	for !enough(m) {
		m++
	}
	for m > 0 && enough(m-1) {
		m--
	}
	return m
}

// noneOf returns the probability that m have no part in a property that k of n others have, if chance
// distributes it over all of them: [MoreFrequent] of k of n and none of m. k need not be whole.
func noneOf(k, n, m float64) float64 { return math.Exp(choose(n, k) - choose(n+m, k)) }

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
