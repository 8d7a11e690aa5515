package text

import (
	"strconv"
	"strings"

	"mishap/crash"
)

// Texts of lists of problems.
const (
	ListTitle         = "Most common problems"
	ListProblemsIn    = "Problems in"
	ListAllReleases   = "all releases"
	ListFor           = "for"
	ListAllPackages   = "all packages"
	ListOn            = "on"
	ListAnyMachine    = "any architecture"
	ListDuring        = "during"
	ListTheseDays     = "these days:"
	ListMoreFilters   = "More filters"
	ListShow          = "Show"
	ListShowFirst     = "Show first seen"
	ListHideFirst     = "Hide first seen"
	ListDays28        = "28 days"
	ListDays28Title   = "Reports a day, the last 28 days"
	ListReports       = "Reports"
	ListPackage       = "Package"
	ListProblem       = "Problem"
	ListFirstSeen     = "First seen"
	ListLastSeen      = "Last seen"
	ListBug           = "Bug"
	ListSelect        = "Select"
	ListNew           = "new"
	ListNewTitle      = "First seen in the past week"
	ListRising        = "rising"
	ListNotSymbolised = "not symbolised"
	ListWhySymbolised = "The functions have no names yet. The reports move to the problem with names once they are " +
		"symbolised."
	ListCreate         = "Create bug"
	ListTryAgain       = "Try again"
	ListCannotFile     = "cannot be filed"
	ListCreating       = "Creating"
	ListChecking       = "Creating (checking the tracker)"
	ListCheckingTitle  = "The outcome is unknown; mishap looks for the bug in the tracker before it tries again."
	ListWaiting        = "waiting for the tracker"
	ListConnect        = "Connect"
	ListNotCreated     = "not created"
	ListReview         = "Review…"
	ListLinkBug        = "Link a bug…"
	ListSelectedRows   = "Selected rows"
	ListCreateSelected = "Create bugs…"
	ListCreateOne      = "Create 1 bug…"
	ListCreateMany     = "Create # bugs…" // js/select.js replaces # by the number of rows that get a bug
	ListLink           = "Link…"
	ListMerge          = "Merge…"
	ListClear          = "Clear"
	ListFirstPage      = "First page"
	ListProblems       = "Problems"
	ListFrom           = "from"
	ListTo             = "to"
	ListSource         = "source package"
	ListVersion        = "version"
	ListType           = "problem type"
	ListState          = "status"
	ListSet            = "package set"
	ListPerson         = "packages of"
	ListPersonHint     = "person or team"
	ListAny            = "any"
	ListOnlyNew        = "only new problems"
	ListOnlyNewMeans   = "With a version: not seen in any earlier version. Without one: first seen in this period."
	ListWithoutBug     = "without a bug"
	ListWithBug        = "with a bug"
	ListBugUnread      = "bug not read yet"
	PeriodPastDay      = "the past day"
	PeriodPastWeek     = "the past week"
	PeriodPastMonth    = "the past month"
	PeriodPastYear     = "the past year"
)

// DaysBetween names a range of days in a sentence.
func DaysBetween(from, to string) string { return "the days from " + from + " to " + to }

// DaysSince names the days from one on.
func DaysSince(from string) string { return "the days since " + from }

// DaysUntil names the year before a day.
func DaysUntil(to string) string { return "the year up to " + to }

// ShortSince names a range of days beside the totals of a list.
func ShortSince(day string) string { return "since " + day }

// ShortDays names a range of days beside the totals of a list, which are counted in UTC.
func ShortDays(days string) string { return days + " (UTC)" }

// Texts of a list without rows.
const (
	EmptyEnd        = "No more problems."
	EmptyFirstPage  = "Back to the first page"
	EmptyNoMatch    = "No problems match"
	EmptyNoField    = "is not a search field, so mishap searched for it as text."
	EmptySearchYear = "Search the past year"
	EmptyReports    = "No counted reports"
	EmptyOfPackage  = "of the package"
	EmptyWiden      = "All packages and releases"
	EmptyYear       = "Show the past year"
	EmptySendTo     = "Machines send reports to"
	EmptyWhoopsie   = "On machines with whoopsie, set"
	EmptyImport     = "To import report files, run"
	EmptyByHand     = "To send one by hand:"
	ListFixed       = "fixed"
	ListFixedIn     = "fixed in"
	ListJustNow     = "now"
)

