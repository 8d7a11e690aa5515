package problems

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/version"
	"mishap/views/layout"
)

// ReportPage holds the page of one report, for signed-in people.
type ReportPage struct {
	Shell    layout.Shell
	Report   crash.StoredReport // with the fields that the person may read
	Hidden   []string           // names of the others
	Pager    layout.Pager       // links to the next and the previous report
	Grouping GroupingView
	Stack    *Stack       // its trace
	Symbols  *SymbolsView // nil: nobody asked for a core
	// Comparable is whether the stack can be compared with that of the representative report, which is
	// another one.
	Comparable bool
	NotStored  *NotStored // nil: the report is stored in full
	Core       int64      // size in bytes of the core dump that the person may download; 0: none
}

// NotStored says why the full text of a report is not stored.
type NotStored struct {
	Bodies crash.Bodies // of its problem
	Newest crash.OopsID // the newest report of the problem that is stored in full; zero: none
	Admin  bool
}

// sentence describes why.
func (n NotStored) sentence(arrived time.Time) string {
	text := "Only the fields below are stored of this report, because its problem had enough reports in full in " +
		arrived.UTC().Format("January 2006") + ": " + crash.Count(n.Bodies.Stored) + " of " +
		crash.Counted(n.Bodies.All, "report", "reports") + " are."
	if n.Admin {
		text += " The setting keep_bodies_per_problem limits them."
	}
	return text
}

func (p ReportPage) path(ending string) string { return ReportPath(p.Report.ID) + ending }

// problemPath returns the address of the problem, with the list from which the visitor came.
func (p ReportPage) problemPath() string {
	if strings.HasPrefix(p.Pager.Via, "/problem/") || strings.HasPrefix(p.Pager.Via, "/user/") {
		return p.Report.Bucket.Path()
	}
	return layout.WithVia(p.Report.Bucket.Path(), p.Pager.Via)
}

func (p ReportPage) arrived() time.Time { return p.Report.ID.Received() }

func (p ReportPage) heading() string {
	if p.Report.Title == "" && p.Report.ProblemType != "" {
		return p.Report.ProblemType + " of " + reportTitle(p.Report.Summary)
	}
	return reportTitle(p.Report.Summary)
}

func (p ReportPage) unbucketed() string {
	if p.Report.Unbucketed == "" {
		return "It has nothing to group it by."
	}
	return p.Report.Unbucketed
}

// where describes the version of the package and the system.
func (p ReportPage) where() string {
	return reportOn(p.Report.Version, string(p.Report.Release), p.Report.Architecture)
}

func reportOn(version, release, architecture string) string {
	if release != "" {
		version += " on " + release
	}
	if architecture != "" {
		version += ", " + architecture
	}
	return version
}

// PrivateOf says that private data of a package is hidden, and whom to ask.
func PrivateOf(source string) string {
	return "Only people with the right to private data of " + cmp.Or(source, "all packages") + " can see this. " +
		"Ask an administrator for it."
}

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

func (f Field) oneLine() bool {
	return !strings.Contains(f.Value, "\n") && utf8.RuneCountInString(f.Value) <= 200
}

// wide reports whether the value needs the width of both columns.
func (f Field) wide() bool { return f.Folded || !f.oneLine() || utf8.RuneCountInString(f.Value) > 60 }

func (g FieldGroup) id() string {
	return "fields-" + strings.ReplaceAll(strings.ToLower(g.Name), " ", "-")
}

