package stats

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"

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
