package stats

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
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
		if v != "" && !dpkg.Valid(v) {
			return crash.Errorf(crash.Invalid, "bad_version", "%.80q is not a version that dpkg can compare.", v)
		}
	}
	switch {
	case q.Package == "":
		return crash.Errorf(crash.Invalid, "missing_package", "Name a binary package.")
	case q.Version == "":
		return crash.Errorf(crash.Invalid, "missing_version", "Name a version of the package.")
	case q.Against != "" && dpkg.Compare(q.Against, q.Version) >= 0:
		return crash.Errorf(crash.Invalid, "bad_against",
			"%s is not lower than %s: the gate compares a version with a lower one.", q.Against, q.Version)
	}
	return nil
}

// GateAnswer is the answer to a question.
type GateAnswer struct {
	GateQuestion
	Verdict Verdict
	Results []GateResult                    // of the releases, newest first; empty: none has reports from the version
	Known   []string                        // some versions in use, highest first, if Results is empty
	Buckets map[crash.BucketID]crash.Bucket // of the problems to list
}

// ListedFindings returns the problems of a list that an answer shows.
func ListedFindings(findings []GateFinding) []GateFinding {
	return findings[:min(len(findings), MaxFindings)]
}

// GateUncounted lists the problem types that the gate leaves out: installations that fail do so when
// packages change, and nothing crashed in the others.
func GateUncounted() []string { return []string{"Package", "Bug"} }

// GateUnknown says what the gate cannot know. Every presentation of an answer includes it.
const GateUnknown = "Nobody tells mishap how many machines have a version installed. The rates count all reports of " +
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
		return fmt.Sprintf("Not enough data yet to judge %s.", name)
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
		reasons = append(reasons, rise+" (95 % interval of the ratio: "+r.Ratio().String()+").")
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
		reasons = append(reasons, fmt.Sprintf("About %.0f %% of the machines have the update, judged by the decrease in "+
			"reports from lower versions. If their rate had doubled, or risen by %g per 1,000 machine-days, the gate would "+
			"have noticed with a probability of %.0f %%.", 100*r.Share, 1000*noticeable, 100*power))
	case r.Enough && r.Verdict == GatePass:
		reasons = append(reasons, fmt.Sprintf("There are too few reports to estimate how many machines have the update. "+
			"If all have it, the gate would have noticed a doubled rate, or %g more per 1,000 machine-days, with a "+
			"probability of "+
			"%.0f %%.", 1000*noticeable, 100*power))
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
		return fmt.Sprintf("A pass needs about %.0f more machine-days, more than the longest comparison of %d days has at "+
			"the present number of active machines.", machineDays, GateWindowDays)
	}
	return fmt.Sprintf("A pass needs about %.0f more machine-days: %s at the present number of active machines.",
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

// last returns the last days of the window, at most n.
func (w Window) last(n int) Window {
	if w.Days() > n {
		w.Since = w.Until.AddDate(0, 0, 1-n)
	}
	return w
}

// first returns the first days of the window, at most n.
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
	for _, k := range known {
		if k.Release == release && dpkg.Valid(k.Version) {
			k.Since = crash.Midnight(k.Since)
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b VersionKnown) int { return dpkg.Order(b.Version, a.Version) })
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
