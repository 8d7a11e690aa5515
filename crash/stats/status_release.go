package stats

import (
	"cmp"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// release computes the status of the problem in one release in which it was seen.
func (j *judgement) release(release crash.Release, seen []crash.VersionSeen) crash.ReleaseStatus {
	r := crash.ReleaseStatus{Release: release, Word: crash.StateOpen}
	for _, o := range seen {
		r.Reports += o.Reports
		r.Week += o.Week
		r.Last = later(r.Last, o.Last)
		if isComparable(release, o.Version) && (r.Highest == "" || dpkg.Compare(o.Version, r.Highest) > 0) {
			r.Highest = o.Version
		}
	}
	j.newer(&r, seen)
	says := j.tracker(release)
	switch says.verdict {
	case crash.StateFixed:
		j.afterFix(&r, seen, says)
		if r.Word != crash.StateOpen || r.Unclear {
			return r
		}
	case crash.StateClosed:
		r.Word, r.Tracker = crash.StateClosed, says.word
		return r
	default: // open
	}
	if j.gone(r, seen) {
		r.Word = crash.StateGone
	}
	return r
}

// isComparable reports whether a version can be compared with others of the release. Reports
// without a release can come from any.
func isComparable(release crash.Release, version string) bool {
	return release != "" && dpkg.Valid(version)
}

// newer sets the versions in use that are higher than those with the problem, and how many more
// reports they need as evidence that they are free of it.
func (j *judgement) newer(r *crash.ReleaseStatus, seen []crash.VersionSeen) {
	if r.Highest == "" {
		return
	}
	var with int64 // reports of the problem
	lowest := r.Highest
	for _, o := range seen {
		if isComparable(r.Release, o.Version) {
			with += o.Reports
			if dpkg.Compare(o.Version, lowest) < 0 {
				lowest = o.Version
			}
		}
	}
	var of int64 // reports of the package from the versions with the problem, and those in between
	for _, k := range j.inUse[r.Release] {
		if dpkg.Compare(k.Version, r.Highest) <= 0 {
			if dpkg.Compare(k.Version, lowest) >= 0 {
				of += k.Reports
			}
			continue
		}
		r.NewerCount += k.Reports
		if r.Newer == "" || dpkg.Compare(k.Version, r.Newer) > 0 {
			r.Newer = k.Version
		}
		if r.NewerSince.IsZero() || k.Since.Before(r.NewerSince) {
			r.NewerSince = k.Since
		}
	}
	if r.Newer != "" {
		needed := reportsNeeded(with, max(of, with), perMachine(j.b.Reports, j.b.Systems), len(j.seen))
		r.Lacking = max(needed-r.NewerCount, 0)
	}
}

// gone reports whether newer versions are free of the problem, one of them has been in use for a
// week, and no report of the problem arrived in that time. A report whose version is not comparable
// may come from the newer version, if it is not older than that.
func (j *judgement) gone(r crash.ReleaseStatus, seen []crash.VersionSeen) bool {
	if !r.NewerFree() || r.Week > 0 || j.daysSince(r.Last) < quietDays || j.daysSince(r.NewerSince) < quietDays {
		return false
	}
	return !slices.ContainsFunc(seen, func(o crash.VersionSeen) bool {
		return !isComparable(r.Release, o.Version) && !o.Last.Before(crash.Midnight(r.NewerSince))
	})
}

func (j *judgement) daysSince(t time.Time) int {
	return int(j.today.Sub(crash.Midnight(t)) / (24 * time.Hour))
}

// afterFix decides between fixed and regression, if the tracker says that the release has a fix. If
// there are no versions to compare, it leaves the release open.
func (j *judgement) afterFix(r *crash.ReleaseStatus, seen []crash.VersionSeen, says trackerSays) {
	if r.Fix = says.fix; r.Fix == "" {
		r.FixAfter = j.knownAt(r.Release, says.closed)
	}
	recent := func(o crash.VersionSeen) bool {
		return says.closed.IsZero() || !o.Last.Before(crash.Midnight(says.closed))
	}
	hasFix := func(o crash.VersionSeen) bool {
		switch {
		case !isComparable(r.Release, o.Version):
			return false
		case r.Fix != "":
			return dpkg.Compare(o.Version, r.Fix) >= 0
		case r.FixAfter != "":
			return dpkg.Compare(o.Version, r.FixAfter) > 0 && recent(o)
		}
		return false
	}
	r.Word = crash.StateFixed
	for _, o := range seen {
		switch {
		case hasFix(o):
			r.Word, r.Again = crash.StateRegression, r.Again+o.Reports
			if r.AgainAt == "" || dpkg.Compare(o.Version, r.AgainAt) > 0 {
				r.AgainAt = o.Version
			}
		case o.Week > 0 && recent(o) && (!isComparable(r.Release, o.Version) || r.Fix == "" && r.FixAfter == ""):
			r.Unclear = true
		}
	}
	if r.Unclear = r.Unclear && r.Word == crash.StateFixed; r.Unclear {
		r.Word = crash.StateOpen
	}
}

// knownAt returns the highest version of the package in a release that any report had before time
// t, or "".
func (j *judgement) knownAt(release crash.Release, t time.Time) string {
	version := ""
	for _, k := range j.inUse[release] {
		if !t.IsZero() && !k.Arrived.After(t) && (version == "" || dpkg.Compare(k.Version, version) > 0) {
			version = k.Version
		}
	}
	return version
}

// fixedElsewhere returns the releases that have the fix, as the tracker says, and in which the
// problem was not seen.
func (j *judgement) fixedElsewhere() []crash.ReleaseStatus {
	if j.reading == nil {
		return nil
	}
	var out []crash.ReleaseStatus
	add := func(release crash.Release) {
		known := slices.ContainsFunc(out, func(r crash.ReleaseStatus) bool { return r.Release == release })
		if release == "" || known || len(j.seen[release]) > 0 {
			return
		}
		if says := j.tracker(release); says.verdict == crash.StateFixed {
			out = append(out, crash.ReleaseStatus{Release: release, Word: crash.StateFixed, Fix: says.fix})
		}
	}
	for _, distribution := range distributionsOf(tasksOf(j.reading.Tasks, j.b.SourcePackage)) {
		for _, f := range j.reading.Fixes {
			if f.Package == j.b.SourcePackage {
				add(crash.BuiltInReleases().Named(distribution, f.Series))
			}
		}
		add(j.newestOf(distribution))
	}
	return out
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// newestOf returns the newest release of a distribution in which the package is in use or the
// problem was seen.
func (j *judgement) newestOf(distribution string) crash.Release {
	var newest crash.Release
	take := func(r crash.Release) {
		if r.Distribution() == distribution && (newest == "" || cmp.Compare(r.Key(), newest.Key()) > 0) {
			newest = r
		}
	}
	for r := range j.seen {
		take(r)
	}
	for r := range j.inUse {
		take(r)
	}
	return newest
}
