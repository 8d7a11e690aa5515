package crash

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// StateWord is the one word that sums up the status of a problem.
type StateWord string

// The states of problems with a bug.
const (
	StateNone        StateWord = ""            // nothing is known yet
	StateUnknown     StateWord = "unknown"     // the bug has not been read from the tracker yet
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
	StateRegression, StateOpen, StateNew, StateUnfiled, StateDisappeared, StateGone, StateUnknown, StatePrivate,
	StateClosed,
	StateFixed, StateNameless, StateTests,
}

// NewsReason is why a problem is in the list of what is new since a person last looked.
type NewsReason string

// The reasons, in the order of the list.
const (
	NewsAgain     NewsReason = "again"     // seen in a version that has the fix
	NewsNew       NewsReason = "new"       // first seen in the past week
	NewsRising    NewsReason = "rising"    // more reports than in the week before
	NewsUndecided NewsReason = "undecided" // without a bug, an assignee or a decision
)

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
	text := "Newer versions in some releases have not shown it"
	switch len(newer) {
	case 0:
		return ""
	case len(counting):
		text = "The newest versions in use have not shown it"
	}
	if s.tooFew() != "" {
		text += ", but have too few reports to tell"
	}
	return text + "."
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
		add(Pick(is(StateClosed), closedAs), closedWords(word)+" for", week)
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

