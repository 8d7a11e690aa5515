package text

import (
	"strconv"
	"time"

	"mishap/crash"
)

// Texts of the pages about rules.
const (
	RulesTitle = "Rules"
	RulesMeans = "A rule says what mishap does when something happens to a problem. Each rule acts once on each change, " +
		"even after restarts and with several instances."
	RulesNone       = "There are no rules, so nobody is notified of anything and nothing is filed."
	RuleAdd         = "Add a rule"
	RuleNew         = "New rule"
	RuleOn          = "On"
	RuleOff         = "Off"
	RuleSwitchOn    = "Switch on"
	RuleSwitchOff   = "Switch off"
	RuleDelete      = "Delete"
	RuleNever       = "No match yet."
	RuleLast        = "Last match"
	RuleName        = "Name"
	RuleWatch       = "Which problems"
	RuleScope       = "The rule watches problems of"
	RuleNames       = "Names"
	RuleNamesHint   = "Separate names with spaces. Patterns of packages may contain *, such as linux-*."
	RuleWhen        = "When"
	RuleMachines    = "Minimum number of machines"
	RuleWeeks       = "Weeks without a report"
	RuleWeeksHint   = "Only for problems that have not been seen for some time."
	RuleThen        = "Then"
	RuleFollowers   = "Notify people who follow the package"
	RuleAdmins      = "Notify administrators"
	RulePeople      = "Notify accounts"
	RulePeopleHint  = "Account names, separated by spaces"
	RulePrograms    = "Notify other programs"
	RuleNoBug       = "Do not file a bug"
	RuleQueue       = "Queue for filing: a triager decides"
	RuleFile        = "File a bug at once"
	RuleBugs        = "Bugs"
	RuleLimit       = "Maximum number of bugs per hour"
	RuleLimitHint   = "Bugs beyond it, and those without function names or source package, wait in the queue."
	RuleChange      = "Change the problem"
	RuleMute        = "Mute it"
	RuleMuteDays    = "for this many days"
	RuleMuteHint    = "0: until a person unmutes it"
	RuleMuteNewer   = "until it is seen in a newer version"
	RuleMuteRegress = "until it regresses"
	RuleAssign      = "Assign it to"
	RuleTag         = "Tag it"
	RuleNoEmbargo   = "Do not embargo it"
	RuleSuspected   = "Embargo it if memory looks corrupted"
	RuleEmbargo     = "Embargo it"
	RuleEnabled     = "The rule is on"
	RuleRehearse    = "Rehearse"
	RuleAgain       = "Rehearse again"
	RuleSave        = "Save rule"
	RuleFirst       = "A rule is rehearsed before it is saved: the next page lists what it would have done."
	RuleStale       = "The rule has changed since it was rehearsed. Look at what it would have done, then save it."
	RuleFilingOff   = "Creating bugs is switched off (allow_bug_filing), so rules neither queue nor file bugs."
	RuleNoPrograms  = "No other programs are connected yet."
	Rehearsal       = "Rehearsal"
	RehearsalNone   = "It would have done nothing."
	RehearsalNobody = "Nobody would have been notified: nobody follows these packages."
	RehearsalDay    = "Day"
	RehearsalWhat   = "What happened"
	RehearsalDoes   = "What the rule would have done"
	RehearsalLimits = "What this cannot show"
)

// RuleScopes are the scopes of rules, by kind.
var RuleScopes = map[string]string{
	"everything": "everything", "package": "packages", "set": "package sets", "team": "people or teams",
}

// RuleKinds describe what rules wait for.
var RuleKinds = map[crash.EventKind]string{
	crash.EventNew:        "a problem is new",
	crash.EventRegressed:  "a problem is seen again in a version that has the fix",
	crash.EventRising:     "a problem is rising: clearly more reports in the past week than in the week before",
	crash.EventProposed:   "a problem is new in a version in proposed",
	crash.EventSymbolised: "a problem gets its function names",
	crash.EventQuiet:      "a problem has not been seen for some weeks",
	crash.EventUnmuted:    "a muted problem returns",
	crash.EventRefused:    "the tracker refuses a bug",
	crash.EventTracker:    "the tracker does not accept mishap’s credentials",
}

// RuleSaved confirms that a rule was saved.
func RuleSaved(name string) string { return "Saved “" + name + "”." }

// RuleSwitched confirms that a rule was switched on or off.
func RuleSwitched(name string, on bool) string {
	if on {
		return "“" + name + "” is on. It ignores what happened before."
	}
	return "“" + name + "” is off."
}

// RuleDeleted confirms that a rule was deleted.
func RuleDeleted(name string) string { return "Deleted “" + name + "”." }

