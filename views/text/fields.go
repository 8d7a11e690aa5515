package text

import (
	"strconv"
	"time"
)

// Groups of the fields of a report.
const (
	FieldsWhat   = "What crashed"
	FieldsWhere  = "Where"
	FieldsWhen   = "When"
	FieldsTraces = "Traces"
	FieldsSystem = "System"
	FieldsLogs   = "Logs"
	FieldsRest   = "Everything else"
)

// Meanings of fields that [FieldMeanings] does not list.
const (
	FieldAsSent        = "as the machine sent it, before mishap symbolised the report"
	FieldHardware      = "hardware, according to its firmware"
	FieldOtherStack    = "stack that the program or a hook added"
	FieldOtherLog      = "log that a hook of the package added"
	FieldFromProc      = "from /proc, about the process or the system"
	FieldConfiguration = "configuration file changed on the machine"
	FieldService       = "how the service is started"
	FieldUnknown       = "added by a hook of the package or by the program"
)

// FieldMeaning says what a field of a report is, and to which group it belongs.
type FieldMeaning struct{ Group, Meaning string }

// FieldMeanings lists the fields that apport, its hooks, whoopsie and snapd write. Within a group,
// pages show them in this order.
var FieldMeanings = []struct {
	Name string
	FieldMeaning
}{
	{"ProblemType", FieldMeaning{FieldsWhat, "kind of problem: Crash, KernelOops, Package, RecoverableProblem …"}},
	{"Title", FieldMeaning{FieldsWhat, "title that apport proposed"}},
	{"ExecutablePath", FieldMeaning{FieldsWhat, "program that crashed"}},
	{"InterpreterPath", FieldMeaning{FieldsWhat, "interpreter that ran the program"}},
	{"Package", FieldMeaning{FieldsWhat, "binary package and its version"}},
	{"SourcePackage", FieldMeaning{FieldsWhat, "source package, which bugs are filed against"}},
	{"PackageArchitecture", FieldMeaning{FieldsWhat, "architecture that the package was built for"}},
	{"Signal", FieldMeaning{FieldsWhat, "number of the signal that ended the program"}},
	{"SignalName", FieldMeaning{FieldsWhat, "name of that signal"}},
	{"AssertionMessage", FieldMeaning{FieldsWhat, "assertion that failed"}},
	{"_PythonExceptionQualifier", FieldMeaning{FieldsWhat,
		"detail of a Python exception: the number of an OSError, the name of a D-Bus error"}},
	{"ProblemSummary", FieldMeaning{FieldsWhat, "summary by the person who reported it"}},
	{"ErrorMessage", FieldMeaning{FieldsWhat, "error as the packaging system or snapd reported it"}},
	{"Failure", FieldMeaning{FieldsWhat, "what the kernel was doing: oops, suspend/resume, hibernate/resume"}},
	{"DuplicateSignature", FieldMeaning{FieldsWhat, "signature set by the program or a hook"}},
	{"StacktraceAddressSignature", FieldMeaning{FieldsWhat,
		"signature of modules and offsets, for stacks without function names"}},
	{"ExecutableTimestamp", FieldMeaning{FieldsWhat, "when the program’s file was last changed, in seconds since 1970"}},
	{"Snap", FieldMeaning{FieldsWhat, "snap that failed"}},
	{"SnapChangeKind", FieldMeaning{FieldsWhat, "what snapd was doing: installing, refreshing, removing"}},
	{"SourcePackageVersion", FieldMeaning{FieldsWhat, "version of the source package"}},
	{"CoredumpPackageJson", FieldMeaning{FieldsWhat,
		"packages that systemd-coredump found in the program’s file and its libraries"}},
	{"PreprocessedSource", FieldMeaning{FieldsWhat, "preprocessed source on which the compiler failed"}},
	{"UnreportableReason", FieldMeaning{FieldsWhat, "why apport would not report it as a bug"}},

	{"DistroRelease", FieldMeaning{FieldsWhere, "distribution and release"}},
	{"Architecture", FieldMeaning{FieldsWhere, "architecture of the machine"}},
	{"VirtualMachine", FieldMeaning{FieldsWhere, "kind of virtual machine"}},
	{"SystemIdentifier", FieldMeaning{FieldsWhere, "id of the machine"}},
	{"MachineType", FieldMeaning{FieldsWhere, "manufacturer and model of the machine"}},
	{"dmi.bios.version", FieldMeaning{FieldsWhere, "version of the firmware"}},
	{"dmi.bios.date", FieldMeaning{FieldsWhere, "date of the firmware"}},
	{"dmi.bios.vendor", FieldMeaning{FieldsWhere, "vendor of the firmware"}},
	{"dmi.board.name", FieldMeaning{FieldsWhere, "main board"}},
	{"dmi.product.name", FieldMeaning{FieldsWhere, "model, according to the firmware"}},
	{"dmi.sys.vendor", FieldMeaning{FieldsWhere, "manufacturer, according to the firmware"}},
	{"CurrentDesktop", FieldMeaning{FieldsWhere, "desktop that was running"}},
	{"Uname", FieldMeaning{FieldsWhere, "kernel"}},
	{"ProcVersionSignature", FieldMeaning{FieldsWhere, "kernel package"}},
	{"Tags", FieldMeaning{FieldsWhere, "labels: codename, package-from-proposed, third-party-packages …"}},
	{"CasperVersion", FieldMeaning{FieldsWhere, "version of casper, which starts live media"}},
	{"CasperMD5CheckResult", FieldMeaning{FieldsWhere, "whether the installation medium was intact"}},
	{"HotplugNewDevices", FieldMeaning{FieldsWhere, "devices plugged in shortly before"}},
	{"Annotation", FieldMeaning{FieldsWhere, "note about the machine by its administrators"}},
	{"InstallationMedia", FieldMeaning{FieldsWhere, "medium that the system was installed from"}},
	{"LiveMediaBuild", FieldMeaning{FieldsWhere, "live medium that was running"}},
	{"SystemImageInfo", FieldMeaning{FieldsWhere, "system image and its version"}},

	{"Date", FieldMeaning{FieldsWhen, "when it happened, by the machine’s clock and time zone"}},
	{"CrashCounter", FieldMeaning{FieldsWhen, "number of earlier crashes on the machine"}},
	{"InstallationDate", FieldMeaning{FieldsWhen, "when the system was installed"}},
	{"UpgradeStatus", FieldMeaning{FieldsWhen, "last upgrade to another release"}},

	{"Traceback", FieldMeaning{FieldsTraces, "Python traceback"}},
	{"StacktraceTop", FieldMeaning{FieldsTraces, "innermost five frames, by which the report is grouped"}},
	{"Stacktrace", FieldMeaning{FieldsTraces, "stack of the thread that crashed"}},
	{"ThreadStacktrace", FieldMeaning{FieldsTraces, "stacks of all threads"}},
	{"StackTrace", FieldMeaning{FieldsTraces, "Java stack trace"}},
	{"JavaStackTrace", FieldMeaning{FieldsTraces, "Java stack trace"}},
	{"StacktraceSource", FieldMeaning{FieldsTraces, "source around each frame of the stack"}},
	{"RetraceOutdatedPackages", FieldMeaning{FieldsTraces, "packages that had changed before the stack was symbolised"}},
	{"OopsText", FieldMeaning{FieldsTraces, "output of the kernel"}},
	{"Disassembly", FieldMeaning{FieldsTraces, "machine code around the fault"}},
	{"SymbolisedBy", FieldMeaning{FieldsTraces, "what worked out the stacks from a core; the machine sent addresses"}},
	{"Registers", FieldMeaning{FieldsTraces, "processor registers at the fault"}},
	{"SegvAnalysis", FieldMeaning{FieldsTraces, "memory access that failed"}},
	{"SegvReason", FieldMeaning{FieldsTraces, "kind of access (read, write, execute) and its place"}},
	{"CoreDump", FieldMeaning{FieldsTraces, "memory of the program; not stored with the report"}},
	{"VmCore", FieldMeaning{FieldsTraces, "memory of the kernel; not stored with the report"}},
	{"PythonArgs", FieldMeaning{FieldsTraces, "arguments of the Python program"}},

	{"ProcCmdline", FieldMeaning{FieldsSystem, "command line"}},
	{"ProcCwd", FieldMeaning{FieldsSystem, "working directory"}},
	{"ProcStat", FieldMeaning{FieldsSystem, "state of the process, as numbers"}},
	{"ProcLimits", FieldMeaning{FieldsSystem, "resource limits of the process"}},
	{"ProcCgroup", FieldMeaning{FieldsSystem, "systemd unit of the process"}},
	{"OpenFds", FieldMeaning{FieldsSystem, "open files of the process"}},
	{"ProcEnviron", FieldMeaning{FieldsSystem, "selected environment variables"}},
	{"ProcStatus", FieldMeaning{FieldsSystem, "state of the process: memory, threads, user"}},
	{"ProcModules", FieldMeaning{FieldsSystem, "kernel modules"}},
	{"ProcCpuinfo", FieldMeaning{FieldsSystem, "processors"}},
	{"ProcCpuinfoMinimal", FieldMeaning{FieldsSystem, "last processor"}},
	{"ProcInterrupts", FieldMeaning{FieldsSystem, "interrupts since the machine started"}},
	{"ProcKernelCmdLine", FieldMeaning{FieldsSystem, "kernel command line"}},
	{"ProcFB", FieldMeaning{FieldsSystem, "frame buffer"}},
	{"ProcSwaps", FieldMeaning{FieldsSystem, "swap space"}},
	{"ProcMaps", FieldMeaning{FieldsSystem, "memory map of the process"}},
	{"ProcAttrCurrent", FieldMeaning{FieldsSystem, "security profile of the process"}},
	{"UserGroups", FieldMeaning{FieldsSystem, "system groups of the user"}},
	{"Dependencies", FieldMeaning{FieldsSystem, "versions of its dependencies"}},
	{"NonfreeKernelModules", FieldMeaning{FieldsSystem, "proprietary kernel modules"}},
	{"SnapdVersion", FieldMeaning{FieldsSystem, "version of snapd"}},
	{"HostSnapdBuildID", FieldMeaning{FieldsSystem, "build of snapd on the machine"}},
	{"CoreSnapdBuildID", FieldMeaning{FieldsSystem, "build of snapd in its core snap"}},
	{"DidSnapdReExec", FieldMeaning{FieldsSystem, "whether snapd ran from its snap"}},
	{"RelatedPackageVersions", FieldMeaning{FieldsSystem, "versions of related packages"}},
	{"Lspci", FieldMeaning{FieldsSystem, "devices on the PCI bus"}},
	{"Lsusb", FieldMeaning{FieldsSystem, "devices on the USB bus"}},
	{"Disks", FieldMeaning{FieldsSystem, "disks and partitions"}},
	{"Df", FieldMeaning{FieldsSystem, "use of file systems"}},
	{"UdevDb", FieldMeaning{FieldsSystem, "devices in udev’s database"}},
	{"WifiSyslog", FieldMeaning{FieldsLogs, "NetworkManager’s log of wireless networks"}},
	{"IwlFwDump", FieldMeaning{FieldsLogs, "firmware dump of the wireless adapter"}},
	{"SystemdCoredump", FieldMeaning{FieldsLogs, "log of systemd-coredump"}},
	{"ApportVersion", FieldMeaning{FieldsSystem, "version of apport"}},

	{"MishapDropped", FieldMeaning{FieldsSystem, "names of secret fields, which mishap does not store"}},
	{"MishapExpired", FieldMeaning{FieldsSystem, "names of private fields that were removed because of their age"}},

	{"JournalErrors", FieldMeaning{FieldsLogs, "errors in the journal around that time"}},
	{"DpkgTerminalLog", FieldMeaning{FieldsLogs, "output of dpkg"}},
	{"CurrentDmesg", FieldMeaning{FieldsLogs, "kernel messages"}},
	{"BootDmesg", FieldMeaning{FieldsLogs, "kernel messages from boot"}},
	{"DKMSBuildLog", FieldMeaning{FieldsLogs, "log of building a kernel module"}},
	{"DKMSKernelVersion", FieldMeaning{FieldsLogs, "kernel for which the module was built"}},
	{"DpkgHistoryLog", FieldMeaning{FieldsLogs, "recent actions of apt"}},
	{"AptSolverDump", FieldMeaning{FieldsLogs, "request to apt’s solver"}},
	{"XorgLog", FieldMeaning{FieldsLogs, "log of the X server"}},
	{"XsessionErrors", FieldMeaning{FieldsLogs, "output of desktop programs"}},
	{"GsettingsChanges", FieldMeaning{FieldsSystem, "changed desktop settings"}},
	{"MarkForUpload", FieldMeaning{FieldsSystem, "whether the report was to be sent"}},
	{"_MarkForUpload", FieldMeaning{FieldsSystem, "whether the report was to be sent"}},
	{"_LogindSession", FieldMeaning{FieldsSystem, "session of the person who ran it"}},
	{"_HooksRun", FieldMeaning{FieldsSystem, "whether apport’s hooks have run"}},
	{"JournalTail", FieldMeaning{FieldsLogs, "last lines of the journal"}},
	{"VmCoreDmesg", FieldMeaning{FieldsLogs, "kernel messages from the crash dump"}},
	{"VmCoreLog", FieldMeaning{FieldsLogs, "log of the crash dump"}},
}

