package text

import "strconv"

// Texts of the bugs of a problem, in lists and on its page.
const (
	LinkBug           = "Link a bug…"
	LinkAnotherBug    = "Link another bug…"
	Unlink            = "Unlink"
	TrackerUnreadable = "could not be read"
	CreateBug         = "Create"
	CreateBugTitle    = "Create a bug for this problem"
	TryAgain          = "Try again"
	SignInToCreate    = "Sign in to create a bug"
	ConnectTracker    = "Connect the tracker"
	BugCreating       = "Creating"
	BugChecking       = "Creating (checking the tracker)"
	BugWaiting        = "Waiting for the tracker"
	BugNotCreated     = "Not created"
	SeeWhetherDone    = "Check whether it is done"
	ReloadPage        = "Reload the page"
	DuplicateOf       = "duplicate of"
	LinkBugHeading    = "Link a bug"
	LinkBugTo         = "to"
	BugField          = "Bug number or address"
	BugFieldHint      = "The bug is looked up first; nothing is linked yet."
	LookUp            = "Look up"
	LinkedAlready     = "This problem already has that bug."
	AllLinkedAlready  = "All of them already have that bug."
	PrivateBug        = "(a private bug)"
	BugNotRead        = "not read yet"
	BugPrivateOrGone  = "private or deleted"
	BugPrivate        = "private"
	ColumnProblem     = "Problem"
	ColumnPackage     = "Package"
	ColumnBugNow      = "Bug"
	HasThisBug        = "already linked"
	None              = "none"
	RefreshTitle      = "Read the state of these bugs from the tracker now"
)

// CreateBugIn is the label of the button that creates a bug.
func CreateBugIn(tracker string) string { return "Create bug in " + tracker }

// LinkedBy says how a bug came to its problem: "linked by ada, 6 min ago".
func LinkedBy(how, person, when string) string { return how + " by " + person + ", " + when }

// Refresh is the button that reads the state of bugs again.
func Refresh(tracker string) string { return "Refresh from " + tracker }

// LinkNumber is the button that links a bug.
func LinkNumber(number int64, anyway bool) string {
	return "Link bug " + strconv.FormatInt(number, 10) + anywayAfter(anyway)
}

// LinkNumberTo is the button that links a bug to several problems.
func LinkNumberTo(number, problems int64, anyway bool) string {
	return "Link bug " + strconv.FormatInt(number, 10) + " to " + Problems(problems) + anywayAfter(anyway)
}

func anywayAfter(anyway bool) string {
	if anyway {
		return " anyway"
	}
	return ""
}

// LinkBugToProblems is the heading of the page that links a bug to several problems.
func LinkBugToProblems(n int64) string { return "Link a bug to " + Problems(n) }

// ProblemsWithBug is the heading of the list of problems that have one bug.
func ProblemsWithBug(number int64) string {
	return "Problems with bug " + strconv.FormatInt(number, 10)
}

// BugNotReachable warns that the tracker could not be read.
func BugNotReachable(tracker string, number int64) string {
	return tracker + " cannot be reached, so bug " + strconv.FormatInt(number, 10) +
		" could not be looked up. You can link it anyway."
}

// BugNotFound warns that the tracker shows no such bug.
func BugNotFound(tracker string, number int64) string {
	return tracker + " shows no bug " + strconv.FormatInt(number, 10) +
		": it is private or does not exist. You can link it anyway."
}

// BugLinked confirms that a bug has been linked.
func BugLinked(number int64) string { return "Bug " + strconv.FormatInt(number, 10) + " linked." }

// BugWasLinked says that nothing has changed.
func BugWasLinked(number int64) string {
	return "Bug " + strconv.FormatInt(number, 10) + " was already linked."
}

// BugLinkedUnread confirms a link to a bug whose state is not known yet.
func BugLinkedUnread(number int64, tracker string) string {
	return BugLinked(number) + " Its state will appear once " + tracker + " answers."
}

// BugUnlinked confirms that a bug has been unlinked.
func BugUnlinked(number int64) string { return "Bug " + strconv.FormatInt(number, 10) + " unlinked." }

// BugRelinked confirms that unlinking has been undone.
func BugRelinked(number int64) string {
	return "Bug " + strconv.FormatInt(number, 10) + " linked again."
}

// Refreshing confirms that the tracker is being read again.
func Refreshing(tracker string) string {
	return "Refreshing from " + tracker + "; the result will appear within a few seconds."
}

// LinkBugToSeveral is the title of the page that links a bug to several problems.
const LinkBugToSeveral = "Link a bug to several problems"

// BugLinkedTo confirms that a bug has been linked to several problems.
func BugLinkedTo(number, problems int64) string {
	return "Bug " + strconv.FormatInt(number, 10) + " linked to " + Problems(problems) + "."
}

// HadBugAlready says how many problems had the bug before.
func HadBugAlready(problems int64) string { return Count(problems) + " already had it." }

// BugUnlinkedFrom confirms that linking to several problems has been undone.
func BugUnlinkedFrom(number, problems int64) string {
	return "Bug " + strconv.FormatInt(number, 10) + " unlinked from " + Problems(problems) + "."
}
