package crash

import (
	"path"
	"slices"
	"strings"
	"time"

	"mishap/crash/dpkg"
)

// Bug is a bug in the external tracker, with what mishap knows about it.
type Bug struct {
	Number int64
	Title  string
	URL    string // address of its page for people
	How    LinkHow
	By     string // name of the person who filed or linked it
	At     time.Time
	State  BugState  // what the tracker said about it
	Master *BugState // state of the bug that it duplicates; nil: it is not a duplicate

	MasterURL string // page of the bug that it duplicates

	// What mishap has written to the bug by itself. Only the list of a problem's bugs has them.
	Updates []BugUpdate // comments, newest first
	Section *BugSection // nil: not read
}

// LinkHow says how a bug was linked to a bucket.
type LinkHow string

// The ways in which a bug is linked.
const (
	Filed  LinkHow = "filed"  // by mishap
	Linked LinkHow = "linked" // by hand
)

// FilingState is the state of a filing; docs/filing.md draws the state machine.
type FilingState string

// The filing states. Filed, Refused and Abandoned are final, but a person may retry a filing that
// was refused or abandoned.
const (
	FilingQueued    FilingState = "queued"    // the intent is stored; nothing has been sent
	FilingSending   FilingState = "filing"    // a worker has claimed it; the tracker may have the request
	FilingUncertain FilingState = "uncertain" // the outcome is unknown; the tracker will be searched
	FilingFiled     FilingState = "filed"     // the bug number is known
	FilingRefused   FilingState = "refused"   // the tracker refused; Reason has its message
	FilingAbandoned FilingState = "abandoned" // a person gave up; Reason says why
)

// Intent is a bug that a person wants to file: everything that mishap will send, fixed when they
// press Create.
type Intent struct {
	Bucket      BucketID
	Person      string // name of the account that pressed Create
	Target      string // path below the API root: "/ubuntu/+source/tidewatch"
	Title       string // one line, at most 200 characters
	Description string // at most 50,000 characters; contains Marker
	Tags        []string
	Marker      string // permanent problem address, by which a search finds the bug

	Edited          bool            // a person has edited the text; a retry does not replace it
	InformationType InformationType // who can see the bug
	Subscribe       bool            // Person wants mail from the tracker about it
	Own             int64           // id of the user whose own account at the tracker files it; 0: the application's
}

// Filing is an intent and the progress of filing it.
type Filing struct {
	Intent
	ID        int64
	State     FilingState
	Bug       int64  // number, when filed
	Problem   string // code of the last error ("tracker_credentials"); empty: none
	Reason    string // the same as a sentence: why it was refused, or why it waits
	Attempts  int    // number of times it was sent, or may have been
	Created   time.Time
	Updated   time.Time
	NotBefore time.Time // when the next step is due

	SentBy   int64  // id of the user with whose own account it was sent last; 0: the application's, or never
	SentAs   string // name of that account at the tracker; empty: the application's, or never
	Fallback string // why the application's account files it instead of the person's own; empty: it does not
}

// Renewable reports whether a person may retry the filing with new contents: it was refused or
// abandoned, or it is waiting for a retry.
func (f Filing) Renewable() bool {
	return f.State == FilingRefused || f.State == FilingAbandoned || f.State == FilingQueued && f.Problem != ""
}

// NamedBug is a bug that was filed before the functions of its problem had names.
type NamedBug struct {
	Number int64
	Bucket Bucket // with the names
}

// FoundBug is a bug that a search of the tracker returned, for a person to judge.
type FoundBug struct {
	Number int64
	Title  string   // one line
	Status string   // the tracker's term
	Closed bool     // no more work will be done, for whatever reason
	Fixed  string   // day on which a fix was released, "2026-03-02"; empty: none
	Fixes  []BugFix // package versions with the fix, where the tracker says so
	URL    string   // page for people
}

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

// Pick returns those of all for which ok returns true.
func Pick[T any](all []T, ok func(T) bool) []T {
	var out []T
	for _, one := range all {
		if ok(one) {
			out = append(out, one)
		}
	}
	return out
}

// SourcePackage returns the distribution's source package that the task is about, or "" if it is
// about anything else.
func (t BugTask) SourcePackage() string {
	if p := t.path(); len(p) >= 3 && p[len(p)-2] == "+source" {
		return p[len(p)-1]
	}
	return ""
}

// Distribution returns the distribution whose source package the task is about, or "" if it is
// about anything else.
func (t BugTask) Distribution() string {
	if t.SourcePackage() == "" {
		return ""
	}
	return t.path()[0]
}

