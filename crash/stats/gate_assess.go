package stats

import (
	"cmp"
	"math"
	"slices"
	"time"

	"mishap/crash"
)

// minMachines is the least number of machines with the update that must have reported the package,
// or a problem, before the gate calls it worse.
const minMachines = 3

// GateDay holds the counts of one UTC day in a release.
type GateDay struct {
	Day      time.Time
	Machines int64 // active machines of the release
	Reports  int64 // of the package, from any version
	New      int64 // those from the version under test
	Old      int64 // those from the version to compare with
}

// GateProblem holds the counts of one problem of the package in the release.
type GateProblem struct {
	ID       crash.BucketID
	Before   int64    // reports in the window before, from any version
	After    int64    // reports in the window after, from any version
	History  int64    // reports in the history, from any version
	Lower    bool     // a version below the one under test has it, at any time
	Machines int64    // machines that reported it with the version under test
	Clusters Clusters // reports by machine, from both versions
	Nameless bool     // its reports have no function names yet: it is not compared
}

// GateInput holds everything that the gate judges in one release.
type GateInput struct {
	GatePlan
	OldMachines, NewMachines int64     // distinct machines that reported each version in its window
	Days                     []GateDay // of the history, the windows and up to today, without gaps
	New, Old                 Clusters
	Problems                 []GateProblem
}

// Verdict answers whether an update made things worse.
type Verdict string

// The verdicts, from best to worst.
const (
	GatePass      Verdict = "pass"
	GateNotEnough Verdict = "not enough data"
	GateWorse     Verdict = "worse"
)

// rank orders verdicts: the worst is highest.
func (v Verdict) rank() int { return slices.Index([]Verdict{GatePass, GateNotEnough, GateWorse}, v) }

// GateFinding is a problem that is new in the update, or more frequent.
type GateFinding struct {
	GateProblem
	P           float64 // probability of such numbers if the update changed nothing
	Significant bool    // after the correction for the number of problems
}

// GateResult is the answer for one release.
type GateResult struct {
	GatePlan
	Verdict    Verdict
	New, Old   Clusters // of the version under test and of the one to compare with
	Before     Compared
	After      Compared
	P          float64 // probability of such an increase if the update changed nothing
	Increased  bool
	Dispersion float64
	Share      float64 // estimated share of the machines that have the update
	ShareKnown bool    // otherwise Share is 1, for lack of reports
	Enough     bool    // a serious increase would have been noticed
	Appeared   []GateFinding
	Increases  []GateFinding
	Nameless   int // problems that were not compared
}

// Compared is one side of the comparison of rates.
type Compared struct {
	Sample
	Own      int64 // reports from the version itself
	Machines int64 // distinct machines that sent these
}

// AssessGate compares the days before and after an update.
func AssessGate(in GateInput) GateResult {
	before, after := in.between(in.Before), in.between(in.After)
	r := GateResult{GatePlan: in.GatePlan, New: in.New, Old: in.Old, Dispersion: in.dispersion(before)}
	r.Before = compared(before, func(d GateDay) int64 { return d.Old })
	r.After = compared(after, func(d GateDay) int64 { return d.New })
	r.Before.Machines, r.After.Machines = in.OldMachines, in.NewMachines
	r.P = Increase(r.Before.Sample, r.After.Sample, r.Dispersion)
	r.Increased = r.P <= gateLevel && r.New.Machines >= minMachines
	r.estimateShare()
	r.findProblems(in)
	r.Enough = r.enough()
	switch significant := func(f GateFinding) bool { return f.Significant }; {
	case r.Increased, slices.ContainsFunc(r.Appeared, significant), slices.ContainsFunc(r.Increases, significant):
		r.Verdict = GateWorse
	case !r.Enough:
		r.Verdict = GateNotEnough
	default:
		r.Verdict = GatePass
	}
	return r
}

// OverallVerdict returns the worst verdict of some releases. Without any, there is not enough data.
func OverallVerdict(results []GateResult) Verdict {
	if len(results) == 0 {
		return GateNotEnough
	}
	worst := GatePass
	for _, r := range results {
		if r.Verdict.rank() > worst.rank() {
			worst = r.Verdict
		}
	}
	return worst
}

// between returns the days in a window.
func (in GateInput) between(w Window) []GateDay {
	if len(in.Days) == 0 {
		return nil
	}
	from := max(0, int(w.Since.Sub(in.Days[0].Day)/(24*time.Hour)))
	until := min(len(in.Days), int(w.Until.Sub(in.Days[0].Day)/(24*time.Hour))+1)
	if until <= from {
		return nil
	}
	return in.Days[from:until]
}

// dispersion returns the greatest of the dispersions that can be estimated: of the reports of the
// machines with either version, and of the days before.
func (in GateInput) dispersion(before []GateDay) float64 {
	part := func(w Window, of int) float64 { return float64(w.Days()) / float64(max(of, 1)) }
	return max(1, in.New.within(part(in.After, in.AfterIn)), in.Old.within(part(in.Before, in.BeforeIn)),
		dayDispersion(before))
}