// RuleRestored confirms that a deleted rule was restored.
func RuleRestored(name string) string {
	return "Restored “" + name + "”. It ignores what happened before."
}

// RuleBy says who changed a rule last.
func RuleBy(editor string) string {
	if editor == "mishap" {
		return "Comes with mishap."
	}
	return "Changed by " + editor + "."
}

// RuleRecent says how many changes a rule has noticed in 30 days.
func RuleRecent(n int64) string { return Counted(n, "match", "matches") + " in 30 days." }

// RuleFailed introduces why an action failed.
func RuleFailed(why string) string { return "An action failed: " + why }

// RuleSwitchLabel labels the button that switches a rule on or off.
func RuleSwitchLabel(name string, on bool) string {
	if on {
		return RuleSwitchOff + " “" + name + "”"
	}
	return RuleSwitchOn + " “" + name + "”"
}

// RuleDeleteLabel labels the button that deletes a rule.
func RuleDeleteLabel(name string) string { return RuleDelete + " “" + name + "”" }

// RehearsalSummary sums up a rehearsal.
func RehearsalSummary(days int, since time.Time, edges int) string {
	return "In the last " + Counted(int64(days), "day", "days") + ", since " + since.Format("2 January") +
		", the rule would have acted " + Counted(int64(edges), "time", "times") + ":"
}

// RehearsalPeople says how many notices people would have got.
func RehearsalPeople(notices int64, people int) string {
	return Counted(notices, "notice", "notices") + " to " + Counted(int64(people), "person", "people")
}

// RehearsalPerson says how many notices a person would have got.
func RehearsalPerson(name string, notices int64) string { return name + ": " + Count(notices) }

// RehearsalPrograms says how many deliveries programs would have got.
func RehearsalPrograms(n int64) string {
	return Counted(n, "delivery", "deliveries") + " to other programs"
}

// RehearsalFiled says how many bugs would have been filed.
func RehearsalFiled(n int64) string { return Counted(n, "bug", "bugs") + " filed at once" }

// RehearsalProposed says how many problems would have been queued.
func RehearsalProposed(n int64) string { return Problems(n) + " queued for filing" }

// RehearsalSkipped says how many problems have a bug.
func RehearsalSkipped(n int64) string { return Problems(n) + " not filed, because they have a bug" }

// RehearsalChanged says how many problems would have been changed.
func RehearsalChanged(n int64) string { return Problems(n) + " muted, assigned or tagged" }

// RehearsalMore says that the list is shortened.
func RehearsalMore(shown, all int) string {
	return "The latest " + Count(int64(shown)) + " of " + Count(int64(all)) + " are listed."
}

// Texts of the page of candidates.
const (
	CandidatesTitle = "Candidates for filing"
	CandidatesNav   = "Candidates"
	CandidatesMeans = "Rules propose bugs for these problems. A bug that you approve is filed as shown on its " +
		"review page."
	CandidatesOpen   = "Waiting for a decision"
	CandidatesNone   = "No problem is waiting for a decision."
	CandidatesHow    = "A rule with the action “queue for filing” puts problems here."
	CandidateApprove = "Approve"
	CandidateEdit    = "Edit"
	CandidateDecline = "Decline…"
	CandidateSubmit  = "Decline"
	CandidateReason  = "Reason"
	CandidateRestore = "Undo"
	CandidateFiling  = "The bug is being created."
	CandidateDone    = "Decided recently"
	CandidateWaits   = "The rule files it within a minute."
	CandidatesOff    = "Creating bugs is switched off (allow_bug_filing), so nothing can be approved."
)

// CandidateBy says which rule proposed a candidate.
func CandidateBy(rule string) string { return "Rule: " + rule }

// CandidateFiled confirms that a bug was created.
func CandidateFiled(bug int64) string { return "Bug " + strconv.FormatInt(bug, 10) + " was created." }

// CandidateDeclined says who declined a candidate and why.
func CandidateDeclined(by, reason string) string {
	if reason == "" {
		return "Declined by " + by + "."
	}
	return "Declined by " + by + ": " + reason
}

// CandidateFiledBy says who filed the bug.
func CandidateFiledBy(by string) string { return "Filed by " + by + "." }

// CandidatesMore says that there are more candidates.
func CandidatesMore(shown int) string {
	return "The oldest " + Count(int64(shown)) + " are shown; others follow when these are decided."
}

// CandidateOther says that a person may not decide about a candidate.
func CandidateOther(source string) string {
	return "Only triagers of " + source + " can decide about it. Somebody who is an administrator here can give you " +
		"that role."
}
