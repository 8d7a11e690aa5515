package text

// Texts of the page of a machine.
const (
	MachineTest      = "test machine"
	MachineTestMeans = "Its reports are stored but not counted."
	MachineNameless  = "Virtual machines and boards without firmware send no machine id, so " +
		"these reports may come from several machines."
	MachineReports  = "Summary"
	MachineFirst    = "First"
	MachineLast     = "Last"
	MachineVersions = "Versions"
)

// MorePackages says what a table leaves out.
func MorePackages(n int64) string {
	return Counted(n, "more package", "more packages") + " with fewer reports"
}

// ReportsBetween describes reports in a span of days.
func ReportsBetween(n int64, first, last string) string {
	return Reports(n) + " from " + first + " to " + last
}
