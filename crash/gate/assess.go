package gate

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

// Day holds the counts of one UTC day in a release.
type Day struct {
	Day      time.Time
	Machines int64 // active machines of the release
	Reports  int64 // of the package, from any version
	New      int64 // those from the version under test
	Old      int64 // those from the version to compare with
}

// Problem holds the counts of one problem of the package in the release.
type Problem struct {
	ID       crash.BucketID
	Before   int64    // reports in the window before, from any version
	After    int64    // reports in the window after, from any version
	History  int64    // reports in the history, from any version
	Lower    bool     // a version below the one under test has it, at any time
	Machines int64    // machines that reported it with the version under test
	Clusters Clusters // reports by machine, from both versions
	Nameless bool     // its reports have no function names yet: it is not compared
}

// Input holds everything that the gate judges in one release.
type Input struct {
	Plan
	OldMachines, NewMachines int64 // distinct machines that reported each version in its window
	Days                     []Day // of the history, the windows and up to today, without gaps
	New, Old                 Clusters
	Problems                 []Problem
}

// Verdict answers whether an update made things worse.
type Verdict string

// The verdicts, from best to worst.
const (
	Pass      Verdict = "pass"
	NotEnough Verdict = "not enough data"
	Worse     Verdict = "worse"
)

// rank orders verdicts: the worst is highest.
func (v Verdict) rank() int { return slices.Index([]Verdict{Pass, NotEnough, Worse}, v) }

// Finding is a problem that is new in the update, or more frequent.
type Finding struct {
	Problem
	P           float64 // probability of such numbers if the update changed nothing
	Significant bool    // after the correction for the number of problems
}

// Needed says what a pass still needs.
type Needed struct {
	MachineDays float64 // infinite: more days cannot help
	Days        float64 // at the present number of active machines; infinite if the window after is over
}

// Result is the answer for one release.
type Result struct {
	Plan
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
	Appeared   []Finding
	Increases  []Finding
	Nameless   int // problems that were not compared
}

// Compared is one side of the comparison of rates.
type Compared struct {
	Sample
	Own      int64 // reports from the version itself
	Machines int64 // distinct machines that sent these
}

// Assess compares the days before and after an update.
func Assess(in Input) Result {
	before, after := in.between(in.Before), in.between(in.After)
	r := Result{Plan: in.Plan, New: in.New, Old: in.Old, Dispersion: in.dispersion(before)}
	r.Before = compared(before, func(d Day) int64 { return d.Old })
	r.After = compared(after, func(d Day) int64 { return d.New })
	r.Before.Machines, r.After.Machines = in.OldMachines, in.NewMachines
	r.P = Increase(r.Before.Sample, r.After.Sample, r.Dispersion)
	r.Increased = r.P <= Level && r.New.Machines >= minMachines
	r.estimateShare()
	r.findProblems(in)
	r.Enough = r.enough()
	switch significant := func(f Finding) bool { return f.Significant }; {
	case r.Increased, slices.ContainsFunc(r.Appeared, significant), slices.ContainsFunc(r.Increases, significant):
		r.Verdict = Worse
	case !r.Enough:
		r.Verdict = NotEnough
	default:
		r.Verdict = Pass
	}
	return r
}

// Overall returns the worst verdict of some releases. Without any, there is not enough data.
func Overall(results []Result) Verdict {
	if len(results) == 0 {
		return NotEnough
	}
	worst := Pass
	for _, r := range results {
		if r.Verdict.rank() > worst.rank() {
			worst = r.Verdict
		}
	}
	return worst
}

// between returns the days in a window.
func (in Input) between(w Window) []Day {
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
func (in Input) dispersion(before []Day) float64 {
	part := func(w Window, of int) float64 { return float64(w.Days()) / float64(max(of, 1)) }
	return max(1, in.New.within(part(in.After, in.AfterIn)), in.Old.within(part(in.Before, in.BeforeIn)),
		dayDispersion(before))
}

func allReports(d Day) int64 { return d.Reports }

func sum(days []Day, count func(Day) int64) (s Sample) {
	for _, d := range days {
		s.Reports, s.MachineDays = s.Reports+count(d), s.MachineDays+float64(d.Machines)
	}
	return s
}

func compared(days []Day, own func(Day) int64) Compared {
	return Compared{Sample: sum(days, allReports), Own: sum(days, own).Reports}
}

// minExpected is the least number of independent reports from which the share of the machines with
// the update is estimated.
const minExpected = 5

// estimateShare estimates the share of the machines that have the update. They no longer send
// reports from lower versions, so it is the share by which these have become fewer. Without enough
// reports it assumes that all machines have the update.
func (r *Result) estimateShare() {
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
func (r Result) enough() bool {
	return r.comparable() && r.Plan.After.Days() >= MinDays && chance(r.Before.Sample, r.After.MachineDays,
		requiredRate(r.Before.Sample, r.Share), r.Dispersion) >= power
}

// comparable reports whether the days before suffice.
func (r Result) comparable() bool {
	return r.Plan.Before.Days() >= MinDays && r.Before.MachineDays >= MinMachineDays
}

// Ratio returns the rate of all versions after the update, divided by that before.
func (r Result) Ratio() Interval { return Ratio(r.Before.Sample, r.After.Sample, r.Dispersion) }

// Needed returns what a pass still needs. It is infinite if more days cannot help, and zero if there
// is enough.
func (r Result) Needed() Needed {
	if r.Enough {
		return Needed{}
	}
	never := Needed{MachineDays: math.Inf(1), Days: math.Inf(1)}
	if !r.comparable() || r.After.MachineDays == 0 {
		return never
	}
	days := float64(r.Plan.After.Days())
	perDay := r.After.MachineDays / days
	needed := neededMachineDays(r.Before.Sample, requiredRate(r.Before.Sample, r.Share), r.Dispersion)
	if math.IsInf(needed, 1) {
		return never
	}
	n := Needed{MachineDays: max(needed, MinDays*perDay) - r.After.MachineDays}
	if n.Days = n.MachineDays / perDay; r.Replaced != "" || days+n.Days > WindowDays {
		n.Days = math.Inf(1)
	}
	return n
}

// findProblems tests each problem and lists those that are new in the update, or more frequent.
func (r *Result) findProblems(in Input) {
	history := sum(in.between(in.History), allReports)
	now := sum(in.between(Window{in.After.Since, in.After.Since.AddDate(0, 0, in.AfterIn-1)}), allReports)
	before, after := r.Before.Sample, r.After.Sample
	var findings []Finding
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
		f := Finding{Problem: p, P: 1}
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
	for i, significant := range discoveries(tests, Level) {
		f := findings[i]
		f.Significant = significant && f.Machines >= minMachines
		switch {
		case !f.Lower && f.Machines > 0:
			r.Appeared = append(r.Appeared, f)
		case f.Significant:
			r.Increases = append(r.Increases, f)
		}
	}
	byMachines := func(a, b Finding) int {
		return cmp.Or(-cmp.Compare(a.Machines, b.Machines), cmp.Compare(a.P, b.P), slices.Compare(a.ID[:], b.ID[:]))
	}
	slices.SortFunc(r.Appeared, byMachines)
	slices.SortFunc(r.Increases, byMachines)
}
