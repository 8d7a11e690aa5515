package text

import (
	"fmt"
	"strconv"
	"strings"
)

// Texts of the page of a problem.
const (
	ProblemMerged         = "was merged into this problem; see its"
	ProblemMergedLink     = "history"
	ProblemStatus         = "Status"
	ProblemSeeReports     = "to see the reports"
	ProblemSeeStack       = "to see the stack"
	ProblemPackage        = "Package"
	ProblemSource         = "from source"
	ProblemProgram        = "Program"
	ProblemType           = "Type"
	ProblemFirstSeen      = "First seen"
	ProblemLastSeen       = "Last seen"
	ProblemVsLastWeek     = "vs last week"
	SimilarTitle          = "Similar problems"
	SimilarMerge          = "Merge…"
	BreakdownTitle        = "Breakdown"
	BreakdownReports      = "Reports"
	BreakdownShare        = "Share"
	StatusBugRead         = "Bug last read"
	TraitsTitle           = "What stands out"
	TraitsCompare         = "Compare with the package’s other problems"
	BreakdownArch         = "Architecture"
	BreakdownPocket       = "Pocket"
	BreakdownOtherPockets = "others"
	BreakdownType         = "Type"
	ProblemIDOf           = "problem"
)

// MoreReleases counts the releases that a status does not name at once.
func MoreReleases(n int) string { return Counted(int64(n), "more release", "more releases") }

// AllTime adds to the name of a figure that it covers all time: "reports (all time)".
func AllTime(word string) string { return word + " (all time)" }

// RateLabel labels the rate of a problem in the past days, with its confidence interval.
func RateLabel(days int64, low, high string) string {
	return "per 1,000 machine-days, past " + Days(days) + " (" + low + "–" + high + ")"
}

// RateMeans explains the rate of RateLabel: the reports and machine-days that it comes from.
func RateMeans(reports, days, machineDays int64, low, high string) string {
	return fmt.Sprintf("%s in the past %s, on %s active machine-days of the releases in which it was seen; "+
		"95 %% confidence interval: %s to %s", Reports(reports), Days(days), Count(machineDays), low, high)
}

// maxShareReleases is the number of releases that ShareLabel names.
const maxShareReleases = 2

// ShareLabel names the machines that a share is of: "of machines with 24.04, active in 90 days".
func ShareLabel(releases []string, atMost bool) string {
	label := "of machines with " + strings.Join(releases, " or ") + ", active in 90 days"
	if n := len(releases); n > maxShareReleases {
		label = "of machines with any of its " + strconv.Itoa(n) + " releases, active in 90 days"
	}
	if atMost {
		return label + ", at most"
	}
	return label
}

// ShareMeans explains the share of machines that have a problem.
func ShareMeans(machines, active int64, atMost bool) string {
	means := fmt.Sprintf("%s reported it; %s were active in the same releases in the past 90 days",
		Machines(machines), Count(active))
	if atMost {
		return means + ". Some of the affected machines may no longer be active"
	}
	return means
}

// TrendMeans explains the change from the previous week to the past one.
func TrendMeans(week, before int64) string {
	return Reports(week) + " in the past week, today included, " + Count(before) + " in the seven days before"
}

// LessThan formats a number below the smallest that is shown.
func LessThan(least string) string { return "less than " + least }

// TraitShare follows a trait: how frequent it is in other problems.
func TraitShare(share string) string { return "(" + share + " elsewhere)" }

// TraitsCaption says which reports are compared.
func TraitsCaption(here, there int) string {
	return fmt.Sprintf("More frequent than chance explains, among the newest %s and %s of the package’s other problems, "+
		"one of each machine", Reports(int64(here)), Count(int64(there)))
}

// TraitsTooFew says that there are too few reports to compare.
func TraitsTooFew(here, there int) string {
	return fmt.Sprintf("Too few reports to tell: %d of this problem, %d of others, one of each machine.", here, there)
}

// TraitsNone says that nothing stands out.
func TraitsNone(here, there int) string {
	return fmt.Sprintf("Nothing is more frequent than chance explains, among the newest %s and %s of the package’s other "+
		"problems, one of each machine.", Reports(int64(here)), Count(int64(there)))
}

// VersionFilter describes the reports from one version.
func VersionFilter(version string) string { return "version " + version }
