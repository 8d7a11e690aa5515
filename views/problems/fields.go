package problems

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

// FieldGroup is a heading with the fields below it.
type FieldGroup struct {
	Name   string
	Fields []Field
}

// Field is one field of a report.
type Field struct {
	Name, Meaning, Value string
	Folded               bool // too long to show unfolded
	Trace                bool // a stack, a traceback or output of the kernel
}

// groups lists the groups in the order of the page.
var groups = []string{"What crashed", "Where", "When", "Traces", "System",
	"Logs", "Everything else"}

// describeField returns the meaning and position of a field. The name of an unknown field decides its
// group.
func describeField(name string) (m fieldMeaning, place int) {
	for i, known := range FieldMeanings {
		if known.Name == name {
			return known.fieldMeaning, i
		}
	}
	last := len(FieldMeanings)
	switch {
	case strings.HasPrefix(name, "SenderStacktrace"):
		return fieldMeaning{Group: "Traces", Meaning: "as the machine sent it, before mishap symbolised the report"}, last
	case strings.HasPrefix(name, "dmi."):
		return fieldMeaning{Group: "Where", Meaning: "hardware, according to its firmware"}, last
	case strings.Contains(name, "Stacktrace"), strings.Contains(name, "Traceback"):
		return fieldMeaning{Group: "Traces", Meaning: "stack that the program or a hook added"}, last
	case strings.Contains(name, "Log"), strings.Contains(name, "Dmesg"), strings.Contains(name, "log"):
		return fieldMeaning{Group: "Logs", Meaning: "log that a hook of the package added"}, last
	case strings.HasPrefix(name, "Proc"):
		return fieldMeaning{Group: "System", Meaning: "from /proc, about the process or the system"}, last
	case strings.HasPrefix(name, "etc."), strings.HasPrefix(name, "modified.conffile."),
		strings.HasPrefix(name, "mtime.conffile."):
		return fieldMeaning{Group: "System", Meaning: "configuration file changed on the machine"}, last
	case strings.HasPrefix(name, "upstart."), strings.HasPrefix(name, "systemd."):
		return fieldMeaning{Group: "System", Meaning: "how the service is started"}, last
	default:
		return fieldMeaning{Group: "Everything else", Meaning: "added by a hook of the package or by the program"}, last
	}
}

// Values beyond these limits are folded, so that the next one stays visible.
const (
	foldLines = 12
	foldRunes = 800
)

// FieldGroups returns the fields of a report by group, without empty groups. It includes empty
// values, because they may matter.
func FieldGroups(fields crash.Fields) []FieldGroup {
	type placed struct {
		Field
		place int
	}
	byGroup := map[string][]placed{}
	for name, value := range fields {
		m, place := describeField(name)
		byGroup[m.Group] = append(byGroup[m.Group], placed{Field{
			Name: name, Meaning: m.Meaning, Value: value,
			Trace:  m.Group == "Traces" || name == "CurrentDmesg" || name == "VmCoreDmesg",
			Folded: strings.Count(value, "\n") >= foldLines || utf8.RuneCountInString(value) > foldRunes,
		}, place})
	}
	var sorted []FieldGroup
	for _, name := range groups {
		list := byGroup[name]
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b placed) int {
			if a.place != b.place {
				return a.place - b.place
			}
			return strings.Compare(a.Name, b.Name)
		})
		group := FieldGroup{Name: name}
		for _, f := range list {
			group.Fields = append(group.Fields, f.Field)
		}
		sorted = append(sorted, group)
	}
	return sorted
}

// oneLine reports whether the value fits into one line.
func (f Field) oneLine() bool {
	return !strings.Contains(f.Value, "\n") && utf8.RuneCountInString(f.Value) <= 200
}

// wide reports whether the value needs the width of both columns.
func (f Field) wide() bool { return f.Folded || !f.oneLine() || utf8.RuneCountInString(f.Value) > 60 }

// id returns the id of the group's element.
func (g FieldGroup) id() string {
	return "fields-" + strings.ReplaceAll(strings.ToLower(g.Name), " ", "-")
}

// lines returns the number of lines of the value.
func (f Field) lines() int { return strings.Count(strings.TrimSuffix(f.Value, "\n"), "\n") + 1 }