func (f Field) lines() int { return strings.Count(strings.TrimSuffix(f.Value, "\n"), "\n") + 1 }

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
	{"StacktraceBuildIDs", fieldMeaning{fieldsWhat, "build-id, offset and module of the frames of the stack"}},
	{"ExecutableTimestamp", fieldMeaning{fieldsWhat, "when the program’s file was last changed, in seconds since 1970"}},
	{"Snap", fieldMeaning{fieldsWhat, "snap that failed"}},
	{"SnapChangeKind", fieldMeaning{fieldsWhat, "what snapd was doing: installing, refreshing, removing"}},
	{"SourcePackageVersion", fieldMeaning{fieldsWhat, "version of the source package"}},
	{"CoredumpPackageJson", fieldMeaning{fieldsWhat,
		"packages that systemd-coredump found in the program’s file and its libraries"}},
	{"PreprocessedSource", fieldMeaning{fieldsWhat, "preprocessed source on which the compiler failed"}},
	{"UnreportableReason", fieldMeaning{fieldsWhat, "why apport would not report it as a bug"}},

	{"EventID", fieldMeaning{fieldsWhat, "number that the program gave to the report"}},
	{"EventTags", fieldMeaning{fieldsWhat, "labels that the program set"}},
	{"EventBreadcrumbs", fieldMeaning{fieldsWhat, "what the program did before"}},
	{"EventExtra", fieldMeaning{fieldsWhat, "other data that the program added"}},
	{"UserComment", fieldMeaning{fieldsWhat, "what a person wrote about it"}},

	{"EventRelease", fieldMeaning{fieldsWhere, "release of the program, as it named it"}},
	{"EventDist", fieldMeaning{fieldsWhere, "build of the program"}},
	{"EventEnvironment", fieldMeaning{fieldsWhere, "where the program runs, such as production"}},
	{"EventPlatform", fieldMeaning{fieldsWhere, "language of the program"}},
	{"EventRuntime", fieldMeaning{fieldsWhere, "interpreter or runtime, with its version"}},
	{"EventLibrary", fieldMeaning{fieldsWhere, "library of Sentry that sent the report"}},
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
	{"StackTrace", fieldMeaning{fieldsTraces, "stack trace of Java or another language"}},
	{"JavaStackTrace", fieldMeaning{fieldsTraces, "Java stack trace"}},
	{"StacktraceSource", fieldMeaning{fieldsTraces, "source around each frame of the stack"}},
	{"RetraceOutdatedPackages", fieldMeaning{fieldsTraces, "packages that had changed before the stack was symbolised"}},
	{"OopsText", fieldMeaning{fieldsTraces, "output of the kernel"}},
	{"Disassembly", fieldMeaning{fieldsTraces, "machine code around the fault"}},
	{"SymbolisedBy", fieldMeaning{fieldsTraces,
		"what worked out the stacks, from a core, addresses or build-ids; the machine sent addresses"}},
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

// The groups of fields.
const (
	fieldsWhat   = "What crashed"
	fieldsWhere  = "Where"
	fieldsWhen   = "When"
	fieldsTraces = "Traces"
	fieldsSystem = "System"
	fieldsLogs   = "Logs"
)

// FieldExcerpt is the part of a field that a grouping rule read, with the lines that it used.
type FieldExcerpt struct {
	Field string
	Lines grouping.Excerpt
	Stack bool // the field is also shown as a table of frames
	Own   bool // the report has its own signature; the lines explain the crash, but did not group it
}

// shownLines is the number of lines of a field that a page shows.
const shownLines = 120

// NewFieldExcerpts returns the excerpts that the grouping rule read in a report.
func NewFieldExcerpts(f crash.Fields) []FieldExcerpt {
	e := grouping.Explain(f)
	var all []FieldExcerpt
	for _, p := range e.Passages {
		lines := p.Excerpt(f[p.Field], shownLines)
		if len(lines) == 0 || p.Field == "StacktraceAddressSignature" {
			continue
		}
		excerpt := FieldExcerpt{Field: p.Field, Lines: lines, Own: e.Rule != e.ReadBy}
		switch p.Field {
		case "Stacktrace", "StacktraceTop", "Traceback":
			excerpt.Stack = len(grouping.Frames(f)) > 0 || len(grouping.Tracebacks(f)) > 0
		}
		all = append(all, excerpt)
	}
	return all
}

func (e FieldExcerpt) id() string { return "excerpt-" + strings.ToLower(e.Field) }

func (e FieldExcerpt) hint() string {
	if e.Own {
		return "The marked lines explain the crash. The report’s own signature groups it."
	}
	return "The marked lines group the report."
}

