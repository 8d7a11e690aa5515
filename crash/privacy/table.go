// Package privacy decides who may read which field of a report. The table of classes is the only
// place for that: pages, downloads, the API, bugs, comparisons of fields and retention use it.
package privacy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// Class says who may read a field. A higher class permits fewer people.
type Class int

// The classes. A field that is restricted or private is stored; one that is secret never is.
const (
	Public     Class = iota // visitors, redacted, as part of lists and of the names of problems
	Restricted              // people with a role
	Private                 // people with the right to private data of the source package
	Secret                  // nobody: the field is dropped on arrival
)

// Unlisted is the class of fields that neither the table nor the configuration knows, unless the
// configuration sets another.
const Unlisted = Restricted

var classNames = [...]string{"public", "restricted", "private", "secret"}

// Classes are all classes, from the most visible to the least.
var Classes = []Class{Public, Restricted, Private, Secret}

func (c Class) String() string { return classNames[c] }

// ParseClass returns the class with a name, and whether there is one.
func ParseClass(name string) (Class, bool) {
	i := slices.Index(classNames[:], name)
	return Class(max(i, 0)), i >= 0
}

// Table assigns classes to fields. It is immutable. A nil Table has the built-in classes.
type Table struct {
	exact    map[string]Class
	prefixes []prefix // longest first
	unlisted Class
}

type prefix struct {
	text  string
	class Class
}

// Class returns the class of a field. The configuration comes first, then the names in the
// built-in table, then the names of secrets, then the beginnings of names in the built-in table, then
// the class of unlisted fields. What a machine has sent before mishap
// symbolised a report is at most as visible as the field that replaced it.
func (t *Table) Class(name string) Class {
	known, listed := builtIn[name]
	if listed && known.fixed {
		return known.Class
	}
	if class, ok := t.configured(name); ok {
		return class
	}
	if listed {
		return known.Class
	}
	if replaced, ok := strings.CutPrefix(name, senderPrefix); ok {
		if _, listed := builtIn[replaced]; listed {
			return max(Private, t.Class(replaced))
		}
	}
	if IsSecretName(name) {
		return Secret
	}
	for begins, f := range builtIn {
		if begins, ok := strings.CutSuffix(begins, "*"); ok && strings.HasPrefix(name, begins) {
			return f.Class // no two of these names overlap
		}
	}
	return t.Unlisted()
}

// senderPrefix is the prefix of the fields that mishap has replaced when it symbolised the report.
const senderPrefix = "Sender"

// Excerpt returns the class of the lines of a field that explain a crash, and of what comparisons
// extract from it, such as the version of the kernel. A configured class applies to them, too.
func (t *Table) Excerpt(name string) Class {
	class := t.Class(name)
	if _, changed := t.configured(name); !changed && class == Private && builtIn[name].Excerpt != "" {
		return Restricted
	}
	return class
}

// Unlisted returns the class of fields that are not in the table.
func (t *Table) Unlisted() Class {
	if t == nil {
		return Unlisted
	}
	return t.unlisted
}

// configured returns the class that the configuration gives to a field.
func (t *Table) configured(name string) (Class, bool) {
	if t == nil {
		return 0, false
	}
	if class, ok := t.exact[name]; ok {
		return class, true
	}
	for _, p := range t.prefixes {
		if strings.HasPrefix(name, p.text) {
			return p.class, true
		}
	}
	return 0, false
}

// Readable returns the highest class that a person may read in reports of a source package.
func Readable(u crash.User, source string) Class {
	switch {
	case u.Private.Include(source):
		return Private
	case u.Role.Allows(crash.RoleViewer):
		return Restricted
	}
	return Public
}

// Visible returns the fields of a report that a person may read, and the sorted names of the others.
// Secret fields of reports that were stored before they became secret are never visible.
func (t *Table) Visible(u crash.User, fields crash.Fields, source string) (visible crash.Fields, hidden []string) {
	readable := Readable(u, source)
	visible = crash.Fields{}
	for name, value := range fields {
		if t.Class(name) <= readable {
			visible[name] = value
		} else {
			hidden = append(hidden, name)
		}
	}
	slices.Sort(hidden)
	return visible, hidden
}

// Permits reports whether readers up to a class may see a value that is made of some fields. If
// excerpt is set, the value is an excerpt of them.
func (t *Table) Permits(readable Class, names []string, excerpt bool) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		if excerpt {
			return t.Excerpt(name) > readable
		}
		return t.Class(name) > readable
	})
}

