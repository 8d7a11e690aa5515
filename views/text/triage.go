package text

import (
	"strconv"
	"strings"

	"mishap/crash"
)

// Texts of the manual status: muted, won't fix, fixed in a version.
const (
	Muted       = "muted"
	WontFix     = "won’t fix"
	MarkedFixed = "marked fixed"
	FixSeen     = "not fixed?"
	Returned    = "returned"
	Unmute      = "Unmute"
	Replaced    = "replaced"

	EndedByMerge = "ended when the problem was merged into another one"

	MuteAction    = "Mute…"
	MuteChange    = "Change the mute…"
	WontFixAction = "Won’t fix…"
	FixedAction   = "Fixed in…"

	MuteTitle    = "Mute this problem"
	MuteHint     = "Lists hide a muted problem. It returns by itself, once, as soon as one of its conditions is met."
	WontFixTitle = "Won’t fix this problem"
	WontFixHint  = "The problem stays in lists, with this mark. The status that mishap derives does not change."
	FixedTitle   = "Fixed in a version"
	FixedHint    = "Enter the version that has the fix, for each release that has one. mishap says so if the problem " +
		"is seen in that version or a later one."

	MuteWeek       = "For a week"
	MuteForWeek    = "Mute for a week"
	MuteMonth      = "For a month"
	MuteNewer      = "Until the next version"
	MuteRegression = "Until it regresses"
	MuteForever    = "Until I unmute it"
	MuteOther      = "Other conditions"
	MuteOtherHint  = "The problem returns when the first of these is met."
	MuteDate       = "On the day"
	MuteReports    = "More reports"
	MuteMachines   = "Machines that report it"
	MuteDays       = "Within how many days"
	MuteDaysHint   = "for reports and machines; empty: in any time"
	MuteVersion    = "Seen in this version or later"
	MuteRelease    = "In the release"
	MuteAnyRelease = "any release"
	MuteNewerBox   = "Seen in a newer version"
	MuteRegressBox = "It regresses"
	MuteButton     = "Mute"
	WontFixButton  = "Won’t fix"
	FixedButton    = "Mark as fixed"
	FixedConfirm   = "Mark as fixed nevertheless"
	FixedVersion   = "Version with the fix"
	EveryRelease   = "every release"
	ReasonInPage   = "Optional; shown on the page"

	ListMuted         = "muted problems"
	ListMutedHidden   = "hidden"
	ListMutedShown    = "shown"
	ListMutedOnly     = "only these"
	MuteSelected      = "Mute…"
	WontFixSelected   = "Won’t fix…"
	FixedSelected     = "Fixed in…"
	NothingChosenLeft = "Nothing was changed."
	TriageUndone      = "Undone"
	Unmuted           = "The problem is no longer muted."
	ShowMuted         = "show"
	HideMuted         = "hide"
)

// MuteProblems is the heading of the page that mutes several problems.
func MuteProblems(n int64) string { return "Mute " + Problems(n) }

// WontFixProblems is the heading of the page that marks several problems.
func WontFixProblems(n int64) string { return "Won’t fix " + Problems(n) }

// FixedProblems is the heading of the page that marks several problems as fixed.
func FixedProblems(n int64) string { return "Mark " + Problems(n) + " as fixed" }

// FixedPackages warns that the selected problems belong to several source packages.
func FixedPackages(names []string) string {
	shown := names[:min(len(names), 5)]
	out := "The selected problems belong to " + strconv.Itoa(len(names)) + " source packages (" + strings.Join(shown, ", ")
	if len(shown) < len(names) {
		out += ", …"
	}
	return out + "). Their versions differ: make sure that the version below is right for each of them."
}

// FixedSeen says that some of the selected problems were seen in a version with the fix.
func FixedSeen(seen, of, reports int64) string {
	return strconv.FormatInt(seen, 10) + " of " + Problems(of) + " " + crash.Plural(seen, "has", "have") +
		" been seen already in these versions or later ones, in " + Reports(reports) +
		". If the fix is in a later version, " +
		"name that one; else confirm this one."
}

// TriageDone confirms an entry: "Muted until 1 December 2026".
func TriageDone(t crash.Triage) string { return t.Text(false) }