// closedWords describes how a bug was closed, by the tracker's word.
func closedWords(word string) string {
	if word == PlainlyClosed {
		return "closed (the tracker does not say whether it was fixed)"
	}
	return "closed as " + word
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
		if r.Tracker == PlainlyClosed {
			return "the bug is closed; the tracker does not say whether it was fixed"
		}
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
	Name    string // for people: "Report counts"
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

// MarkKind is what a person, a rule or mishap itself decided about a problem. It stands beside the
// derived status (see [Status]) and never changes it.
type MarkKind string

// The kinds of marks. The first three are decisions about the future of a problem, which everyone
// may know. Embargoes and holds are restrictions: visitors learn nothing of them.
const (
	MarkMuted   MarkKind = "muted"   // lists hide the problem until a condition is met
	MarkWontFix MarkKind = "wontfix" // nobody intends to fix it
	MarkFixed   MarkKind = "fixed"   // it is fixed in a version of one or more releases
	MarkEmbargo MarkKind = "embargo" // only people with the private right for its package may see it
	MarkHold    MarkKind = "hold"    // nothing of its reports and core dumps is removed because of its age
)

// Restricts reports whether marks of this kind restrict what may be seen or removed: embargoes and holds.
func (k MarkKind) Restricts() bool { return k == MarkEmbargo || k == MarkHold }

// Mark is one entry of the manual status of a problem. Entries are never changed or deleted: an
// entry stands until somebody undoes or lifts it, or, if it is a mute, until a condition is met.
type Mark struct {
	ID     int64
	Bucket BucketID // the problem at that time, with all that was merged into it; it may have been merged since
	Kind   MarkKind
	Until  MuteUntil // of a mute; the zero value: until somebody unmutes the problem
	Fixes  []FixedIn // of a fix: one or more
	// Before is, of a fix, how many reports there were from each version with the fix, by release and
	// version, when the entry was made.
	Before map[Release]map[string]int64

	Person   string // account name, or name of the rule; empty: mishap itself, or the command line
	Rule     int64  // number of the rule that set an embargo; 0: none
	Reason   string // one line; may be empty
	At       time.Time
	UndoneBy string
	UndoneAt time.Time // zero: not undone
	EndedAt  time.Time // when a condition of the mute was met, or an entry or a merge replaced it; zero: it was not
	EndedWhy string    // a sentence: which condition was met; empty: none
	Merged   bool      // a merge ended the mute: the problem became part of another one

	// Replaces is only read when an entry is stored: the standing mute that the person has seen and
	// wants to replace; 0: none.
	Replaces int64
	// Confirmed is only read when a fix is stored: the person knows that its versions have been seen.
	Confirmed bool
}

// Stands reports whether the entry was neither undone nor ended.
func (t Mark) Stands() bool { return t.UndoneAt.IsZero() && t.EndedAt.IsZero() }

// Returned reports whether the entry is a mute that ended because a condition was met.
func (t Mark) Returned() bool {
	return t.Kind == MarkMuted && !t.EndedAt.IsZero() && t.EndedWhy != "" && t.UndoneAt.IsZero()
}

// MuteUntil says when a muted problem returns: as soon as any of its conditions is met.
type MuteUntil struct {
	Date     time.Time `json:"date,omitzero"`      // on this UTC day
	Reports  int64     `json:"reports,omitempty"`  // when so many reports have arrived since it was muted
	Machines int64     `json:"machines,omitempty"` // when so many machines have reported it since it was muted
	Days     int       `json:"days,omitempty"`     // Reports and Machines within so many days; 0: in any time
	Version  string    `json:"version,omitempty"`  // when it is seen in this version or a later one
	Release  Release   `json:"release,omitempty"`  // Version in this release only; empty: in any
	// when it is seen in a version later than before, or in another release
	Newer bool `json:"newer,omitempty"`
	// when it is a regression, or seen again in a version marked as fixed
	Regression bool `json:"regression,omitempty"`
}

// Equal reports whether two mutes end under the same conditions.
func (u MuteUntil) Equal(other MuteUntil) bool {
	sameDay := u.Date.Equal(other.Date)
	u.Date, other.Date = time.Time{}, time.Time{}
	return sameDay && u == other
}

// FixedIn is a version with the fix of a problem.
type FixedIn struct {
	Release Release `json:"release,omitempty"` // empty: every release
	Version string  `json:"version"`
}

// Has reports whether a version of a release has the fix.
func (f FixedIn) Has(release Release, version string) bool {
	order := release.VersionOrder()
	return (f.Release == "" || f.Release == release) && order.Valid(version) && order.Valid(f.Version) &&
		order.Compare(version, f.Version) >= 0
}

// The limits of the conditions of a mute.
const (
	MaxMuteReports  = 1_000_000
	MaxMuteMachines = 10_000
	MaxMuteDays     = 365
	maxMuteYears    = 5
	maxFixes        = 20
	maxTriageText   = 200 // code points of a version or release
)

// Check returns an error of kind Invalid, with a sentence for people, if the entry cannot be stored
// at the time now. It does not look at the reports of the problem.
func (t Mark) Check(now time.Time) error {
	if _, ok := CleanLine(t.Reason, MaxReason); !ok {
		return Errorf(Invalid, "bad_reason", "A reason is one line of at most %d characters.", MaxReason)
	}
	switch t.Kind {
	case MarkMuted:
		return t.Until.check(now)
	case MarkFixed:
		return checkFixes(t.Fixes)
	case MarkWontFix, MarkEmbargo, MarkHold:
		return nil
	}
	return Errorf(Invalid, "unknown_triage", "%q is not a manual status; these are muted, wontfix and fixed.", t.Kind)
}

func (u MuteUntil) check(now time.Time) error {
	switch {
	case !u.Date.IsZero() && !u.Date.After(now):
		return Errorf(Invalid, "past_date", "The day %s is not in the future. Choose a later one.",
			u.Date.Format(time.DateOnly))
	case !u.Date.IsZero() && u.Date.After(now.AddDate(maxMuteYears, 0, 0)):
		return Errorf(Invalid, "late_date", "The day %s is more than %d years away. Choose an earlier one, or mute the "+
			"problem until somebody unmutes it.", u.Date.Format(time.DateOnly), maxMuteYears)
	case u.Reports < 0 || u.Reports > MaxMuteReports:
		return Errorf(Invalid, "bad_reports", "The number of reports is between 1 and %d.", MaxMuteReports)
	case u.Machines < 0 || u.Machines > MaxMuteMachines:
		return Errorf(Invalid, "bad_machines", "The number of machines is between 1 and %d.", MaxMuteMachines)
	case u.Days < 0 || u.Days > MaxMuteDays:
		return Errorf(Invalid, "bad_days", "The number of days is between 1 and %d.", MaxMuteDays)
	case u.Days > 0 && u.Reports == 0 && u.Machines == 0:
		return Errorf(Invalid, "only_days",
			"Say how many reports or machines within %d days bring the problem back.", u.Days)
	case u.Release != "" && u.Version == "":
		return Errorf(Invalid, "only_release", "Say which version in %s brings the problem back.", u.Release)
	}
	if u.Version != "" {
		return checkVersion(u.Release, u.Version)
	}
	return nil
}

func checkFixes(fixes []FixedIn) error {
	if len(fixes) == 0 {
		return Errorf(Invalid, "no_version", "Say in which version the problem is fixed.")
	}
	if len(fixes) > maxFixes {
		return Errorf(Invalid, "many_fixes", "At most %d releases can be marked at once.", maxFixes)
	}
	for i, f := range fixes {
		if err := checkVersion(f.Release, f.Version); err != nil {
			return err
		}
		if slices.ContainsFunc(fixes[:i], func(other FixedIn) bool { return other.Release == f.Release }) {
			return Errorf(Invalid, "same_release", "There are two versions for the same release (%s).",
				f.Release.orEvery())
		}
	}
	return nil
}

func checkVersion(release Release, text string) error {
	if err := release.WantVersion(text); err != nil {
		return err
	}
	if _, ok := CleanLine(text, maxTriageText); !ok {
		return Errorf(Invalid, "bad_version", "A version has at most %d characters.", maxTriageText)
	}
	if line, ok := CleanLine(string(release), maxTriageText); !ok || line != string(release) {
		return Errorf(Invalid, "bad_release", "%.40q is not the name of a release, such as Ubuntu 24.04.", string(release))
	}
	return nil
}

// StandingFixes returns the versions with the fix that the standing entries name, the newest
// release first. all is sorted by ID; for each release, the last entry counts.
func StandingFixes(all []Mark) []ManualFix {
	var fixes []ManualFix
	for _, t := range all {
		if t.Kind != MarkFixed || !t.Stands() {
			continue
		}
		for _, f := range t.Fixes {
			fixes = slices.DeleteFunc(fixes, func(old ManualFix) bool { return old.Release == f.Release })
			fixes = append(fixes, ManualFix{FixedIn: f, By: t})
		}
	}
	slices.SortStableFunc(fixes, func(a, b ManualFix) int { return b.Release.Compare(a.Release) })
	return fixes
}

// ManualStatus is the manual status of a problem. Package crash/stats computes it from the entries
// and the reports.
type ManualStatus struct {
	Muted    *Mark       // nil: not muted
	WontFix  *Mark       // nil: not marked so
	Fixes    []ManualFix // newest release first
	Returned *Mark       // the last mute, if its condition was met not long ago and nothing was decided since; else nil
	Embargo  *Mark       // the oldest standing embargo; nil: none
	Hold     *Mark       // the oldest standing hold; nil: none
}

// ManualFix is a version that a person has marked as fixed, and what was seen since.
type ManualFix struct {
	FixedIn
	By      Mark      // the entry
	Again   int64     // reports from that version or later ones, since the entry was made
	AgainIn Release   // the newest release of these reports
	AgainAt string    // the highest version of these reports in that release
	Last    time.Time // UTC day of the last of them
}

// Empty reports whether nothing was decided about the problem.
func (m ManualStatus) Empty() bool {
	return m.Muted == nil && m.WontFix == nil && len(m.Fixes) == 0 && m.Returned == nil && m.Embargo == nil &&
		m.Hold == nil
}

// SeenAgain reports whether the problem is seen in a version that was marked as fixed.
func (m ManualStatus) SeenAgain() bool {
	return slices.ContainsFunc(m.Fixes, func(f ManualFix) bool { return f.Again > 0 })
}

// String describes the end of a mute: "until 1 December 2026 or 50 more reports within 7 days".
func (u MuteUntil) String() string {
	var parts []string
	if !u.Date.IsZero() {
		parts = append(parts, u.Date.UTC().Format("2 January 2006"))
	}
	if u.Reports > 0 {
		parts = append(parts, Counted(u.Reports, "more report", "more reports")+u.inDays())
	}
	if u.Machines > 0 {
		parts = append(parts, Counted(u.Machines, "machine reports it", "machines report it")+u.inDays())
	}
	if u.Version != "" {
		where := ""
		if u.Release != "" {
			where = " (" + string(u.Release) + ")"
		}
		parts = append(parts, "it is seen in "+u.Version+where+" or later")
	}
	if u.Newer {
		parts = append(parts, "it is seen in a newer version")
	}
	if u.Regression {
		parts = append(parts, "it regresses")
	}
	if len(parts) == 0 {
		return "until somebody unmutes it"
	}
	return "until " + strings.Join(parts, " or ")
}

// String describes the version: "1.4-2 (Ubuntu 24.04)".
func (f FixedIn) String() string {
	if f.Release == "" {
		return f.Version
	}
	return f.Version + " (" + string(f.Release) + ")"
}

func (r Release) orEvery() string {
	if r == "" {
		return "every release"
	}
	return string(r)
}

// Text describes the entry: "Muted by anna until it regresses: waits for upstream". Without
// signedIn, it names neither the person nor the reason.
func (t Mark) Text(signedIn bool) string {
	out := ""
	by := ""
	if signedIn && t.Person != "" {
		by = " by " + t.Person
	}
	switch t.Kind {
	case MarkMuted:
		out = "Muted" + by + " " + t.Until.String()
	case MarkWontFix:
		out = "Marked won't fix" + by
	case MarkFixed:
		versions := make([]string, len(t.Fixes))
		for i, f := range t.Fixes {
			versions[i] = f.String()
		}
		out = "Marked fixed in " + strings.Join(versions, ", ") + by
	case MarkEmbargo:
		out = "Embargoed" + by
	case MarkHold:
		out = "Held" + by
	}
	if signedIn && t.Reason != "" {
		out += ": " + t.Reason
	}
	return out
}

// Text describes the fix and what was seen since: "Marked fixed in 1.4-2 (Ubuntu 24.04) by anna;
// seen again in 1.4-3: 12 reports since".
func (f ManualFix) Text(signedIn bool) string {
	one := f.By
	one.Fixes = []FixedIn{f.FixedIn}
	out := one.Text(signedIn)
	if f.Again > 0 {
		out += "; seen again in " + f.SeenAt() + ": " + Counted(f.Again, "report", "reports") + " since"
	}
	return out
}

// SeenAt names the highest version in which the problem was seen again, with its release if the fix
// is for every release.
func (f ManualFix) SeenAt() string {
	if f.Release == "" {
		return FixedIn{f.AgainIn, f.AgainAt}.String()
	}
	return f.AgainAt
}

// Text describes the manual status in sentences. It is empty if nothing was decided.
func (m ManualStatus) Text(signedIn bool) string {
	var parts []string
	if m.Muted != nil {
		parts = append(parts, m.Muted.Text(signedIn)+".")
	}
	if m.WontFix != nil {
		parts = append(parts, m.WontFix.Text(signedIn)+".")
	}
	for _, f := range m.Fixes {
		parts = append(parts, f.Text(signedIn)+".")
	}
	if m.Returned != nil {
		parts = append(parts, m.Returned.ReturnedText())
	}
	return strings.Join(parts, " ")
}

// Words names the decisions for programs: muted, wontfix, fixed-by-hand, and seen-again if a
// problem marked as fixed is still seen. Blanks separate them.
func (m ManualStatus) Words() string {
	var words []string
	if m.Muted != nil {
		words = append(words, "muted")
	}
	if m.WontFix != nil {
		words = append(words, "wontfix")
	}
	if len(m.Fixes) > 0 {
		words = append(words, "fixed-by-hand")
	}
	if m.SeenAgain() {
		words = append(words, "seen-again")
	}
	return strings.Join(words, " ")
}

// ReturnedText says when and why a muted problem returned, such as "Returned on 22 November 2026: 50
// more reports arrived within 7 days.".
func (t Mark) ReturnedText() string {
	return "Returned on " + t.EndedAt.UTC().Format("2 January 2006") + ": " + t.EndedWhy
}

// ReachedDate says that the day of the mute has come.
func (u MuteUntil) ReachedDate() string {
	return "it was muted until " + u.Date.UTC().Format("2 January 2006") + "."
}

// ReachedReports says that enough reports have arrived.
func (u MuteUntil) ReachedReports() string {
	return Counted(u.Reports, "more report", "more reports") + " arrived" + u.inDays() + "."
}

// ReachedMachines says that enough machines have reported the problem.
func (u MuteUntil) ReachedMachines() string {
	return Counted(u.Machines, "machine", "machines") + " reported it" + u.inDays() + "."
}

func (u MuteUntil) inDays() string {
	if u.Days <= 0 {
		return ""
	}
	return " within " + Counted(int64(u.Days), "day", "days")
}

// SeenIn says that the problem was seen in a version.
func SeenIn(release Release, version string) string {
	if version == "" {
		return "it was seen in " + release.orEvery() + "."
	}
	return "it was seen in " + FixedIn{release, version}.String() + "."
}

// Regressed says that the problem was seen in a version that has the fix.
func Regressed(release Release, version string) string {
	if version == "" {
		return "it regressed."
	}
	return "it regressed: seen in " + FixedIn{release, version}.String() + "."
}

// ReturnedDays is the number of days for which pages say that a muted problem has returned.
const ReturnedDays = 30

// RecentlyReturned reports whether the entry is a mute that ended by itself within the past
// ReturnedDays.
func (t Mark) RecentlyReturned(now time.Time) bool {
	since, _ := LastDays(now, ReturnedDays)
	return t.Returned() && !t.EndedAt.Before(since)
}

// Note is a person's note about a problem, with its earlier versions.
type Note struct {
	ID      int64
	Bucket  BucketID // where it was written; the bucket may have been merged since
	Written time.Time
	Person  string     // who wrote it first
	Texts   []NoteText // oldest first; the last is the present text
}

// NoteText is one version of a note. An empty Text means that the note was deleted.
type NoteText struct {
	At     time.Time
	Person string
	Text   string
}

// Text returns the present text, or "" if the note was deleted.
func (n Note) Text() string {
	if len(n.Texts) == 0 {
		return ""
	}
	return n.Texts[len(n.Texts)-1].Text
}

// MaxNote is the largest length of a note, in code points.
const MaxNote = 4000

// CleanNote returns a note as it is stored: with Unix line ends, without leading and trailing
// blanks. It returns an error of kind Invalid if the note is too long or not valid text.
func CleanNote(text string) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || utf8.RuneCountInString(text) > MaxNote {
		return "", Errorf(Invalid, "bad_note", "A note can have at most %d characters.", MaxNote)
	}
	return text, nil
}

