package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mishap/crash"
)

// FixVerdict is what the reports say about a fix in one release.
type FixVerdict string

// The verdicts. FixRarer is the evidence by which a problem counts as probably fixed; FixWorks also rules out that it
// is half as frequent. A problem that was seen again after its fix is FixFewer or FixFails.
const (
	FixUnused FixVerdict = "not in use"           // no report of the package came from a version with the fix
	FixEarly  FixVerdict = "too early"            // too few reports came from versions with the fix
	FixRarer  FixVerdict = "rarer, perhaps fixed" // none was of the problem, which chance does not explain
	FixWorks  FixVerdict = "fixed"                // nor would chance if the problem were half as frequent
	FixFewer  FixVerdict = "fewer, not gone"      // seen again, but less often than before
	FixFails  FixVerdict = "not fixed"            // seen again
)

// FixVerdicts lists all verdicts. Those that need a person's attention come first.
var FixVerdicts = []FixVerdict{FixFails, FixFewer, FixWorks, FixRarer, FixEarly, FixUnused}

const (
	// PaceDays is the number of days, today included, whose reports give the present pace.
	PaceDays = 14
	// foreseenDays is the number of days within which a date of the verdict is worth naming.
	foreseenDays = 90
	// repeatedLevel is the greatest p that is evidence of fewer reports. It is low, because the question is asked
	// daily, as that of the update gate is.
	repeatedLevel = gateLevel
)

// FixWatch compares the reports of a package from versions with a fix of a problem, in one release, with those from
// versions before the fix that had the problem.
type FixWatch struct {
	Release crash.Release
	Package string
	Fix     string // version with the fix
	After   string // without Fix: the fix is in a higher version than this
	Manual  bool   // a person has said so; otherwise the tracker
	Verdict FixVerdict

	Since    time.Time // UTC day of the oldest report from a version with the fix; zero: there is none
	Versions []string  // with the fix, in use, lowest first
	Reports  int64     // of the package, from these, in the past year
	Seen     int64     // of these, of the problem
	Before   int64     // of the problem, from versions before the fix, in the past year
	Of       int64     // of the package, from the versions before the fix from the first to the last with the problem

	Expected Interval  // number of reports of the problem if it were as frequent as before; unknown: nothing to compare
	Lacking  int64     // so many more reports of the package, none of the problem, would show that it is fixed
	Judged   time.Time // UTC day on which they have come at the present pace; zero: unknown, or too far away
	Half     float64   // with FixWorks: probability that it would show if it were half as frequent

	recent int64 // of Reports, in the past PaceDays days

	// What a store counts.
	Machines int64 // that reported anything of the package from these versions
	Proposed int64 // of Reports, from the proposed part of the archive; all: the update is only there
}

// WatchFixes judges the fixes of a problem, the newest release first: those that its status and its manual status name,
// in supported releases in which the problem was seen. b contains its status. The other arguments are those of [Judge],
// and so is the evidence.
func WatchFixes(b crash.Bucket, manual crash.ManualStatus, seen []crash.VersionSeen, inUse VersionsByRelease,
	now time.Time) []FixWatch {
	j := newJudgement(b, seen, inUse, now)
	var all []FixWatch
	for _, r := range b.Status.Releases {
		if r.Reports == 0 || r.Ended {
			continue
		}
		var here []FixWatch
		if r.Fix != "" || r.FixAfter != "" {
			here = append(here, j.watch(FixWatch{Release: r.Release, Fix: r.Fix, After: r.FixAfter},
				r.Word == crash.StateRegression))
		}
		for _, f := range manual.Fixes {
			if f.Release != "" && f.Release != r.Release || !isComparable(r.Release, f.Version) ||
				slices.ContainsFunc(here, func(w FixWatch) bool { return w.Fix == f.Version }) {
				continue
			}
			again := slices.ContainsFunc(j.seen[r.Release], func(o crash.VersionSeen) bool {
				return since(f, o) > 0
			})
			here = append(here, j.watch(FixWatch{Release: r.Release, Fix: f.Version, Manual: true}, again))
		}
		all = append(all, here...)
	}
	return all
}

// watch completes a fix. again says that the problem counts as seen again after it.
func (j *judgement) watch(w FixWatch, again bool) FixWatch {
	w.Package = j.b.Package
	w.count(j.seen[w.Release], j.inUse[w.Release])
	slices.SortFunc(w.Versions, w.Release.VersionOrder().Compare)
	w.judge(j, again)
	return w
}

