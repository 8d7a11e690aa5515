package text

// Texts of the review of a bug before it is filed.
const (
	ReviewLink    = "Review…"
	ReviewTitle   = "Check for similar bugs and edit the text before the bug is filed"
	ReviewHeading = "Review bug"

	WorthFiling = "Worth filing?"

	ReviewKnown       = "Already known?"
	ReviewNoSimilar   = "No similar problem here has a bug."
	ReviewSearching   = "Searching…"
	ReviewLinkInstead = "Link this bug instead"
	ReviewUnknown     = "Unknown"

	ReviewBug         = "The bug to be filed"
	ReviewBugTitle    = "Title"
	ReviewDescription = "Description"
	ReviewTags        = "Tags"
	ReviewTagsHint    = "Lower-case letters, digits and + . - only; separate tags by spaces."

	ReviewTarget       = "File against"
	ReviewOnPackage    = "the source package"
	ReviewPackageLabel = "Source package"
	ReviewSources      = "Other source packages of this name:"
	ReviewNoSource     = "The reports do not name a source package, and bugs cannot be filed against binary packages."

	ReviewVisibility    = "Visibility"
	ReviewPublic        = "Public."
	ReviewPublicMeans   = "Everyone can read it, and search engines will index it."
	ReviewPrivate       = "Private security."
	ReviewSuggestsState = "Private recommended"

	ReviewSubscribe = "Subscribe me to the bug"
	ReviewPreview   = "Preview"

	ReviewLooksPrivate = "These parts look private. They will be sent unless you change them:"
	ReviewMarker       = "The permanent address of the problem is added as the last line, so that the bug can be " +
		"found again."
	ReviewAffects    = "Affects"
	ReviewTagsBefore = "Tags:"

	ReviewDiscard  = "Close and discard your changes?"
	ReviewNoAnswer = "The server did not answer. Try again; this cannot file the bug twice."

	SessionEnded       = "Your session has ended. What you wrote is still here:"
	SessionEndedSignIn = "sign in in another tab"
	SessionEndedAfter  = "and press the button again."
)

// SearchTracker is the button that searches the tracker for known bugs.
func SearchTracker(tracker string) string { return "Search " + tracker }

// FileIn is the button that files the reviewed bug.
func FileIn(tracker string) string { return "File bug in " + tracker }

// SearchFailed says that the tracker could not be searched, and why.
func SearchFailed(tracker, why string) string {
	return tracker + " could not be searched: " + why + " You can file the bug anyway."
}

// NothingFound says that the tracker has no such bug.
func NothingFound(tracker, where, words string) string {
	return tracker + " has no bug in " + where + " that matches “" + words + "”, open or closed."
}

// Found introduces the bugs that the tracker found.
func Found(tracker, where, words string) string {
	return "Bugs in " + where + " on " + tracker + " that match “" + words + "”, open and closed:"
}

// SimilarProblem links to a problem by the beginning of its id.
func SimilarProblem(id string) string { return "problem " + id }

// OnDistribution files a bug without a package.
func OnDistribution(distribution string) string { return distribution + ", without a package" }

// PrivateMeans says who sees a private bug.
func PrivateMeans(distribution string) string {
	return "Only " + distribution + "’s security team and subscribers of the bug can read it, until one of them makes " +
		"it public."
}

// PrivateSuggested says why a bug should be private.
func PrivateSuggested(why string) string {
	return "Memory may have been corrupted (" + why + "), which can sometimes be exploited. This is a hint, not a finding."
}

// OfCharacters follows the length of a text: "120 of 200 characters".
func OfCharacters(limit int64) string { return "of " + Count(limit) + " characters" }