// excerptLines renders the lines of an excerpt, with the used ones marked. Gaps show the number of
// omitted lines.
func excerptLines(lines grouping.Excerpt) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteByte('\n') // browsers drop the first
		for _, line := range lines {
			switch {
			case line.Skipped > 0:
				b.WriteString(`<span class="gap">` + crash.Counted(int64(line.Skipped), "more line", "more lines") + `</span>`)
			case line.Used:
				b.WriteString(`<mark class="used">`)
				layout.ColourLine(&b, line.Text)
				b.WriteString("</mark>")
			default:
				layout.ColourLine(&b, line.Text)
			}
			b.WriteByte('\n')
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// MachineStory holds what a machine reported, over time.
type MachineStory struct {
	First, Last time.Time // times of the first and the last report in the story
	Reports     int
	More        bool // the machine has older reports, which are not in the story
	Releases    []MachineRelease
	Lanes       []MachineLane // by package, in decreasing order of reports
	Left        int           // number of packages that are not shown
	Now         time.Time
}

// MachineRelease is a release that a machine ran.
type MachineRelease struct {
	Release      crash.Release
	Architecture string
	First, Last  time.Time
}

// MachineLane holds a machine's reports about one package.
type MachineLane struct {
	Package     string
	Reports     int
	Problems    int // number of distinct problems
	First, Last time.Time
	Versions    []string // newest first
	order       version.Order
	slots       []int
}

const (
	machineSlots = 120 // limit of the parts of a time line
	machineLanes = 15
	slotWidth    = 10
)

// NewMachineStory returns the story of the newest reports of a machine.
func NewMachineStory(rows []crash.ReportRow, more bool, now time.Time) MachineStory {
	s := MachineStory{Reports: len(rows), More: more, Now: now}
	for _, r := range rows {
		widen(&s.First, &s.Last, when(r))
	}
	lanes := map[string]*MachineLane{}
	problems := map[string]map[crash.BucketID]bool{}
	for _, r := range rows {
		at := when(r)
		lane := lanes[r.Package]
		if lane == nil {
			lane = &MachineLane{Package: r.Package, order: r.Release.VersionOrder(), slots: make([]int, s.slots())}
			lanes[r.Package], problems[r.Package] = lane, map[crash.BucketID]bool{}
		}
		lane.add(r, at)
		lane.slots[s.slot(at)]++
		if r.Bucket != nil {
			problems[r.Package][*r.Bucket] = true
		}
		s.ran(r, at)
	}
	for name, lane := range lanes {
		lane.Problems = len(problems[name])
		slices.SortFunc(lane.Versions, func(a, b string) int { return lane.order.Total(b, a) })
		s.Lanes = append(s.Lanes, *lane)
	}
	slices.SortFunc(s.Lanes, func(a, b MachineLane) int {
		return cmp.Or(b.Reports-a.Reports, b.Last.Compare(a.Last), strings.Compare(a.Package, b.Package))
	})
	slices.SortFunc(s.Releases, func(a, b MachineRelease) int {
		return cmp.Or(b.Last.Compare(a.Last), a.Release.Compare(b.Release))
	})
	s.Left = max(len(s.Lanes)-machineLanes, 0)
	s.Lanes = s.Lanes[:len(s.Lanes)-s.Left]
	return s
}

// when returns the time of a report: its own date, unless that is after its arrival or more than a
// year before.
func when(r crash.ReportRow) time.Time {
	received := r.ID.Received()
	if r.Occurred.IsZero() || r.Occurred.After(received) || received.Sub(r.Occurred) > 366*24*time.Hour {
		return received
	}
	return r.Occurred
}

// widen extends a span to include a time.
func widen(first, last *time.Time, at time.Time) {
	if first.IsZero() || at.Before(*first) {
		*first = at
	}
	if at.After(*last) {
		*last = at
	}
}

func (s *MachineStory) ran(r crash.ReportRow, at time.Time) {
	i := slices.IndexFunc(s.Releases, func(o MachineRelease) bool {
		return o.Release == r.Release && o.Architecture == r.Architecture
	})
	if i < 0 {
		if len(s.Releases) < machineLanes {
			s.Releases = append(s.Releases, MachineRelease{r.Release, r.Architecture, at, at})
		}
		return
	}
	widen(&s.Releases[i].First, &s.Releases[i].Last, at)
}

func (l *MachineLane) add(r crash.ReportRow, at time.Time) {
	l.Reports++
	widen(&l.First, &l.Last, at)
	if r.Version != "" && !slices.Contains(l.Versions, r.Version) {
		l.Versions = append(l.Versions, r.Version)
	}
}

// slots returns the number of parts of the time line: one per day, if there is room.
func (s MachineStory) slots() int { return min(s.days(), machineSlots) }

func (s MachineStory) days() int {
	return int(midnight(s.Last).Sub(midnight(s.First))/(24*time.Hour)) + 1
}

func (s MachineStory) slot(at time.Time) int {
	day := int(midnight(at).Sub(midnight(s.First)) / (24 * time.Hour))
	return day * s.slots() / s.days()
}

func (s MachineStory) slotDays(i int) string {
	first := midnight(s.First).AddDate(0, 0, (i*s.days()+s.slots()-1)/s.slots())
	last := midnight(s.First).AddDate(0, 0, ((i+1)*s.days()+s.slots()-1)/s.slots()-1)
	if !last.After(first) {
		return layout.Date(first, s.Now)
	}
	return layout.Date(first, s.Now) + " – " + layout.Date(last, s.Now)
}

func (s MachineStory) viewBox() string { return fmt.Sprintf("0 0 %d 20", s.slots()*slotWidth) }

// mark returns the height of a part of a lane, from 0 to 20. One report is visible.
func (l MachineLane) mark(i int) int {
	return min(4+4*l.slots[i], 20)
}

func (l MachineLane) versions() string {
	words := strings.Join(l.Versions[:min(len(l.Versions), 3)], ", ")
	if len(l.Versions) > 3 {
		words += " and " + strconv.Itoa((len(l.Versions) - 3)) + " more"
	}
	return words
}

// ErasePath returns the address of the page that erases a machine.
func ErasePath(id crash.SystemID) string { return SystemPath(id) + "/erase" }

// SymbolsView is the part of a page that says whether a native crash has function names.
type SymbolsView struct {
	Job       crash.SymbolJob // State empty: nothing was tried, and no core was asked for
	MayPress  bool            // the person may symbolise it again
	Core      *CoreView       // nil: on the page of a report, or all functions have names
	CSRFToken string
	Path      string // where to ask for changes; empty: the page does not follow them
}

// Mark identifies what the part says about the job.
func (v SymbolsView) Mark() string {
	return string(v.Job.State) + strconv.FormatInt(v.Job.Ended.Unix(), 36)
}

// follow returns the attributes with which the part follows changes: soon while something happens, and
// now and then while it waits for symbols.
func (v SymbolsView) follow() templ.Attributes {
	trigger := ""
	switch v.Job.State {
	case crash.SymbolsQueued, crash.SymbolsRunning:
		trigger = "every 3s"
	case crash.SymbolsAsked, crash.SymbolsWaiting, crash.SymbolsPartial:
		trigger = "every 10s"
	default: // it has ended
	}
	return layout.Poll(v.Path+"?seen="+url.QueryEscape(v.Mark()), trigger, v.Path != "" && trigger != "")
}

// SymbolsPath returns where the page of a problem asks whether it has function names.
func SymbolsPath(id crash.BucketID) string { return id.Path() + "/symbols" }

// CoreView says whether the next machine that reports a problem will be asked for its core.
type CoreView struct {
	Path   string // where the buttons lead
	Wanted crash.WantedCore
	MayAsk bool   // the person may ask for a core
	WhyNot string // why no machine would be asked, as a sentence; empty: one would
}

// CorePath returns where a core of a problem is asked for.
func CorePath(id crash.BucketID) string { return id.Path() + "/core" }

// SymbolisePath returns where a report is symbolised again.
func SymbolisePath(id crash.OopsID) string { return ReportPath(id) + "/symbolise" }

// SymbolsTexts holds the name, the meaning and the class of each state.
var SymbolsTexts = map[crash.SymbolState]struct{ Name, means, Class string }{
	crash.SymbolsAsked: {"waiting for a core",
		"A machine was asked for the core dump, and has not sent it yet.", "state state-wait"},
	crash.SymbolsQueued:  {"queued", "It will be symbolised soon.", "state state-wait"},
	crash.SymbolsRunning: {"running", "It is being symbolised.", "state state-wait"},
	crash.SymbolsDone:    {"done", "mishap has worked out the stack.", "state state-done"},
	crash.SymbolsPartial: {"partial", "Some functions have no name.", "state state-warn"},
	crash.SymbolsWaiting: {"waiting", "", "state state-wait"},
	crash.SymbolsFailed:  {"failed", "", "state state-error"},
	crash.SymbolsExpired: {"expired", "", "state state-warn"},
}

func (v SymbolsView) state() string { return SymbolsTexts[v.Job.State].Name }
func (v SymbolsView) class() string { return SymbolsTexts[v.Job.State].Class }

func (v SymbolsView) sentence() string {
	s := v.Job.Reason
	if v.Job.State == "" {
		return "mishap has no core dump of this crash."
	}
	if s == "" {
		s = SymbolsTexts[v.Job.State].means
	}
	if next := v.Job.NotBefore; !next.IsZero() && v.Job.State != crash.SymbolsQueued {
		s = strings.TrimSpace(s + " " + SymbolsNext(layout.Exact(next)))
	}
	return s
}

func (v SymbolsView) mayPress() bool {
	switch v.Job.State {
	case crash.SymbolsPartial, crash.SymbolsWaiting, crash.SymbolsFailed:
		return v.MayPress && !v.Job.CoreGone
	default:
		return false
	}
}

// symbolFile says where a file of a module was found, or where it was searched.
func symbolFile(s *crash.SymbolSearch, otherwise string) string {
	if s == nil {
		return otherwise
	}
	if s.Found {
		return s.Origin
	}
	return strings.TrimSuffix("not found"+"; "+Searched(s.Searched), "; ")
}

func debugFile(m crash.SymbolModule) string {
	switch {
	case m.Debuginfo == nil && m.Executable != nil && m.Executable.Found:
		return "in the program"
	case m.Shared != nil && !m.Shared.Found:
		return symbolFile(m.Shared, "")
	default:
		return symbolFile(m.Debuginfo, "not searched")
	}
}

// SymbolsNext says when the next try is.
func SymbolsNext(when string) string { return "The next try is " + when + "." }

// Searched lists where a file was searched, and with which result.
func Searched(attempts []crash.SymbolAttempt) string {
	tried := make([]string, len(attempts))
	for i, a := range attempts {
		tried[i] = a.Source + ": " + a.Outcome
		if a.Detail != "" {
			tried[i] += " (" + a.Detail + ")"
		}
	}
	return strings.Join(tried, "; ")
}
