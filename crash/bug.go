package crash

import (
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mishap/crash/version"
)

// BugPlace says where a bug is: in which tracker, and in which of its projects if they number their bugs.
type BugPlace struct {
	Tracker  string // name of the tracker in the configuration: "gnome"
	Project  string // "GNOME/mutter"; empty: the tracker numbers all its bugs
	Upstream bool   // bugs of upstream projects live there, besides those of the distribution
}

// FirstTracker is the name of the tracker that the keys tracker_… of the configuration describe.
const FirstTracker = "launchpad"

// placeShift is the first bit of the place in the number of a bug. Numbers of trackers are far below 2^40, and the
// largest place, 8191, keeps numbers exact in JavaScript.
const placeShift = 40

// MaxPlace is the largest number of a place.
const MaxPlace = 1<<(53-placeShift) - 1

// NumberAt returns the number by which mishap knows a bug: its number in the tracker, and the place above it. In
// place 0, the first tracker, both are the same.
func NumberAt(place int, number int64) int64 { return int64(place)<<placeShift | number }

// PlaceOf returns the place of a bug.
func PlaceOf(number int64) int { return int(number >> placeShift) }

// NumberInTracker returns the number that the tracker gave to a bug.
func NumberInTracker(number int64) int64 { return number & (1<<placeShift - 1) }

// BugText returns the number that the tracker gave to a bug, as a text.
func BugText(number int64) string { return strconv.FormatInt(NumberInTracker(number), 10) }

// Bug is a bug in an external tracker, with what mishap knows about it.
type Bug struct {
	Number int64 // with the place; see NumberAt
	Place  BugPlace
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

// Text returns what people call the bug: its number, after the name of the project or tracker if it is not in the
// first tracker: "2101233", "mutter#12", "debian#1012345".
func (b Bug) Text() string {
	if b.Place.Tracker == "" || b.Place.Tracker == FirstTracker {
		return BugText(b.Number)
	}
	name := b.Place.Tracker
	if b.Place.Project != "" {
		name = path.Base(b.Place.Project)
	}
	return name + "#" + BugText(b.Number)
}

// OtherText returns what people call another bug of the same tracker, such as the one that this duplicates.
func (b Bug) OtherText(number int64) string {
	if PlaceOf(number) != PlaceOf(b.Number) {
		return BugText(number)
	}
	return Bug{Number: number, Place: b.Place}.Text()
}

// LinkHow says how a bug was linked to a bucket.
type LinkHow string

// The ways in which a bug is linked.
const (
	Filed  LinkHow = "filed"  // by mishap
	Linked LinkHow = "linked" // by hand
)

// FilingState is the state of a filing; docs/filing.md describes the states.
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

// FilingStates lists all states of filings.
var FilingStates = []FilingState{FilingQueued, FilingSending, FilingUncertain, FilingFiled, FilingRefused,
	FilingAbandoned}

// Intent is a bug that a person wants to file: everything that mishap will send, fixed when they
// press Create.
type Intent struct {
	Bucket      BucketID
	Person      string // name of the account that pressed Create
	Tracker     string // name of the tracker in the configuration
	Project     string // whose bugs have their own numbers; empty: the tracker numbers all its bugs
	Target      string // what the bug is filed against, in the tracker's form: "/ubuntu/+source/tidewatch"
	Upstream    bool   // it is for the upstream project, besides the distribution's bug
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

// PlainlyClosed is the status of a complete task of a tracker that does not say whether there is a fix.
const PlainlyClosed = "Closed"

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
	UpdateAgain UpdateKind = "again" // a fixed bug is seen again
	UpdateNames UpdateKind = "names" // the functions of a crash have names since its bug was filed
	UpdateQuiet UpdateKind = "quiet" // an open bug is no longer reported
	// UpdateForwarded names the upstream project's bug in the distribution's, or the other way round.
	UpdateForwarded UpdateKind = "forwarded"
	UpdateSection   UpdateKind = "section" // the section in the description
)

// ForwardedBug is a pair of bugs of one problem that may not name each other yet.
type ForwardedBug struct {
	Bucket       BucketID
	Distribution int64 // number of the distribution's bug
	Upstream     int64 // number of the upstream project's bug
	Named        bool  // the distribution's bug got the address of the other one
	NamedBack    bool  // the upstream bug did
}

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
	About   string // version (UpdateAgain), UTC day of the last report (UpdateQuiet) or other bug (UpdateForwarded)
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
	slices.SortFunc(versions, version.Dpkg.Compare)
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
		name, text, ok := strings.Cut(w.Key, " ")
		return ok && validArchiveName(name) && len(text) <= 128 && version.Dpkg.Valid(text)
	case ArchiveSet:
		series, name, ok := strings.Cut(w.Key, "/")
		return ok && validArchiveName(series) && validArchiveName(name)
	}
	return false
}

