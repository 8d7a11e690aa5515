package apport

// ValidKey reports whether key can be the name of a field in a .crash file. It must consist of
// ASCII letters, digits, '.', '-' and '_', with at least one letter or digit.
func ValidKey(key string) bool {
	alphanumeric := false
	for i := range len(key) {
		switch c := key[i]; {
		case '0' <= c && c <= '9', 'a' <= c|0x20 && c|0x20 <= 'z':
			alphanumeric = true
		case c != '.' && c != '-' && c != '_':
			return false
		}
	}
	return alphanumeric && len(key) <= maxKey
}

// mustBeText lists the fields whose values are always text. Every report may have them, and they
// determine its grouping. In other fields, NUL marks binary data.
var mustBeText = set(
	"Annotation", "ApportVersion", "Architecture", "AssertionMessage", "CrashCounter", "CurrentDesktop", "Date",
	"Dependencies", "Disassembly", "DistroRelease", "DpkgTerminalLog", "DuplicateSignature", "ErrorMessage",
	"ExecutablePath", "ExecutableTimestamp", "Failure", "HotplugNewDevices", "InstallationDate", "InstallationMedia",
	"InterpreterPath", "JournalErrors", "LiveMediaBuild", "MachineType", "NonfreeKernelModules", "OopsText", "Package",
	"PackageArchitecture", "ProblemType", "ProcAttrCurrent", "ProcCmdline", "ProcCwd", "ProcEnviron", "ProcMaps",
	"ProcStatus", "PythonArgs", "Registers", "Signal", "SignalName", "SourcePackage", "Stacktrace",
	"StacktraceAddressSignature", "StacktraceTop", "Tags", "ThreadStacktrace", "Title", "Traceback", "Uname",
	"UnreportableReason", "UpgradeStatus", "UserGroups", "_PythonExceptionQualifier", "dmi.bios.version",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}
