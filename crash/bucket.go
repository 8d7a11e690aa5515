package crash

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mishap/crash/version"
)

// Release is the name of a distribution release, as reports give it: "Ubuntu 24.04".
type Release string

// Bucket is a problem: the reports with one signature, and those of the buckets merged into it.
type Bucket struct {
	ID            BucketID
	Signature     string
	Name          string // given by a person; empty: none
	Members       int64  // number of signatures; 1 when nothing was merged into it
	Rule          GroupingRule
	Provisional   bool // keyed by an address signature, until symbols are available
	ProblemType   string
	Title         string // of the newest report that has one
	Executable    string
	Package       string // binary package of the newest report
	SourcePackage string // what bugs are filed against; empty: unknown
	Reports       int64  // counted reports
	Systems       int64  // distinct counted machines

	// The oldest and the newest report; see First and Last.
	FirstSeen, LastSeen               time.Time
	FirstSeenVersion, LastSeenVersion string
	FirstSeenRelease, LastSeenRelease Release

	LowestVersion, HighestVersion string  // of the package, by [CompareVersions]
	HighestVersionRelease         Release // the release in which this version was seen
	LowestRelease, HighestRelease Release // by the order of releases

	Bug    Bug    // Number 0: none. An open bug takes precedence, then the one linked last
	Status Status // zero until the problem has been judged, see crash/stats
	Filing Filing // ID 0: never requested
}

// First returns the occurrence of the oldest counted report.
func (b Bucket) First() Occurrence {
	return Occurrence{At: b.FirstSeen, Version: b.FirstSeenVersion, Release: b.FirstSeenRelease}
}

// Last returns the occurrence of the newest counted report.
func (b Bucket) Last() Occurrence {
	return Occurrence{At: b.LastSeen, Version: b.LastSeenVersion, Release: b.LastSeenRelease}
}

// Occurrence says when, in which version and in which release one report of a problem came. The
// three values always come from the same report.
type Occurrence struct {
	At      time.Time // time of the crash, or of arrival if the report's own date is implausible; zero: never
	Version string    // of the package; empty: the report has none
	Release Release   // empty: the report has none
}

// Compare orders occurrences by time, then by version (see [CompareVersions]), then by the name of the
// release. The database type "occurrence" sorts in the same order.
func (o Occurrence) Compare(other Occurrence) int {
	if c := o.At.Compare(other.At); c != 0 {
		return c
	}
	return cmp.Or(CompareVersions(o.Release, o.Version, other.Release, other.Version),
		cmp.Compare(o.Release, other.Release))
}

// SeenSpan summarises the reports of a problem from one release: the oldest, the newest, and the
// range of versions.
type SeenSpan struct {
	First, Last Occurrence // zero: no report
	Versions    version.Range
}

// Add extends the span by one occurrence. It ignores an occurrence without a time.
func (s *SeenSpan) Add(o Occurrence) {
	if o.At.IsZero() {
		return
	}
	if s.First.At.IsZero() || o.Compare(s.First) < 0 {
		s.First = o
	}
	if s.Last.At.IsZero() || o.Compare(s.Last) > 0 {
		s.Last = o
	}
	s.Versions.Add(o.Release.VersionOrder(), o.Version)
}

// Empty reports whether the span contains no report.
func (s *SeenSpan) Empty() bool { return s.First.At.IsZero() }

// Period is the length of time that figures cover, in UTC days up to and including today: the days of
// [LastDays]. The period before has as many days.
type Period string

// The periods that pages, files and rules name.
const (
	PeriodDay   Period = "day"
	PeriodWeek  Period = "week"
	PeriodMonth Period = "month"
	PeriodYear  Period = "year"
)

// Days returns the length of the period in days: 1, 7, 30 or 365, or 0 for an unknown period.
func (p Period) Days() int {
	switch p {
	case PeriodDay:
		return 1
	case PeriodWeek:
		return 7
	case PeriodMonth:
		return 30
	case PeriodYear:
		return 365
	}
	return 0
}

// ProblemCursor is the position of a row in a list sorted by count, descending, then by id.
type ProblemCursor struct {
	Count int64
	ID    BucketID
}

// Problem is one row of a list: a bucket, and its number of reports in the chosen days and release.
// Lists may share the bucket.
type Problem struct {
	*Bucket
	Count int64
}

// ProblemTotals are the totals of the whole list, not only of the rows shown.
type ProblemTotals struct {
	Problems, Reports int64
}

// VersionCount is one cell of the versions × releases table.
type VersionCount struct {
	Version string
	Release Release
	Reports int64
}

// NameCount is the number of reports that share a value, such as a package.
type NameCount struct {
	Name    string
	Reports int64
}

// DayCount is one bar of a per-day chart.
type DayCount struct {
	Day     time.Time
	Release Release
	Reports int64
}

// ReportRow is a report in a list.
type ReportRow struct {
	ID OopsID
	Summary
	System     SystemID
	Occurred   time.Time
	Bucket     *BucketID // nil: in no bucket
	Unbucketed string    // why it is in no bucket
	TypedOnly  bool      // the full text is not stored
}