// EmptyIn ends the sentence about a period without problems.
func EmptyIn(period string) string { return "in " + period + "." }

// EmptyFrom names the release of that sentence.
func EmptyFrom(release string) string { return "from " + release }

// EmptyNone says that nothing was counted in a period.
func EmptyNone(period string) string { return "No reports in " + period + "." }

// ListSelectRow labels the check box of a row.
func ListSelectRow(place int) string { return "Select row " + strconv.Itoa(place) }

// ListSeenSince describes the newest and the oldest report of a problem.
func ListSeenSince(last, first string) string { return last + "; first seen " + first }

// ListRefresh is the button that reads bugs again.
func ListRefresh(tracker string) string { return "Refresh from " + tracker }

// ListNext links to the next page of a list.
func ListNext(rows int) string { return "Next " + strconv.Itoa(rows) }

// ListRank describes a row by its rank, and by its reports in as many days before.
func ListRank(rank int, before int64, days int64, compared bool) string {
	rankText := "Rank " + strconv.Itoa(rank) + " by reports"
	if !compared {
		return rankText
	}
	return rankText + "; " + Reports(before) + " in the " + Counted(days, "day", "days") + " before"
}

// ListRisingTitle explains why a problem counts as rising.
func ListRisingTitle(week, before int64) string {
	return Reports(week) + " in the past seven days (all releases), " + Count(before) +
		" in the seven before: more than " +
		"chance explains"
}

// Texts of the pages for selected problems.
const (
	ChosenTitle      = "Selected problems"
	ChosenCreating   = "Bugs are created one after the other, in this order. You can leave this page."
	ChosenReading    = "The bugs are read one after the other. You can leave this page."
	ChosenResult     = "Result"
	ChosenReload     = "Reload"
	ChosenToList     = "Back to the list"
	ChosenFiled      = "filed"
	ChosenRefused    = "not created"
	ChosenImpossible = "cannot be filed"
	ChosenPending    = "creating"
	ChosenDone       = "Done"
	ChosenWaiting    = "waiting for the tracker"
	ChosenNotFiled   = "no bug requested"
	ChosenNoBug      = "no bug"
	ChosenRead       = "read again"
	ChosenUnreadable = "cannot be read now; mishap tries again later"
	ChosenReadSoon   = "waiting to be read"
)

// ChosenProgress describes how many of the selected problems are done.
func ChosenProgress(done, of int64) string {
	if done == of {
		return Problems(of) + ": all done"
	}
	return Count(done) + " of " + Problems(of) + " done"
}

// ChosenRequested confirms that bugs are being created.
func ChosenRequested(bugs int64) string {
	return "Creating " + Counted(bugs, "bug", "bugs") + "."
}

// ChosenReadingSoon confirms that the states of bugs are read again.
func ChosenReadingSoon(bugs int64) string {
	return Counted(bugs, "bug", "bugs") + " will be read from the tracker within a few seconds."
}

// Texts of the page that confirms the creation of several bugs.
const (
	ConfirmHint      = "Nothing has been sent yet."
	ConfirmPackage   = "Source package"
	ConfirmTitle     = "Title of the bug"
	ConfirmCancel    = "Cancel"
	ConfirmNone      = "None of these problems can be filed."
	ConfirmSkipped   = "Not filed"
	ConfirmHasBug    = "has bug"
	ConfirmRequested = "is being created already"
)

// ConfirmHeading asks whether to create bugs in the tracker.
func ConfirmHeading(bugs int64, tracker string) string {
	return "Create " + Counted(bugs, "bug", "bugs") + " in " + tracker + "?"
}

// ConfirmButton creates the bugs.
func ConfirmButton(bugs int64) string { return "Create " + Counted(bugs, "bug", "bugs") }

// IgnoredParameters says that an address has invalid values, which the page ignores.
func IgnoredParameters(names []string) string {
	return "Invalid " + crash.Plural(int64(len(names)), "value", "values") + " in the address ignored: " +
		strings.Join(names, ", ") + "."
}