// BugImport is a link between a signature and a bug that another crash tracker knows.
type BugImport struct {
	Signature string
	Bug       Bug // its number and address
}

// ImportFate is what importing a link does.
type ImportFate string

// The fates of imported links.
const (
	ImportLinks   ImportFate = "link"     // it links the problem to the bug
	ImportWaits   ImportFate = "wait"     // the problem has no report yet: its first one links it
	ImportKnown   ImportFate = "known"    // nothing: the link exists
	ImportRemoved ImportFate = "unlinked" // nothing: a person has removed the link
)

// FilingStep is the next step of a filing.
type FilingStep string

// The steps of a filing.
const (
	StepNone   FilingStep = ""       // nothing to do now: it is final, not due yet, or claimed by another worker
	StepCreate FilingStep = "create" // send it to the tracker
	StepSearch FilingStep = "search" // search the tracker for it
)

// FilingTerms are the times after which a tracker can no longer be processing a request, and how many bugs it gets.
type FilingTerms struct {
	Sending time.Duration // from the claim until the request is fully written, at most
	Answer  time.Duration // largest wait for an answer
	Settle  time.Duration // from the last possible moment of sending until the tracker is searched

	PerMinute, PerDay int // bugs that may be sent; 0: any number
}

// FilingClaim is a filing with the step that only the caller may now do.
type FilingClaim struct {
	Filing
	Step     FilingStep
	Entry    int64     // the ledger entry that receives the outcome
	SentFrom time.Time // earliest time at which a request may have been sent: where a search starts
	SentLast time.Time // with StepSearch: when it was sent last
	Senders  []string  // with StepSearch: the own accounts of people that have sent it
}

// FilingResult is the outcome of a claimed step.
type FilingResult struct {
	Claim   FilingClaim
	State   FilingState   // the new state
	Bug     Bug           // with FilingFiled
	Delay   time.Duration // with FilingQueued: time until the retry
	Problem string        // as in Filing
	Reason  string
	Answer  TrackerAnswer
	Pause   time.Duration // after sending: pause before the next filing in the queue is sent
	Stop    time.Duration // after sending: time for which the tracker wants no further bug; 0: none

	Own       OwnAccount // the person's own account that did the step; zero: the application's
	Fallback  string     // why the application's account takes over, because the tracker rejected Own; empty: it does not
	Unsettled bool       // with FilingRefused: the outcome is unknown, and the tracker is searched before a retry
}

// TrackerAnswer is what the ledger stores about one call to the tracker.
type TrackerAnswer struct {
	Outcome   string // one word for the outcome: "created", "refused", "unknown"
	Status    int    // HTTP status; 0: no answer
	RequestID string // the tracker's id of an error, to quote to its administrators
	Message   string // message of the tracker or the network, cleaned and truncated
}

// FilingTotals counts filings, for monitoring.
type FilingTotals struct {
	States map[FilingState]int64
	Oldest time.Time // when the oldest open filing was requested; zero: none is open
	Parked int64     // open filings that wait until the tracker accepts our credentials

	OwnAccounts int64 // people who file with their own accounts at the tracker
	OwnBroken   int64 // those of them whose accounts the tracker rejects
}

// WaitingFilings are the open filings of a tracker.
type WaitingFilings struct {
	Open   int64
	Held   int64  // of these, those that a problem delays
	Reason string // of the last one that a problem has delayed, for people
}

// NextFiling is the filing at the head of the queue.
type NextFiling struct {
	Filing int64         // 0: none is queued, or one is being sent
	In     time.Duration // pause before it may be sent
}