// StoredReport is one report as the database returns it.
type StoredReport struct {
	ReportRow
	Rule   GroupingRule // the rule that grouped it
	Rules  int          // version of the grouping rules that were applied
	Fields Fields       // if the full text is not stored, only those that the summary holds
}

// TypedFields returns the fields of a report that its summary holds.
func (r ReportRow) TypedFields() Fields {
	f := Fields{
		"ProblemType": r.ProblemType, "ExecutablePath": r.Executable, "SourcePackage": r.SourcePackage,
		"Package": strings.TrimSpace(r.Package + " " + r.Version), "DistroRelease": string(r.Release),
		"Architecture": r.Architecture, "PackageArchitecture": r.PackageArchitecture,
		"StacktraceAddressSignature": r.AddressSignature,
	}
	if !r.Occurred.IsZero() {
		f["Date"] = r.Occurred.UTC().Format(time.ANSIC)
	}
	maps.DeleteFunc(f, func(_, value string) bool { return value == "" })
	return f
}

// NotStoredField is the name, and NotStored the value, of a field that says in files and in the API that the
// full text of a report is not stored.
const (
	NotStoredField = "MishapNotStored"
	NotStored      = "The full text of this report was not stored, because its problem had enough reports in full."
)

// Description describes, in one sentence, what the rule compares. It returns "" for [RuleNone] and
// unknown rules.
func (r GroupingRule) Description() string { return ruleDescriptions[r] }

var ruleDescriptions = map[GroupingRule]string{
	RuleDuplicateSignature: "The reports contain this signature (DuplicateSignature).",
	RuleKernelCrash:        "Kernel crashes with the same functions on the stack.",
	RuleAssertion:          "The same program and the same failed assertion, without memory addresses.",
	RuleStacktrace:         "The same program, the same signal and the same functions on top of the stack.",
	RuleTraceback:          "The same program, the same exception and the same functions in the Python traceback.",
	RuleSuspendResume:      "The same failure to sleep or wake up, on the same model with the same firmware.",
	RuleOops:               "The same kernel fault in the same functions.",
	RuleKernel:             "The same kernel problem in the same function, called by the same functions.",
	RulePackage: "The same package, the same step of its installation and the same error, without " +
		"versions and numbers.",
	RuleJava:    "The same program, the same Java exception with the same causes, and the same methods.",
	RuleGoPanic: "The same program, the same kind of panic (Go) and the same functions of the goroutine.",
	RuleRustPanic: "The same program, the same source file and message of the panic (Rust), and the " +
		"same functions.",
	RuleCompiler: "The same compiler and the same internal error, in the same functions of the compiler.",
	RuleStackNames: "The same program, the same signal and the same functions on top of the stack. apport cannot " +
		"read some of their names.",
	RulePython:      "The same program, the same exception and the same functions. apport cannot read the traceback.",
	RuleSnap:        "The same snap or repair and the same error, without revisions and numbers.",
	RuleRecoverable: "The same program and the same message to its user, without numbers and names of people.",
	RuleAddress: "The same program, the same signal and the same addresses. Once the functions have names, the " +
		"reports move to the problem with these names.",
	RuleStackPartial: "The same program, the same signal and the same functions on top of the stack, as " +
		"far as they have names.",
	RuleHang: "The same program, which stopped responding, and the same functions of its first thread.",
}

// commentFields are the fields in which a person has written something.
var commentFields = [...]string{"Comment", "Comments", "UserComment"}

// HasComment reports whether a person has written something into a report.
func HasComment(f Fields) bool {
	return slices.ContainsFunc(commentFields[:], func(name string) bool { return strings.TrimSpace(f[name]) != "" })
}

// Bodies says how many reports of a problem are stored in full, of those since keep_bodies_per_problem was
// set for the first time.
type Bodies struct {
	Stored, All int64
	Since       time.Time // zero: it was never set
}

// Limited reports whether some are not.
func (b Bodies) Limited() bool { return b.Stored < b.All }

// ReportKey identifies a report that is submitted again. Its first four bytes are the report's Date
// in seconds since 1970 (big-endian; 0 without a readable Date), so keys of one time are adjacent
// in an index. The other twelve are a hash.
type ReportKey [16]byte

// occurrence lists the fields by which whoopsie's protocol recognises a crash.
var occurrence = [...]string{"Date", "ExecutablePath", "ProcStatus"}

// constantFields lists fields that never change after apport has created a report, and that every
// version of whoopsie sends. The last five describe the crash: reports that differ in one of them
// belong to different problems.
var constantFields = [...]string{
	"ProblemType", "Date", "ExecutablePath", "ProcStatus", "ProcCmdline", "ProcCwd", "ExecutableTimestamp",
	"InterpreterPath", "PythonArgs", "Signal", "Package", "SourcePackage", "PackageArchitecture", "Architecture",
	"DistroRelease", "MachineType", "Snap", "DuplicateSignature", "Traceback", "StacktraceTop",
	"StacktraceAddressSignature", "AssertionMessage",
}

