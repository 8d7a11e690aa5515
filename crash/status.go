package crash

import (
	"slices"
	"time"
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

// Outdated reports whether the problem was seen only in versions that are no longer the newest: in every release that counts,
// a higher version is in use without it.
func (s Status) Outdated() bool {
	counting := PickReleases(s.Releases, func(r ReleaseStatus) bool { return r.Reports > 0 && !r.Ended })
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

// PickReleases returns the releases that ok accepts.
func PickReleases(releases []ReleaseStatus, ok func(ReleaseStatus) bool) []ReleaseStatus {
	var out []ReleaseStatus
	for _, r := range releases {
		if ok(r) {
			out = append(out, r)
		}
	}
	return out
}