// TriageDoneFor confirms entries of several problems, and says how many had another mute.
func TriageDoneFor(n, skipped int64, t crash.Triage) string {
	out := Problems(n) + ": " + t.Text(false) + "."
	if skipped > 0 {
		out += " " + Problems(skipped) + " had been muted with other conditions, and " +
			crash.Plural(skipped, "was", "were") + " left as " + crash.Plural(skipped, "it was.", "they were.")
	}
	return out
}

// SeenAgain says that a problem marked as fixed is still seen.
func SeenAgain(at string, reports int64) string {
	return "seen again in " + at + ": " + Reports(reports) + " since"
}

// HiddenMuted says how many muted problems a list omits.
func HiddenMuted(n int64) string {
	return Counted(n, "muted problem is hidden", "muted problems are hidden")
}

// BadNumber says that a text is not a number.
func BadNumber(label, value string) string {
	return label + ": “" + crash.Shorten(value, 40) + "” is not a number."
}

// BadDay says that a text is not a day.
func BadDay(value string) string {
	return "“" + crash.Shorten(value, 40) + "” is not a day like 2026-12-01."
}

// MuteNothing asks for a condition.
const MuteNothing = "Enter at least one condition, or choose one of the buttons."

// Texts of embargoed problems.
const (
	Embargoed = "embargoed"

	EmbargoesTitle = "Embargoed problems"
	EmbargoesNone  = "There is no embargoed problem that you may see."
	EmbargoesHint  = "Those of packages for which you have the right, the oldest embargo first. The search is:embargoed " +
		"finds the same problems."

	EmbargoMeans  = "Only people with the private right for the package see this problem."
	EmbargoAction = "Embargo…"
	LiftAction    = "Lift the embargo…"
	EmbargoTitle  = "Embargo this problem"
	EmbargoButton = "Embargo"
	EmbargoReason = "such as: writes beyond a buffer"
	EmbargoUnseen = "You do not have that right for this package. You will no longer see the problem."
	EmbargoHasBug = "The problem has a bug already. The embargo does not change who sees that bug."
	BugIsPublic   = "The problem is embargoed, but the bug is not known to be private. People who can see the bug " +
		"could learn about the problem."
	BugPublicConfirm = "Link it anyway"
	MergeEmbargoes   = "One of these problems is embargoed. After the merge, everything is: only people with the " +
		"private right " +
		"for the package of the embargoed one will see it."
	LiftTitle  = "Lift the embargo of this problem"
	LiftButton = "Lift the embargo"

	EmbargoDone       = "The problem is embargoed."
	EmbargoDoneUnseen = "The problem is embargoed. You do not have the private right for its package, so you no longer " +
		"see it."
	EmbargoLifted = "The embargo is lifted: everyone sees the problem again. Its bugs are as before."
)

// Texts of held problems.
const (
	Held           = "held"
	HoldMeans      = "Nothing of its reports and core dumps is removed because of its age."
	HoldAction     = "Hold…"
	HoldTitle      = "Hold this problem"
	HoldButton     = "Hold"
	HoldLiftAction = "Lift the hold…"
	HoldLiftTitle  = "Lift the hold of this problem"
	HoldLiftButton = "Lift the hold"
	HoldDone       = "The problem is held."
	HoldLifted     = "The hold is lifted. What is too old will be removed within a day."
	HoldsTitle     = "Held problems"
	HoldsNone      = "No problem is held."
	HoldHint       = "While a problem is held, retention removes nothing of it: no reports, no private fields, no daily " +
		"counts and no core dumps."
	HoldLiftHint = "Reports, private fields and core dumps that are too old will be removed within a day."
)

// HoldBy says who held a problem; an empty name stands for mishap itself.
func HoldBy(person string) string {
	if person == "" {
		return "Held by mishap"
	}
	return "Held by " + person
}

// EmbargoHint says what an embargo does.
func EmbargoHint(tracker string) string {
	return "Use this for a suspected security issue. Everyone without the private right for the package sees " +
		"nothing of an embargoed problem: no page, count, notice or search result. A bug created for it at " +
		tracker + " is private, and mishap adds nothing to its bugs."
}

// LiftHint says what happens when an embargo ends.
func LiftHint(tracker string) string {
	return "Everyone sees the problem again, with all its reports, notes and history. Its bugs at " + tracker +
		" do not change: to publish a private bug, change it there."
}

// EmbargoBy says who set an embargo; an empty name stands for mishap itself.
func EmbargoBy(person string) string {
	if person == "" {
		return "Embargoed by mishap"
	}
	return "Embargoed by " + person
}
