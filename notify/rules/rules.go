// Package rules says what a rule is: which problems it watches, what must happen, and what mishap
// then does. It evaluates conditions on values that package db/events reads, and does no input or
// output.
package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/stats"
)

// ScopeKind is the kind of problems that a rule watches.
type ScopeKind string

// The kinds of scopes.
const (
	Everything ScopeKind = "everything"
	OfPackage  ScopeKind = "package" // of binary or source packages
	OfSet      ScopeKind = "set"     // of the source packages in package sets
	OfTeam     ScopeKind = "team"    // of the source packages of people or teams of the tracker
)

// ScopeKinds lists all kinds of scopes.
var ScopeKinds = []ScopeKind{Everything, OfPackage, OfSet, OfTeam}

// Scope says which problems a rule watches.
type Scope struct {
	Kind  ScopeKind
	Names []string // patterns of packages such as linux-*, or names of sets, people or teams
}

// Kinds lists what a rule can wait for. The first is the most common one.
var Kinds = []crash.EventKind{
	crash.EventNew, crash.EventRegressed, crash.EventRising, crash.EventProposed, crash.EventSymbolised,
	crash.EventQuiet, crash.EventUnmuted, crash.EventUpstream, crash.EventRefused, crash.EventTracker,
}

// Rule is a rule. What it has done is stored apart, see [Edge].
type Rule struct {
	ID       int64
	Name     string
	Scope    Scope
	When     crash.EventKind // one of Kinds
	Machines int64           // least number of machines
	Weeks    int             // with EventQuiet: weeks without a report
	If       Conditions
	Actions  Actions
	Enabled  bool
	Author   string
	Created  time.Time
	Editor   string // who changed it last
	Changed  time.Time
	Since    time.Time // it ignores what happened before
	Prepared bool      // what held before Since is stored as seen
	Failure  string    // why an action failed last; empty: none has
	Failed   time.Time
	Deleted  bool
}

// Conditions are what else must hold when something happens to a problem. They are evaluated then; if they do not hold,
// again whenever the same is found anew.
type Conditions struct {
	Duplicate    Duplicate    `json:"duplicate,omitempty"`
	Concentrated Concentrated `json:"concentrated,omitzero"`
}

// Concentrated is a condition about problems that some machines have more often than others. The zero value is none.
type Concentrated struct {
	Field stats.FacetField `json:"field"`           // one of stats.TraitFields, or ConcentratedAny
	Value string           `json:"value,omitempty"` // pattern such as nvidia-*; empty: any value
}

// ConcentratedAny stands for any field.
const ConcentratedAny stats.FacetField = "any"

// Stats returns the field and pattern as [stats.Concentrations.On] wants them.
func (c Concentrated) Stats() (field stats.FacetField, pattern string) {
	if c.Field == ConcentratedAny {
		return "", ""
	}
	return c.Field, c.Value
}

func (c Concentrated) phrase() string {
	switch {
	case c.Field == ConcentratedAny:
		return "it is concentrated"
	case c.Value == "":
		return "it is concentrated by " + lowerFirst(c.Field.Label())
	}
	return "it is concentrated on " + lowerFirst(c.Field.Label()) + " " + c.Value
}

// lowerFirst returns a label within a sentence.
func lowerFirst(label string) string {
	if strings.ToUpper(label) == label {
		return label
	}
	return strings.ToLower(label[:1]) + label[1:]
}

// Duplicate is a condition about problems that may be duplicates of older ones.
type Duplicate string

// The choices.
const (
	DuplicateEither Duplicate = ""
	DuplicateOnly   Duplicate = "only"
	DuplicateNever  Duplicate = "never"
)

// Duplicates lists the choices.
var Duplicates = []Duplicate{DuplicateEither, DuplicateNever, DuplicateOnly}

func (c Conditions) phrases() (all []string) {
	switch c.Duplicate {
	case DuplicateEither:
	case DuplicateOnly:
		all = append(all, "it may be a duplicate")
	case DuplicateNever:
		all = append(all, "it is no possible duplicate")
	}
	if c.Concentrated != (Concentrated{}) {
		all = append(all, c.Concentrated.phrase())
	}
	return all
}