// fieldMeaning says what a field of a report is, and to which group it belongs.
type fieldMeaning struct{ Group, Meaning string }

// FieldMeanings lists the fields that apport, its hooks, whoopsie and snapd write. Within a group,
// pages show them in this order.
var FieldMeanings = []struct {
	Name string
	fieldMeaning
}{
	{"ProblemType", fieldMeaning{fieldsWhat, "kind of problem: Crash, KernelOops, Package, RecoverableProblem …"}},
	{"Title", fieldMeaning{fieldsWhat, "title that apport proposed"}},
	{"ExecutablePath", fieldMeaning{fieldsWhat, "program that crashed"}},
	{"InterpreterPath", fieldMeaning{fieldsWhat, "interpreter that ran the program"}},
	{"Package", fieldMeaning{fieldsWhat, "binary package and its version"}},
	{"SourcePackage", fieldMeaning{fieldsWhat, "source package, which bugs are filed against"}},
	{"PackageArchitecture", fieldMeaning{fieldsWhat, "architecture that the package was built for"}},
	{"Signal", fieldMeaning{fieldsWhat, "number of the signal that ended the program"}},
	{"SignalName", fieldMeaning{fieldsWhat, "name of that signal"}},
	{"AssertionMessage", fieldMeaning{fieldsWhat, "assertion that failed"}},
	{"_PythonExceptionQualifier", fieldMeaning{fieldsWhat,
		"detail of a Python exception: the number of an OSError, the name of a D-Bus error"}},
	{"ProblemSummary", fieldMeaning{fieldsWhat, "summary by the person who reported it"}},
	{"ErrorMessage", fieldMeaning{fieldsWhat, "error as the packaging system or snapd reported it"}},
	{"Failure", fieldMeaning{fieldsWhat, "what the kernel was doing: oops, suspend/resume, hibernate/resume"}},
	{"DuplicateSignature", fieldMeaning{fieldsWhat, "signature set by the program or a hook"}},
	{"StacktraceAddressSignature", fieldMeaning{fieldsWhat,
		"signature of modules and offsets, for stacks without function names"}},
	{"ExecutableTimestamp", fieldMeaning{fieldsWhat, "when the program’s file was last changed, in seconds since 1970"}},
	{"Snap", fieldMeaning{fieldsWhat, "snap that failed"}},
	{"SnapChangeKind", fieldMeaning{fieldsWhat, "what snapd was doing: installing, refreshing, removing"}},
	{"SourcePackageVersion", fieldMeaning{fieldsWhat, "version of the source package"}},
	{"CoredumpPackageJson", fieldMeaning{fieldsWhat,
		"packages that systemd-coredump found in the program’s file and its libraries"}},
	{"PreprocessedSource", fieldMeaning{fieldsWhat, "preprocessed source on which the compiler failed"}},
	{"UnreportableReason", fieldMeaning{fieldsWhat, "why apport would not report it as a bug"}},

	{"DistroRelease", fieldMeaning{fieldsWhere, "distribution and release"}},
	{"Architecture", fieldMeaning{fieldsWhere, "architecture of the machine"}},
	{"VirtualMachine", fieldMeaning{fieldsWhere, "kind of virtual machine"}},
	{"SystemIdentifier", fieldMeaning{fieldsWhere, "id of the machine"}},
	{"MachineType", fieldMeaning{fieldsWhere, "manufacturer and model of the machine"}},
	{"dmi.bios.version", fieldMeaning{fieldsWhere, "version of the firmware"}},
	{"dmi.bios.date", fieldMeaning{fieldsWhere, "date of the firmware"}},
	{"dmi.bios.vendor", fieldMeaning{fieldsWhere, "vendor of the firmware"}},
	{"dmi.board.name", fieldMeaning{fieldsWhere, "main board"}},
	{"dmi.product.name", fieldMeaning{fieldsWhere, "model, according to the firmware"}},
	{"dmi.sys.vendor", fieldMeaning{fieldsWhere, "manufacturer, according to the firmware"}},
	{"CurrentDesktop", fieldMeaning{fieldsWhere, "desktop that was running"}},
	{"Uname", fieldMeaning{fieldsWhere, "kernel"}},
	{"ProcVersionSignature", fieldMeaning{fieldsWhere, "kernel package"}},
	{"Tags", fieldMeaning{fieldsWhere, "labels: codename, package-from-proposed, third-party-packages …"}},
	{"CasperVersion", fieldMeaning{fieldsWhere, "version of casper, which starts live media"}},
	{"CasperMD5CheckResult", fieldMeaning{fieldsWhere, "whether the installation medium was intact"}},
	{"HotplugNewDevices", fieldMeaning{fieldsWhere, "devices plugged in shortly before"}},
	{"Annotation", fieldMeaning{fieldsWhere, "note about the machine by its administrators"}},
	{"InstallationMedia", fieldMeaning{fieldsWhere, "medium that the system was installed from"}},
	{"LiveMediaBuild", fieldMeaning{fieldsWhere, "live medium that was running"}},
	{"SystemImageInfo", fieldMeaning{fieldsWhere, "system image and its version"}},

	{"Date", fieldMeaning{fieldsWhen, "when it happened, by the machine’s clock and time zone"}},
	{"CrashCounter", fieldMeaning{fieldsWhen, "number of earlier crashes on the machine"}},
	{"InstallationDate", fieldMeaning{fieldsWhen, "when the system was installed"}},
	{"UpgradeStatus", fieldMeaning{fieldsWhen, "last upgrade to another release"}},

	{"Traceback", fieldMeaning{fieldsTraces, "Python traceback"}},
	{"StacktraceTop", fieldMeaning{fieldsTraces, "innermost five frames, by which the report is grouped"}},
	{"Stacktrace", fieldMeaning{fieldsTraces, "stack of the thread that crashed"}},
	{"ThreadStacktrace", fieldMeaning{fieldsTraces, "stacks of all threads"}},
	{"StackTrace", fieldMeaning{fieldsTraces, "Java stack trace"}},
	{"JavaStackTrace", fieldMeaning{fieldsTraces, "Java stack trace"}},
	{"StacktraceSource", fieldMeaning{fieldsTraces, "source around each frame of the stack"}},
	{"RetraceOutdatedPackages", fieldMeaning{fieldsTraces, "packages that had changed before the stack was symbolised"}},
	{"OopsText", fieldMeaning{fieldsTraces, "output of the kernel"}},
	{"Disassembly", fieldMeaning{fieldsTraces, "machine code around the fault"}},
	{"SymbolisedBy", fieldMeaning{fieldsTraces, "what worked out the stacks from a core; the machine sent addresses"}},
	{"Registers", fieldMeaning{fieldsTraces, "processor registers at the fault"}},
	{"SegvAnalysis", fieldMeaning{fieldsTraces, "memory access that failed"}},
	{"SegvReason", fieldMeaning{fieldsTraces, "kind of access (read, write, execute) and its place"}},
	{"CoreDump", fieldMeaning{fieldsTraces, "memory of the program; not stored with the report"}},
	{"VmCore", fieldMeaning{fieldsTraces, "memory of the kernel; not stored with the report"}},
	{"PythonArgs", fieldMeaning{fieldsTraces, "arguments of the Python program"}},

	{"ProcCmdline", fieldMeaning{fieldsSystem, "command line"}},
	{"ProcCwd", fieldMeaning{fieldsSystem, "working directory"}},
	{"ProcStat", fieldMeaning{fieldsSystem, "state of the process, as numbers"}},
	{"ProcLimits", fieldMeaning{fieldsSystem, "resource limits of the process"}},
	{"ProcCgroup", fieldMeaning{fieldsSystem, "systemd unit of the process"}},
	{"OpenFds", fieldMeaning{fieldsSystem, "open files of the process"}},
	{"ProcEnviron", fieldMeaning{fieldsSystem, "selected environment variables"}},
	{"ProcStatus", fieldMeaning{fieldsSystem, "state of the process: memory, threads, user"}},
	{"ProcModules", fieldMeaning{fieldsSystem, "kernel modules"}},
	{"ProcCpuinfo", fieldMeaning{fieldsSystem, "processors"}},
	{"ProcCpuinfoMinimal", fieldMeaning{fieldsSystem, "last processor"}},
	{"ProcInterrupts", fieldMeaning{fieldsSystem, "interrupts since the machine started"}},
	{"ProcKernelCmdLine", fieldMeaning{fieldsSystem, "kernel command line"}},
	{"ProcFB", fieldMeaning{fieldsSystem, "frame buffer"}},
	{"ProcSwaps", fieldMeaning{fieldsSystem, "swap space"}},
	{"ProcMaps", fieldMeaning{fieldsSystem, "memory map of the process"}},
	{"ProcAttrCurrent", fieldMeaning{fieldsSystem, "security profile of the process"}},
	{"UserGroups", fieldMeaning{fieldsSystem, "system groups of the user"}},
	{"Dependencies", fieldMeaning{fieldsSystem, "versions of its dependencies"}},
	{"NonfreeKernelModules", fieldMeaning{fieldsSystem, "proprietary kernel modules"}},
	{"SnapdVersion", fieldMeaning{fieldsSystem, "version of snapd"}},
	{"HostSnapdBuildID", fieldMeaning{fieldsSystem, "build of snapd on the machine"}},
	{"CoreSnapdBuildID", fieldMeaning{fieldsSystem, "build of snapd in its core snap"}},
	{"DidSnapdReExec", fieldMeaning{fieldsSystem, "whether snapd ran from its snap"}},
	{"RelatedPackageVersions", fieldMeaning{fieldsSystem, "versions of related packages"}},
	{"Lspci", fieldMeaning{fieldsSystem, "devices on the PCI bus"}},
	{"Lsusb", fieldMeaning{fieldsSystem, "devices on the USB bus"}},
	{"Disks", fieldMeaning{fieldsSystem, "disks and partitions"}},
	{"Df", fieldMeaning{fieldsSystem, "use of file systems"}},
	{"UdevDb", fieldMeaning{fieldsSystem, "devices in udev’s database"}},
	{"WifiSyslog", fieldMeaning{fieldsLogs, "NetworkManager’s log of wireless networks"}},
	{"IwlFwDump", fieldMeaning{fieldsLogs, "firmware dump of the wireless adapter"}},
	{"SystemdCoredump", fieldMeaning{fieldsLogs, "log of systemd-coredump"}},
	{"ApportVersion", fieldMeaning{fieldsSystem, "version of apport"}},

	{"MishapDropped", fieldMeaning{fieldsSystem, "names of secret fields, which mishap does not store"}},
	{"MishapExpired", fieldMeaning{fieldsSystem, "names of private fields that were removed because of their age"}},

	{"JournalErrors", fieldMeaning{fieldsLogs, "errors in the journal around that time"}},
	{"DpkgTerminalLog", fieldMeaning{fieldsLogs, "output of dpkg"}},
	{"CurrentDmesg", fieldMeaning{fieldsLogs, "kernel messages"}},
	{"BootDmesg", fieldMeaning{fieldsLogs, "kernel messages from boot"}},
	{"DKMSBuildLog", fieldMeaning{fieldsLogs, "log of building a kernel module"}},
	{"DKMSKernelVersion", fieldMeaning{fieldsLogs, "kernel for which the module was built"}},
	{"DpkgHistoryLog", fieldMeaning{fieldsLogs, "recent actions of apt"}},
	{"AptSolverDump", fieldMeaning{fieldsLogs, "request to apt’s solver"}},
	{"XorgLog", fieldMeaning{fieldsLogs, "log of the X server"}},
	{"XsessionErrors", fieldMeaning{fieldsLogs, "output of desktop programs"}},
	{"GsettingsChanges", fieldMeaning{fieldsSystem, "changed desktop settings"}},
	{"MarkForUpload", fieldMeaning{fieldsSystem, "whether the report was to be sent"}},
	{"_MarkForUpload", fieldMeaning{fieldsSystem, "whether the report was to be sent"}},
	{"_LogindSession", fieldMeaning{fieldsSystem, "session of the person who ran it"}},
	{"_HooksRun", fieldMeaning{fieldsSystem, "whether apport’s hooks have run"}},
	{"JournalTail", fieldMeaning{fieldsLogs, "last lines of the journal"}},
	{"VmCoreDmesg", fieldMeaning{fieldsLogs, "kernel messages from the crash dump"}},
	{"VmCoreLog", fieldMeaning{fieldsLogs, "log of the crash dump"}},
}

const fieldsLogs = "Logs"

const fieldsSystem = "System"

const fieldsTraces = "Traces"

const fieldsWhat = "What crashed"

const fieldsWhen = "When"

const fieldsWhere = "Where"
