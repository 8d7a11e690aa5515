package crash

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// Counting returns the releases that count: those in which the problem was seen, and that are supported.
func (s Status) Counting() []ReleaseStatus {
	return Pick(s.Releases, func(r ReleaseStatus) bool { return r.Reports > 0 && !r.Ended })
}

// Outdated reports whether the problem was seen only in outdated versions: in every release that
// counts, higher versions are free of it.
func (s Status) Outdated() bool {
	counting := s.Counting()
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

const maxNamedReleases = 3

// Text describes the status in a sentence or two, such as "Fixed in sid; still open in 24.04 (11
// reports this week).".
func (s Status) Text() string {
	text := s.inReleases(true)
	if text != "" {
		text += "."
	}
	return strings.TrimSpace(strings.TrimSpace(s.Note+" "+text) + " " + s.tooFew())
}

// Headline describes the status in a few words, without numbers of reports: "Fixed in sid; still
// open in 24.04". If the status names no release, it is the note.
func (s Status) Headline() string {
	if text := s.inReleases(false); text != "" {
		return text
	}
	return strings.TrimSuffix(s.Note, ".")
}

// Detail returns the sentences that supplement Headline. For a problem without a bug, they say so,
// and whether newer versions are free of the problem.
func (s Status) Detail() string {
	var parts []string
	if s.Note != "" && s.inReleases(false) != "" {
		parts = append(parts, s.Note)
	}
	switch s.Word {
	case StateNameless, StateGone, StateNew, StateUnfiled:
		parts = append(parts, "No bug filed.")
		if newer := s.newerVersions(); newer != "" {
			parts = append(parts, newer)
		}
	default:
	}
	return strings.Join(parts, " ")
}

// newerVersions says whether versions without the problem are in use that are newer than those with
// it.
func (s Status) newerVersions() string {
	counting := s.Counting()
	newer := Pick(counting, func(r ReleaseStatus) bool { return r.Newer != "" })
	switch len(newer) {
	case 0:
		return ""
	case len(counting):
		return strings.TrimSpace("The newest versions in use have not shown it. " + s.tooFew())
	}
	return strings.TrimSpace("Newer versions in some releases have not shown it. " + s.tooFew())
}

// tooFew names the open releases whose newer versions have too few reports to tell whether they are
// free of the problem.
func (s Status) tooFew() string {
	some := Pick(s.Releases, func(r ReleaseStatus) bool {
		return r.Word == StateOpen && !r.Ended && r.Newer != "" && !r.NewerFree()
	})
	var names []string
	for _, r := range some[:min(len(some), maxNamedReleases)] {
		names = append(names, r.Newer+" of "+r.Release.Short()+" has it ("+r.lacking()+")")
	}
	if others := int64(len(some) - len(names)); others > 0 {
		names = append(names, fmt.Sprintf("those of %d other %s have it", others, Plural(others, "release", "releases")))
	}
	if len(names) == 0 {
		return ""
	}
	return "Too few reports to tell whether " + JoinAnd(names) + "."
}

// lacking says how many reports of newer versions there are, and how many more are needed: "0 of 12;
// 10 more would tell".
func (r ReleaseStatus) lacking() string {
	return fmt.Sprintf("0 of %d; %d more would tell", r.NewerCount, r.Lacking)
}

// inReleases describes the releases by state, such as "Fixed in sid; still open in 24.04", if
// counts is true with their numbers of reports.
func (s Status) inReleases(counts bool) string {
	var parts []string
	add := func(of []ReleaseStatus, words string, count func(ReleaseStatus) string) {
		if !counts {
			count = func(ReleaseStatus) string { return "" }
		}
		if len(of) > 0 {
			parts = append(parts, words+" "+listReleases(of, count))
		}
	}
	week := func(r ReleaseStatus) string { return reportsThisWeek(r.Week) }
	older := func(r ReleaseStatus) string {
		if r.Week == 0 {
			return ""
		}
		return reportsThisWeek(r.Week) + " from older versions"
	}
	none := func(ReleaseStatus) string { return "" }
	is := func(word StateWord) []ReleaseStatus {
		return Pick(s.Releases, func(r ReleaseStatus) bool { return r.Word == word && !r.Ended })
	}
	again := is(StateRegression)
	add(again, "seen again after the fix in", week)
	add(is(StateFixed), "fixed in", older)
	for _, word := range trackerWords(is(StateClosed)) {
		closedAs := func(r ReleaseStatus) bool { return r.Tracker == word }
		add(Pick(is(StateClosed), closedAs), "closed as "+word+" for", week)
	}
	add(is(StateGone), "probably fixed in", none)
	open := "open in"
	if len(parts) > 0 {
		open = "still open in"
	}
	add(is(StateOpen), open, week)
	text := strings.Join(parts, "; ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func trackerWords(of []ReleaseStatus) []string {
	var words []string
	for _, r := range of {
		if !slices.Contains(words, r.Tracker) {
			words = append(words, r.Tracker)
		}
	}
	return words
}

// listReleases names releases, each followed by the remark that count returns, if any. Consecutive
// releases with equal remarks share one: "24.04 (2 reports this week), 26.04 and 22.04 (no report
// this week)".
func listReleases(of []ReleaseStatus, count func(ReleaseStatus) string) string {
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b ReleaseStatus) int { return cmp.Compare(min(b.Week, 1), min(a.Week, 1)) })
	var names []string
	for i, r := range of {
		name, last := r.Release.Short(), i == len(of)-1
		if i == maxNamedReleases && len(of) > maxNamedReleases+1 {
			name, last = fmt.Sprintf("%d other releases", len(of)-i), true
			for _, other := range of[i+1:] {
				r.Week += other.Week
			}
		}
		if words := count(r); words != "" && (r.Week > 0 || last) {
			name += " (" + words + ")"
		}
		if names = append(names, name); last {
			break
		}
	}
	return JoinAnd(names)
}