// Excerpts returns the fields of which readers up to a class may see excerpts. The caller must show
// no more of them than excerpts.
func (t *Table) Excerpts(fields crash.Fields, readable Class) crash.Fields {
	some := crash.Fields{}
	for name, value := range fields {
		if t.Excerpt(name) <= readable {
			some[name] = value
		}
	}
	return some
}

// ForBugs returns the fields of which bugs may contain redacted excerpts. It omits private fields.
func (t *Table) ForBugs(fields crash.Fields) crash.Fields { return t.Excerpts(fields, Restricted) }

// The limits of lists of names that mishap stores in reports.
const (
	maxNames = 100
	maxName  = 100 // code points
)

// DropSecrets returns the fields of a report without those that are secret, and their sorted names.
// It does not change fields. If some are dropped, crash.DroppedField lists them.
func (t *Table) DropSecrets(fields crash.Fields) (rest crash.Fields, dropped []string) {
	for name := range fields {
		if t.Class(name) == Secret {
			dropped = append(dropped, name)
		}
	}
	if len(dropped) == 0 {
		return fields, nil
	}
	rest = maps.Clone(fields)
	for _, name := range dropped {
		delete(rest, name)
	}
	slices.Sort(dropped)
	AddNames(rest, crash.DroppedField, dropped)
	return rest, dropped
}

// AddNames adds names to a field that lists them, one a line, sorted and without duplicates.
func AddNames(fields crash.Fields, field string, names []string) {
	var all []string
	if before := fields[field]; before != "" {
		all = strings.Split(before, "\n")
	}
	for _, name := range names {
		all = append(all, plainName(name))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	fields[field] = strings.Join(all[:min(len(all), maxNames)], "\n")
}

func plainName(name string) string {
	return crash.Truncate(strings.Join(strings.Fields(name), " "), maxName)
}

// secretNames are parts of names of fields that hold secrets, without separators.
var secretNames = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "apikey", "privatekey",
	"accesskey", "sshkey", "sessionid", "cookie", "authorization"}

// IsSecretName reports whether an unlisted field must be a secret, by its name.
func IsSecretName(name string) bool {
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. \t", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(plain, part) })
}

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
		"StacktraceBuildIDs", "ThreadStacktrace", "StackTrace", "JavaStackTrace", "StacktraceSource", "OopsText",
		"SymbolisedBy",
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
	of(Private, "the graphics driver", "Lspci", "NonfreeKernelModules", "ProcModules"),
	of(Private, "",
		"AptSolverDump", "Annotation", "BootDmesg", "CasperMD5CheckResult", "CasperVersion", "CoreSnapdBuildID",
		"CoredumpPackageJson", "CrashCounter", "CurrentDmesg", "DKMSBuildLog", "DKMSKernelVersion", "Df",
		"DidSnapdReExec", "Disassembly", "Disks", "Dmesg", "DpkgHistoryLog", "GsettingsChanges", "HostSnapdBuildID",
		"HotplugNewDevices", "InstallationDate", "InstallationMedia", "IwlFwDump", "JournalErrors", "JournalTail",
		"LiveMediaBuild", "Lsusb", "MarkForUpload", "OpenFds",
		"ProblemSummary", "ProcAttrCurrent", "ProcCgroup", "ProcCmdline", "ProcCwd", "ProcFB", "ProcInterrupts",
		"ProcKernelCmdLine", "ProcLimits", "ProcStat", "ProcStatus", "ProcSwaps",
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
	// ABRT's reports may have these.
	of(Private, "", "HostName", "UserKind"),
	// Reports of Sentry's libraries may have these, and what a person wrote.
	of(Restricted, "",
		"EventID", "EventRelease", "EventDist", "EventEnvironment", "EventPlatform", "EventRuntime", "EventLibrary"),
	of(Private, "", "EventTags", "EventExtra", "EventBreadcrumbs", "UserComment"),
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

// Parse returns the built-in table with changes: words like "JournalErrors=secret" or "Acme*=restricted",
// where * at the end stands for any characters, and the class of unlisted fields. The longest
// matching name applies. The error is a sentence for people.
func Parse(changes, unlisted string) (*Table, error) {
	t := &Table{exact: map[string]Class{}}
	var err error
	if t.unlisted, err = ParseUnlisted(unlisted); err != nil {
		return nil, err
	}
	for word := range strings.FieldsSeq(changes) {
		name, class, err := parseChange(word)
		if err != nil {
			return nil, err
		}
		begin, open := strings.CutSuffix(name, "*")
		if !open {
			if old, twice := t.exact[name]; twice && old != class {
				return nil, fmt.Errorf("%s has two classes, %s and %s", name, old, class)
			}
			t.exact[name] = class
			continue
		}
		t.prefixes = append(t.prefixes, prefix{begin, class})
	}
	slices.SortStableFunc(t.prefixes, func(a, b prefix) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), strings.Compare(a.text, b.text))
	})
	return t, nil
}

