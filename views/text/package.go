package text

// Texts of the page of a package.
const (
	PackageFollowSignIn = "to follow this package"
	PackageInList       = "Show in the list"
	PackageSameSource   = "Same source or name:"
	PackageProblems     = "Problems"
	PackageNoProblems   = "This package had no problems in this period."

	Versions     = "Versions"
	VersionsMean = "Reports per 1,000 active machines a day while the version was seen, with the 95 % " +
		"confidence interval."
	VersionsHow     = "How to read this"
	VersionsHowLong = "A machine is active in a release if it reported anything in the 90 days before. A difference " +
		"is marked " +
		"only if it is more than chance explains, after the correction for the number of versions. A rare problem may be " +
		"missing from a version by chance."
	CompareVersions = "Compare"
	CompareAgainst  = "against"
	CompareA        = "Version A"
	CompareB        = "Version B"
	CompareShow     = "Compare"
	CompareUnknown  = "That version is not listed below, so the newest one is shown instead."
	CompareSame     = "A and B are the same version. Choose two different ones."
	CompareReleases = "The releases differ, so their machines differ, too; problems are compared only within a release."

	ColumnRelease  = "Release"
	ColumnVersion  = "Version"
	ColumnReports  = "Reports"
	ColumnSeen     = "Seen"
	ColumnRate     = "Rate"
	ColumnInterval = "95 % interval"
	ColumnScale    = "To scale"
	ColumnPrevious = "Compared with previous"
	ColumnNew      = "New"
	ColumnGone     = "Gone"
	NewMeans       = "Problems that no earlier version had"
	GoneMeans      = "Problems of the previous version that no version from this one on has"

	RateSameMeans = "The difference is within normal variation."
	RateMore      = "more"
	RateFewer     = "fewer"
	RateSame      = "unclear"
	RateUnknown   = "unknown"
	NoneNewHere   = "None."
)

// ProblemsOf is the title of the files and feeds of a package or a release.
func ProblemsOf(name string) string { return "Problems of " + name }

// PackagePeriod says what the page of a package covers.
func PackagePeriod(days int64) string {
	return "Reports and problems of the last " + Counted(days, "day", "days") + " (UTC)."
}

// MoreProblems links to the problems that a table leaves out.
func MoreProblems(n int64) string { return Counted(n, "more problem", "more problems") }

// RateInterval describes a rate and its interval for screen readers.
func RateInterval(rate, low, high string) string {
	return rate + " reports per 1,000 machines a day, 95 % interval " + low + " to " + high
}

// ComparedRate compares the rates of two versions: "A has 0.54 × the rate of B (95 % CI 0.40–0.72):".
// The word for the difference follows.
func ComparedRate(ratio, low, high string) string {
	return "A has " + ratio + " × the rate of B (95 % CI " + low + "–" + high + "):"
}

// NewSince heads the problems that appeared between two versions.
func NewSince(newer, older string) string { return "New in " + newer + " since " + older }

// ReportsFrom counts the reports from a version: "4 reports from 1.4.9-2".
func ReportsFrom(n int64, version string) string { return Reports(n) + " from " + version }

// GoneSince heads the problems that disappeared between two versions.
func GoneSince(newer, older string) string { return "Gone in " + newer + " since " + older }

// AndMore follows a list that is cut off.
func AndMore(n int64) string { return "and " + Count(n) + " more" }

// VersionIn names a version and its release in a list of choices.
func VersionIn(version, release string) string { return version + " (" + release + ")" }

// NoReportsOfPackage says that there is nothing about a package.
func NoReportsOfPackage(name string) string {
	return "No recent reports of a package named “" + name + "”."
}