// mention matches a name after an at sign, unless the at sign is part of a word, an e-mail address
// or a path. The names have the form of names of accounts.
var mention = regexp.MustCompile(`(?:^|[^\pL\pN._%+@/-])@([\pL\pN](?:[\pL\pN._@+-]{0,62}[\pL\pN])?)`)

const maxMentions = 50

// Mention is a name after an at sign in a text.
type Mention struct {
	Name       string // without the at sign, as typed
	Start, End int    // of the at sign and the name, in bytes
}

// Mentions returns the names after an at sign in a text. Whether there are such accounts is for the
// caller to find out.
func Mentions(text string) []Mention {
	var all []Mention
	for _, at := range mention.FindAllStringSubmatchIndex(text, maxMentions) {
		all = append(all, Mention{Name: text[at[2]:at[3]], Start: at[2] - 1, End: at[3]})
	}
	return all
}

// Assignment is one entry in the history of who takes care of a problem. The newest one that was
// not undone counts.
type Assignment struct {
	ID       int64
	Bucket   BucketID // where it was made; the bucket may have been merged since
	Assignee string   // an account, or "~" and a name at the tracker, as [ParseAssignee] returns it; empty: nobody
	By       string   // name of the account, or of the rule
	At       time.Time
	UndoneBy string
	UndoneAt time.Time // zero: not undone
}

