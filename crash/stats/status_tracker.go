package stats

import (
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// trackerSays is what the tracker says of a bug in one release.
type trackerSays struct {
	verdict crash.StateWord // StateOpen, StateFixed or StateClosed; StateOpen also when it says nothing of the release
	word    string          // its own word for the task; empty: it says nothing of the release
	closed  time.Time       // with StateFixed: since when
	fix     string          // with StateFixed: the version that has the fix; empty: it does not say
}

// tracker finds what the tracker says of a release: by the bug's task for that series when it has one, else by the task for
// the package as a whole, which is about the newest release of the distribution and those after it. A task says nothing of
// other distributions, derivatives included.
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

// verdictOf sums tasks up: open while one of them is, fixed when one of them brought a fix.
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

// whole is what the tracker says of the bug as a whole, for problems that were not seen in any release lately.
func (j *judgement) whole() (crash.StateWord, string) {
	if len(j.reading.Tasks) == 0 {
		return crash.StateOpen, ""
	}
	says := verdictOf(tasksOf(j.reading.Tasks, j.b.SourcePackage))
	return says.verdict, says.word
}

// trackerWord is the tracker's word for the task that counts: of the newest release that it says something of, among those in
// which the problem stands as it does as a whole.
func (j *judgement) trackerWord(releases []crash.ReleaseStatus) string {
	for _, want := range []crash.StateWord{crash.StateRegression, crash.StateOpen, crash.StateGone, crash.StateClosed, crash.StateFixed} {
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

// tasksFor picks the tasks that say something of a release.
func (j *judgement) tasksFor(release crash.Release) (tasks []crash.BugTask, ofSeries bool) {
	tasks = tasksOf(j.reading.Tasks, j.b.SourcePackage)
	if len(distributionsOf(tasks)) == 0 {
		return tasks, false // of the program itself, wherever it runs
	}
	distribution, codename := release.Distribution(), release.Codename()
	if release != "" {
		tasks = crash.Pick(tasks, func(t crash.BugTask) bool { return t.Distribution() == distribution })
	}
	if found := crash.Pick(tasks, func(t crash.BugTask) bool { return codename != "" && t.Series() == codename }); len(found) > 0 {
		return found, true
	}
	return crash.Pick(tasks, func(t crash.BugTask) bool { return t.Series() == "" }), false
}

// tasksOf picks the tasks about a source package; without one those about other packages, without any such all.
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

// distributionsOf lists the distributions that tasks are about.
func distributionsOf(tasks []crash.BugTask) []string {
	var out []string
	for _, t := range tasks {
		if d := t.Distribution(); d != "" && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// fixFor finds the version that has the fix in a release whose task is closed with one, and reports whether the release has
// the fix at all. The version is empty when the tracker does not name it.
//
// A fix that went to another series is in this release only if this one came later. A fix whose series is not known is in the
// newest release of the distribution, and wherever that version has arrived.
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
		return greatest(here), true
	}
	if ofSeries || release == "" || distribution == "" {
		return greatest(unplaced), true
	}
	newest := release.Key() == j.newestOf(distribution).Key() && !elsewhere
	for _, v := range unplaced {
		if newest || j.arrived(release, v) {
			before = append(before, v)
		}
	}
	if len(before) > 0 {
		return greatest(before), true
	}
	return "", newest && len(unplaced) == 0 || len(distributionsOf(j.reading.Tasks)) == 0
}

// arrived reports whether a version, or a higher one, is in use in a release.
func (j *judgement) arrived(release crash.Release, version string) bool {
	return slices.ContainsFunc(j.inUse[release], func(k VersionKnown) bool { return dpkg.Compare(k.Version, version) >= 0 }) ||
		slices.ContainsFunc(j.seen[release], func(o crash.VersionSeen) bool {
			return dpkg.Valid(o.Version) && dpkg.Compare(o.Version, version) >= 0
		})
}

func greatest(versions []string) string {
	version := ""
	for _, v := range versions {
		if version == "" || dpkg.Compare(v, version) > 0 {
			version = v
		}
	}
	return version
}
