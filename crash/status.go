package crash

import (
	"slices"
	"time"

	"mishap/crash/dpkg"
)

// StateWord says in one word how a problem stands.
type StateWord string

// The words of problems with a bug.
const (
	StateNone        StateWord = ""            // nothing is known yet
	StateUnread      StateWord = "unread"      // the tracker has not said anything about the bug yet
	StateOpen        StateWord = "open"        // in some release the problem is seen and no fix is known
	StateDisappeared StateWord = "disappeared" // the bug is open, and the problem is gone from every release
	StateFixed       StateWord = "fixed"       // the bug is closed with a fix, and no release is open
	StateRegression  StateWord = "regression"  // in some release the problem is seen in a version that has the fix
	StateClosed      StateWord = "closed"      // the bug is closed without a fix
	StatePrivate     StateWord = "private"     // the bug is not for everybody, or gone
)

// The words of problems without a bug.
const (
	StateTests    StateWord = "tests only"     // only test machines have it
	StateNameless StateWord = "not symbolised" // its functions have no names yet
	StateGone     StateWord = "gone"           // in every release a newer version has been in use without it for a week
	StateNew      StateWord = "new"            // first seen in the past week
	StateUnfiled  StateWord = "unfiled"        // none of these
)

// StateWords lists every word that a list can be narrowed to, those first that need a person.
var StateWords = []StateWord{
	StateRegression, StateOpen, StateNew, StateUnfiled, StateDisappeared, StateGone, StateUnread, StatePrivate, StateClosed,
	StateFixed, StateNameless, StateTests,
}

// VersionSeen says how often a problem was seen in one version of its package in one release.
type VersionSeen struct {
	Release     Release
	Version     string
	Reports     int64
	Week        int64     // of these, on the past seven UTC days
	First, Last time.Time // UTC days
}

// Status is how a problem stands: the one result that pages, lists, filters, files and feeds show. [Judge] makes it.
type Status struct {
	Word     StateWord
	Tracker  string          // the tracker's own word for the task that counts; empty: unknown, or not for everybody
	Read     time.Time       // when the tracker was read; zero: never, or there is no bug
	Releases []ReleaseStatus // the newest release first
	Note     string          // a sentence that comes before what is said of releases; see Text
}

// ReleaseStatus is how a problem stands in one release. Versions are compared within the release only.
type ReleaseStatus struct {
	Release Release
	Word    StateWord // StateOpen, StateGone, StateFixed, StateRegression or StateClosed
	Reports int64     // in this release; 0: it was not seen there, only fixed
	Week    int64     // of these, on the past seven UTC days
	Last    time.Time // UTC day of the newest report
	Highest string    // highest version in which it was seen; empty: no version can be compared

	Newer      string    // newest version in use, when that is higher and without the problem
	NewerSince time.Time // UTC day of the oldest report from a version higher than Highest

	Fix      string // version that has the fix, as the tracker says; empty: it does not say
	FixAfter string // without Fix: the fix is in a higher version than this
	Again    int64  // with StateRegression: reports from versions that have the fix
	AgainAt  string // the highest of these versions
	Tracker  string // with StateClosed: the tracker's word, "Won't Fix"
	Unclear  bool   // with StateOpen: there is a fix, but the versions of the reports do not say whether they have it
	Ended    bool   // the release is at the end of its life, and the problem was seen in others too
}

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
	counting := pickReleases(releases, func(r ReleaseStatus) bool { return r.Reports > 0 && !r.Ended })
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

func pickReleases(releases []ReleaseStatus, ok func(ReleaseStatus) bool) []ReleaseStatus {
	var out []ReleaseStatus
	for _, r := range releases {
		if ok(r) {
			out = append(out, r)
		}
	}
	return out
}

// Outdated reports whether the problem was seen only in versions that are no longer the newest: in every release that counts,
// a higher version is in use without it.
func (s Status) Outdated() bool {
	counting := pickReleases(s.Releases, func(r ReleaseStatus) bool { return r.Reports > 0 && !r.Ended })
	return len(counting) > 0 && !slices.ContainsFunc(counting, func(r ReleaseStatus) bool { return r.Newer == "" })
}

// Regressed returns the release and version in which a fixed problem was seen again, the newest release first. ok is false
// unless the problem is a regression.
func (s Status) Regressed() (release Release, version string, ok bool) {
	for _, r := range s.Releases {
		if s.Word == StateRegression && r.Word == StateRegression && !r.Ended {
			return r.Release, r.AgainAt, true
		}
	}
	return "", "", false
}
