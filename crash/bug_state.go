package crash

import (
	"slices"
	"time"
)

// BugReading is what the tracker said about a bug at one moment.
type BugReading struct {
	Number          int64
	Title           string // empty when Private or Hidden
	InformationType string
	Private         bool  // not public, although our account can read it
	Hidden          bool  // our account cannot read it, or it was deleted: the tracker does not say which
	DuplicateOf     int64 // number of the bug that it duplicates; 0: none
	Tasks           []BugTask
	Fixes           []BugFix
	Description     string // raw; not stored. Empty when Private or Hidden
}

// BugTask is the state of a bug for one of the targets that it affects.
type BugTask struct {
	Target     string // path of the target: "/ubuntu/+source/tidewatch", "/ubuntu/noble/+source/tidewatch", "/tidewatch"
	Name       string // the same for people: "tidewatch (Ubuntu Noble)"
	Status     string
	Importance string
	Assignee   string // name of the account; empty: unassigned
	Milestone  string
	Complete   bool      // no more work will be done, for whatever reason
	Closed     time.Time // when it became complete; zero: it is not, or the tracker does not say
}

// BugFix is a package version that the tracker says has the fix.
type BugFix struct {
	Package string // source package
	Version string
	Series  string // codename of the release that received it; empty: unknown
}

// FixReleased is the status of a task whose fix has been published. Other complete statuses, such
// as Invalid and Won't Fix, mean that there is no fix.
const FixReleased = "Fix Released"

// BugState is the last reading of a bug, and how current it is.
type BugState struct {
	BugReading
	Read     time.Time // when it was read; zero: never
	Next     time.Time // when it is due to be read again
	Failures int       // number of failed attempts since
	Failure  string    // error of the last attempt
}

// Closed reports whether all tasks on source packages are complete. Without such tasks, it
// considers all tasks.
func (r BugReading) Closed() bool {
	tasks := r.Tasks
	if on := Pick(tasks, func(t BugTask) bool { return t.SourcePackage() != "" }); len(on) > 0 {
		tasks = on
	}
	return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t BugTask) bool { return !t.Complete })
}

// BugTotals counts the bugs that mishap reads regularly, for monitoring.
type BugTotals struct {
	Followed, Due, Failing int64
	Oldest                 time.Time // when the bug that has waited longest was last read; zero: none was read
}

// Counts returns the number of the bug that decides the status of the bucket: its own, or the one
// that this duplicates.
func (b Bug) Counts() int64 {
	if b.State.DuplicateOf != 0 {
		return b.State.DuplicateOf
	}
	return b.Number
}
