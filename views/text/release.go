package text

// Texts of the page of a release.
const (
	ReleaseWorst           = "Most common problems"
	ReleaseNoProblem       = "No problems in this period."
	ReleaseRegressions     = "Regressions"
	ReleaseNoRegression    = "No fixed problem came back in this period."
	ReleaseRegressionsList = "Show regressions in the list"
	ReleaseNew             = "New in this release"
	ReleaseNoneNew         = "All problems in this period were already known in an earlier release."
	ReleasePackages        = "Packages"
	ReleaseRates           = "Reports per 1,000 active machines a day, with the 95 % confidence interval."
	ReleaseActive          = "active machines"
)

// ShowAllProblems links to the list of all problems.
func ShowAllProblems(n int64) string { return "Show all " + Problems(n) + " in the list" }

// SeeRelease links to the page of another release.
func SeeRelease(name string) string { return "See " + name + "." }

// ReportsInDays labels the reports of the last days: "reports in 28 days".
func ReportsInDays(days int64) string { return "reports in " + Days(days) }

// ProblemsInDays labels the problems of the last days: "problems in 28 days".
func ProblemsInDays(days int64) string { return "problems in " + Days(days) }

// ReleaseComesOut says when a release will be published.
func ReleaseComesOut(day string) string { return "To be released on " + day + "." }

// ReleaseCameOut says when a release was published.
func ReleaseCameOut(day string) string { return "Released on " + day + "." }

// ReleaseEnded says when a release was published and its support ended.
func ReleaseEnded(day, end string) string {
	return "Released on " + day + "; support ended on " + end + "."
}

// ReleaseSupported says when a release was published and until when it is supported.
func ReleaseSupported(day, end string) string {
	return "Released on " + day + ", supported until " + end + "."
}
