// Package rules says what a rule is: which problems it watches, what must happen, and what mishap
// then does. It evaluates conditions on values that package db/events reads, and does no input or
// output.
package rules

import (
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mishap/crash"
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
	crash.EventQuiet, crash.EventUnmuted, crash.EventRefused, crash.EventTracker,
}

// Rule is a rule. What it has done is stored apart, see [Edge].
type Rule struct {
	ID       int64
	Name     string
	Scope    Scope
	When     crash.EventKind // one of Kinds
	Machines int64           // least number of machines
	Weeks    int             // with EventQuiet: weeks without a report
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

// none reports whether there is no action.
func (a Actions) none() bool {
	return !a.Notifies() && a.Mute == nil && a.Assign == "" && a.Tag == "" && a.Embargo == EmbargoNever &&
		!a.Queue && !a.File
}

// AboutProblems reports whether the events of a rule are about a problem. Credentials are not.
func (r Rule) AboutProblems() bool { return r.When != crash.EventTracker }

// SameCondition reports whether two versions of a rule wait for the same. Otherwise the rule starts
// anew when it is saved.
func (r Rule) SameCondition(other Rule) bool {
	return r.When == other.When && r.Machines == other.Machines && r.Weeks == other.Weeks &&
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
	switch {
	case r.Machines < 1 || r.Machines > MaxMachines:
		wrong["machines"] = "The number of machines is between 1 and 1,000,000."
	}
	if r.When == crash.EventQuiet && (r.Weeks < 1 || r.Weeks > MaxWeeks) {
		wrong["weeks"] = "The number of weeks is between 1 and 52."
	}
	r.checkActions(wrong)
	return wrong
}

func (r Rule) checkScope(wrong Problems) {
	switch {
	case !slices.Contains(ScopeKinds, r.Scope.Kind):
		wrong["scope"] = "Choose which problems the rule watches."
	case r.Scope.Kind == Everything:
		return
	case !r.AboutProblems():
		wrong["scope"] = "Credentials belong to no package: choose everything."
	case len(r.Scope.Names) == 0:
		wrong["names"] = "Enter at least one name, or choose everything."
	case len(r.Scope.Names) > maxNames:
		wrong["names"] = "A rule can have at most 50 names. Use a pattern such as linux-*, or several rules."
	}
	for _, name := range r.Scope.Names {
		bad := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }
		if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxText || strings.ContainsFunc(name, bad) {
			wrong["names"] = "Names have at most 100 characters; separate them by blanks."
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
		a.Embargo != EmbargoNever ||
		a.Queue || a.File):
		wrong["actions"] = "When credentials fail, a rule can only notify administrators, people and programs."
	case (a.Queue || a.File) && !r.canFile():
		wrong["actions"] = "A rule can file bugs only when a problem is new, rising, new in proposed, symbolised or unmuted."
	case a.Queue && a.File:
		wrong["actions"] = "Choose one: queue for filing, or file at once. What exceeds the limit is queued anyway."
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
		wrong["mute"] = "A problem that is muted is not filed: choose one of the two."
	}
	for field, value := range map[string]string{"assign": a.Assign, "tag": a.Tag} {
		bad := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }
		if !utf8.ValidString(value) || utf8.RuneCountInString(value) > maxText || strings.ContainsFunc(value, bad) {
			wrong[field] = "A name has at most 100 characters and no blanks."
		}
	}
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