// Actions say what mishap does. Several are possible.
type Actions struct {
	Followers      bool    `json:"followers,omitempty"`      // notify people who follow the package
	Administrators bool    `json:"administrators,omitempty"` // notify administrators
	Users          []int64 `json:"users,omitempty"`          // notify these accounts
	Endpoints      []int64 `json:"endpoints,omitempty"`      // notify these other programs
	Mute           *Mute   `json:"mute,omitempty"`           // mute the problem; nil: no
	Assign         string  `json:"assign,omitempty"`         // person or team; empty: nobody
	Tag            string  `json:"tag,omitempty"`            // empty: none
	Embargo        Embargo `json:"embargo,omitempty"`        // hide the problem from people without the private right
	Merge          bool    `json:"merge,omitempty"`          // merge it with its twins
	Queue          bool    `json:"queue,omitempty"`          // put it into the queue for filing
	File           bool    `json:"file,omitempty"`           // file a bug without asking
	HourlyLimit    int     `json:"hourly_limit,omitempty"`   // with File: most bugs of this rule in an hour
}

// Mute says when a problem that a rule mutes returns. The zero value: when a person unmutes it.
type Mute struct {
	Days       int  `json:"days,omitempty"`       // after so many days; 0: never by itself
	Newer      bool `json:"newer,omitempty"`      // when it is seen in a newer version
	Regression bool `json:"regression,omitempty"` // when it is a regression
}

// Embargo says when a rule embargoes a problem.
type Embargo string

// The choices.
const (
	EmbargoNever     Embargo = ""
	EmbargoSuspected Embargo = "suspected" // if a report of the problem suggests corrupted memory
	EmbargoAlways    Embargo = "always"
)

// Notifies reports whether the actions tell anyone.
func (a Actions) Notifies() bool {
	return a.Followers || a.Administrators || len(a.Users) > 0 || len(a.Endpoints) > 0
}

func (a Actions) none() bool {
	return !a.Notifies() && a.Mute == nil && a.Assign == "" && a.Tag == "" && a.Embargo == EmbargoNever && !a.Merge &&
		!a.Queue && !a.File
}

// AboutProblems reports whether the events of a rule are about a problem. Credentials are not.
func (r Rule) AboutProblems() bool { return r.When != crash.EventTracker }

// SameCondition reports whether two versions of a rule wait for the same. Otherwise the rule starts
// anew when it is saved.
func (r Rule) SameCondition(other Rule) bool {
	return r.When == other.When && r.Machines == other.Machines && r.Weeks == other.Weeks &&
		r.If == other.If &&
		r.Scope.Kind == other.Scope.Kind && slices.Equal(r.Scope.Names, other.Scope.Names)
}

// Watches reports whether the scope includes a binary and source package. members are the source
// packages of the sets or teams that the scope names.
func (s Scope) Watches(binary, source string, members map[string]bool) bool {
	switch s.Kind {
	case Everything:
		return true
	case OfPackage:
		return slices.ContainsFunc(s.Names, func(pattern string) bool {
			return matches(pattern, binary) || matches(pattern, source)
		})
	case OfSet, OfTeam:
		return source != "" && members[source]
	}
	return false
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok && name != ""
}

// Limits of what people type.
const (
	MaxName     = 80 // characters of a name
	maxNames    = 50 // packages, sets or teams of a scope
	maxText     = 100
	MaxMachines = 1_000_000
	MaxWeeks    = 52
	MaxPerHour  = 1000
	MaxMuteDays = 365
	maxPeople   = 200
)

// Problems maps fields of a form to what is wrong with them, as sentences.
type Problems map[string]string

// Check returns what is wrong with a rule that a person typed. It returns no problems if the rule
// can be stored.
func (r Rule) Check() Problems {
	wrong := Problems{}
	if line, ok := crash.CleanLine(r.Name, MaxName); !ok || line == "" {
		wrong["name"] = "Give the rule a name of 1 to 80 characters."
	}
	if !slices.Contains(Kinds, r.When) {
		wrong["when"] = "Choose what must happen."
	}
	r.checkScope(wrong)
	if r.Machines < 1 || r.Machines > MaxMachines {
		wrong["machines"] = "The number of machines is between 1 and 1,000,000."
	}
	if r.When == crash.EventQuiet && (r.Weeks < 1 || r.Weeks > MaxWeeks) {
		wrong["weeks"] = "The number of weeks is between 1 and 52."
	}
	r.checkConditions(wrong)
	r.checkActions(wrong)
	return wrong
}

