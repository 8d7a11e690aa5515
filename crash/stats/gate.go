package stats

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/version"
)

// The update gate tells from counts whether an update of a package made things worse.
//
// Nobody tells mishap how many machines have a version installed. The gate therefore compares days, not machines: all
// reports of the package while the previous version was the newest one, and all reports since the update arrived, both
// per active machine of the release. If the update changes nothing, this rate stays the same, however quickly machines
// install the update. docs/gate.md explains the statistics, their limits and the levels, which a simulation tests.
// Package db/problems collects the input.

// GateQuestion asks whether a version of a binary package made things worse.
type GateQuestion struct {
	Package string
	Version string
	Against string        // version to compare with; empty: the gate chooses one
	Release crash.Release // empty: every release with the version, and with Against if given
}

// GatePath is the path of the page of the gate.
const GatePath = "/gate"

// Query returns the query of the page with the answer.
func (q GateQuestion) Query() string {
	values := url.Values{}
	for name, value := range map[string]string{
		"package": q.Package, "version": q.Version, "against": q.Against, "release": string(q.Release),
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values.Encode()
}

// Path returns the path and query of the page with the answer.
func (q GateQuestion) Path() string { return GatePath + "?" + q.Query() }

// Check returns an error of kind Invalid if the question makes no sense.
func (q GateQuestion) Check() error {
	for _, v := range []string{q.Version, q.Against} {
		if v == "" {
			continue
		}
		if err := q.Release.WantVersion(v); err != nil {
			return err
		}
	}
	switch {
	case q.Package == "":
		return crash.Errorf(crash.Invalid, "missing_package", "Name a binary package.")
	case q.Version == "":
		return crash.Errorf(crash.Invalid, "missing_version", "Enter a version of the package.")
	case q.Against != "" && !q.comparable():
		return crash.Errorf(crash.Invalid, "bad_against",
			"%s is not lower than %s: the gate compares a version with a lower one.", q.Against, q.Version)
	}
	return nil
}

// comparable reports whether Against is lower than Version in the release, or in any release if the question
// names none.
func (q GateQuestion) comparable() bool {
	lower := func(o version.Order) bool {
		return o.Valid(q.Against) && o.Valid(q.Version) && o.Compare(q.Against, q.Version) < 0
	}
	if q.Release != "" {
		return lower(q.Release.VersionOrder())
	}
	return lower(version.Dpkg) || lower(version.RPM) || lower(version.Pacman)
}

// GateAnswer is the answer to a question.
type GateAnswer struct {
	GateQuestion
	Verdict Verdict
	Results []GateResult                    // of the releases, newest first; empty: none has reports from the version
	Known   []string                        // some versions in use, highest first, if Results is empty
	Buckets map[crash.BucketID]crash.Bucket // of the problems to list
	Where   []GateConcentration             // if anything is worse
}

// GateConcentration says where something is concentrated that is worse in a release.
type GateConcentration struct {
	Release crash.Release
	Problem crash.BucketID // zero: all crashes with the version, if their rate rose
	Concentrations
}

// MaxGateConcentrations is the largest number of problems of which an answer says where they are concentrated.
const MaxGateConcentrations = 5

// WhereOf returns where a problem is concentrated in a release, or the update if the id is zero.
func (a GateAnswer) WhereOf(release crash.Release, problem crash.BucketID) (c Concentrations) {
	for _, w := range a.Where {
		if w.Release == release && w.Problem == problem {
			return w.Concentrations
		}
	}
	return c
}

// WorseProblems returns the problems of a result that are significantly new or more frequent, those on most machines
// first.
func (r GateResult) WorseProblems() (problems []crash.BucketID) {
	for _, f := range slices.Concat(r.Appeared, r.Increases) {
		if f.Significant {
			problems = append(problems, f.ID)
		}
	}
	return problems
}

// ListedFindings returns the problems of a list that an answer shows.
func ListedFindings(findings []GateFinding) []GateFinding {
	return findings[:min(len(findings), MaxFindings)]
}

// GateUncounted lists the problem types that the gate leaves out: installations that fail do so when
// packages change, and nothing crashed in the others.
func GateUncounted() []string { return []string{"Package", "Bug"} }

// GateUnknown says what the gate cannot know. Every presentation of an answer includes it.
const GateUnknown = "Machines do not report which versions they have installed. The rates count all reports of " +
	"the package, per active machine of the release: one that reported anything in the 90 days before."

// MaxFindings is the maximum number of problems that an answer lists in each list of a release.
const MaxFindings = 50

// Headline sums up the answer in one sentence.
func (a GateAnswer) Headline() string {
	name := a.Package + " " + a.Version
	switch {
	case len(a.Results) == 0 && a.Release != "":
		return fmt.Sprintf("Not enough data: no report from %s of %s%s.", a.Release, name, a.orAgainst())
	case len(a.Results) == 0:
		return fmt.Sprintf("Not enough data: no release has a report of %s%s.", name, a.orAgainst())
	case a.Verdict == GateWorse:
		return fmt.Sprintf("Worse since %s arrived.", name)
	case a.Verdict == GateNotEnough:
		return fmt.Sprintf("Not enough data about %s yet.", name)
	}
	return fmt.Sprintf("Pass: no sign that %s made things worse.", name)
}

func (a GateAnswer) orAgainst() string {
	if a.Against == "" {
		return ""
	}
	return ", or none of " + a.Against
}

// Labelled returns a copy of the answer with every release and version replaced by its label.
func (a GateAnswer) Labelled(label func(string) string) GateAnswer {
	a.Version, a.Against, a.Release = label(a.Version), label(a.Against), labelOf(label, a.Release)
	a.Package, a.Known, a.Results = label(a.Package), slices.Clone(a.Known), slices.Clone(a.Results)
	for i := range a.Known {
		a.Known[i] = label(a.Known[i])
	}
	for i := range a.Results {
		p := &a.Results[i].GatePlan
		p.Release, p.Version = labelOf(label, p.Release), label(p.Version)
		p.Against, p.Replaced = label(p.Against), label(p.Replaced)
	}
	return a
}

func labelOf[T ~string](label func(string) string, text T) T { return T(label(string(text))) }

// Reasons explains the verdict in sentences.
func (r GateResult) Reasons() []string {
	reasons := []string{r.choice()}
	if r.Increased {
		rise := "The rate of reports rose from none"
		if ratio := r.Ratio(); ratio.Known() {
			rise = "The rate of reports rose to " + FormatNumber(ratio.Value) + " times that before"
		}
		reasons = append(reasons, rise+" (95% interval of the ratio: "+r.Ratio().String()+").")
	}
	if n := significant(r.Appeared); n > 0 {
		reasons = append(reasons,
			crash.Counted(int64(n), "problem is", "problems are")+" new, on more machines than chance explains.")
	}
	if n := len(r.Increases); n > 0 {
		reasons = append(reasons,
			crash.Counted(int64(n), "known problem is", "known problems are")+" more frequent than chance explains.")
	}
	if r.Against == "" {
		return reasons
	}
	switch {
	case r.Enough && r.Verdict == GatePass && r.ShareKnown:
		reasons = append(reasons, fmt.Sprintf("By the decrease in reports from lower versions, about %.0f%% of the "+
			"machines have the update. A doubled rate, or %g more per 1,000 machine-days, would show with a probability "+
			"of %.0f%%.", 100*r.Share, 1000*noticeable, 100*power))
	case r.Enough && r.Verdict == GatePass:
		reasons = append(reasons, fmt.Sprintf("Too few reports to estimate how many machines have the update. If all "+
			"have it, a doubled rate, or %g more per 1,000 machine-days, would show with a probability of %.0f%%.",
			1000*noticeable, 100*power))
	case !r.Enough:
		reasons = append(reasons, r.lack())
	}
	return reasons
}

func (r GateResult) choice() string {
	switch r.Choice {
	case ChoiceNamed:
		return fmt.Sprintf("Compared with %s, as asked.", r.Against)
	case ChoicePrevious:
		return fmt.Sprintf("Compared with %s, the version before.", r.Against)
	case ChoiceEarlier:
		return fmt.Sprintf("Compared with %s: the versions in between were the newest for less than %d days, or on fewer "+
			"than %d machine-days.", r.Against, minDays, minMachineDays)
	case ChoiceThin:
		return fmt.Sprintf("Compared with %s: no lower version was the newest for %d days and %d machine-days; this one "+
			"comes closest.", r.Against, minDays, minMachineDays)
	case ChoiceNone:
	}
	return "There is no report of a lower version to compare with."
}

// lack says what a pass still needs.
func (r GateResult) lack() string {
	machineDays, days := r.Needed()
	switch {
	case !r.comparable():
		return fmt.Sprintf("A pass needs at least %d days and %d machine-days on which %s was the newest version; there are "+
			"%d and %.0f.", minDays, minMachineDays, r.Against, r.GatePlan.Before.Days(), r.Before.MachineDays)
	case math.IsInf(machineDays, 1) && r.ShareKnown && r.Share < .05:
		return "The update seems to be on very few machines: reports from lower versions have hardly decreased."
	case math.IsInf(machineDays, 1):
		return fmt.Sprintf("More days cannot lead to a pass: %s has too few days before the update. Compare with another "+
			"version.", r.Against)
	case math.IsInf(days, 1) && r.Replaced != "":
		return fmt.Sprintf("A pass needs about %.0f more machine-days, but %s arrived and ended the comparison.",
			machineDays, r.Replaced)
	case math.IsInf(days, 1):
		return fmt.Sprintf("A pass needs about %.0f more machine-days. At the current number of active machines, %d "+
			"days, the longest comparison, are too short.", machineDays, GateWindowDays)
	}
	return fmt.Sprintf("A pass needs about %.0f more machine-days: %s at the current number of active machines.",
		machineDays, crash.Counted(int64(math.Ceil(days)), "day", "days"))
}

func significant(findings []GateFinding) (n int) {
	for _, f := range findings {
		if f.Significant {
			n++
		}
	}
	return n
}

// String returns the ends of the interval: "0.9 to 2.4".
func (i Interval) String() string {
	if math.IsInf(i.High, 1) {
		return "at least " + FormatNumber(i.Low)
	}
	return FormatNumber(i.Low) + " to " + FormatNumber(i.High)
}

// FormatProbability formats a probability.
func FormatProbability(p float64) string {
	if p < .0001 {
		return "< 0.0001"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// FormatNumber formats a number with two or three significant digits.
func FormatNumber(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "infinitely many"
	case math.IsNaN(x):
		return "unknown"
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x > 0 && x < .01:
		return strconv.FormatFloat(x, 'g', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

const (
	// GateWindowDays is the maximum number of days before and after an update that are compared.
	GateWindowDays = 56
	// historyDays is the maximum number of days before an update in which a new problem must not
	// have been seen.
	historyDays = 182
	// minDays is the least number of days on which a version must have been the newest one.
	minDays = 7
	// minMachineDays is the least number of machine-days of the version to compare with.
	minMachineDays = 1000
)

// Window is a range of UTC days, both included. It is empty if it is zero or Until is before Since.
type Window struct{ Since, Until time.Time }

// Days returns the number of days.
func (w Window) Days() int {
	if w.Since.IsZero() {
		return 0
	}
	return max(0, int(w.Until.Sub(w.Since)/(24*time.Hour))+1)
}

// Contains reports whether a day is in the window.
func (w Window) Contains(day time.Time) bool { return !day.Before(w.Since) && !day.After(w.Until) }

func (w Window) last(n int) Window {
	if w.Days() > n {
		w.Since = w.Until.AddDate(0, 0, 1-n)
	}
	return w
}

func (w Window) first(n int) Window {
	if w.Days() > n {
		w.Until = w.Since.AddDate(0, 0, n-1)
	}
	return w
}

// GateChoice explains why the gate compares with a version.
type GateChoice string

// The reasons for a version to compare with.
const (
	ChoiceNamed    GateChoice = "named"    // the question names it
	ChoicePrevious GateChoice = "previous" // it is the version before, and has enough exposure
	ChoiceEarlier  GateChoice = "earlier"  // versions in between have too little exposure
	ChoiceThin     GateChoice = "thin"     // no lower version has enough exposure; it has most
	ChoiceNone     GateChoice = "none"     // the release has no lower version
)

// GatePlan says which days of a release the gate compares.
type GatePlan struct {
	Release  crash.Release
	Version  string
	Against  string // empty: there is no lower version
	Choice   GateChoice
	Before   Window // Against was the newest version
	After    Window // Version was the newest version
	History  Window // the days before the update on which problems are known
	Replaced string // the higher version that ended After, if any
	BeforeIn int    // number of days of the reports of Against, also outside of Before
	AfterIn  int    // the same for Version
}

// NewGatePlan returns the plan for a version in one release. known are all versions in use of the
// package; machines returns the active machines of the release on a day. It returns false if the
// version, or against if given, is not in use in the release.
func NewGatePlan(
	known []VersionKnown, release crash.Release, version, against string, today time.Time,
	machines func(time.Time) int64,
) (GatePlan, bool) {
	var all []VersionKnown
	order := release.VersionOrder()
	for _, k := range known {
		if k.Release == release && order.Valid(k.Version) {
			k.Since = crash.Midnight(k.Since)
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b VersionKnown) int { return order.Total(b.Version, a.Version) })
	at := slices.IndexFunc(all, func(k VersionKnown) bool { return k.Version == version })
	if at < 0 {
		return GatePlan{}, false
	}
	today = crash.Midnight(today)
	p := GatePlan{Release: release, Version: version, Choice: ChoiceNone}
	after, replaced := newest(all, at, today)
	p.After, p.Replaced, p.AfterIn = after.first(GateWindowDays), replaced, Window{all[at].Since, today}.Days()
	if p.After.Days() < after.Days() {
		p.Replaced = ""
	}
	p.History = Window{all[at].Since, all[at].Since.AddDate(0, 0, -1)}
	for _, k := range all {
		if k.Since.Before(p.History.Since) {
			p.History.Since = k.Since
		}
	}
	p.History = p.History.last(historyDays)
	if against != "" {
		old := slices.IndexFunc(all, func(k VersionKnown) bool { return k.Version == against })
		if old <= at {
			return GatePlan{}, false
		}
		p.compareWith(all, at, old, today)
		p.Choice = ChoiceNamed
		return p, true
	}
	p.choose(all, at, today, machines)
	return p, true
}

// choose compares with the highest lower version that has enough exposure, or else with the one
// that has most.
func (p *GatePlan) choose(all []VersionKnown, at int, today time.Time, machines func(time.Time) int64) {
	most, best := -1., p.Before
	for old := at + 1; old < len(all); old++ {
		candidate := *p
		candidate.compareWith(all, at, old, today)
		var machineDays float64
		for day := candidate.Before.Since; !day.After(candidate.Before.Until); day = day.AddDate(0, 0, 1) {
			machineDays += float64(machines(day))
		}
		if candidate.Before.Days() >= minDays && machineDays >= minMachineDays {
			*p, p.Choice = candidate, ChoiceEarlier
			if old == at+1 {
				p.Choice = ChoicePrevious
			}
			return
		}
		if machineDays > most {
			most, best, p.Against, p.BeforeIn = machineDays, candidate.Before, candidate.Against, candidate.BeforeIn
			p.Choice = ChoiceThin
		}
	}
	p.Before = best
}

func (p *GatePlan) compareWith(all []VersionKnown, at, old int, today time.Time) {
	era, _ := newest(all, old, today)
	if end := all[at].Since.AddDate(0, 0, -1); end.Before(era.Until) {
		era.Until = end
	}
	p.Against, p.Before = all[old].Version, era.last(GateWindowDays)
	p.BeforeIn = Window{all[old].Since, today}.Days()
}

// newest returns the days on which a version was the newest one to arrive, and the higher version
// that ended them, if any. all is sorted, highest version first.
func newest(all []VersionKnown, at int, today time.Time) (w Window, replaced string) {
	w = Window{Since: all[at].Since, Until: today}
	for _, higher := range all[:at] {
		if end := higher.Since.AddDate(0, 0, -1); higher.Since.After(w.Since) && end.Before(w.Until) {
			w.Until, replaced = end, higher.Version
		}
	}
	return w, replaced
}

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

// Needed returns the machine-days that a pass still needs, and the days at the current number of active machines.
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

// Interval is an estimate with its 95% confidence interval. An end that is unknown is infinite.
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