// Series returns the series that the task is about, or "" if it is about every series.
func (t BugTask) Series() string {
	if p := t.path(); len(p) == 4 && p[2] == "+source" || len(p) == 2 {
		return p[1]
	}
	return ""
}

func (t BugTask) path() []string { return strings.Split(strings.Trim(t.Target, "/"), "/") }

// UpdateKind is a kind of text that mishap writes in the tracker by itself.
type UpdateKind string

// Kinds of updates. All but UpdateSection are comments.
const (
	UpdateAgain   UpdateKind = "again"   // a fixed bug is seen again
	UpdateNames   UpdateKind = "names"   // the functions of a crash have names since its bug was filed
	UpdateQuiet   UpdateKind = "quiet"   // an open bug is no longer reported
	UpdateSection UpdateKind = "section" // the section in the description
)

// UpdatePolicy says which updates mishap sends to bugs of some source packages.
type UpdatePolicy struct {
	Pattern    string // name of a source package, in which "*" stands for any characters
	Again      bool   // comments of kind UpdateAgain and UpdateNames
	Quiet      bool
	QuietWeeks int // weeks without a report before a comment of kind UpdateQuiet
	Section    bool
	Person     string    // who changed the rule; empty: nobody has
	Changed    time.Time // zero: never
}

// EveryPackage is the pattern of the rule that applies to packages without another one.
const EveryPackage = "*"

// The default and the range of UpdatePolicy.QuietWeeks.
const (
	DefaultQuietWeeks = 12
	MaxQuietWeeks     = 260
)

// UpdatePolicies are all rules, in order. The last one has the pattern EveryPackage.
type UpdatePolicies []UpdatePolicy

// For returns the first rule that matches a source package. The name is empty if it is unknown.
func (rules UpdatePolicies) For(source string) UpdatePolicy {
	for _, r := range rules {
		if ok, err := path.Match(r.Pattern, source); ok && err == nil {
			return r
		}
	}
	return UpdatePolicy{Pattern: EveryPackage, QuietWeeks: DefaultQuietWeeks}
}

// Any reports whether some rule has a property.
func (rules UpdatePolicies) Any(has func(UpdatePolicy) bool) bool {
	return slices.ContainsFunc(rules, has)
}

// BugUpdate is a comment that mishap has sent by itself.
type BugUpdate struct {
	Kind    UpdateKind
	About   string // the version (UpdateAgain) or the UTC day of the last report (UpdateQuiet)
	At      time.Time
	Outcome string // "sending", "sent", "refused" or "unknown"
	Answer  string // message of the tracker or of the network; empty: none
}

// SectionStop says why mishap no longer updates the section of a bug.
type SectionStop string

// Reasons to stop.
const (
	SectionActive  SectionStop = ""        // it goes on
	SectionChanged SectionStop = "changed" // someone changed the section
	SectionRemoved SectionStop = "removed" // someone removed it
	SectionForeign SectionStop = "foreign" // the description has a section that this database does not know
)

// BugSection is the section that mishap updates in the description of a bug.
type BugSection struct {
	Number    int64
	Known     bool         // an update was considered before
	Filed     string       // if not Known: the description that mishap filed the bug with, or empty
	FiledAt   time.Time    // when it was filed
	Hashes    []string     // of texts that mishap sent and that may be in the description
	Facts     SectionFacts // in the text that was written last
	Pending   SectionFacts // in the text whose outcome is unknown; zero: there is none
	Replace   bool         // a person asked for the section again, whatever the description has now
	Attempt   int64        // number of texts that were sent
	Written   time.Time    // when the tracker last confirmed a text; zero: never
	Stopped   SectionStop
	StoppedAt time.Time
	Problem   string // why the last attempt failed; empty: it did not
}

// DueSection is a bug whose section is due to be considered.
type DueSection struct {
	Number        int64
	SourcePackage string // of its most frequent problem
	Closed        bool   // the section is updated once more
}

// SectionFacts are the facts in a section that decide whether an update is worthwhile.
type SectionFacts struct {
	Reports int64  `json:"reports"`
	Last    string `json:"last"`  // UTC day of the newest report
	Shape   string `json:"shape"` // hash of everything but numbers and days
}

// Worth reports whether facts differ enough from those that were written last. An update mails the
// subscribers of the bug, so neither one more report nor one more day is worth one.
func (f SectionFacts) Worth(written SectionFacts) bool {
	if f.Shape != written.Shape || f.Reports < written.Reports {
		return true
	}
	if 4*(f.Reports-written.Reports) >= max(written.Reports, 4) {
		return true
	}
	now, err1 := time.Parse(time.DateOnly, f.Last)
	then, err2 := time.Parse(time.DateOnly, written.Last)
	return err1 == nil && err2 == nil && now.Sub(then) >= 7*24*time.Hour
}

