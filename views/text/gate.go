package text

import "mishap/crash/gate"

// Texts of the page of the update gate.
const (
	GateTitle        = "Update gate"
	GateMeans        = "Did an update make things worse? The gate compares the days before and after it."
	GateAsk          = "Did"
	GateOfVersion    = "version"
	GateMade         = "make things worse, compared with"
	GateIn           = "in"
	GateJudge        = "Judge"
	GatePackage      = "Binary package"
	GateVersion      = "Version"
	GateAgainst      = "Lower version to compare with"
	GateAgainstNone  = "the version before"
	GateRelease      = "Release"
	GateEveryRelease = "every release"
	GateKnown        = "Versions that reports name:"
	GateDays         = "Days (UTC)"
	GateMachineDays  = "Machine-days"
	GateReports      = "Reports"
	GateReportsMean  = "Reports of all versions of the package"
	GateOwn          = "Of the version"
	GateOwnMeans     = "Reports of the version itself"
	GateMachines     = "Machines"
	GateMachinesMean = "Distinct machines that reported the version itself in these days, by stored reports"
	GateFoundMean    = "Distinct machines that ever reported the problem with this version"
	GateRateMeans    = "Reports of all versions per 1,000 machine-days"
	GateRatio        = "Ratio"
	GateBefore       = "Before"
	GateAfter        = "After"
	GateReportsOf    = "Reports before and after"
	GateChance       = "p"
	GateChanceMeans  = "Probability of such numbers if the update changed nothing"
	GateCounts       = "Counts"
	GateCountsMeans  = "Whether it makes the verdict worse: it is significant and on at least three machines"
	GateNew          = "New problems"
	GateNewNone      = "No problem is new in this version."
	GateIncreased    = "More frequent problems"
	GateDocumented   = "docs/gate.md explains the statistics and their limits."
	GateYes          = "yes"
	GateNo           = "no"
	GateLink         = "Judge"
	GateLinkTitle    = "Did this update make things worse?"
	ColumnGate       = "Gate"
)

// GateWord names a verdict in a word.
func GateWord(v gate.Verdict) string { return string(v) }

// GateMore says how many new problems a table leaves out.
func GateMore(n int64) string {
	return "And " + Counted(n, "more new problem", "more new problems") + "."
}

// GateNameless says how many problems were not compared.
func GateNameless(n int64) string {
	return Counted(n, "problem has no function names yet and was", "problems have no function names yet and were") +
		" not compared. The rates include " + map[bool]string{true: "it.", false: "them."}[n == 1]
}

// GateRange returns a range of days.
func GateRange(since, until string) string { return since + " – " + until }

// GateTerminal is the command that answers the same.
func GateTerminal(q gate.Question) string {
	command := "mishap gate " + orPlaceholder(q.Package, "PACKAGE") + " " + orPlaceholder(q.Version, "VERSION")
	if q.Against != "" {
		command += " --against " + q.Against
	}
	if q.Release != "" {
		command += ` --release "` + string(q.Release) + `"`
	}
	return command
}

func orPlaceholder(s, placeholder string) string {
	if s == "" {
		return placeholder
	}
	return s
}