func allReports(d GateDay) int64 { return d.Reports }

func sum(days []GateDay, count func(GateDay) int64) (s Sample) {
	for _, d := range days {
		s.Reports, s.MachineDays = s.Reports+count(d), s.MachineDays+float64(d.Machines)
	}
	return s
}

func compared(days []GateDay, own func(GateDay) int64) Compared {
	return Compared{Sample: sum(days, allReports), Own: sum(days, own).Reports}
}

// minExpected is the least number of independent reports from which the share of the machines with
// the update is estimated.
const minExpected = 5

// estimateShare estimates the share of the machines that have the update. They no longer send
// reports from lower versions, so it is the share by which these have become fewer. Without enough
// reports it assumes that all machines have the update.
func (r *GateResult) estimateShare() {
	r.Share = 1
	if r.Before.MachineDays <= 0 {
		return
	}
	expected := float64(r.Before.Reports) / r.Before.MachineDays * r.After.MachineDays
	if r.ShareKnown = expected/r.Dispersion >= minExpected; r.ShareKnown {
		r.Share = min(1, max(0, 1-float64(r.After.Reports-r.After.Own)/expected))
	}
}

// enough reports whether a pass would be justified.
func (r GateResult) enough() bool {
	return r.comparable() && r.GatePlan.After.Days() >= minDays && chance(r.Before.Sample, r.After.MachineDays,
		requiredRate(r.Before.Sample, r.Share), r.Dispersion) >= power
}

// comparable reports whether the days before suffice.
func (r GateResult) comparable() bool {
	return r.GatePlan.Before.Days() >= minDays && r.Before.MachineDays >= minMachineDays
}

// Ratio returns the rate of all versions after the update, divided by that before.
func (r GateResult) Ratio() Interval { return Ratio(r.Before.Sample, r.After.Sample, r.Dispersion) }

// Needed returns the machine-days that a pass still needs, and the days at the present number of active machines.
// Both are zero if there is enough. Machine-days are infinite if more of them cannot help, and days if the window
// after the update is over.
func (r GateResult) Needed() (machineDays, days float64) {
	if r.Enough {
		return 0, 0
	}
	never := math.Inf(1)
	if !r.comparable() || r.After.MachineDays == 0 {
		return never, never
	}
	past := float64(r.GatePlan.After.Days())
	perDay := r.After.MachineDays / past
	needed := neededMachineDays(r.Before.Sample, requiredRate(r.Before.Sample, r.Share), r.Dispersion)
	machineDays = max(needed, minDays*perDay) - r.After.MachineDays
	if days = machineDays / perDay; r.Replaced != "" || past+days > GateWindowDays {
		days = never
	}
	return machineDays, days
}

// findProblems tests each problem and lists those that are new in the update, or more frequent.
func (r *GateResult) findProblems(in GateInput) {
	history := sum(in.between(in.History), allReports)
	now := sum(in.between(Window{in.After.Since, in.After.Since.AddDate(0, 0, in.AfterIn-1)}), allReports)
	before, after := r.Before.Sample, r.After.Sample
	var findings []GateFinding
	var tests []test
	for _, p := range in.Problems {
		if p.Nameless {
			if p.After > 0 {
				r.Nameless++
			}
			continue
		}
		dispersion := p.Clusters.dispersion()
		if 2*p.Clusters.Reports < p.Before+p.After {
			dispersion = max(dispersion, r.Dispersion)
		}
		f := GateFinding{GateProblem: p, P: 1}
		before.Reports, after.Reports = p.Before, p.After
		shares := []float64{shareOf(before, after)}
		if p.Lower {
			f.P = Increase(before, after, dispersion)
		} else if p.Machines > 0 {
			shares = append(shares, shareOf(history, now))
			f.P = Increase(Sample{p.History, history.MachineDays}, Sample{p.Clusters.Reports, now.MachineDays}, dispersion)
		}
		all := float64(max(p.History, p.Before)+max(p.After, p.Clusters.Reports)) / dispersion
		findings = append(findings, f)
		tests = append(tests, test{p: f.P, least: math.Pow(slices.Min(shares), all)})
	}
	for i, significant := range discoveries(tests, gateLevel) {
		f := findings[i]
		f.Significant = significant && f.Machines >= minMachines
		switch {
		case !f.Lower && f.Machines > 0:
			r.Appeared = append(r.Appeared, f)
		case f.Significant:
			r.Increases = append(r.Increases, f)
		}
	}
	byMachines := func(a, b GateFinding) int {
		return cmp.Or(-cmp.Compare(a.Machines, b.Machines), cmp.Compare(a.P, b.P), slices.Compare(a.ID[:], b.ID[:]))
	}
	slices.SortFunc(r.Appeared, byMachines)
	slices.SortFunc(r.Increases, byMachines)
}

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
	low, high := CountInterval(n)
	return Interval{n * scale, low * scale, high * scale}
}

