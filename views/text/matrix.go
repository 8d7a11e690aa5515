package text

import (
	"strconv"

	"mishap/crash"
)

// Texts of the table of a problem's reports by version and release.
const (
	MatrixTitle     = "Versions and releases"
	MatrixEmpty     = "No counted report states its version."
	MatrixAll       = "all versions"
	MatrixVersion   = "Version"
	MatrixLastSeen  = "Last seen"
	MatrixFewer     = "Show fewer versions"
	MatrixOthers    = "Others"
	MarkFirst       = "first"
	MarkLast        = "last"
	MarkHighest     = "highest"
	MarkBefore      = "before"
	MarkNone        = "not seen"
	MarkNotYet      = "not seen yet"
	MarkFix         = "probable fix"
	MarkFixed       = "fixed"
	MarkSeenAgain   = "fixed, seen again"
	matrixFirstFree = "; it is the first version after the last one with the problem"
)

// MatrixMore links to the rows that are not visible.
func MatrixMore(older, without int64) string {
	var parts []string
	if older > 0 {
		parts = append(parts, Counted(older, "older version", "older versions"))
	}
	if without > 0 {
		parts = append(parts, Counted(without, "version without reports", "versions without reports"))
	}
	if parts == nil {
		return ""
	}
	return "Show " + crash.JoinAnd(parts)
}

// InUseWithout describes a version that is in use in a release without the problem.
func InUseWithout(release string) string { return "In use in " + release + ", without this problem" }

// MarkIn adds to a mark the releases in which it holds: "last in 24.04 and 22.04".
func MarkIn(mark string, releases []string) string { return mark + " in " + crash.JoinAnd(releases) }

// MarkLastMeans explains the mark of the last version.
func MarkLastMeans(releases []string) string {
	return "No newer version in " + crash.JoinAnd(releases) + " has shown the problem"
}

// MarkBeforeMeans explains the mark of a version older than the first with the problem.
func MarkBeforeMeans(release string) string {
	return "In use in " + release + " before the problem appeared"
}

// MarkNotYetMeans explains the mark of a newer version without the problem.
func MarkNotYetMeans(release, since string, first bool) string {
	text := "In use in " + release + " since " + since + ", without this problem"
	if first {
		text += matrixFirstFree
	}
	return text
}

// MarkFixedMeans explains the mark of a version with a fix.
func MarkFixedMeans(bug int64) string {
	return "According to bug " + strconv.FormatInt(bug, 10) + ", this version has the fix"
}
