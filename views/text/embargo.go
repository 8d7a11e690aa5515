package text

// Texts of embargoed problems.
const (
	Embargoed     = "embargoed"
	EmbargoMeans  = "Only people with the private right for the package see this problem."
	EmbargoAction = "Embargo…"
	LiftAction    = "Lift the embargo…"
	EmbargoTitle  = "Embargo this problem"
	EmbargoButton = "Embargo"
	EmbargoReason = "such as: writes beyond a buffer"
	EmbargoUnseen = "You do not have that right for this package. You will not see the problem any more."
	EmbargoHasBug = "The problem has a bug already. The embargo does not change who sees that bug."
	LiftTitle     = "Lift the embargo of this problem"
	LiftButton    = "Lift the embargo"

	EmbargoDone       = "The problem is embargoed."
	EmbargoDoneUnseen = "The problem is embargoed. You do not have the private right for its package, so you no longer see it."
	EmbargoLifted     = "The embargo is lifted: everyone sees the problem again. Its bugs are as before."
)

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