// QuietBug is an open bug for which no comment of kind UpdateQuiet has been sent since the last
// report.
type QuietBug struct {
	Number        int64
	SourcePackage string                // of its most frequent problem
	Last          map[Release]time.Time // time of the newest report in each release
	Commented     time.Time             // when the last such comment was sent; zero: never
}

// LastSupported returns the time of the newest report from a supported release, or from any if none
// of them is supported on that day.
func (q QuietBug) LastSupported(day time.Time) (last time.Time) {
	var ended time.Time
	for release, at := range q.Last {
		if release.EndOfLifeOn(day) {
			ended = Later(ended, at)
		} else {
			last = Later(last, at)
		}
	}
	if last.IsZero() {
		return ended
	}
	return last
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ArchiveKind is the kind of object in the distribution's archive that a fact describes.
type ArchiveKind string

// The kinds of archive facts, each with the form of its keys.
const (
	ArchiveSource  ArchiveKind = "source"  // key: name of a source package; fact: where it is published now
	ArchiveBinary  ArchiveKind = "binary"  // key: name of a binary package; fact: where it is published now
	ArchiveVersion ArchiveKind = "version" // key: source package, blank, version; fact: where it was ever published
	ArchiveSet     ArchiveKind = "set"     // key: series codename, slash, package set; fact: its source packages
	ArchivePerson  ArchiveKind = "person"  // key: name of a person or team; fact: source packages subscribed to
)

// ArchiveWant names one archive fact that a caller asks for.
type ArchiveWant struct {
	Kind ArchiveKind
	Key  string
}

// Publication is one version of a package, published in one pocket of one series.
type Publication struct {
	Series       string `json:"series"` // codename: "noble"
	Pocket       string `json:"pocket"` // Release, Security, Updates, Proposed, Backports
	Version      string `json:"version"`
	Source       string `json:"source,omitempty"`       // of a binary package: its source package
	Architecture string `json:"architecture,omitempty"` // of a binary package: "amd64"
}

// ArchiveFact is what the tracker's archive said about one object.
type ArchiveFact struct {
	ArchiveWant
	Read         time.Time     // when the tracker was asked; zero: not yet
	Exists       bool          // false with a Read: the tracker has no such object
	Publications []Publication // of packages, in no particular order
	Names        []string      // of sets and people: source packages, sorted
}

// Known reports whether the tracker has answered.
func (f ArchiveFact) Known() bool { return !f.Read.IsZero() }

// In returns the publications in one series. If pockets are given, it returns only those in these
// pockets.
func (f ArchiveFact) In(series string, pockets ...string) []Publication {
	return Pick(f.Publications, func(p Publication) bool {
		return p.Series == series && (len(pockets) == 0 || slices.Contains(pockets, p.Pocket))
	})
}

// Versions returns the distinct versions of the publications, in dpkg's order.
func Versions(publications []Publication) []string {
	var versions []string
	for _, p := range publications {
		versions = append(versions, p.Version)
	}
	slices.SortFunc(versions, dpkg.Compare)
	return slices.Compact(versions)
}

// PocketOf returns the pocket that contains the version, or "" if none does. If several do, it
// returns the most stable one, by pocketOrder.
func PocketOf(publications []Publication, version string) string {
	best, rank := "", len(pocketOrder)
	for _, p := range publications {
		if r := slices.Index(pocketOrder, p.Pocket); p.Version == version && r >= 0 && r < rank {
			best, rank = p.Pocket, r
		}
	}
	return best
}

// pocketOrder lists the pockets from the most stable to the least stable.
var pocketOrder = []string{"Release", "Security", "Updates", "Proposed", "Backports"}

// validArchiveName reports whether s can be the name of a package, a package set or a person.
func validArchiveName(s string) bool { return len(s) <= maxScopeName && archiveName.MatchString(s) }

// Valid reports whether the key has the form that its kind requires. The tracker is never asked for
// an invalid one.
func (w ArchiveWant) Valid() bool {
	switch w.Kind {
	case ArchiveSource, ArchiveBinary, ArchivePerson:
		return validArchiveName(w.Key)
	case ArchiveVersion:
		name, version, ok := strings.Cut(w.Key, " ")
		return ok && validArchiveName(name) && len(version) <= 128 && dpkg.Valid(version)
	case ArchiveSet:
		series, name, ok := strings.Cut(w.Key, "/")
		return ok && validArchiveName(series) && validArchiveName(name)
	}
	return false
}
