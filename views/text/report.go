package text

// Texts of the page of a report.
const (
	ReportID           = "Report"
	ReportProblem      = "Problem"
	ReportPackage      = "Package"
	ReportMachine      = "Machine"
	ReportOccurred     = "Occurred"
	ReportArrived      = "Arrived"
	ReportDownload     = "Download"
	ReportNoMachine    = "no machine id"
	ReportTestMachine  = "test machine, not counted"
	ReportNoDate       = "no readable date"
	ReportJSON         = "JSON"
	ReportJSONMeans    = "All stored data of the report"
	ReportCrash        = ".crash"
	ReportCrashMeans   = "A file for apport, apport-cli and apport-retrace"
	ReportCoreMeans    = "Includes the memory of the program, which may contain secrets"
	ReportGroups       = "Groups of fields"
	ReportNoFields     = "The report has no fields."
	ReportCompare      = "Compare with the problem’s stack"
	ReportNothingRead  = "It contains nothing to group it by."
	ReportEmptyField   = "empty"
	ReportOlder        = "Older reports"
	ReportNewest       = "Newest"
	ReportNoOlder      = "There are no older reports."
	ReportBackToNewest = "Back to the newest"
	ReportSearchBack   = "Search further back"
	FilterAnyVersion   = "any version"
	FilterAnyArch      = "any architecture"
	FilterWithTrace    = "with a trace"
	FilterSubmit       = "Filter"
)

// OccurredExactly gives the time by the clock of the machine.
func OccurredExactly(time string) string { return time + ", by the machine’s clock" }

// CrashWithCore links to a file with a core dump of a size.
func CrashWithCore(size string) string { return ".crash with core dump, " + size }

// ReportOn names a version, its release and its architecture.
func ReportOn(version, release, architecture string) string {
	if release != "" {
		version += " on " + release
	}
	if architecture != "" {
		version += ", " + architecture
	}
	return version
}

// TypeOf is the heading of a report without a title: "Hang of editor".
func TypeOf(problemType, what string) string { return problemType + " of " + what }

// Lines counts the lines of a folded field, with its size.
func Lines(n int, size string) string { return Counted(int64(n), "line", "lines") + ", " + size }

// SearchedSince says how far back reports were searched.
func SearchedSince(day string) string { return "Searched the reports since " + day + "." }
