package stats

import (
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// trackerSays is what the tracker says about a bug in one release.
type trackerSays struct {
	verdict crash.StateWord // StateOpen, StateFixed or StateClosed; StateOpen if it says nothing about the release
	word    string          // the tracker's status of the task; empty: it says nothing about the release
	closed  time.Time       // with StateFixed: when it was closed
	fix     string          // with StateFixed: the version with the fix; empty: unknown
}

// tracker returns what the tracker says about a release. It uses the bug's task for that series, if
// there is one. Otherwise it uses the task for the whole package, which applies to the newest
// release of the distribution and later ones. A task never applies to other distributions,
// including derivatives.
func (j *judgement) tracker(release crash.Release) trackerSays {
	if j.reading == nil {
		return trackerSays{verdict: crash.StateOpen}
	}
	tasks, ofSeries := j.tasksFor(release)
	if len(tasks) == 0 {
		return trackerSays{verdict: crash.StateOpen}
	}
	says := verdictOf(tasks)
	if says.verdict != crash.StateFixed {
		return says
	}
	version, has := j.fixFor(release, ofSeries)
	if !has {
		return trackerSays{verdict: crash.StateOpen}
	}
	says.fix = version
	return says
}

// verdictOf combines tasks: open if any of them is open, otherwise fixed if any of them has a fix.
func verdictOf(tasks []crash.BugTask) trackerSays {
	if i := slices.IndexFunc(tasks, func(t crash.BugTask) bool { return !t.Complete }); i >= 0 {
		return trackerSays{verdict: crash.StateOpen, word: tasks[i].Status}
	}
	if !slices.ContainsFunc(tasks, func(t crash.BugTask) bool { return t.Status == crash.FixReleased }) {
		return trackerSays{verdict: crash.StateClosed, word: tasks[0].Status}
	}
	says := trackerSays{verdict: crash.StateFixed, word: crash.FixReleased}
	for _, t := range tasks {
		says.closed = later(says.closed, t.Closed)
	}
	return says
}

// bugVerdict returns what the tracker says about the bug as a whole, for problems that no release
// had recently.
func (j *judgement) bugVerdict() (crash.StateWord, string) {
	if len(j.reading.Tasks) == 0 {
		return crash.StateOpen, ""
	}
	says := verdictOf(tasksOf(j.reading.Tasks, j.b.SourcePackage))
	return says.verdict, says.word
}

// trackerStatus returns the tracker's status of the task that counts. That is the task of the
// newest release among those that determine the state of the problem.
func (j *judgement) trackerStatus(releases []crash.ReleaseStatus) string {
	for _, want := range []crash.StateWord{crash.StateRegression, crash.StateOpen, crash.StateGone, crash.StateClosed,
		crash.StateFixed} {
		for _, r := range releases {
			if r.Word != want || r.Ended || r.Reports == 0 {
				continue
			}
			if tasks, _ := j.tasksFor(r.Release); len(tasks) > 0 {
				return verdictOf(tasks).word
			}
		}
	}
	if len(j.reading.Tasks) == 0 {
		return ""
	}
	return verdictOf(tasksOf(j.reading.Tasks, j.b.SourcePackage)).word
}

// tasksFor returns the tasks that apply to a release, and whether they are specific to its series.
func (j *judgement) tasksFor(release crash.Release) (tasks []crash.BugTask, ofSeries bool) {
	tasks = tasksOf(j.reading.Tasks, j.b.SourcePackage)
	if len(distributionsOf(tasks)) == 0 {
		return tasks, false // tasks of the program itself apply everywhere
	}
	distribution, codename := release.Distribution(), release.Codename()
	if release != "" {
		tasks = crash.Pick(tasks, func(t crash.BugTask) bool { return t.Distribution() == distribution })
	}
	inSeries := func(t crash.BugTask) bool { return codename != "" && t.Series() == codename }
	if found := crash.Pick(tasks, inSeries); len(found) > 0 {
		return found, true
	}
	return crash.Pick(tasks, func(t crash.BugTask) bool { return t.Series() == "" }), false
}

// tasksOf returns the tasks for a source package, else those for other packages, else all tasks.
func tasksOf(tasks []crash.BugTask, source string) []crash.BugTask {
	for _, of := range []func(crash.BugTask) bool{
		func(t crash.BugTask) bool { return source != "" && t.SourcePackage() == source },
		func(t crash.BugTask) bool { return t.SourcePackage() != "" },
	} {
		if picked := crash.Pick(tasks, of); len(picked) > 0 {
			return picked
		}
	}
	return tasks
}

// distributionsOf returns the distinct distributions of tasks.
func distributionsOf(tasks []crash.BugTask) []string {
	var out []string
	for _, t := range tasks {
		if d := t.Distribution(); d != "" && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// fixFor returns the version with the fix in a release, or "" if the tracker does not name it, and
// whether the release has the fix at all. The task for the release must be closed with a fix.
//
// A fix for another series is in this release only if this release is newer. A fix of an unknown
// series is in the newest release of the distribution, and wherever that version, or a higher one,
// is in use.
func (j *judgement) fixFor(release crash.Release, ofSeries bool) (version string, has bool) {
	var here, before, unplaced []string
	elsewhere := false
	distribution := release.Distribution()
	for _, f := range j.reading.Fixes {
		if f.Package != j.b.SourcePackage || !dpkg.Valid(f.Version) {
			continue
		}
		switch to := crash.BuiltInReleases().Named(distribution, f.Series); {
		case to != "" && to.Key() == release.Key():
			here = append(here, f.Version)
		case to == "":
			unplaced = append(unplaced, f.Version)
		case to.Key() < release.Key():
			before = append(before, f.Version)
		default:
			elsewhere = true
		}
	}
	if len(here) > 0 {
		return highest(here), true
	}
	if ofSeries || release == "" || distribution == "" {
		return highest(unplaced), true
	}
	newest := release.Key() == j.newestOf(distribution).Key() && !elsewhere
	for _, v := range unplaced {
		if newest || j.arrived(release, v) {
			before = append(before, v)
		}
	}
	if len(before) > 0 {
		return highest(before), true
	}
	return "", newest && len(unplaced) == 0 || len(distributionsOf(j.reading.Tasks)) == 0
}

// arrived reports whether a version, or a higher one, is in use in a release.
func (j *judgement) arrived(release crash.Release, version string) bool {
	inUse := func(k VersionKnown) bool { return dpkg.Compare(k.Version, version) >= 0 }
	return slices.ContainsFunc(j.inUse[release], inUse) ||
		slices.ContainsFunc(j.seen[release], func(o crash.VersionSeen) bool {
			return dpkg.Valid(o.Version) && dpkg.Compare(o.Version, version) >= 0
		})
}

func highest(versions []string) string {
	version := ""
	for _, v := range versions {
		if version == "" || dpkg.Compare(v, version) > 0 {
			version = v
		}
	}
	return version
}
