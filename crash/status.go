package crash

import (
	"slices"
	"time"
)

// StateWord is the one word that sums up the status of a problem.
type StateWord string

// The states of problems with a bug.
const (
	StateNone        StateWord = ""            // nothing is known yet
	StateUnread      StateWord = "unread"      // the bug has not been read from the tracker yet
	StateOpen        StateWord = "open"        // in some release the problem is seen, and no fix is known
	StateDisappeared StateWord = "disappeared" // the bug is open, and the problem is gone from every release
	StateFixed       StateWord = "fixed"       // the bug is closed with a fix, and no release is open
	StateRegression  StateWord = "regression"  // in some release the problem is seen in a version that has the fix
	StateClosed      StateWord = "closed"      // the bug is closed without a fix
	StatePrivate     StateWord = "private"     // the bug is not public, or deleted
)

// The states of problems without a bug.
const (
	StateTests    StateWord = "tests only"     // only test machines report it
	StateNameless StateWord = "not symbolised" // its functions have no names yet
	StateGone     StateWord = "gone"           // in every release newer versions are free of it, for at least a week
	StateNew      StateWord = "new"            // first seen in the past week
	StateUnfiled  StateWord = "unfiled"        // none of the others
)

// StateWords lists every state by which lists can be filtered. Those that need a person's attention
// come first.
var StateWords = []StateWord{
	StateRegression, StateOpen, StateNew, StateUnfiled, StateDisappeared, StateGone, StateUnread, StatePrivate,
	StateClosed,
	StateFixed, StateNameless, StateTests,
}

// VersionSeen is how often a problem was seen in one version of its package in one release.
type VersionSeen struct {
	Release     Release
	Version     string
	Reports     int64
	Week        int64     // of these, in the past week (see LastDays)
	First, Last time.Time // UTC days
}

// Status is the status of a problem, which pages, lists, filters, files and feeds show. Package
// crash/stats computes it.
type Status struct {
	Word     StateWord
	Tracker  string          // the tracker's status of the task that counts; empty: unknown or not public
	Read     time.Time       // when the bug was last read; zero: never, or there is no bug
	Releases []ReleaseStatus // newest release first
	Note     string          // a sentence that precedes those about releases; see Text
}

// ReleaseStatus is the status of a problem in one release. Versions are compared only within the
// release.
type ReleaseStatus struct {
	Release Release
	Word    StateWord // StateOpen, StateGone, StateFixed, StateRegression or StateClosed
	Reports int64     // in this release; 0: it was fixed there, but never seen
	Week    int64     // of these, in the past week (see LastDays)
	Last    time.Time // UTC day of the newest report
	Highest string    // highest version in which it was seen; empty: no version is comparable

	Newer      string    // newest version in use, if it is higher than Highest
	NewerSince time.Time // UTC day of the oldest report from a version higher than Highest
	NewerCount int64     // reports of the package from versions higher than Highest; none is of the problem
	Lacking    int64     // so many more of them would show that these versions are free of it; 0: they are

	Fix      string // version with the fix, as the tracker says; empty: unknown
	FixAfter string // without Fix: the fix is in a higher version than this
	Again    int64  // with StateRegression: number of reports from versions with the fix
	AgainAt  string // the highest of these versions
	Tracker  string // with StateClosed: the tracker's status, such as "Won't Fix"
	Unclear  bool   // with StateOpen: there is a fix, but it is unknown whether the reported versions have it
	Ended    bool   // support of the release has ended, and the problem was seen in other releases
}

// Outdated reports whether the problem was seen only in outdated versions: in every release that
// counts, higher versions are free of it.
func (s Status) Outdated() bool {
	counting := PickReleases(s.Releases, func(r ReleaseStatus) bool { return r.Reports > 0 && !r.Ended })
	return len(counting) > 0 && !slices.ContainsFunc(counting, func(r ReleaseStatus) bool { return !r.NewerFree() })
}

// NewerFree reports whether higher versions than those with the problem are in use, and have so many
// reports that they would probably show it if they had it.
func (r ReleaseStatus) NewerFree() bool { return r.Newer != "" && r.Lacking == 0 }

// Regressed returns the release and version in which a fixed problem was seen again, the newest
// release first. ok is false if the problem is not a regression.
func (s Status) Regressed() (release Release, version string, ok bool) {
	for _, r := range s.Releases {
		if s.Word == StateRegression && r.Word == StateRegression && !r.Ended {
			return r.Release, r.AgainAt, true
		}
	}
	return "", "", false
}

// PickReleases returns the releases for which ok returns true.
func PickReleases(releases []ReleaseStatus, ok func(ReleaseStatus) bool) []ReleaseStatus {
	var out []ReleaseStatus
	for _, r := range releases {
		if ok(r) {
			out = append(out, r)
		}
	}
	return out
}
