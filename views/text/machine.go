package text

import "strconv"

// Texts of the page of a machine.
const (
	MachineTitle     = "Machine"
	MachinesNameless = "Machines without an id"
	MachineTest      = "test machine"
	MachineTestMeans = "Its reports are stored but not counted."
	MachineNameless  = "Virtual machines and boards without firmware send no machine id, so these reports may come " +
		"from many machines."
	MachineSummary   = "Packages"
	MachineReports   = "reports"
	MachineNewest    = "newest reports"
	MachineFirstSeen = "first report"
	MachineSince     = "since"
	MachineLastSeen  = "last report"
	MachineRuns      = "Runs"
	MachineRan       = "Has run"
	MachineFirst     = "First"
	MachineLast      = "Last"
	MachineVersions  = "Versions"
	MachineAll       = "Reports"
	MachineNoReports = NoSuchMachine
	MachineReportsOf = "Reports of a machine"
)

// MorePackages says what a table leaves out.
func MorePackages(n int64) string {
	return Counted(n, "more package", "more packages") + " with fewer reports"
}

// ReportsBetween describes reports in a span of days.
func ReportsBetween(n int64, first, last string) string {
	return Reports(n) + " from " + first + " to " + last
}

// ReportedBetween says when a machine reported from a release.
func ReportedBetween(first, last string) string {
	return "Reports from " + first + " to " + last
}

// VersionsAndMore follows the newest versions of a list.
func VersionsAndMore(n int) string { return " and " + strconv.Itoa(n) + " more" }