// Ratio returns the rate of after divided by that of before, as [MachineRate.Times] does, for
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
	low, high := ShareInterval(a, b)
	r.Low, r.High = low/(1-low)*exposure, high/(1-high)*exposure
	return r
}

// Increase returns the probability of as many reports in after, or more, if the rates were equal.
// It is one-sided.
func Increase(before, after Sample, dispersion float64) float64 {
	if after.Reports == 0 || before.MachineDays <= 0 || after.MachineDays <= 0 {
		return 1
	}
	return BinomialTail(after.scaled(dispersion), before.scaled(dispersion), shareOf(before, after))
}

// shareOf returns the share of the machine-days that are in after.
func shareOf(before, after Sample) float64 {
	return after.MachineDays / (before.MachineDays + after.MachineDays)
}

// minDispersionDays is the least number of days from which the variation between days is estimated.
const minDispersionDays = 7

// Clusters sums up how reports are distributed over machines.
type Clusters struct {
	Machines int64
	Reports  int64
	Squares  int64 // sum of the squares of the machines' numbers of reports
}

// Plus returns the sum of both, for different machines.
func (c Clusters) Plus(other Clusters) Clusters {
	return Clusters{c.Machines + other.Machines, c.Reports + other.Reports, c.Squares + other.Squares}
}

// dispersion returns the variance of the number of reports, relative to that of independent
// reports, if machines are independent of each other: the sum of squares divided by the sum. It is
// 1 if each machine sent one report.
func (c Clusters) dispersion() float64 {
	if c.Reports == 0 {
		return 1
	}
	return max(1, float64(c.Squares)/float64(c.Reports))
}

// within returns the dispersion within a part of the time that the clusters cover. A machine that
// crashes regularly has fewer reports in a shorter time.
func (c Clusters) within(part float64) float64 { return 1 + (c.dispersion()-1)*min(1, part) }

// dayDispersion returns the variance of the daily numbers of reports, relative to that of a Poisson
// distribution with the same mean per machine (Pearson's statistic).
func dayDispersion(days []GateDay) float64 {
	sample := sum(days, allReports)
	if len(days) < minDispersionDays || sample.Reports == 0 || sample.MachineDays <= 0 {
		return 1
	}
	var pearson float64
	for _, d := range days {
		if expected := float64(sample.Reports) * float64(d.Machines) / sample.MachineDays; expected > 0 {
			difference := float64(d.Reports) - expected
			pearson += difference * difference / expected
		}
	}
	return max(1, pearson/float64(len(days)-1))
}

// test is the outcome of one of several tests.
type test struct {
	p     float64
	least float64 // the lowest p that the number of reports could have led to
}

// discoveries returns which tests are significant if the false discovery rate is at most level. It
// is the procedure of Benjamini and Hochberg. As Tarone and Gilbert proposed, tests with too few
// reports to ever be significant do not count, which their outcome has no influence on.
func discoveries(tests []test, level float64) []bool {
	found := make([]bool, len(tests))
	var order []int
	for i, t := range tests {
		if t.least <= level {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(tests[a].p, tests[b].p) })
	for k := len(order) - 1; k >= 0; k-- {
		if tests[order[k]].p <= level*float64(k+1)/float64(len(order)) {
			for _, i := range order[:k+1] {
				found[i] = true
			}
			break
		}
	}
	return found
}

const (
	// gateLevel is the one-sided level of each of the two tests, of rates and of problems, when the gate
	// is asked once. It is so low that asking every day raises few false alarms, too.
	gateLevel = .0025
	// power is the probability with which a pass must have noticed an increase.
	power = .9
	// noticeable is the number of further reports per machine-day that a pass must have noticed, on
	// machines with the update, unless a doubled rate is more.
	noticeable = .001
)

// requiredRate returns the rate per machine-day of the whole release that a pass must have noticed,
// if share of the machines have the update.
func requiredRate(before Sample, share float64) float64 {
	rate := float64(before.Reports) / before.MachineDays
	return rate + share*max(rate, noticeable)
}

// chance returns the probability that the test notices a rate per machine-day after machineDays.
func chance(before Sample, machineDays, rate, dispersion float64) float64 {
	if before.MachineDays <= 0 || machineDays <= 0 {
		return 0
	}
	b := before.scaled(dispersion)
	p := shareOf(before, Sample{MachineDays: machineDays})
	least := search(.001, func(a float64) bool { return BinomialTail(a, b, p) <= gateLevel })
	if math.IsInf(least, 1) {
		return 0
	}
	return PoissonTail(max(least, minMachines), rate*machineDays/dispersion)
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
