package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"mishap/crash"
)

// Unknown says what the gate cannot know. Every presentation of an answer includes it.
const Unknown = "Nobody tells mishap how many machines have a version installed. The rates count all reports of " +
	"the package, per active machine of the release: one that reported anything in the 90 days before."

// MaxListed is the maximum number of problems that an answer lists in each list of a release.
const MaxListed = 50

// Headline sums up the answer in one sentence.
func (a Answer) Headline() string {
	name := a.Package + " " + a.Version
	switch {
	case len(a.Results) == 0 && a.Release != "":
		return fmt.Sprintf("Not enough data: no report from %s of %s%s.", a.Release, name, a.orAgainst())
	case len(a.Results) == 0:
		return fmt.Sprintf("Not enough data: no release has a report of %s%s.", name, a.orAgainst())
	case a.Verdict == Worse:
		return fmt.Sprintf("Worse since %s arrived.", name)
	case a.Verdict == NotEnough:
		return fmt.Sprintf("Not enough data yet to judge %s.", name)
	}
	return fmt.Sprintf("Pass: no sign that %s made things worse.", name)
}

func (a Answer) orAgainst() string {
	if a.Against == "" {
		return ""
	}
	return ", or none of " + a.Against
}

// Labelled returns a copy of the answer with every release and version replaced by its label.
func (a Answer) Labelled(label func(string) string) Answer {
	a.Version, a.Against, a.Release = label(a.Version), label(a.Against), labelOf(label, a.Release)
	a.Package, a.Known, a.Results = label(a.Package), slices.Clone(a.Known), slices.Clone(a.Results)
	for i := range a.Known {
		a.Known[i] = label(a.Known[i])
	}
	for i := range a.Results {
		p := &a.Results[i].Plan
		p.Release, p.Version = labelOf(label, p.Release), label(p.Version)
		p.Against, p.Replaced = label(p.Against), label(p.Replaced)
	}
	return a
}

func labelOf[T ~string](label func(string) string, text T) T { return T(label(string(text))) }

// Reasons explains the verdict in sentences.
func (r Result) Reasons() []string {
	reasons := []string{r.choice()}
	if r.Increased {
		rise := "The rate of reports rose from none"
		if ratio := r.Ratio(); ratio.Known() {
			rise = "The rate of reports rose to " + Number(ratio.Value) + " times that before"
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
	case r.Enough && r.Verdict == Pass && r.ShareKnown:
		reasons = append(reasons, fmt.Sprintf("About %.0f %% of the machines have the update, judged by the decrease in "+
			"reports from lower versions. If their rate had doubled, or risen by %g per 1,000 machine-days, the gate would "+
			"have noticed with a probability of %.0f %%.", 100*r.Share, 1000*Noticeable, 100*power))
	case r.Enough && r.Verdict == Pass:
		reasons = append(reasons, fmt.Sprintf("There are too few reports to estimate how many machines have the update. "+
			"If all have it, the gate would have noticed a doubled rate, or %g more per 1,000 machine-days, with a "+
			"probability of "+
			"%.0f %%.", 1000*Noticeable, 100*power))
	case !r.Enough:
		reasons = append(reasons, r.lack())
	}
	return reasons
}

func (r Result) choice() string {
	switch r.Choice {
	case ChoiceNamed:
		return fmt.Sprintf("Compared with %s, as asked.", r.Against)
	case ChoicePrevious:
		return fmt.Sprintf("Compared with %s, the version before.", r.Against)
	case ChoiceEarlier:
		return fmt.Sprintf("Compared with %s: the versions in between were the newest for less than %d days, or on fewer "+
			"than %d machine-days.", r.Against, MinDays, MinMachineDays)
	case ChoiceThin:
		return fmt.Sprintf("Compared with %s: no lower version was the newest for %d days and %d machine-days; this one "+
			"comes closest.", r.Against, MinDays, MinMachineDays)
	case ChoiceNone:
	}
	return "There is no report of a lower version to compare with."
}

// lack says what a pass still needs.
func (r Result) lack() string {
	needed := r.Needed()
	switch {
	case !r.comparable():
		return fmt.Sprintf("A pass needs at least %d days and %d machine-days on which %s was the newest version; there are "+
			"%d and %.0f.", MinDays, MinMachineDays, r.Against, r.Plan.Before.Days(), r.Before.MachineDays)
	case math.IsInf(needed.MachineDays, 1) && r.ShareKnown && r.Share < .05:
		return "The update seems to be on very few machines: reports from lower versions have hardly decreased."
	case math.IsInf(needed.MachineDays, 1):
		return fmt.Sprintf("More days cannot lead to a pass: %s has too few days before the update. Compare with another "+
			"version.", r.Against)
	case math.IsInf(needed.Days, 1) && r.Replaced != "":
		return fmt.Sprintf("A pass needs about %.0f more machine-days, but %s arrived and ended the comparison.",
			needed.MachineDays, r.Replaced)
	case math.IsInf(needed.Days, 1):
		return fmt.Sprintf("A pass needs about %.0f more machine-days, more than the longest comparison of %d days has at "+
			"the present number of active machines.", needed.MachineDays, WindowDays)
	}
	return fmt.Sprintf("A pass needs about %.0f more machine-days: %s at the present number of active machines.",
		needed.MachineDays, crash.Counted(int64(math.Ceil(needed.Days)), "day", "days"))
}

func significant(findings []Finding) (n int) {
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
		return "at least " + Number(i.Low)
	}
	return Number(i.Low) + " to " + Number(i.High)
}

// Probability formats a probability.
func Probability(p float64) string {
	if p < .0001 {
		return "< 0.0001"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// Number formats a number with two or three significant digits.
func Number(x float64) string {
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