// Texts of the page about the fields of reports and how long they are stored.
const (
	PrivacyTitle = "Privacy"
	PrivacyMeans = "Every field of a report has a class, which says who may read it. The configuration can " +
		"change classes."
	PrivacyRetention     = "Retention"
	PrivacyData          = "Data"
	PrivacyStored        = "Stored for"
	PrivacyKey           = "Key"
	PrivacyWeek          = "Removed within 7 days"
	PrivacyAll           = "Stored"
	PrivacyStoredReports = "Stored reports"
	PrivacyRuns          = "A check counts the stored reports that have secret or private fields, and changes " +
		"nothing. Reports " +
		"that were stored before a field became secret have it until it is removed here. Nobody can read it meanwhile."
	PrivacyCheck        = "Check stored reports"
	PrivacyApply        = "Remove secret fields"
	PrivacyProgress     = "Progress"
	PrivacyFoundSecret  = "Secret fields:"
	PrivacyFoundPrivate = "Private fields:"
	PrivacyClasses      = "Classes"
	PrivacyClass        = "Class"
	PrivacyReaders      = "Readers"
	PrivacyPlaces       = "Where"
	PrivacyChanges      = "Changes by the configuration"
	CommandPrivacyCheck = "mishap privacy check"
	CommandPrivacyApply = "mishap privacy check --apply"
	PrivacyNoChanges    = "None. The keys privacy_fields and privacy_unlisted change classes."
	PrivacyFields       = "Fields"
	PrivacyField        = "Field"
	PrivacyExcerpt      = "Restricted excerpt"
	PrivacyStarted      = "The run over the stored reports has started."
)