// Has reports whether a version of the release has the fix.
func (w FixWatch) Has(version string) bool {
	order := w.Release.VersionOrder()
	switch {
	case !isComparable(w.Release, version):
		return false
	case w.Fix != "":
		return order.Compare(version, w.Fix) >= 0
	}
	return order.Compare(version, w.After) > 0
}

// count adds up the reports from versions with the fix and before it.
func (w *FixWatch) count(seen []crash.VersionSeen, inUse []VersionKnown) {
	var lowest, highest string // before the fix, with the problem
	order := w.Release.VersionOrder()
	for _, o := range seen {
		switch {
		case !isComparable(w.Release, o.Version):
		case w.Has(o.Version):
			w.Seen += o.Reports
		default:
			w.Before += o.Reports
			highest = order.Max(highest, o.Version)
			if lowest == "" || order.Compare(o.Version, lowest) < 0 {
				lowest = o.Version
			}
		}
	}
	for _, k := range inUse {
		switch {
		case w.Has(k.Version):
			w.Reports, w.recent = w.Reports+k.Reports, w.recent+k.Recent
			w.Versions = append(w.Versions, k.Version)
			if w.Since.IsZero() || k.Since.Before(w.Since) {
				w.Since = k.Since
			}
		case lowest != "" && order.Compare(k.Version, lowest) >= 0 && order.Compare(k.Version, highest) <= 0:
			w.Of += k.Reports
		}
	}
	w.Reports, w.Of = max(w.Reports, w.Seen), max(w.Of, w.Before)
}

// judge sets the verdict and what it rests on. As in the status, machines count, not their repeated reports.
func (w *FixWatch) judge(j *judgement, again bool) {
	each, comparisons := perMachine(j.b.Reports, j.b.Systems), len(j.seen)
	k := max(math.Round(float64(w.Before)/each), 1)
	n := max(math.Round(float64(w.Of)/each), k)
	x := math.Ceil(float64(w.Seen) / each)
	m := max(math.Round(float64(w.Reports)/each), x)
	w.expect(k, n)
	switch {
	case len(w.Versions) == 0 && w.Seen == 0:
		w.Verdict = FixUnused
		return
	case w.Seen > 0 && w.Before > 0 && MoreFrequent(k, n, x, m) <= repeatedLevel:
		w.Verdict = FixFewer
		return
	case again:
		w.Verdict = FixFails
		return
	case w.Seen > 0 || w.Before == 0: // a person marked a version as fixed that had it
		w.Verdict = FixEarly
		return
	}
	half, ofHalf := k/2, n-k/2
	needed := int64(math.Ceil(machinesNeeded(half, ofHalf, comparisons) * each))
	w.Lacking = max(needed-w.Reports, 0)
	inUse := j.daysSince(w.Since)
	switch {
	case inUse < quietDays:
		w.Verdict = FixEarly
	case w.Lacking == 0:
		w.Verdict, w.Half = FixWorks, 1-noneOf(half, ofHalf, m)
		return
	case w.Reports >= reportsNeeded(w.Before, w.Of, each, comparisons):
		w.Verdict = FixRarer
	default:
		w.Verdict = FixEarly
	}
	w.foresee(j.today, inUse)
}

// expect sets how many reports of the problem are to be expected from versions with the fix: as many for each report of
// other problems as before it. Without such reports that is unknown. k of n machines that reported the package before
// the fix had the problem.
func (w *FixWatch) expect(k, n float64) {
	others := float64(w.Reports - w.Seen)
	switch {
	case w.Before == 0 || others == 0 && w.Seen > 0:
		w.Expected = Interval{Value: math.NaN(), High: math.Inf(1)}
	case others > 0:
		low, high := ShareInterval(k, n-k)
		w.Expected = Interval{others * float64(w.Before) / float64(w.Of-w.Before), others * low / (1 - low),
			others * high / (1 - high)} // infinite if the package has no other problem
	}
}

// foresee sets the day on which the fix can be judged at the present pace.
func (w *FixWatch) foresee(today time.Time, inUse int) {
	days := 0.
	if w.Lacking > 0 {
		days = math.Ceil(float64(w.Lacking) / (float64(w.recent) / float64(min(PaceDays, inUse+1))))
	}
	if days = max(days, float64(quietDays-inUse)); days <= foreseenDays {
		w.Judged = today.AddDate(0, 0, int(days))
	}
}

// Name names the fix: "1.4-2" or "after 1.4-1".
func (w FixWatch) Name() string {
	if w.Fix != "" {
		return w.Fix
	}
	return "after " + w.After
}

