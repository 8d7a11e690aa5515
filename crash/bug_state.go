package crash

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mishap/crash/dpkg"
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
	if on := pick(tasks, func(t BugTask) bool { return t.sourcePackage() != "" }); len(on) > 0 {
		tasks = on
	}
	return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t BugTask) bool { return !t.Complete })
}

// KnownVersion is a version of a package that some machine has reported from.
type KnownVersion struct {
	Version string
	Arrived time.Time // of the first report that has it
}

// StateWord says in one word how a bucket stands to its bug.
type StateWord string

// The words.
const (
	StateNone        StateWord = ""            // it has no bug
	StateUnread      StateWord = "unread"      // the tracker has not said anything yet
	StateOpen        StateWord = "open"        // the bug is open, and the problem is seen in the newest version
	StateDisappeared StateWord = "disappeared" // the bug is open, and the problem is not seen in the newest version
	StateFixed       StateWord = "fixed"       // the bug is closed, and the problem is not seen in a version with the fix
	StateRegression  StateWord = "regression"  // the bug is closed, and the problem is seen in a version with the fix
	StateClosed      StateWord = "closed"      // the bug is closed without a fix
	StatePrivate     StateWord = "private"     // the bug is not for everybody, or gone

	// Of problems without a bug, see [VersionStory.Fate].
	StateTests    StateWord = "tests only"     // only test machines have it
	StateNameless StateWord = "not symbolised" // its functions have no names yet
	StateGone     StateWord = "gone"           // newer versions are in use everywhere, without it
	StateNew      StateWord = "new"            // first seen lately
	StateUnfiled  StateWord = "unfiled"        // none of these
)

// ProblemState is how a bucket stands to its bug.
type ProblemState struct {
	Word   StateWord
	Reason string    // one sentence: why this word
	Status string    // the tracker's own word for the task that counts; empty: not known, or not for everybody
	Read   time.Time // how old the knowledge is; zero: there is none
}

// StateOf derives how the bucket stands to its bug. Versions decide, in dpkg's order, never dates of reports.
//
// It looks at the release in which the bucket's newest version was seen: at the bug's task for that series when it has one,
// else at the task for the package as a whole. A bug that is a duplicate is judged by its master.
//
// The fix is in the version that the tracker names (the message by which an upload closes a bug). When it names none, the
// fix can only be in a version that was not known yet when the task was closed: one that is greater than every version of
// the package, in that release, that machines had reported from by then.
func StateOf(b Bucket) ProblemState {
	if b.Bug.Number == 0 {
		return ProblemState{}
	}
	s := b.Bug.State
	hidden := s.Hidden || s.Private
	if s.DuplicateOf != 0 && b.Bug.Master != nil {
		s = *b.Bug.Master
		hidden = hidden || s.Hidden || s.Private
	}
	out := ProblemState{Read: s.Read}
	tasks := tasksFor(s.Tasks, b.SourcePackage, b.LastVerRel.Codename())
	switch {
	case s.Read.IsZero():
		out.Word, out.Reason = StateUnread, "The tracker has not been asked about this bug yet."
		return out
	case s.Hidden || b.Bug.State.Hidden:
		out.Word, out.Reason = StatePrivate, "The tracker does not show this bug to us: it is private, or gone."
		return out
	case hidden:
		out.Word, out.Reason = StatePrivate, "The bug is private: only some people see it in the tracker."
		return out
	case len(tasks) == 0:
		out.Word, out.Reason = StateOpen, "The tracker does not say where the bug stands."
		return out
	}
	if i := slices.IndexFunc(tasks, func(t BugTask) bool { return !t.Complete }); i >= 0 {
		out.Status = tasks[i].Status
		out.Word, out.Reason = whileOpen(b)
		return out
	}
	out.Status = tasks[0].Status
	if i := slices.IndexFunc(tasks, func(t BugTask) bool { return t.Status == FixReleased }); i >= 0 {
		out.Status = FixReleased
		out.Word, out.Reason = afterFix(b, s.Fixes, tasks)
		return out
	}
	out.Word = StateClosed
	out.Reason = fmt.Sprintf("The bug was closed as %s, without a fix.", out.Status)
	return out
}