// ClassReaders says who may read fields of a class.
func ClassReaders(class string) string {
	switch class {
	case "public":
		return "everyone"
	case "restricted":
		return "people with a role"
	case "private":
		return "people with the right to private data of the source package"
	}
	return "nobody"
}

// ClassPlaces says where fields of a class can appear.
func ClassPlaces(class string) string {
	switch class {
	case "public":
		return "lists, names of problems, feeds, search, mail, bugs (all redacted); reports"
	case "restricted":
		return "pages and downloads of reports, the API, comparisons; bugs (redacted)"
	case "private":
		return "pages and downloads of reports, the API, comparisons of fields; never in bugs, mail or feeds"
	}
	return "nowhere: it is dropped on arrival, before anything is stored"
}

// PrivacyPeriod says for how long something is stored; 0 days and years mean forever.
func PrivacyPeriod(days, years int) string {
	switch {
	case years > 0:
		return strconv.Itoa(years) + " years"
	case days == 0:
		return "forever"
	case days == 1:
		return "1 day"
	}
	return strconv.Itoa(days) + " days"
}

// DailyCounts names the counts of problems by day.
const DailyCounts = "Daily counts of problems"

// ReportsOfType names the reports of a type; empty: of all types without a limit of their own.
func ReportsOfType(problemType string) string {
	if problemType == "" {
		return "Reports"
	}
	return "Reports of type " + problemType
}

// PrivacyCounts says which daily counts have expired.
func PrivacyCounts(from time.Time) string {
	if from.IsZero() {
		return "No daily counts have expired. Totals of problems never do while the problem exists."
	}
	return "Daily counts before " + from.Format(time.DateOnly) + " have expired: it is no longer known how many reports " +
		"there were on these days. Totals of problems still include them."
}

// PrivacyHeld says how many reports retention leaves alone.
func PrivacyHeld(reports int64) string {
	switch reports {
	case 0:
		return "No reports belong to held problems."
	case 1:
		return "1 report belongs to a held problem. Nothing of it is removed because of its age."
	}
	return Count(reports) + " reports belong to held problems. Nothing of them is removed because of its age."
}

// PrivacyChanged says how the configuration has changed a class.
func PrivacyChanged(name, before, class string) string {
	return name + ": " + class + " instead of " + before
}

// PrivacyUnlisted says which class fields have that are not in the table.
func PrivacyUnlisted(class, secrets string) string {
	return "Fields that are not in the table are " + class + ". They are secret if their name contains one of these, " +
		"whatever the case and without separators: " + secrets + ". People who may not read a private field see the " +
		"restricted excerpt of it, if there is one."
}
