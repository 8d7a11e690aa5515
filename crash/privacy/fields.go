package privacy

// field is the built-in class of a field.
type field struct {
	Class
	Excerpt string // what is restricted although the field is private; empty: nothing
	fixed   bool   // the configuration cannot change the class
}

// builtIn lists the classes of known fields. A * at the end of a name stands for any characters.
// Before this table existed, everything private here was hidden from people without the right to
// private data.
var builtIn = table(
	// These are columns of lists, and parts of the names of problems.
	of(Public, "",
		"ProblemType", "Title", "ExecutablePath", "Package", "SourcePackage", "PackageArchitecture", "DistroRelease",
		"Architecture", "Date", "DuplicateSignature", "StacktraceAddressSignature").fix(),
	of(Restricted, "",
		"InterpreterPath", "Signal", "SignalName", "AssertionMessage", "Failure", "ExecutableTimestamp",
		"SourcePackageVersion", "UnreportableReason", "Tags", "Traceback", "StacktraceTop", "Stacktrace",
		"ThreadStacktrace", "StackTrace", "JavaStackTrace", "StacktraceSource", "OopsText", "SymbolisedBy",
		"RetraceOutdatedPackages", "Dependencies", "RelatedPackageVersions", "ApportVersion", "Snap", "SnapChangeKind",
		"SnapdVersion"),
	of(Private, "the lines that explain the crash",
		"ErrorMessage", "DpkgTerminalLog", "VmCoreDmesg", "VmCoreLog", "PreprocessedSource", "DialogBody", "PanicMessage",
		"StdErr", "Stderr", "StandardError", "StepsToReproduce", "HowToReproduce", "MachineType", "dmi.bios.version",
		"_PythonExceptionQualifier"), // a part of the signature
	of(Private, "the version of the kernel", "Uname"),
	of(Private, "the desktop", "CurrentDesktop"),
	of(Private, "the kind of session and the language", "ProcEnviron"),
	of(Private, "the model of the processor", "ProcCpuinfo", "ProcCpuinfoMinimal"),
	of(Private, "the kind of virtual machine", "VirtualMachine"),
	of(Private, "the libraries of the stack", "ProcMaps"),
	of(Private, "",
		"AptSolverDump", "Annotation", "BootDmesg", "CasperMD5CheckResult", "CasperVersion", "CoreSnapdBuildID",
		"CoredumpPackageJson", "CrashCounter", "CurrentDmesg", "DKMSBuildLog", "DKMSKernelVersion", "Df",
		"DidSnapdReExec", "Disassembly", "Disks", "Dmesg", "DpkgHistoryLog", "GsettingsChanges", "HostSnapdBuildID",
		"HotplugNewDevices", "InstallationDate", "InstallationMedia", "IwlFwDump", "JournalErrors", "JournalTail",
		"LiveMediaBuild", "Lspci", "Lsusb", "MarkForUpload", "NonfreeKernelModules", "OpenFds",
		"ProblemSummary", "ProcAttrCurrent", "ProcCgroup", "ProcCmdline", "ProcCwd", "ProcFB", "ProcInterrupts",
		"ProcKernelCmdLine", "ProcLimits", "ProcModules", "ProcStat", "ProcStatus", "ProcSwaps",
		"ProcVersionSignature", "PythonArgs", "Registers", "SegvAnalysis", "SegvReason", "SystemIdentifier",
		"SystemImageInfo", "SystemdCoredump", "UdevDb", "UpgradeStatus", "UserGroups", "WifiSyslog", "XorgLog",
		"XsessionErrors", "_HooksRun", "_LogindSession", "_MarkForUpload",
		"dmi.bios.date", "dmi.bios.vendor", "dmi.board.name", "dmi.product.name",
		"dmi.sys.vendor"),
	// Hooks of apport attach these to some reports: networks, configuration files, logs of the system.
	of(Private, "",
		"AuditLog", "BootLog", "CRDA", "CupsErrorLog", "GdmLog", "HookError_*", "IfupdownConfig", "IpAddr", "IpRoute",
		"IwConfig", "KernLog", "LightdmLog", "Lpstat", "NetDevice.*", "NetworkManager.*", "PciNetwork", "PpdFiles",
		"ProcessList", "RfKill", "Syslog", "XorgConf", "XorgLogOld", "modified.conffile.*", "mtime.conffile.*", "nmcli-*"),
	// Core dumps are files of their own, which the keys "cores…" control. These need the role triager,
	// too.
	of(Private, "", "CoreDump", "VmCore").fix(),
	// mishap writes these itself.
	of(Restricted, "", "MishapDropped", "MishapExpired", "MishapHidden").fix(),
)

type group struct {
	field
	names []string
}

func of(class Class, excerpt string, names ...string) group {
	return group{field{Class: class, Excerpt: excerpt}, names}
}

// fix returns a group whose class the configuration cannot change.
func (g group) fix() group {
	g.fixed = true
	return g
}

func table(groups ...group) map[string]field {
	all := map[string]field{}
	for _, g := range groups {
		for _, name := range g.names {
			all[name] = g.field
		}
	}
	return all
}
