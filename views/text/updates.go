package text

import "strconv"

// Texts about what mishap writes to bugs by itself.
const (
	UpdatesHeading = "Updates of bugs"
	UpdatesOn      = "On"
	UpdatesOff     = "Off"
	UpdatesShort   = "mishap can comment on bugs by itself and update a section in their descriptions, for the source " +
		"packages that you choose."
	UpdatesChoose = "Choose updates"

	UpdatesAgain      = "Seen again"
	UpdatesAgainMeans = "One comment for each version in which a fixed bug is seen again, and one with the stack when a " +
		"crash gets function names after its bug was filed."
	UpdatesQuiet      = "Quiet"
	UpdatesQuietMeans = "One comment when an open bug has had no report for a number of weeks, although its package is " +
		"still reported. Another one follows only if the problem comes back and is quiet again."
	UpdatesSection      = "Section"
	UpdatesSectionMeans = "A section at the end of the descriptions of open public bugs, with counts by version and " +
		"release, the last report and probable fixes. It is updated at most once a day, if something changed that matters. " +
		"mishap never touches the rest, and stops when someone changes or removes the section."

	UpdatesPackage     = "Source package"
	UpdatesOthers      = "All other packages"
	UpdatesChanged     = "Changed"
	UpdatesNever       = "never"
	UpdatesActions     = "Actions"
	UpdatesFor         = "for"
	UpdatesWeeks       = "weeks"
	UpdatesWeeksLabel  = "Weeks"
	UpdatesSave        = "Save"
	UpdatesRaise       = "Move up"
	UpdatesDrop        = "Delete"
	UpdatesOrder       = "The first row that matches the source package of a problem applies."
	UpdatesAdd         = "Add a row"
	UpdatesAddRow      = "Add row"
	UpdatesPatternHint = "The name of a source package. * stands for any characters: “linux*”, “*-dkms”."
	UpdatesBadPattern  = "Use the name of a source package: small letters, digits and + . -, with * for any characters."
	UpdatesHavePattern = "There is already a row for this name."
	UpdatesSaved       = "Saved."
	UpdatesRaised      = "Moved up."
	UpdatesDropped     = "Deleted."

	UpdatesSilent      = "No updates"
	UpdatesSilentMeans = "allow_bug_filing is off on this instance, so it writes nothing to the tracker."

	UpdatesGetComment    = "would get a comment now"
	UpdatesMayGetComment = "would get a comment now, if their packages are still reported"
	UpdatesGetSection    = "would get a section, at most three every ten seconds"
)

// Texts about the updates of one bug.
const (
	SectionWritten     = "Section in the description updated"
	SectionProblem     = "Section not updated"
	SectionStopped     = "Section no longer updated"
	SectionChanged     = "Someone changed the section, so mishap no longer updates it."
	SectionRemoved     = "Someone removed the section, so mishap no longer updates it."
	SectionForeign     = "The description has a section that this mishap did not write, so mishap leaves it alone."
	SectionNoticed     = "Noticed"
	SectionResume      = "Update it again"
	SectionResumeTitle = "mishap replaces the section in the description, or adds it if there is none"
)

// UpdatesMeans introduces the rules.
func UpdatesMeans(tracker string) string {
	return "What mishap writes to bugs in " + tracker + " by itself, by source package. Everything is off unless it is " +
		"switched on here, for all instances. Each update mails the subscribers of the bug."
}

// UpdatesWaiting says how many bugs get an update if it is switched on for every package.
func UpdatesWaiting(n int, what string) string {
	if n == 0 {
		return ""
	}
	return "Where it is off, " + Counted(int64(n), "bug", "bugs") + " " + what + "."
}

// UpdatesBadWeeks explains the range of weeks.
func UpdatesBadWeeks(most int) string {
	return "The number of weeks has to be between 1 and " + strconv.Itoa(most) + "."
}

// UpdatesSaveFor labels the button of a row for screen readers.
func UpdatesSaveFor(name string) string { return UpdatesSave + ": " + name }

// UpdatesRaiseFor is like UpdatesSaveFor.
func UpdatesRaiseFor(name string) string { return UpdatesRaise + ": " + name }

// UpdatesDropFor is like UpdatesSaveFor.
func UpdatesDropFor(name string) string { return UpdatesDrop + ": " + name }

// UpdatesFieldFor labels a field of a row for screen readers.
func UpdatesFieldFor(field, name string) string { return field + ": " + name }

// UpdateAbout says what a comment is about.
func UpdateAbout(kind, about string) string {
	switch kind {
	case "again":
		return "seen again in " + about
	case "quiet":
		return "no report since " + about
	}
	return "function names"
}

// CommentSent describes a comment.
func CommentSent(what string) string { return "Commented: " + what + "." }

// CommentSending describes a comment whose instance is sending it, or has died.
func CommentSending(what string) string { return "Comment (" + what + "): no answer yet." }

// CommentRefused describes a comment that the tracker refused.
func CommentRefused(what, answer string) string {
	return "Comment (" + what + ") refused: " + answer + "."
}

// CommentUnknown describes a comment that the tracker may have.
func CommentUnknown(what, answer string) string {
	return "Comment (" + what + "): it is not known whether the tracker has it (" + answer + "). It is not sent again."
}

// MoreComments unfolds older comments.
func MoreComments(n int) string { return Counted(int64(n), "older comment", "older comments") }

// SectionResumed confirms that mishap updates a section again.
func SectionResumed(number int64) string {
	return "mishap updates the section of bug " + strconv.FormatInt(number, 10) + " again, within a minute."
}

// ReviewSection introduces the section in the review of a bug.
const ReviewSection = "mishap adds this section to a public bug, and keeps it up to date"