func (r Rule) checkConditions(wrong Problems) {
	if !slices.Contains(Duplicates, r.If.Duplicate) {
		wrong["duplicate"] = "Choose whether the problem may be a duplicate."
	}
	switch c := r.If.Concentrated; {
	case c.Field == "" && c.Value != "", c.Field == ConcentratedAny && c.Value != "":
		wrong["concentrated"] = "Choose the field that has the value."
	case c.Field != "" && c.Field != ConcentratedAny && !slices.Contains(stats.TraitFields, c.Field):
		wrong["concentrated"] = "Choose one of the fields."
	case !isLine(c.Value):
		wrong["concentrated"] = "A value has at most 100 characters."
	default:
		if _, err := path.Match(c.Value, ""); err != nil {
			wrong["concentrated"] = "“" + c.Value + "” is not a valid pattern. Use * for any characters, such as nvidia-*."
		}
	}
	if !r.AboutProblems() && r.If != (Conditions{}) {
		wrong["when"] = "Credentials are no problem: choose no further conditions."
	}
}

func (r Rule) checkScope(wrong Problems) {
	switch {
	case !slices.Contains(ScopeKinds, r.Scope.Kind):
		wrong["scope"] = "Choose which problems the rule watches."
	case r.Scope.Kind == Everything:
		return
	case !r.AboutProblems():
		wrong["scope"] = "Credentials have no package: choose everything."
	case len(r.Scope.Names) == 0:
		wrong["names"] = "Enter at least one name, or choose everything."
	case len(r.Scope.Names) > maxNames:
		wrong["names"] = "A rule can have at most 50 names. Use a pattern such as linux-*, or several rules."
	}
	for _, name := range r.Scope.Names {
		if !isWord(name) {
			wrong["names"] = "Names have at most 100 characters; separate them by spaces."
		} else if _, err := path.Match(name, ""); err != nil {
			wrong["names"] = "“" + name + "” is not a valid pattern. Use * for any characters, such as linux-*."
		} else if r.Scope.Kind != OfPackage && strings.ContainsAny(name, `*?[\`) {
			wrong["names"] = "Only names of packages can contain patterns. Enter full names of sets or teams."
		}
	}
}

func (r Rule) checkActions(wrong Problems) {
	a := r.Actions
	switch {
	case a.none():
		wrong["actions"] = "Choose at least one action."
	case !r.AboutProblems() && (a.Followers || a.Mute != nil || a.Assign != "" || a.Tag != "" ||
		a.Embargo != EmbargoNever || a.Merge ||
		a.Queue || a.File):
		wrong["actions"] = "When credentials fail, a rule can only notify."
	case (a.Queue || a.File) && !r.canFile():
		wrong["actions"] = "A rule can file bugs only when a problem is new, rising, new in proposed, symbolised or unmuted."
	case a.Queue && a.File:
		wrong["actions"] = "Choose one: queue for filing, or file at once."
	case len(a.Users) > maxPeople || len(a.Endpoints) > maxPeople:
		wrong["actions"] = "A rule can notify at most 200 people and 200 programs by name."
	}
	if a.Embargo != EmbargoNever && a.Embargo != EmbargoSuspected && a.Embargo != EmbargoAlways {
		wrong["embargo"] = "Choose when the rule embargoes a problem: never, if memory looks corrupted, or always."
	}
	if a.File && (a.HourlyLimit < 1 || a.HourlyLimit > MaxPerHour) {
		wrong["limit"] = "The limit is between 1 and 1,000 bugs per hour."
	}
	if m := a.Mute; m != nil && (m.Days < 0 || m.Days > MaxMuteDays) {
		wrong["mute"] = "The number of days is between 0 and 365; 0 means until a person unmutes the problem."
	}
	if m := a.Mute; m != nil && (a.Queue || a.File) {
		wrong["mute"] = "Muted problems are not filed: choose one of the two."
	}
	for field, value := range map[string]string{"assign": a.Assign, "tag": a.Tag} {
		if !isWord(value) {
			wrong[field] = "A name has at most 100 characters and no spaces."
		}
	}
}

// isLine reports whether a text can be stored as a pattern of values.
func isLine(s string) bool {
	line, ok := crash.CleanLine(s, maxText)
	return ok && line == s
}

// isWord reports whether a text is a name without spaces that can be stored, or empty.
func isWord(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxText &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) })
}

// UnknownPeople says which names a rule cannot have.
func UnknownPeople(names []string) string {
	return "No account with the right to read reports is named " + strings.Join(names, " or ") +
		". Correct the name, or " +
		"let an administrator give the account a role. For a person or team at the tracker to whom problems are assigned, " +
		"write ~ before the name."
}

// canFile reports whether a bug makes sense for what the rule waits for.
func (r Rule) canFile() bool {
	return slices.Contains([]crash.EventKind{
		crash.EventNew, crash.EventRising, crash.EventProposed, crash.EventSymbolised, crash.EventUnmuted,
	}, r.When)
}

const (
	// RisingPause is how many UTC days a problem must not have been rising before it rises anew.
	RisingPause = 7
	// StormProblems is the number of new problems of one package within StormTime above which they are
	// one incident.
	StormProblems = 10
	// StormTime is the period in which new problems are counted.
	StormTime = 10 * time.Minute
)

// Storm is a period in which many problems of one package were new.
type Storm struct {
	From, Until time.Time // arrival of the first and of the last problem
	Known       time.Time // arrival of the problem that made it a storm
	Problems    int
}

// Storms finds the storms among arrivals, which it sorts. A storm begins when more than
// StormProblems problems arrive within StormTime, and ends when none has arrived for StormTime.
func Storms(arrivals []time.Time) []Storm {
	slices.SortFunc(arrivals, time.Time.Compare)
	var storms []Storm
	for i := 0; i < len(arrivals); i++ {
		n := i + StormProblems
		if n >= len(arrivals) || arrivals[n].Sub(arrivals[i]) > StormTime {
			continue
		}
		s := Storm{From: arrivals[i], Until: arrivals[n], Known: arrivals[n], Problems: StormProblems + 1}
		for n+1 < len(arrivals) && arrivals[n+1].Sub(s.Until) <= StormTime {
			n++
			s.Until = arrivals[n]
			s.Problems++
		}
		storms = append(storms, s)
		i = n
	}
	return storms
}

// Edge is a change that a rule has noticed. A rule acts on each edge once: the rule, the problem
// and Key identify it.
type Edge struct {
	Rule  *Rule
	Key   string      // the kind, and which change it was, such as a version or a day
	Event crash.Event // Bucket is nil if the edge is not about one problem
	At    time.Time   // when it happened; zero: not known
	Held  time.Time   // when the condition held last; zero: at the time of the event
}

const maxKey = 100

// Key returns the key of an edge: the kind, and texts that tell edges of one problem apart.
func Key(kind crash.EventKind, parts ...string) string {
	key := string(kind)
	for _, p := range parts {
		key += ":" + crash.Truncate(p, maxKey)
	}
	return key
}

// Change identifies the change, whatever rule has noticed it.
func (e Edge) Change() string {
	bucket := "-"
	if e.Event.Bucket != nil {
		bucket = e.Event.Bucket.String()
	}
	return ":" + bucket + ":" + crash.Truncate(e.Key, 200)
}

// ID identifies the edge among all edges of all rules.
func (e Edge) ID() string { return fmt.Sprintf("rule %d%s", e.Rule.ID, e.Change()) }

// Machines returns "1 machine" or "1,902 machines".
func Machines(n int64) string { return crash.Counted(n, "machine", "machines") }

// in returns the place of an event in a sentence: " in 1.2 on Ubuntu 24.04".
func in(e crash.Event) string {
	place := ""
	if e.Version != "" {
		place += " in " + e.Version
	}
	if e.Release != "" {
		place += " on " + string(e.Release)
	}
	return place
}

// NewText describes an event of the kind new.
func NewText(e crash.Event) string {
	return fmt.Sprintf("New: %s %s it, first%s.", Machines(e.Machines), reports(e.Machines), in(e))
}

// RegressedText describes an event of the kind regressed. marked is whether a person has marked the
// problem as fixed, instead of the tracker.
func RegressedText(e crash.Event, marked bool) string {
	return fmt.Sprintf("Seen again%s, %s, by %s.", in(e), WhyFixed(marked), Machines(e.Machines))
}

// WhyFixed says why a version should be free of a problem.
func WhyFixed(marked bool) string {
	if marked {
		return "though it was marked as fixed"
	}
	return "which has the fix"
}

// RisingText describes an event of the kind rising, with the reports of the seven days up to a day
// and of the seven before.
func RisingText(e crash.Event, day time.Time, week, before int64) string {
	return fmt.Sprintf("Rising: %s of %s in the seven days up to %s, %s in the seven before.",
		crash.Counted(week, "report", "reports"), Machines(e.Machines), day.Format("2 January"), crash.Count(before))
}

// ProposedText describes an event of the kind proposed.
func ProposedText(e crash.Event) string {
	return fmt.Sprintf("New in proposed: %s %s it%s, and none an earlier version.", Machines(e.Machines),
		reports(e.Machines), in(e))
}

// QuietText describes an event of the kind quiet.
func QuietText(weeks int, last time.Time) string {
	return fmt.Sprintf("Not seen for %d %s, since %s.", weeks, crash.Plural(int64(weeks), "week", "weeks"),
		last.Format("2 January 2006"))
}

// UpstreamText describes an event of the kind upstream. The title of the bug may be empty.
func UpstreamText(bug, title string, fixed bool) string {
	done := "closed"
	if fixed {
		done = "fixed"
	}
	if title = crash.Truncate(title, 200); title != "" {
		title = ": " + title
	}
	return "Upstream " + done + " " + bug + title + "."
}

// StormText describes an event of the kind storm.
func StormText(pkg string, problems int) string {
	return fmt.Sprintf("%d new problems of %s within minutes. They are not reported one by one.", problems, pkg)
}

// Texts of events that need no numbers.
const (
	SymbolisedText = "Its functions have names now."
	UnmutedText    = "The problem was muted and has returned."
	RefusedText    = "The tracker refused its bug."
	TrackerTitle   = "The tracker does not accept mishap's credentials"
	TrackerText    = "No bugs are filed or read until an administrator reconnects the tracker."
)

func reports(n int64) string { return crash.Plural(n, "reports", "report") }

// Activity is what a rule has done.
type Activity struct {
	Last   time.Time // zero: nothing yet
	Recent int64     // edges on which it has acted in the RehearsalDays
}

// RehearsalDays is the number of UTC days, including today, that a rehearsal covers.
const RehearsalDays = 30

// Rehearsal is what a rule would have done in the past.
type Rehearsal struct {
	Since    time.Time        // UTC midnight
	Lines    []RehearsalLine  // the latest first; some of them, if there are many
	Edges    int              // all lines
	People   map[string]int64 // notices by account name
	Programs int64            // deliveries to other programs
	Proposed int64            // put into the queue for filing
	Filed    int64            // filed at once
	Skipped  int64            // not filed: they have a bug
	Changed  int64            // muted, assigned or tagged
	Notes    []string         // what is approximated or missing, as sentences
}

// RehearsalLine is one edge that the rule would have noticed.
type RehearsalLine struct {
	At    time.Time
	Exact bool // otherwise only the day is known
	Event crash.Event
	Does  []string // "notify 3 people"
}

// Candidate is a problem for which a rule or a person proposes a bug.
type Candidate struct {
	ID        int64
	Problem   crash.BucketID
	Rule      string // name; empty: a person proposed it
	RuleID    int64
	Proposer  string // account of that person
	State     CandidateState
	Why       string
	Machines  int64 // when it was proposed
	Created   time.Time
	DecidedBy string
	Decided   time.Time
	Reason    string // why it was declined
	Failure   string // why no bug was filed; empty: none was tried
}

// CandidateState is the state of a candidate.
type CandidateState string

// The states of candidates.
const (
	CandidateAutomatic CandidateState = "automatic" // to be filed by the rule
	CandidateFiling    CandidateState = "filing"    // the rule is handing it over
	CandidateWaiting   CandidateState = "waiting"   // for a person
	CandidateFiled     CandidateState = "filed"
	CandidateDeclined  CandidateState = "declined"
)

// Sentence describes a rule in one sentence: "When a problem of mesa is new and at least 3 machines
// report it, notify its followers." It also describes rules that Check refuses.
func (r Rule) Sentence() string {
	when := "When " + r.subject() + " " + r.happens()
	if r.Machines > 1 && r.AboutProblems() {
		when += fmt.Sprintf(" and at least %s machines %s it", crash.Count(r.Machines), r.report())
	}
	for _, condition := range r.If.phrases() {
		when += " and " + condition
	}
	does := r.Actions.phrases()
	if len(does) == 0 {
		return when + ", do nothing."
	}
	return when + ", " + crash.JoinAnd(does) + "."
}

func (r Rule) report() string {
	if r.When == crash.EventQuiet {
		return "have reported"
	}
	return "report"
}

func (r Rule) subject() string {
	names := crash.JoinAnd(r.Scope.Names)
	if r.When == crash.EventTracker {
		return "the tracker"
	}
	if r.When == crash.EventRefused {
		return "the bug for a problem" + r.Scope.of(names)
	}
	if r.When == crash.EventUpstream {
		return "the upstream bug for a problem" + r.Scope.of(names)
	}
	return "a problem" + r.Scope.of(names)
}

func (s Scope) of(names string) string {
	switch s.Kind {
	case OfPackage:
		return " of " + names
	case OfSet:
		return " of the package " + crash.Plural(int64(len(s.Names)), "set", "sets") + " " + names
	case OfTeam:
		return " of a package of " + names
	case Everything:
	}
	return ""
}

func (r Rule) happens() string {
	switch r.When { //nolint:exhaustive // see Kinds
	case crash.EventNew:
		return "is new"
	case crash.EventRegressed:
		return "is seen again in a version that has the fix"
	case crash.EventRising:
		return "is rising"
	case crash.EventProposed:
		return "is new in a version in proposed"
	case crash.EventSymbolised:
		return "gets its function names"
	case crash.EventQuiet:
		return fmt.Sprintf("has not been seen for %d %s", r.Weeks, crash.Plural(int64(r.Weeks), "week", "weeks"))
	case crash.EventUnmuted:
		return "that was muted returns"
	case crash.EventUpstream:
		return "is closed"
	case crash.EventRefused:
		return "is refused by the tracker"
	case crash.EventTracker:
		return "does not accept mishap's credentials"
	}
	return string(r.When)
}

func (a Actions) phrases() []string {
	var does []string
	var whom []string
	if a.Followers {
		whom = append(whom, "its followers")
	}
	if a.Administrators {
		whom = append(whom, "administrators")
	}
	if n := int64(len(a.Users)); n > 0 {
		whom = append(whom, crash.Counted(n, "person", "people"))
	}
	if n := int64(len(a.Endpoints)); n > 0 {
		whom = append(whom, crash.Counted(n, "program", "programs"))
	}
	if len(whom) > 0 {
		does = append(does, "notify "+crash.JoinAnd(whom))
	}
	if a.Mute != nil {
		does = append(does, "mute it"+a.Mute.until())
	}
	if a.Assign != "" {
		does = append(does, "assign it to "+a.Assign)
	}
	if a.Tag != "" {
		does = append(does, "tag it “"+a.Tag+"”")
	}
	if a.Merge {
		does = append(does, "merge it with its twins")
	}
	switch a.Embargo {
	case EmbargoNever:
	case EmbargoSuspected:
		does = append(does, "embargo it if memory looks corrupted")
	case EmbargoAlways:
		does = append(does, "embargo it")
	}
	if a.Queue {
		does = append(does, "queue it for filing")
	}
	if a.File {
		n := int64(a.HourlyLimit)
		does = append(does, fmt.Sprintf("file a bug (at most %s per hour)", crash.Count(n)))
	}
	return does
}

func (m Mute) until() string {
	var until []string
	if m.Days > 0 {
		until = append(until, fmt.Sprintf("for %d %s", m.Days, crash.Plural(int64(m.Days), "day", "days")))
	}
	if m.Newer {
		until = append(until, "until it is seen in a newer version")
	}
	if m.Regression {
		until = append(until, "until it regresses")
	}
	if len(until) == 0 {
		return ""
	}
	return " " + strings.Join(until, " or ")
}