// NoFiling says, in a sentence, why no bug can be filed for the bucket. It returns "" if one can.
// It does not check whether the bucket already has a bug.
func (b Bucket) NoFiling() string {
	switch {
	case strings.HasPrefix(b.Signature, "failed:"):
		return "This crash has no function names, so a bug would not say what went wrong."
	case b.SourcePackage == "":
		return "The source package is unknown, so there is nothing to file the bug against."
	}
	return ""
}

// Subscription is a pending request to subscribe a person to a bug that they filed.
type Subscription struct {
	Filing  int64
	Bug     int64
	Account string // the person's name at the tracker
	Entry   int64  // the ledger entry that receives the outcome
	User    int64  // the person's id
	As      string // name of the person's own account that made the call; empty: the application's account
	Private bool   // the bug is private, so that only the account that filed it may see it
}

// Restored describes a database that was restored from a backup and not compared with the tracker
// since. The zero value stands for any other database.
type Restored struct {
	At          time.Time
	BackupTaken time.Time
}

// Problem returns the error that says why nothing is sent.
func (r Restored) Problem() *Error {
	return Errorf(Unavailable, "restored", "The database was restored from a backup of %s. To send nothing twice, "+
		"mishap sends nothing until an administrator has run: mishap filings reconcile --apply",
		r.BackupTaken.UTC().Format("2006-01-02 15:04 UTC"))
}

// HeldItem is something that waits in a restored database.
type HeldItem struct {
	Kind      string // mail, notice (that may become a mail), delivery or filing
	ID        string
	Recipient string // person or endpoint; of a filing, who asked for it
	About     string
	Since     time.Time
	InBackup  bool // the backup contains it, so that it was probably sent before the restore
}

// InformationType says who can see a bug in the tracker.
type InformationType string

// The information types that people can choose when they file a bug.
const (
	InformationDefault InformationType = ""                 // the tracker's default; for a distribution, Public
	InformationPublic  InformationType = "Public"           // visible to everyone
	InformationPrivate InformationType = "Private Security" // visible to the security team and subscribers
)

// Private reports whether the bug is hidden from the public.
func (t InformationType) Private() bool { return t == InformationPrivate }

// Draft is a bug that a person edits before filing it.
type Draft struct {
	Title          string
	Description    string
	Tags           []string
	Package        string // source package to file against
	OnDistribution bool   // file against the distribution as a whole; Package stays, in case the person changes their mind
	Information    InformationType
	Subscribe      bool // the person wants mail from the tracker about it
}

// DraftField is the name of a draft's field in forms.
type DraftField string

// The fields of a draft.
const (
	DraftTitle       DraftField = "title"
	DraftDescription DraftField = "description"
	DraftTags        DraftField = "tags"
	DraftTarget      DraftField = "target"
	DraftPackage     DraftField = "package"
	DraftInformation DraftField = "information_type"
	DraftSubscribe   DraftField = "subscribe"
)

// DraftProblems maps each invalid field of a draft to a sentence that says why.
type DraftProblems map[DraftField]string