// JoinAnd joins words for a sentence: "a, b and c".
func JoinAnd(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func reportsThisWeek(n int64) string {
	switch n {
	case 0:
		return "no report this week"
	case 1:
		return "1 report this week"
	}
	return fmt.Sprintf("%d reports this week", n)
}

// Text describes the status in the release, without its name: "fixed in 1.4-2, seen up to 1.4-1".
func (r ReleaseStatus) Text() string {
	text := r.Verdict()
	if r.Reports > 0 {
		if r.Week == 0 && !r.Last.IsZero() {
			text += "; last report on " + dayText(r.Last)
		} else {
			text += "; " + reportsThisWeek(r.Week)
		}
	}
	if r.Ended {
		text += "; the release is at the end of its life"
	}
	return text
}

// Verdict describes the status in the release, without the name of the release and without
// numbers of reports: "fixed in 1.4-2, seen up to 1.4-1".
func (r ReleaseStatus) Verdict() string {
	switch {
	case r.Word == StateRegression:
		return r.fixText() + ", seen again in " + r.AgainAt
	case r.Word == StateFixed && r.Highest == "":
		return r.fixText()
	case r.Word == StateFixed:
		return r.fixText() + ", seen up to " + r.Highest
	case r.Word == StateClosed:
		return "the bug was closed as " + r.Tracker
	case r.Word == StateGone:
		return "seen up to " + r.Highest + "; " + r.Newer + " is in use without it since " + dayText(r.NewerSince)
	case r.Unclear:
		return "the bug is closed with a fix, but the reports do not say whether they come from a version with it"
	case r.Highest == "":
		return "seen in an unknown version"
	case r.NewerFree():
		return "seen up to " + r.Highest + ", not in " + r.Newer
	case r.Newer != "":
		return "seen up to " + r.Highest + "; too few reports of " + r.Newer + " to tell (" + r.lacking() + ")"
	}
	return "seen in " + r.Highest + ", the newest version in use"
}

func (r ReleaseStatus) fixText() string {
	switch {
	case r.Fix != "":
		return "fixed in " + r.Fix
	case r.FixAfter != "":
		return "fixed after " + r.FixAfter + " (the newest version here when the bug was closed)"
	}
	return "fixed in a version that the tracker does not name"
}

func dayText(t time.Time) string { return t.UTC().Format("2 January 2006") }

// HealthStatus is the result of a health check. The zero value is not valid.
type HealthStatus string

// The results of a health check, in order of severity.
const (
	HealthOff     HealthStatus = "off" // turned off, as configured
	HealthOK      HealthStatus = "ok"
	HealthWarning HealthStatus = "warning" // it works, but a person should look at it
	HealthFailure HealthStatus = "failure" // a part of mishap does not work
)

// HealthCheck is the result of one health check.
type HealthCheck struct {
	ID      string // in metrics and for programs: "counting"
	Name    string // for people: "Counting"
	Problem string // one sentence that anyone may read; empty: healthy
	Warning bool   // the problem is only a warning
	Off     bool   // without a problem: it is turned off, as configured
	Detail  string // for admins and operators only; may be empty
	Remedy  string // what an operator can do about the problem: "restart PostgreSQL"
	Link    string // the page where an admin can do so: "/admin/tracker"; may be empty
}

// Status returns how severe the problem is.
func (c HealthCheck) Status() HealthStatus {
	switch {
	case c.Problem == "" && c.Off:
		return HealthOff
	case c.Problem == "":
		return HealthOK
	case c.Warning:
		return HealthWarning
	}
	return HealthFailure
}

// Difference is a stored count that differs from a recount of the stored reports.
type Difference struct {
	Count     string // name of the count: "reports of a problem by day"
	Of        string // what it counts, for people: "9f3ac1… 2026-11-20 Ubuntu 24.04 1.0-1 amd64"
	Stored    string // the stored value, or empty if there is none
	Recounted string // the recounted value; empty: none
}

// CheckScope says how much a check recounts.
type CheckScope struct {
	Buckets int // number of buckets, drawn at random, with a tenth as many days; 0: everything
	Seed    int64
	Most    int // largest number of examples for one kind of difference; at least 1
}

// CheckResult is the result of a check.
type CheckResult struct {
	Buckets, Reports, Counts int64 // numbers of rows checked
	Found                    int64 // number of differences
	Differences              []Difference

	// Dropped is the last month whose reports were deleted, "2025-11". Counts of reports up to then
	// can only be too low.
	Dropped string
	// Expired is the first day whose counts by day have not expired, "2024-11-01". Empty: none have.
	Expired string
}

// Backup is a complete backup of the database.
type Backup struct {
	Taken   time.Time // zero: there is none
	Place   string
	Bytes   int64
	Reports int64
}

// Verification is the result of restoring a backup for a test.
type Verification struct {
	Ended   time.Time // zero: there was none
	Place   string    // of the backup
	Problem string    // why the backup is not good; empty: it is
}

// Backups are facts about the backups of a site.
type Backups struct {
	Installed    time.Time // when the database was created
	Last         Backup    // the last complete one
	Verification           // the last one
}
