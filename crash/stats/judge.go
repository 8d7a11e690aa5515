package stats

import (
	"slices"
	"time"

	"mishap/crash"
)

// quietDays is the number of days for which a newer version must be in use, without a report of the
// problem, before the problem counts as gone. The newer versions must also have enough reports.
const quietDays = 7

// Judge computes the status of a problem in each release. b contains the bug and the counts, seen
// the occurrences of the problem, and inUse the versions of its package that any report came from,
// with the number of these reports.
// Judge modifies none of them. It compares versions only within one release, in dpkg's order. It
// considers whole UTC days, so its result changes only with the facts or at midnight.
func Judge(b crash.Bucket, seen []crash.VersionSeen, inUse VersionsByRelease, now time.Time) crash.Status {
	j := newJudgement(b, seen, inUse, now)
	out := crash.Status{Read: j.read}
	for release, found := range j.seen {
		out.Releases = append(out.Releases, j.release(release, found))
	}
	out.Releases = append(out.Releases, j.fixedElsewhere()...)
	slices.SortFunc(out.Releases, func(a, b crash.ReleaseStatus) int { return b.Release.Compare(a.Release) })
	markEnded(out.Releases, j.today)
	if j.reading != nil {
		out.Tracker = j.trackerStatus(out.Releases)
	}
	out.Word, out.Note = j.state(out.Releases)
	return out
}

// markEnded marks releases whose support has ended, unless all have: they do not influence the
// result any more.
func markEnded(releases []crash.ReleaseStatus, today time.Time) {
	ended := func(r crash.ReleaseStatus) bool { return r.Reports > 0 && r.Release.EndOfLifeOn(today) }
	if !slices.ContainsFunc(releases, func(r crash.ReleaseStatus) bool { return r.Reports > 0 && !ended(r) }) {
		return
	}
	for i := range releases {
		releases[i].Ended = ended(releases[i])
	}
}

// judgement is the input of Judge, in the form that its rules need.
type judgement struct {
	b       crash.Bucket
	reading *crash.BugReading // nil: there is no bug, or no information about it
	unsaid  crash.StateWord   // if there is a bug but no reading: StateUnread or StatePrivate
	hidden  bool              // with StatePrivate: our account cannot read the bug
	read    time.Time
	today   time.Time
	seen    map[crash.Release][]crash.VersionSeen
	inUse   VersionsByRelease
}

func newJudgement(b crash.Bucket, seen []crash.VersionSeen, inUse VersionsByRelease, now time.Time) *judgement {
	j := &judgement{b: b, today: crash.Midnight(now), seen: map[crash.Release][]crash.VersionSeen{}, inUse: inUse}
	for _, o := range seen {
		if o.Reports > 0 {
			j.seen[o.Release] = append(j.seen[o.Release], o)
		}
	}
	if b.Bug.Number == 0 {
		return j
	}
	state := b.Bug.State
	hidden, private := state.Hidden, state.Hidden || state.Private
	if state.DuplicateOf != 0 && b.Bug.Master != nil {
		state = *b.Bug.Master
		hidden, private = hidden || state.Hidden, private || state.Hidden || state.Private
	}
	j.read = state.Read
	switch {
	case state.Read.IsZero():
		j.unsaid = crash.StateUnread
	case private:
		j.unsaid, j.hidden = crash.StatePrivate, hidden
	default:
		j.reading = &state.BugReading
	}
	return j
}

// state returns the state of the problem, and a sentence that explains it if the releases do not.
func (j *judgement) state(releases []crash.ReleaseStatus) (crash.StateWord, string) {
	counting := crash.PickReleases(releases, func(r crash.ReleaseStatus) bool { return r.Reports > 0 && !r.Ended })
	if j.b.Bug.Number != 0 {
		return j.stateOfBug(counting)
	}
	switch {
	case j.b.Reports == 0:
		return crash.StateTests, "Only test machines have reported it; their reports are not counted."
	case j.b.Provisional:
		return crash.StateNameless, "Function names are missing. " +
			"Once the reports are symbolised, they move to the problem with names."
	case len(counting) == 0 && j.longAgo():
		return crash.StateGone, "Not seen for more than a year."
	case len(counting) > 0 && allAre(counting, crash.StateGone):
		return crash.StateGone, ""
	case !j.b.FirstSeen.IsZero() && j.today.Sub(crash.Midnight(j.b.FirstSeen)) < quietDays*24*time.Hour:
		return crash.StateNew, "First seen in the past week."
	}
	return crash.StateUnfiled, ""
}

// stateOfBug returns the state of a problem with a bug, and a sentence like state.
func (j *judgement) stateOfBug(counting []crash.ReleaseStatus) (crash.StateWord, string) {
	closedAndSeen := func(r crash.ReleaseStatus) bool { return r.Word == crash.StateClosed && r.Week > 0 }
	switch {
	case j.unsaid == crash.StateUnread:
		return crash.StateUnread, "The bug has not been read from the tracker yet."
	case j.hidden:
		return crash.StatePrivate, "The bug cannot be read: it is private or deleted."
	case j.unsaid == crash.StatePrivate:
		return crash.StatePrivate, "The bug is private: only some people can see it."
	case anyIs(counting, crash.StateRegression):
		return crash.StateRegression, ""
	case anyIs(counting, crash.StateOpen):
		return crash.StateOpen, ""
	case slices.ContainsFunc(counting, closedAndSeen):
		return crash.StateClosed, ""
	case anyIs(counting, crash.StateFixed):
		return crash.StateFixed, ""
	case anyIs(counting, crash.StateClosed):
		return crash.StateClosed, ""
	}
	// Here, the problem is gone from every release, or was last seen so long ago that no release is
	// known.
	switch verdict, word := j.bugVerdict(); {
	case verdict == crash.StateFixed:
		return crash.StateFixed, j.unseen("The bug is closed with a fix", len(counting))
	case verdict == crash.StateClosed:
		return crash.StateClosed, j.unseen("The bug was closed as "+word+", without a fix", len(counting))
	case len(counting) == 0 && !j.longAgo():
		return crash.StateOpen, j.unseen("The bug is open", 0)
	}
	return crash.StateDisappeared, j.unseen("The bug is open", len(counting))
}

// unseen returns a sentence about the bug. If no release is known, it adds why.
func (j *judgement) unseen(what string, releases int) string {
	switch {
	case releases > 0:
		return what + "."
	case j.longAgo():
		return what + "; not seen for more than a year."
	}
	return what + "; it has no counted reports."
}

// occurrencesKnown is the number of days for which occurrences are stored.
const occurrencesKnown = 366

// longAgo reports whether the problem was last seen so long ago that no occurrence is stored.
func (j *judgement) longAgo() bool {
	return j.b.Reports > 0 && j.today.Sub(crash.Midnight(j.b.LastSeen)) > occurrencesKnown*24*time.Hour
}

func anyIs(releases []crash.ReleaseStatus, word crash.StateWord) bool {
	return slices.ContainsFunc(releases, func(r crash.ReleaseStatus) bool { return r.Word == word })
}

func allAre(releases []crash.ReleaseStatus, word crash.StateWord) bool {
	return !slices.ContainsFunc(releases, func(r crash.ReleaseStatus) bool { return r.Word != word })
}