// groupingFields lists the fields that grouping rules read when a report has no DuplicateSignature.
// Some versions of whoopsie drop them, so the key includes them only in that case.
var groupingFields = [...]string{
	"OopsText", "Failure", "ErrorMessage", "DpkgTerminalLog", "PanicMessage", "StdErr", "Stderr", "StandardError",
	"StackTrace", "Stacktrace",
}

// variableFields lists fields that may differ between two submissions of one report. Apport
// collects them again or adds them later (retraced stacks, logs), whoopsie drops them, or they
// count uploads. Names with a leading underscore belong here, too: apport uses them internally.
var variableFields = map[string]bool{
	"ApportVersion": true, "CoreDump": true, "CrashCounter": true, "CrashReports": true, "CurrentDesktop": true,
	"CurrentDmesg": true, "Dependencies": true, "Disassembly": true, "InstallationDate": true,
	"InstallationMedia": true, "JournalErrors": true, "NonfreeKernelModules": true, "ProcModules": true,
	"Registers": true, "Stacktrace": true, "StacktraceSource": true, "Tags": true, "ThreadStacktrace": true,
	"Title": true, "Uname": true, "UnreportableReason": true, "UpgradeStatus": true, "UserGroups": true,
	"VmCore": true,
}

// DuplicateKey returns the key of a report, which is the same each time one machine submits the
// report. It hashes
//   - Date, ExecutablePath and ProcStatus, if all three are present, as in every program crash;
//   - else, with a Date, the fields that never change and that every version of whoopsie sends;
//   - else all fields but those that may change.
//
// It ignores the differences between a .crash file and what whoopsie sends of it.
func DuplicateKey(system SystemID, f Fields) ReportKey {
	h := newKeyHash(system)
	switch {
	case !slices.ContainsFunc(occurrence[:], func(name string) bool { return isBlank(f[name]) }):
		for _, name := range occurrence {
			h.add(asSent(f[name]))
		}
	case !isBlank(f["Date"]):
		h.addFields(f, constantFields[:])
		if isBlank(f["DuplicateSignature"]) {
			h.addFields(f, groupingFields[:])
		}
	default:
		h.addFields(f, slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(name string) bool {
			return variableFields[name] || strings.HasPrefix(name, "_")
		}))
	}
	return h.key(f["Date"])
}

// NumberKey returns the key of a report with a number: the same each time the report is submitted.
func NumberKey(number string, f Fields) ReportKey {
	h := newKeyHash("")
	h.add("number")
	h.add(number)
	return h.key(f["Date"])
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// asSent returns the text as whoopsie sends it: control characters within lines become "?", and
// outer blanks are removed.
func asSent(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' {
			return '?'
		}
		return r
	}, strings.TrimSpace(s))
}

// keyHash hashes a list of texts. It includes their lengths, so different lists never hash the same
// bytes.
type keyHash struct{ sha hash.Hash }

func newKeyHash(system SystemID) keyHash {
	h := keyHash{sha256.New()}
	h.add(string(system))
	return h
}

func (h keyHash) add(text string) {
	_, _ = h.sha.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // never fails
	_, _ = io.WriteString(h.sha, text)
}

// addFields hashes the names and texts of the fields that are not blank. It ignores blanks, control
// characters, and the "?" that whoopsie substitutes for these. It needs a fixed amount of memory,
// whatever the length of the texts.
func (h keyHash) addFields(f Fields, names []string) {
	const end = 0 // occurs neither in names nor among the hashed characters
	buffer := make([]byte, 0, 512)
	for _, name := range names {
		if isBlank(f[name]) {
			continue
		}
		buffer = append(append(buffer, name...), end)
		for _, r := range f[name] {
			if len(buffer) > cap(buffer)-utf8.UTFMax {
				_, _ = h.sha.Write(buffer)
				buffer = buffer[:0]
			}
			if r != '?' && !unicode.IsSpace(r) && !unicode.IsControl(r) {
				buffer = utf8.AppendRune(buffer, r)
			}
		}
		_, _ = h.sha.Write(append(buffer, end))
		buffer = buffer[:0]
	}
}

func (h keyHash) key(date string) (key ReportKey) {
	if at, ok := OccurredAt(date); ok {
		binary.BigEndian.PutUint32(key[:4], uint32(min(max(at.Unix(), 0), math.MaxUint32)))
	}
	copy(key[4:], h.sha.Sum(nil))
	return key
}

// KeysAt returns the range of the keys of reports with a Date: those of a time begin with low or a
// higher key, and below high.
func KeysAt(date time.Time) (low, high []byte) {
	seconds := min(max(date.Unix(), 0), math.MaxUint32)
	low = binary.BigEndian.AppendUint32(nil, uint32(seconds))
	if seconds == math.MaxUint32 {
		return low, bytes.Repeat([]byte{0xff}, len(ReportKey{})+1)
	}
	return low, binary.BigEndian.AppendUint32(nil, uint32(seconds+1)) //nolint:gosec // below MaxUint32, see above
}