func parseChange(word string) (name string, class Class, err error) {
	at := strings.LastIndexByte(word, '=')
	if at < 1 {
		return "", 0, fmt.Errorf("%q is not a field, = and a class", crash.Shorten(word, 100))
	}
	name = word[:at]
	class, ok := ParseClass(word[at+1:])
	begin := strings.TrimSuffix(name, "*")
	switch {
	case !ok:
		return "", 0, fmt.Errorf("%q is not a class", crash.Shorten(word[at+1:], 100))
	case class == Public:
		return "", 0, fmt.Errorf("%s cannot be public: visitors see no fields of reports", name)
	case begin == "":
		return "", 0, fmt.Errorf("* alone is not possible: privacy_unlisted is the class of unlisted fields")
	case strings.Contains(begin, "*"):
		return "", 0, fmt.Errorf("%s: * is possible at the end only", name)
	case builtIn[name].fixed:
		return "", 0, fmt.Errorf("%s is always %s", name, builtIn[name].Class)
	}
	return name, class, nil
}

// ParseUnlisted returns the class of unlisted fields: restricted, private or secret.
func ParseUnlisted(name string) (Class, error) {
	class, ok := ParseClass(name)
	if !ok || class == Public {
		return 0, fmt.Errorf("%q is not restricted, private or secret", crash.Shorten(name, 100))
	}
	return class, nil
}

// Row is a row of the table for people.
type Row struct {
	Name    string // may end with *
	Class   Class
	Before  Class  // the built-in class; other than Class: the configuration changed it
	Excerpt string // what people who may not read the field see of it; empty: nothing
	Fixed   bool   // the configuration cannot change the class
}

// Changed reports whether the configuration has changed the class.
func (r Row) Changed() bool { return r.Class != r.Before }

// Rows returns the table: the listed fields, and the names and patterns of the configuration, sorted
// by name. The class of unlisted fields is [Table.Unlisted].
func (t *Table) Rows() []Row {
	var standard *Table
	rows := make([]Row, 0, len(builtIn))
	for name, f := range builtIn {
		row := Row{Name: name, Class: t.Class(name), Before: f.Class, Fixed: f.fixed}
		if t.Excerpt(name) < row.Class {
			row.Excerpt = f.Excerpt
		}
		rows = append(rows, row)
	}
	if t != nil {
		for name, class := range t.exact {
			if _, listed := builtIn[name]; !listed {
				rows = append(rows, Row{Name: name, Class: class, Before: standard.Class(name)})
			}
		}
		for _, p := range t.prefixes {
			rows = append(rows, Row{Name: p.text + "*", Class: p.class, Before: standard.Class(p.text)})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return rows
}

// SecretNames returns the parts of names that make an unlisted field secret.
func SecretNames() []string { return slices.Clone(secretNames) }

// RunKind is what a run over stored reports does.
type RunKind string

// The kinds of runs.
const (
	RunCheck  RunKind = "check"  // only counts
	RunApply  RunKind = "apply"  // removes secret fields
	RunExpire RunKind = "expire" // removes private fields of old reports
)

// Run is a run over stored reports, which compares their fields with the table.
type Run struct {
	ID       int64
	Kind     RunKind
	Person   string // who started it; empty: mishap itself, or the command line
	Started  time.Time
	Until    time.Time // only reports that arrived before
	Finished time.Time // zero: it has not ended
	Estimate int64     // approximate number of reports

	// Numbers of reports: examined so far; of these, with secret fields, with private fields, with
	// removed fields, and with fields that stay only because the problem is held.
	LookedAt, Secret, Private, Changed, Held int64

	Found Found

	Waits bool // for an archive that cannot be reached
}

// Found counts the reports that have a field, by the name of the field.
type Found struct {
	Secret  map[string]int64 `json:"secret,omitempty"`
	Private map[string]int64 `json:"private,omitempty"`
}

const maxFound = 200 // names of one class

// Add counts a field of a report.
func (f *Found) Add(class Class, name string) {
	into := &f.Private
	if class == Secret {
		into = &f.Secret
	}
	if *into == nil {
		*into = map[string]int64{}
	}
	name = plainName(name)
	if _, known := (*into)[name]; known || len(*into) < maxFound {
		(*into)[name]++
	}
}

// FieldCount is the number of reports with a field.
type FieldCount struct {
	Name    string
	Reports int64
}

// Sorted returns counts, the largest first.
func Sorted(counts map[string]int64) []FieldCount {
	var all []FieldCount
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, FieldCount{name, counts[name]})
	}
	slices.SortStableFunc(all, func(a, b FieldCount) int { return cmp.Compare(b.Reports, a.Reports) })
	return all
}