// Stands reports whether the assignment has not been undone.
func (a Assignment) Stands() bool { return a.UndoneAt.IsZero() }

// Assigned says who takes care of a problem.
type Assigned struct {
	Name string // an account, or "~" and a name at the tracker; empty: nobody
	Bug  int64  // number of the bug whose assignee it is; 0: it was assigned in mishap
}

var trackerName = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]{0,79}$`)

const maxAssignee = 64

// ParseAssignee returns the name of an assignee in the form in which it is stored. It accepts the
// name of an account; "~" and a name at the tracker; and the address of a page at the tracker, such
// as https://launchpad.net/~desktop-packages. An empty text means nobody. It does not check whether
// the account exists. Its errors have the kind Invalid.
func ParseAssignee(text string) (string, error) {
	name, ok := CleanLine(text, maxAssignee+len("https://")+100)
	if i := strings.LastIndex(name, "/~"); i >= 0 && strings.HasPrefix(name, "http") {
		name = strings.TrimSuffix(name[i+1:], "/")
	}
	tracker, isTracker := strings.CutPrefix(name, "~")
	if !ok || isTracker && !trackerName.MatchString(tracker) || !isTracker && len([]rune(name)) > maxAssignee ||
		strings.Contains(name, " ") {
		return "", Errorf(Invalid, "bad_assignee", "%.80q is not a name. Enter the name of an account, or ~ and "+
			"the name of a person or team at the tracker, such as ~desktop-packages.", text)
	}
	return name, nil
}

// AssigneeOf returns the assignee of a bug at the tracker, in the form of [ParseAssignee], or "" if
// the tracker names nobody or the bug is private. It prefers tasks for a source package to others,
// and open tasks to complete ones. A duplicate has the assignee of the bug that it duplicates.
func (b Bug) AssigneeOf(source string) string {
	state := b.State
	if state.DuplicateOf != 0 && b.Master != nil {
		state = *b.Master
	}
	if state.Hidden || state.Private || b.State.Hidden || b.State.Private {
		return ""
	}
	tasks := slices.Clone(state.Tasks)
	rank := func(t BugTask) (n int) {
		if t.SourcePackage() == "" || t.SourcePackage() != source {
			n += 2
		}
		if t.Complete {
			n++
		}
		return n
	}
	slices.SortStableFunc(tasks, func(x, y BugTask) int { return rank(x) - rank(y) })
	for _, t := range tasks {
		if t.Assignee != "" {
			return "~" + t.Assignee
		}
	}
	return ""
}

// ProblemTag is a tag that a problem has.
type ProblemTag struct {
	Tag    string
	Person string // who added it: an account, or the name of a rule
	At     time.Time
}

// MaxTags is the largest number of tags of a problem.
const MaxTags = 10

var tagPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]{0,39}$`)

// ParseTag returns a tag in lower case. Its error has the kind Invalid.
func ParseTag(text string) (string, error) {
	tag := strings.ToLower(strings.TrimSpace(text))
	if !tagPattern.MatchString(tag) {
		return "", Errorf(Invalid, "bad_tag", "%.80q is not a tag. A tag has at most 40 letters a–z, digits and .+- and "+
			"begins with a letter or digit.", text)
	}
	return tag, nil
}