// ReadTags parses tags separated by blanks or commas, without duplicates.
func ReadTags(s string) []string {
	var tags []string
	for _, tag := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// NoDraft says, in a sentence, why no bug can be filed for the bucket even if a person chooses the
// source package. It returns "" if one can.
func (b Bucket) NoDraft() string {
	b.SourcePackage = "any"
	return b.NoFiling()
}

// BugTemplate is the text of bugs for a source package, a problem type, or both. The most specific
// template applies: for a package and a type, then for a package, for a type, for all.
type BugTemplate struct {
	Tracker     string // name of the tracker; empty: all
	Package     string // source package; empty: all
	ProblemType string // empty: all
	Body        string // empty: the shipped text
	By          string // who changed it last
	Changed     time.Time
}

// LedgerFilter selects filings of the ledger, which lists the latest intent first.
type LedgerFilter struct {
	State  FilingState  // empty: all
	Bucket BucketID     // zero: all
	ID     int64        // 0: all
	After  LedgerCursor // zero: from the beginning
	Limit  int
}

// LedgerCursor is a position in the ledger: after the filing that was requested at this time.
type LedgerCursor struct {
	Created time.Time
	ID      int64
}

// LedgerEntry is a filing with its complete history.
type LedgerEntry struct {
	Filing
	Heading string // title of the bucket, or its signature
	Package string
	Linked  int64 // the bug that the bucket has now, however it was linked; 0: none
	Lines   []LedgerLine
	Left    int // number of older lines that are omitted
}

// LedgerLine is one event of a filing: a call to the tracker, or an action of a person or mishap.
type LedgerLine struct {
	At        time.Time
	Ended     time.Time     // of a call; zero: it is in progress, or its instance has died
	Call      string        // "create", "search", "subscribe"; empty: not a call
	Action    string        // of any other event: "bug.create", "bug.filed", "bug.give-up"
	Person    string        // who did it; empty: mishap
	Account   string        // of a call: name at the tracker of the person's own account; empty: the application's
	Outcome   string        // of a call; see TrackerAnswer
	Status    int           // HTTP status; 0: no answer
	RequestID string        // the tracker's id of an error
	Text      string        // message of the tracker, or a person's reason
	Bug       int64         // number of the bug that the line is about; 0: none
	Took      time.Duration // of a call that has ended
}

// Secret is text that is never printed: every format shows a placeholder. string(s) returns the
// text itself.
type Secret string

const hiddenSecret = "[secret]"

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hiddenSecret
}

// Format writes the placeholder for every verb of package fmt, including %x, %q and %#v.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue returns the placeholder, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes the placeholder.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// AccessToken allows mishap to act for an account of the tracker.
type AccessToken struct {
	Token   string // its public part
	Secret  Secret
	Context string // what it is limited to, as the tracker said ("None": unlimited)
}

// IsZero reports whether there is no token.
func (t AccessToken) IsZero() bool { return t.Token == "" }

// Connection is the state of this installation's connection to the tracker.
type Connection struct {
	Source  ConnectionSource
	Token   string    // public half of the access token
	Context string    // what the token is limited to; "None": unlimited; empty: unknown
	Person  string    // who connected; empty: it came from the configuration
	Since   time.Time // when; zero: unknown
	TokenHealth
}

// ConnectionSource says where the access token in use comes from.
type ConnectionSource string

// The sources, in order of precedence.
const (
	FromConfiguration ConnectionSource = "configuration" // the file or the environment of this instance
	FromDatabase      ConnectionSource = "database"      // cached for all instances
	NotConnected      ConnectionSource = ""
)

// TrackerKey identifies credentials: those of one consumer at one tracker.
type TrackerKey struct {
	URL, ConsumerKey string
}

// SavedToken is an access token that the database caches for all instances. Its Token is empty if
// there is none.
type SavedToken struct {
	AccessToken
	Person    string // who connected; empty: it came from the configuration
	Connected time.Time
}

// OwnAccount is the connection of a person to their own account of the tracker, without its secret.
type OwnAccount struct {
	User      int64 // id of the person; 0: not connected
	Token     string
	Context   string // what the token is limited to; "None": unlimited; empty: unknown
	Connected time.Time
	Preferred bool // the person's bugs are filed with it unless they choose otherwise
	Enabled   bool // the person may sign in to mishap
	TokenHealth
}

// Unusable returns why bugs cannot be filed with the account, or an empty string if they can.
func (a OwnAccount) Unusable() string {
	switch {
	case a.User == 0:
		return "The person's own account is not connected."
	case !a.Enabled:
		return "The person's account at mishap is disabled."
	case a.Dead:
		return "The tracker rejected the person's own account (" + a.LastError + ")."
	case a.Account == "":
		return "The name of the person's own account could not be read from the tracker."
	}
	return ""
}

// TokenHealth records whether the tracker accepts an access token.
type TokenHealth struct {
	Account     string    // name of the account at the tracker; empty: unknown
	LastSuccess time.Time // zero: never
	LastError   string
	LastErrorAt time.Time
	Dead        bool // the tracker rejected the token
}

// TrackerState says what of the tracker matters on every page to people who file bugs.
type TrackerState struct {
	Restored    Restored
	OwnRejected bool  // the tracker rejected the person's own account
	Connected   bool  // this instance has an access token
	Rejected    bool  // the tracker rejected it
	Waiting     int64 // bugs that wait to be filed
}