// Percent returns the progress of a run; below 100 until it has ended.
func (r Run) Percent() int64 {
	if !r.Finished.IsZero() {
		return 100
	}
	return min(99, 100*r.LookedAt/max(r.Estimate, 1))
}

// Summary says in one sentence what the run has found or done so far, and in another one whether it waits.
func (r Run) Summary() string {
	text := r.summary()
	if r.Waits {
		text += " It waits for an archive that cannot be reached."
	}
	return text
}

func (r Run) summary() string {
	if r.Kind == RunCheck {
		return fmt.Sprintf("Of %d %s, %d %s secret fields and %d %s private fields.",
			r.LookedAt, crash.Plural(r.LookedAt, "report", "reports"), r.Secret, crash.Plural(r.Secret, "has", "have"),
			r.Private, crash.Plural(r.Private, "has", "have"))
	}
	fields, of := "private", "old reports"
	if r.Kind == RunApply {
		fields, of = "secret", "reports"
	}
	text := fmt.Sprintf("Removed %s fields from %d of %d %s", fields, r.Changed, r.LookedAt, of)
	if r.Held > 0 {
		text += fmt.Sprintf("; %d reports of held problems keep theirs", r.Held)
	}
	return text + "."
}

// Hash returns a text that changes with the table.
func (t *Table) Hash() string {
	h := sha256.New()
	for _, row := range t.Rows() {
		_, _ = fmt.Fprintf(h, "%s=%s\n", row.Name, row.Class) // a hash returns no error
	}
	_, _ = fmt.Fprintf(h, "%s\n%s", t.Unlisted(), strings.Join(secretNames, " "))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Removal says how long one kind of data is stored, and how much will be removed.
type Removal struct {
	What  string
	Key   string // of the configuration; empty: there is none
	Days  int    // 0: forever, unless Years is set
	Years int
	Week  int64 // how much is removed within seven days
	All   int64 // how much is stored
	Least bool  // there may be more than Week

	Unknown bool // All is not known
}

// Keep says for how many days reports are stored; 0 means forever. Types have their own numbers of days
// by ProblemType, which replace Days.
type Keep struct {
	Days  int
	Types map[string]int
}

// KeepLimit is a number of days for which reports are stored, and the type that it is for; empty: all
// other types.
type KeepLimit struct {
	Type string
	Days int
}

const maxKeepDays = 36500

// ParseKeepTypes reads words such as "KernelOops=90 Snap=0". The error is a sentence for people.
func ParseKeepTypes(s string) (map[string]int, error) {
	types := map[string]int{}
	for word := range strings.FieldsSeq(s) {
		name, value, _ := strings.Cut(word, "=")
		days, err := strconv.Atoi(value)
		if name == "" || err != nil || days < 0 || days > maxKeepDays {
			return nil, fmt.Errorf("%q is not a problem type, = and a number of days", crash.Shorten(word, 100))
		}
		if _, twice := types[name]; twice {
			return nil, fmt.Errorf("%s has two numbers of days", crash.Shorten(name, 100))
		}
		types[name] = days
	}
	return types, nil
}

// Limits returns the types with numbers of days of their own, sorted, after the number of all others.
func (k Keep) Limits() []KeepLimit {
	all := []KeepLimit{{Days: k.Days}}
	for _, name := range slices.Sorted(maps.Keys(k.Types)) {
		all = append(all, KeepLimit{name, k.Types[name]})
	}
	return all
}

// Forever reports whether no report is ever dropped.
func (k Keep) Forever() bool {
	return !slices.ContainsFunc(k.Limits(), func(l KeepLimit) bool { return l.Days > 0 })
}

// Periods say for how long data is stored; 0 means forever.
type Periods struct {
	Reports                             Keep
	PrivateDays, CountsYears, AuditDays int
}