// whileOpen tells open from disappeared.
func whileOpen(b Bucket) (StateWord, string) {
	if b.LastVersion == "" || len(b.Known) == 0 {
		return StateOpen, "The bug is open."
	}
	if newest := b.Known[0].Version; dpkg.Compare(newest, b.LastVersion) > 0 {
		return StateDisappeared, fmt.Sprintf("The bug is open, but the problem was last seen in %s, not in %s, the newest version of the package known here%s.",
			b.LastVersion, newest, in(b.LastVerRel))
	}
	return StateOpen, fmt.Sprintf("The bug is open, and the problem is seen in %s, the newest version of the package known here%s.", b.LastVersion, in(b.LastVerRel))
}

// afterFix tells fixed from regression.
func afterFix(b Bucket, fixes []BugFix, tasks []BugTask) (StateWord, string) {
	if b.LastVersion == "" {
		return StateFixed, "The bug is closed with a fix; the versions in which the problem was seen are not known."
	}
	if fix := fixFor(fixes, b.SourcePackage, b.LastVerRel.Codename()); fix != "" {
		if dpkg.Compare(b.LastVersion, fix) >= 0 {
			return StateRegression, fmt.Sprintf("Fixed in %s, and seen again in %s.", fix, b.LastVersion)
		}
		return StateFixed, fmt.Sprintf("Fixed in %s; last seen in %s, which does not have the fix.", fix, b.LastVersion)
	}
	var closed time.Time
	for _, t := range tasks {
		if t.Closed.After(closed) {
			closed = t.Closed
		}
	}
	known := knownAt(b.Known, closed)
	switch {
	case known == "":
		return StateFixed, "The bug is closed with a fix; the tracker does not say in which version, and no version of the package was known here at that time."
	case dpkg.Compare(b.LastVersion, known) > 0:
		return StateRegression, fmt.Sprintf("Fixed after %s (the newest version known here%s when the bug was closed), and seen again in %s.",
			known, in(b.LastVerRel), b.LastVersion)
	}
	return StateFixed, fmt.Sprintf("Fixed after %s (the newest version known here%s when the bug was closed); last seen in %s.", known, in(b.LastVerRel), b.LastVersion)
}

// knownAt is the greatest version that was known at a moment. versions are sorted, greatest first.
func knownAt(versions []KnownVersion, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	for _, v := range versions {
		if !v.Arrived.After(t) {
			return v.Version
		}
	}
	return ""
}

// fixFor is the version of a source package that has the fix for a series: the greatest that was made for it, else the
// greatest of all. Empty: the tracker names none.
func fixFor(fixes []BugFix, source, series string) string {
	var here, anywhere string
	for _, f := range fixes {
		if f.Package != source {
			continue
		}
		if anywhere == "" || dpkg.Compare(f.Version, anywhere) > 0 {
			anywhere = f.Version
		}
		if series != "" && f.Series == series && (here == "" || dpkg.Compare(f.Version, here) > 0) {
			here = f.Version
		}
	}
	if here != "" {
		return here
	}
	return anywhere
}

// tasksFor picks the tasks that count for a source package in a series. Without one for the package those of other packages
// count, and without any such all.
func tasksFor(tasks []BugTask, source, series string) []BugTask {
	for _, of := range []func(BugTask) bool{
		func(t BugTask) bool { return source != "" && t.sourcePackage() == source },
		func(t BugTask) bool { return t.sourcePackage() != "" },
	} {
		if picked := pick(tasks, of); len(picked) > 0 {
			tasks = picked
			break
		}
	}
	for _, of := range []func(BugTask) bool{
		func(t BugTask) bool { return series != "" && t.series() == series },
		func(t BugTask) bool { return t.series() == "" },
	} {
		if picked := pick(tasks, of); len(picked) > 0 {
			return picked
		}
	}
	return tasks
}

func pick(tasks []BugTask, ok func(BugTask) bool) []BugTask {
	var out []BugTask
	for _, t := range tasks {
		if ok(t) {
			out = append(out, t)
		}
	}
	return out
}

// sourcePackage is the package of a distribution that the task is about; empty: it is about something else.
func (t BugTask) sourcePackage() string {
	if p := t.path(); len(p) >= 3 && p[len(p)-2] == "+source" {
		return p[len(p)-1]
	}
	return ""
}

// series is the series of a distribution that the task is about; empty: it is about all of them.
func (t BugTask) series() string {
	if p := t.path(); len(p) == 4 && p[2] == "+source" || len(p) == 2 {
		return p[1]
	}
	return ""
}

func (t BugTask) path() []string { return strings.Split(strings.Trim(t.Target, "/"), "/") }

func in(r Release) string {
	if r == "" {
		return ""
	}
	return " in " + string(r)
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
