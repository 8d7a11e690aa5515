package bugs

import (
	"strconv"

	"mishap/crash"
	"mishap/views/layout"
)

// PathUpdates is the address of the page on which an admin chooses what mishap writes to bugs.
const PathUpdates = "/admin/tracker/updates"

// UpdatesPage holds the rules about what mishap writes to bugs by itself.
type UpdatesPage struct {
	Shell    layout.Shell
	Tracker  string // name of the tracker
	Rules    crash.UpdateRules
	Waiting  WaitingUpdates
	Adding   crash.UpdateRule // as typed in the form for a new rule
	Problem  string           // why the last form was refused; empty: it was not
	Pattern  string           // with Problem: the rule that the form was about; empty: a new one
	FilingOn bool             // false: mishap writes nothing, whatever the rules say
}

// WaitingUpdates are the numbers of bugs that would get an update if it were on for every package,
// and that get none by the present rules.
type WaitingUpdates struct{ Again, Quiet, Section int }

// form returns the form of a rule, or of a new one if the pattern is empty.
func (p UpdatesPage) form(pattern string) layout.PostFormArgs {
	return layout.PostFormArgs{ID: ruleID(pattern), Action: PathUpdates, CSRFToken: p.Shell.CSRFToken, Class: "inline"}
}

// ruleID returns the id of the form of a rule. Patterns have no blanks.
func ruleID(pattern string) string { return "rule-" + pattern }

// ruleName describes the packages of a rule.
func ruleName(pattern string) string {
	if pattern == crash.EveryPackage {
		return "All other packages"
	}
	return pattern
}

// updatesOn reports whether any rule has something switched on.
func updatesOn(rules crash.UpdateRules) bool {
	return rules.Any(func(r crash.UpdateRule) bool { return r.Again || r.Quiet || r.Section })
}

// raisable reports whether a rule can be moved up.
func (p UpdatesPage) raisable(i int) bool { return i > 0 && p.Rules[i].Pattern != crash.EveryPackage }

// updateText describes a comment that mishap has sent to a bug.
func updateText(u crash.BugUpdate) string {
	what := updateAbout(string(u.Kind), u.About)
	switch u.Outcome {
	case "sent":
		return "Commented: " + what + "."
	case "refused":
		return "Comment (" + what + ") refused: " + u.Answer + "."
	case "unknown":
		return "Comment (" + what + "): it is not known whether the tracker has it (" + u.Answer + "). It is not sent again."
	}
	return "Comment (" + what + "): no answer yet."
}

// visibleUpdates is the number of comments that the page of a problem shows without unfolding.
const visibleUpdates = 2

func firstUpdates(b crash.Bug) []crash.BugUpdate {
	return b.Updates[:min(len(b.Updates), visibleUpdates)]
}

func otherUpdates(b crash.Bug) []crash.BugUpdate { return b.Updates[len(firstUpdates(b)):] }

// stopText says why mishap no longer updates the section of a bug.
func stopText(stop crash.SectionStop) string {
	switch stop {
	case crash.SectionChanged:
		return "Someone changed the section, so mishap no longer updates it."
	case crash.SectionRemoved:
		return "Someone removed the section, so mishap no longer updates it."
	case crash.SectionForeign:
		return "The description has a section that this mishap did not write, so mishap leaves it alone."
	case crash.SectionActive:
	}
	return ""
}

func weeksText(weeks int) string { return strconv.Itoa(weeks) }

// updateAbout says what a comment is about.
func updateAbout(kind, about string) string {
	switch kind {
	case "again":
		return "seen again in " + about
	case "quiet":
		return "no report since " + about
	}
	return "function names"
}