// Labelled returns the same with the names of the package, the release and versions changed by change.
func (w FixWatch) Labelled(change func(string) string) FixWatch {
	w.Package, w.Release, w.Fix = change(w.Package), crash.Release(change(string(w.Release))), change(w.Fix)
	w.After, w.Versions = change(w.After), slices.Clone(w.Versions)
	for i, v := range w.Versions {
		w.Versions[i] = change(v)
	}
	return w
}

// in names the fix after "fix": "in 1.4-2" or "after 1.4-1".
func (w FixWatch) in() string {
	if w.Fix != "" {
		return "in " + w.Fix
	}
	return w.Name()
}

// OnlyProposed reports whether all reports from versions with the fix come from the proposed part of the archive.
func (w FixWatch) OnlyProposed() bool { return w.Reports > 0 && w.Proposed >= w.Reports }

// ExpectedText describes the number of reports to be expected, with its interval: "4.2 (2.1–7.5)".
func (w FixWatch) ExpectedText() string {
	switch e := w.Expected; {
	case e.Known():
		return formatMean(e.Value) + " (" + formatMean(e.Low) + "–" + formatMean(e.High) + ")"
	case e.Low > 0: // the package had no other problem
		return "at least " + formatMean(e.Low)
	}
	return "unknown"
}

func formatMean(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 10:
		return fmt.Sprintf("%.1f", v)
	}
	return crash.Count(int64(math.Round(v)))
}

// Text says in sentences what the reports say about the fix.
func (w FixWatch) Text() string {
	where := w.Name() + " in " + w.Release.Short()
	machines := crash.Counted(w.Machines, "machine", "machines")
	expected := w.ExpectedText() + " reports of this problem were to be expected"
	switch w.Verdict {
	case FixUnused:
		return "No report of " + w.Package + " " + w.orLater() + " has come from " + w.Release.Short() + " yet."
	case FixFails:
		text := "Not fixed by " + where + ": " + crash.Counted(w.Seen, "report", "reports") + " since"
		if w.Expected.Known() || w.Expected.Low > 0 {
			text += "; " + expected + " without a fix"
		}
		return text + "."
	case FixFewer:
		return fmt.Sprintf("Fewer, but not gone, with %s: %s, where %s without a fix (%.2f times as many).", where,
			crash.Counted(w.Seen, "report", "reports"), expected, float64(w.Seen)/w.Expected.Value)
	case FixWorks:
		return fmt.Sprintf("Fixed by %s: %s with it sent %s of %s. %s without a fix, and none came. If it were half as "+
			"frequent, one would have come with a probability of %s.", where, machines,
			crash.Counted(w.Reports, "report", "reports"), w.Package, upper(expected), percentBelow(w.Half))
	case FixRarer:
		return fmt.Sprintf("Rarer with %s, and perhaps fixed: %s with it sent %s of %s. %s without a fix, and none came. %s",
			where, machines, crash.Counted(w.Reports, "report", "reports"), w.Package, upper(expected), w.when())
	case FixEarly:
	}
	text := "Too early to judge " + where + ": " + machines + " with it sent " +
		crash.Counted(w.Reports, "report", "reports") + " of " + w.Package
	if w.Seen > 0 {
		return text + ", " + crash.Count(w.Seen) + " of them of this problem, before it was marked as fixed."
	}
	if w.Before == 0 {
		return text + "; the problem was not seen before it."
	}
	return text + "; " + expected + " without a fix. " + w.when()
}

// Short says in a few words that the fix works: "The reports confirm the fix in 1.4-2 of 24.04.".
func (w FixWatch) Short() string {
	return "The reports confirm the fix " + w.in() + " of " +
		w.Release.Short() + "."
}

func (w FixWatch) orLater() string {
	if w.Fix != "" {
		return w.Fix + " or later"
	}
	return w.Name()
}

// when says when the fix can be judged.
func (w FixWatch) when() string {
	text := ""
	if w.Lacking > 0 {
		text = crash.Counted(w.Lacking, "more report", "more reports") + " of the package without this problem would tell"
	} else {
		text = "A week of use is needed"
	}
	switch {
	case w.Judged.IsZero() && w.recent == 0:
		return text + "; none came in the past " + crash.Counted(PaceDays, "day", "days") + "."
	case w.Judged.IsZero():
		return text + ", which at the present pace takes more than " + crash.Counted(foreseenDays, "day", "days") + "."
	}
	return text + ": on " + dayMonth(w.Judged) + " at the present pace."
}

func dayMonth(t time.Time) string { return t.UTC().Format("2 January 2006") }

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// percentBelow formats a probability in whole percent, rounded down.
func percentBelow(p float64) string { return fmt.Sprintf("%.0f%%", math.Floor(100*p)) }
