package views

// entry is what the dictionary knows about a field.
type entry struct{ group, meaning string }

// dictionary explains the fields that apport, whoopsie and snapd write. Within a group, fields stand in this order.
var dictionary = []struct {
	name string
	entry
}{
	{"ProblemType", entry{groupWhat, "kind of problem: Crash, KernelOops, Package, RecoverableProblem …"}},
	{"Title", entry{groupWhat, "headline that apport proposed"}},
	{"ExecutablePath", entry{groupWhat, "program that crashed"}},
	{"InterpreterPath", entry{groupWhat, "interpreter that ran the program"}},
	{"Package", entry{groupWhat, "binary package and its version"}},
	{"SourcePackage", entry{groupWhat, "source package, which bugs are filed against"}},
	{"PackageArchitecture", entry{groupWhat, "architecture that the package was built for"}},
	{"Signal", entry{groupWhat, "number of the signal that ended the program"}},
	{"SignalName", entry{groupWhat, "name of that signal"}},
	{"AssertionMessage", entry{groupWhat, "assertion that failed"}},
	{"ErrorMessage", entry{groupWhat, "error as the packaging system or snapd reported it"}},
	{"Failure", entry{groupWhat, "what the kernel was doing: oops, suspend/resume, hibernate/resume"}},
	{"DuplicateSignature", entry{groupWhat, "signature that the report brought with it"}},
	{"StacktraceAddressSignature", entry{groupWhat, "signature by places in binaries, for stacks without function names"}},
	{"ExecutableTimestamp", entry{groupWhat, "when the program's file was last changed, in seconds since 1970"}},
	{"Snap", entry{groupWhat, "snap that failed"}},
	{"UnreportableReason", entry{groupWhat, "why apport would not have reported it as a bug"}},

	{"DistroRelease", entry{groupWhere, "distribution and release"}},
	{"Architecture", entry{groupWhere, "architecture of the machine"}},
	{"MachineType", entry{groupWhere, "maker and model of the machine"}},
	{"CurrentDesktop", entry{groupWhere, "desktop that was running"}},
	{"Uname", entry{groupWhere, "kernel"}},
	{"ProcVersionSignature", entry{groupWhere, "kernel package"}},
	{"Tags", entry{groupWhere, "labels: codename, package-from-proposed, third-party-packages …"}},
	{"InstallationMedia", entry{groupWhere, "medium that the system was installed from"}},
	{"LiveMediaBuild", entry{groupWhere, "live medium that was running"}},
	{"SystemImageInfo", entry{groupWhere, "system image and its version"}},

	{"Date", entry{groupWhen, "when it happened, by the machine's own clock and zone"}},
	{"CrashCounter", entry{groupWhen, "how often this happened on the machine before this report"}},
	{"InstallationDate", entry{groupWhen, "when the system was installed"}},
	{"UpgradeStatus", entry{groupWhen, "last upgrade to another release"}},

	{"Traceback", entry{groupTraces, "Python traceback"}},
	{"StacktraceTop", entry{groupTraces, "top five frames, which group the report"}},
	{"Stacktrace", entry{groupTraces, "stack of the thread that crashed"}},
	{"ThreadStacktrace", entry{groupTraces, "stacks of all threads"}},
	{"StackTrace", entry{groupTraces, "Java stack trace"}},
	{"OopsText", entry{groupTraces, "what the kernel printed"}},
	{"Disassembly", entry{groupTraces, "machine code around the fault"}},
	{"Registers", entry{groupTraces, "processor registers at the fault"}},
	{"PythonArgs", entry{groupTraces, "arguments of the Python program"}},

	{"ProcCmdline", entry{groupSystem, "command line"}},
	{"ProcCwd", entry{groupSystem, "working folder"}},
	{"ProcEnviron", entry{groupSystem, "chosen parts of the environment"}},
	{"ProcStatus", entry{groupSystem, "state of the process: memory, threads, user"}},
	{"ProcMaps", entry{groupSystem, "memory map of the process"}},
	{"ProcAttrCurrent", entry{groupSystem, "security profile the process ran under"}},
	{"UserGroups", entry{groupSystem, "system groups of the user"}},
	{"Dependencies", entry{groupSystem, "versions of the packages it depends on"}},
	{"NonfreeKernelModules", entry{groupSystem, "proprietary kernel modules"}},
	{"SnapdVersion", entry{groupSystem, "version of snapd"}},
	{"ApportVersion", entry{groupSystem, "version of apport that made the report"}},

	{"JournalErrors", entry{groupLogs, "errors in the journal around that time"}},
	{"DpkgTerminalLog", entry{groupLogs, "output of dpkg"}},
	{"CurrentDmesg", entry{groupLogs, "kernel messages"}},
	{"VmCoreDmesg", entry{groupLogs, "kernel messages from the crash dump"}},
	{"VmCoreLog", entry{groupLogs, "log of the crash dump"}},
}
