package crash

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mishap/crash/dpkg"
)

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
	return (f.Release == "" || f.Release == release) && dpkg.Valid(version) && dpkg.Compare(version, f.Version) >= 0
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

func checkVersion(release Release, version string) error {
	if _, ok := CleanLine(version, maxTriageText); !ok || !dpkg.Valid(version) {
		return Errorf(Invalid, "bad_version", "%.40q is not a version that dpkg accepts, such as 1:2.4-1ubuntu3.", version)
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
