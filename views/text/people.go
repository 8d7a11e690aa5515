package text

import "strings"

// Texts about who takes care of a problem, and about its tags.
const (
	PeopleTitle     = "People"
	AssignedTo      = "Assigned to"
	AssignedNobody  = "nobody"
	AssignMe        = "Assign to me"
	AssignChange    = "Assign…"
	AssignName      = "Person or team"
	AssignHint      = "An account, or ~ and a name on the tracker."
	AssignButton    = "Assign"
	AssignClear     = "Assign to nobody"
	AssignHistory   = "history"
	AssignUndone    = "The assignment was undone."
	AssignSame      = "It was already assigned like that."
	AssignChosen    = "Assign problems"
	TagsTitle       = "Tags"
	TagAdd          = "Add a tag…"
	TagName         = "Tag"
	TagButton       = "Add"
	TagsNone        = "none"
	ColumnAssignee  = "Assigned to"
	FollowProblem   = "Follow this problem"
	FollowSearch    = "Follow"
	FollowingTitle  = "Follow"
	AssignedToYou   = "assigned to you"
	ListAssign      = "Assign…"
	KeyAssign       = "Assign the row and the selected rows, or this problem"
	AssignPlainName = "Assigned to "
)

// InTracker says that an assignee comes from the bug.
func InTracker(tracker string) string { return "(in " + tracker + ")" }

// AssignedByBug explains why a problem cannot be assigned here.
func AssignedByBug(tracker string) string {
	return "The bug’s assignee counts. Change it in " + tracker + "."
}

// AssignedDone confirms an assignment.
func AssignedDone(name string) string {
	if name == "" {
		return "Assigned to nobody."
	}
	return "Assigned to " + strings.TrimPrefix(name, "~") + "."
}

// AssignedEntry describes an entry of the history, without its time.
func AssignedEntry(by, to string) string {
	if to == "" {
		to = AssignedNobody
	}
	return by + " → " + strings.TrimPrefix(to, "~")
}

// AssignUndoneBy says who undid an entry of the history.
func AssignUndoneBy(by string) string { return "undone by " + by }

// AssignedProblems confirms the assignment of several problems.
func AssignedProblems(name string, n int64) string {
	return Counted(n, "problem", "problems") + " " + strings.ToLower(AssignedDone(name)[:1]) + AssignedDone(name)[1:]
}

// AssignSkipped counts problems whose bugs have an assignee.
func AssignSkipped(n int64) string {
	return Counted(n, "problem was", "problems were") + " skipped: their bugs have an assignee in the tracker."
}

// AssignedAlready counts problems that were already assigned like that.
func AssignedAlready(n int64) string {
	return Counted(n, "was", "were") + " already assigned like that."
}

// AssignmentsUndone counts undone assignments.
func AssignmentsUndone(n int64) string {
	return "Undid " + Counted(n, "assignment", "assignments") + "."
}

// AssignHeading is the heading of the page that assigns several problems.
func AssignHeading(n int64) string { return "Assign " + Counted(n, "problem", "problems") }

// TagAdded confirms that a tag was added.
func TagAdded(tag string) string { return "Tag " + tag + " added." }

// TagPresent says that the problem has a tag already.
func TagPresent(tag string) string { return "It already has the tag " + tag + "." }

// TagRemoved confirms that a tag was removed.
func TagRemoved(tag string) string { return "Tag " + tag + " removed." }

// TagAbsent says that the problem does not have a tag.
func TagAbsent(tag string) string { return "It no longer has the tag " + tag + "." }

// TagRemove labels the button that removes a tag.
func TagRemove(tag string) string { return "Remove the tag " + tag }

// RowTags explains the tags in a row of a list.
func RowTags(tags string) string { return "Tags: " + tags }
