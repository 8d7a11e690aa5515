package crash

import (
	"slices"
	"time"
)

// BugReading is what the tracker said of a bug when it was read.
type BugReading struct {
	Number          int64
	Title           string // empty when Private or Hidden: it is not for everybody
	InformationType string
	Private         bool  // not for everybody, though our account may read it
	Hidden          bool  // our account may not read it, or it is gone: the tracker does not say which
	DuplicateOf     int64 // the bug that it repeats; 0: none
	Tasks           []BugTask
	Fixes           []BugFix
}

// BugTask is where a bug stands for one of the things that it affects.
type BugTask struct {
	Target     string // path of the thing: "/ubuntu/+source/tidewatch", "/ubuntu/noble/+source/tidewatch", "/tidewatch"
	Name       string // the same for people: "tidewatch (Ubuntu Noble)"
	Status     string
	Importance string
	Assignee   string // name of the account; empty: nobody
	Milestone  string
	Complete   bool      // nothing more will be done, for whatever reason
	Closed     time.Time // since when it is; zero: it is not, or the tracker does not say
}

// BugFix is a package version that the tracker says has the fix.
type BugFix struct {
	Package string // source package
	Version string
	Series  string // codename of the release that it went to; empty: not said
}

// FixReleased is the status of a task whose fix has reached people. Other complete ones (Invalid, Won't Fix, …) say that
// there is no fix.
const FixReleased = "Fix Released"

// BugState is what is known of a bug, and how well.
type BugState struct {
	BugReading
	Read     time.Time // when the tracker said so; zero: never yet
	Next     time.Time // when it is read again
	Failures int       // how often reading failed since
	Failure  string    // why it failed last
}

// Closed reports whether all of its tasks on a distribution are complete, or all, when it has none on one.
func (r BugReading) Closed() bool {
	tasks := r.Tasks
	if on := Pick(tasks, func(t BugTask) bool { return t.SourcePackage() != "" }); len(on) > 0 {
		tasks = on
	}
	return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t BugTask) bool { return !t.Complete })
}

// BugTotals counts the bugs that are followed, for the monitor.
type BugTotals struct {
	Followed, Due, Failing int64
	Oldest                 time.Time // when the one was read that was read longest ago; zero: none was
}

// Counts is the number of the bug that the bucket is judged by: its own, or that of the one which its own repeats.
func (b Bug) Counts() int64 {
	if b.State.DuplicateOf != 0 {
		return b.State.DuplicateOf
	}
	return b.Number
}
