package stats

import (
	"cmp"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// release decides how the problem stands in one release, in which it was seen.
func (j *judgement) release(release crash.Release, seen []crash.VersionSeen) crash.ReleaseStatus {
	r := crash.ReleaseStatus{Release: release, Word: crash.StateOpen}
	for _, o := range seen {
		r.Reports += o.Reports
		r.Week += o.Week
		r.Last = later(r.Last, o.Last)
		if comparable(release, o.Version) && (r.Highest == "" || dpkg.Compare(o.Version, r.Highest) > 0) {
			r.Highest = o.Version
		}
	}
	j.newer(&r)
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
	case crash.StateOpen:
	}
	if j.gone(r, seen) {
		r.Word = crash.StateGone
	}
	return r
}

// comparable reports whether versions of a release can be compared. Reports that name no release may be of any.
func comparable(release crash.Release, version string) bool {
	return release != "" && dpkg.Valid(version)
}

// newer finds the versions in use that are higher than those with the problem.
func (j *judgement) newer(r *crash.ReleaseStatus) {
	if r.Highest == "" {
		return
	}
	for _, k := range j.inUse[r.Release] {
		if dpkg.Compare(k.Version, r.Highest) <= 0 {
			continue
		}
		if r.Newer == "" || dpkg.Compare(k.Version, r.Newer) > 0 {
			r.Newer = k.Version
		}
		if r.NewerSince.IsZero() || k.Since.Before(r.NewerSince) {
			r.NewerSince = k.Since
		}
	}
}

// gone reports whether a newer version has been in use for a week, and no report of the problem came in that time. Reports
// whose version cannot be compared may come from the newer one if they arrived after it.
func (j *judgement) gone(r crash.ReleaseStatus, seen []crash.VersionSeen) bool {
	if r.Newer == "" || r.Week > 0 || j.daysSince(r.Last) < quietDays || j.daysSince(r.NewerSince) < quietDays {
		return false
	}
	return !slices.ContainsFunc(seen, func(o crash.VersionSeen) bool {
		return !comparable(r.Release, o.Version) && !o.Last.Before(crash.Midnight(r.NewerSince))
	})
}

func (j *judgement) daysSince(t time.Time) int {
	return int(j.today.Sub(crash.Midnight(t)) / (24 * time.Hour))
}

// afterFix decides between fixed and regression where the tracker says that the release has a fix. Where nothing is known that
// versions could be compared with, it leaves the release open.
func (j *judgement) afterFix(r *crash.ReleaseStatus, seen []crash.VersionSeen, says trackerSays) {
	if r.Fix = says.fix; r.Fix == "" {
		r.FixAfter = j.knownAt(r.Release, says.closed)
	}
	recent := func(o crash.VersionSeen) bool {
		return says.closed.IsZero() || !o.Last.Before(crash.Midnight(says.closed))
	}
	hasFix := func(o crash.VersionSeen) bool {
		switch {
		case !comparable(r.Release, o.Version):
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
		case o.Week > 0 && recent(o) && (!comparable(r.Release, o.Version) || r.Fix == "" && r.FixAfter == ""):
			r.Unclear = true
		}
	}
	if r.Unclear = r.Unclear && r.Word == crash.StateFixed; r.Unclear {
		r.Word = crash.StateOpen
	}
}

// knownAt is the greatest version of the package that any report from a release had come from at a moment; empty: none.
func (j *judgement) knownAt(release crash.Release, t time.Time) string {
	version := ""
	for _, k := range j.inUse[release] {
		if !t.IsZero() && !k.Arrived.After(t) && (version == "" || dpkg.Compare(k.Version, version) > 0) {
			version = k.Version
		}
	}
	return version
}

// fixedElsewhere lists the releases that the tracker says have the fix and in which the problem was not seen.
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

// newestOf is the newest release of a distribution in which the package is in use, or the problem was seen.
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
