package crash

import (
	"slices"
	"time"

	"mishap/crash/dpkg"
)

// quietDays is the number of days that a newer version must be in use without a report of the problem, before the problem
// counts as gone.
const quietDays = 7

// Judge decides how a problem stands, release by release. b says what its bug is and how much was counted of it. seen are its
// occurrences, inUse the versions of its package that any report came from; neither is changed. Judge compares versions only
// within one release, as dpkg does, and looks at UTC days, so that its result changes with the facts or at midnight.
func Judge(b Bucket, seen []VersionSeen, inUse []VersionKnown, now time.Time) Status {
	j := newJudgement(b, seen, inUse, now)
	out := Status{Read: j.read}
	for release, found := range j.seen {
		out.Releases = append(out.Releases, j.release(release, found))
	}
	out.Releases = append(out.Releases, j.fixedElsewhere()...)
	slices.SortFunc(out.Releases, func(a, b ReleaseStatus) int { return b.Release.Compare(a.Release) })
	markEnded(out.Releases, j.today)
	if j.reading != nil {
		out.Tracker = j.trackerWord(out.Releases)
	}
	out.Word, out.Note = j.word(out.Releases)
	return out
}

// markEnded marks the releases at the end of their life, unless all are: they no longer decide anything.
func markEnded(releases []ReleaseStatus, today time.Time) {
	ended := func(r ReleaseStatus) bool { return r.Reports > 0 && r.Release.EndOfLifeOn(today) }
	if !slices.ContainsFunc(releases, func(r ReleaseStatus) bool { return r.Reports > 0 && !ended(r) }) {
		return
	}
	for i := range releases {
		releases[i].Ended = ended(releases[i])
	}
}

// judgement is what Judge goes by.
type judgement struct {
	b       Bucket
	reading *BugReading // nil: there is no bug, or the tracker tells us nothing about it
	unsaid  StateWord   // why reading is nil although there is a bug: StateUnread or StatePrivate
	hidden  bool        // with StatePrivate: the tracker does not show the bug to us
	read    time.Time
	today   time.Time
	seen    map[Release][]VersionSeen
	inUse   map[Release][]VersionKnown
}

func newJudgement(b Bucket, seen []VersionSeen, inUse []VersionKnown, now time.Time) *judgement {
	j := &judgement{b: b, today: midnight(now), seen: map[Release][]VersionSeen{}, inUse: map[Release][]VersionKnown{}}
	for _, o := range seen {
		if o.Reports > 0 {
			j.seen[o.Release] = append(j.seen[o.Release], o)
		}
	}
	for _, k := range inUse {
		if dpkg.Valid(k.Version) {
			j.inUse[k.Release] = append(j.inUse[k.Release], k)
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
		j.unsaid = StateUnread
	case private:
		j.unsaid, j.hidden = StatePrivate, hidden
	default:
		j.reading = &state.BugReading
	}
	return j
}

// word decides the one word for the problem, and the sentence that explains it where the releases do not.
func (j *judgement) word(releases []ReleaseStatus) (StateWord, string) {
	counting := PickReleases(releases, func(r ReleaseStatus) bool { return r.Reports > 0 && !r.Ended })
	if j.b.Bug.Number != 0 {
		return j.wordOfBug(counting)
	}
	switch {
	case j.b.Reports == 0:
		return StateTests, "Only test machines have reported it, so nothing is counted."
	case j.b.Provisional:
		return StateNameless, "The functions have no names yet. As soon as a report brings them, all of it counts under those names."
	case len(counting) == 0 && j.longAgo():
		return StateGone, "Not seen for more than a year."
	case len(counting) > 0 && allAre(counting, StateGone):
		return StateGone, ""
	case !j.b.FirstSeen.IsZero() && j.today.Sub(midnight(j.b.FirstSeen)) < quietDays*24*time.Hour:
		return StateNew, "First seen in the past week."
	}
	return StateUnfiled, ""
}

// wordOfBug is word for a problem with a bug.
func (j *judgement) wordOfBug(counting []ReleaseStatus) (StateWord, string) {
	switch {
	case j.unsaid == StateUnread:
		return StateUnread, "The tracker has not been asked about this bug yet."
	case j.hidden:
		return StatePrivate, "The tracker does not show this bug to us: it is private, or gone."
	case j.unsaid == StatePrivate:
		return StatePrivate, "The bug is private: only some people see it in the tracker."
	case anyIs(counting, StateRegression):
		return StateRegression, ""
	case anyIs(counting, StateOpen):
		return StateOpen, ""
	case slices.ContainsFunc(counting, func(r ReleaseStatus) bool { return r.Word == StateClosed && r.Week > 0 }):
		return StateClosed, ""
	case anyIs(counting, StateFixed):
		return StateFixed, ""
	case anyIs(counting, StateClosed):
		return StateClosed, ""
	}
	// What is left is gone from every release, or was not seen for so long that no release is known.
	switch verdict, word := j.whole(); {
	case verdict == StateFixed:
		return StateFixed, j.unseen("The bug is closed with a fix", len(counting))
	case verdict == StateClosed:
		return StateClosed, j.unseen("The bug was closed as "+word+", without a fix", len(counting))
	case len(counting) == 0 && !j.longAgo():
		return StateOpen, j.unseen("The bug is open", 0)
	}
	return StateDisappeared, j.unseen("The bug is open", len(counting))
}

// unseen is a sentence about the bug, with what is known of reports where no release is.
func (j *judgement) unseen(what string, releases int) string {
	switch {
	case releases > 0:
		return what + "."
	case j.longAgo():
		return what + "; not seen for more than a year."
	}
	return what + "; no counted report is known."
}

// occurrencesKnown is for how many days occurrences are known at most.
const occurrencesKnown = 366

// longAgo reports whether the problem was counted, and last so long ago that no occurrence may be known.
func (j *judgement) longAgo() bool {
	return j.b.Reports > 0 && j.today.Sub(midnight(j.b.LastSeen)) > occurrencesKnown*24*time.Hour
}

func anyIs(releases []ReleaseStatus, word StateWord) bool {
	return slices.ContainsFunc(releases, func(r ReleaseStatus) bool { return r.Word == word })
}

func allAre(releases []ReleaseStatus, word StateWord) bool {
	return !slices.ContainsFunc(releases, func(r ReleaseStatus) bool { return r.Word != word })
}
