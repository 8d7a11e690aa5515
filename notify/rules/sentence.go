package rules

import (
	"fmt"
	"strconv"
	"strings"

	"mishap/crash"
)

// Sentence describes a rule in one sentence: "When a problem of mesa is new and at least 3 machines
// report it, notify its followers." It also describes rules that Check refuses.
func (r Rule) Sentence() string {
	when := "When " + r.subject() + " " + r.happens()
	if r.Machines > 1 && r.AboutProblems() {
		when += fmt.Sprintf(" and at least %s machines %s it", count(r.Machines), r.report())
	}
	does := r.Actions.phrases()
	if len(does) == 0 {
		return when + ", do nothing."
	}
	return when + ", " + join(does) + "."
}

func (r Rule) report() string {
	if r.When == crash.EventQuiet {
		return "have reported"
	}
	return "report"
}

func (r Rule) subject() string {
	names := join(r.Scope.Names)
	if r.When == crash.EventTracker {
		return "the tracker"
	}
	if r.When == crash.EventRefused {
		return "the bug for a problem" + r.Scope.of(names)
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
	case crash.EventRefused:
		return "is refused by the tracker"
	case crash.EventTracker:
		return "does not accept mishap's credentials"
	}
	return string(r.When)
}

// phrases returns what the actions do, as parts of a sentence.
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
		whom = append(whom, count(n)+crash.Plural(n, " person", " people"))
	}
	if n := int64(len(a.Endpoints)); n > 0 {
		whom = append(whom, count(n)+crash.Plural(n, " program", " programs"))
	}
	if len(whom) > 0 {
		does = append(does, "notify "+join(whom))
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
		does = append(does, fmt.Sprintf("file a bug (at most %s per hour)", count(n)))
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

// join joins names: "a", "a and b", "a, b and c".
func join(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// count formats a number with thousands separators.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
