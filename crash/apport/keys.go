package apport

// ValidKey reports whether a field may have this name in a .crash file: ASCII letters, digits, '.', '-' and '_', among
// them a letter or a digit.
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

// mustBeText are the fields whose values must be UTF-8: those that every report may have and that decide what becomes of
// it. In others, what is not UTF-8 is taken for binary.
var mustBeText = set(
	"Annotation", "ApportVersion", "Architecture", "AssertionMessage", "CrashCounter", "CurrentDesktop", "Date", "Dependencies",
	"Disassembly", "DistroRelease", "DpkgTerminalLog", "DuplicateSignature", "ErrorMessage", "ExecutablePath",
	"ExecutableTimestamp", "Failure", "HotplugNewDevices", "InstallationDate", "InstallationMedia", "InterpreterPath",
	"JournalErrors", "LiveMediaBuild", "MachineType", "NonfreeKernelModules", "OopsText", "Package", "PackageArchitecture",
	"ProblemType", "ProcAttrCurrent", "ProcCmdline", "ProcCwd", "ProcEnviron", "ProcMaps", "ProcStatus", "PythonArgs",
	"Registers", "Signal", "SignalName", "SourcePackage", "Stacktrace", "StacktraceAddressSignature", "StacktraceTop", "Tags",
	"ThreadStacktrace", "Title", "Traceback", "Uname", "UnreportableReason", "UpgradeStatus", "UserGroups",
	"_PythonExceptionQualifier", "dmi.bios.version",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}
