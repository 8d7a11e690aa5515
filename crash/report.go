package crash

import "time"

// Fields maps apport's field names ("ExecutablePath", "StacktraceTop") to values. Values are valid
// UTF-8 without NUL.
type Fields map[string]string

// Report is one crash as received.
type Report struct {
	ID     OopsID
	System SystemID
	Fields Fields

	// Done releases the buffer that the texts of the report may share with later reports. Whoever
	// stores the report calls it after the last use of these texts. It may be nil.
	Done func()
}

// Received returns when the report arrived, in UTC, to the millisecond.
func (r Report) Received() time.Time { return r.ID.Received() }

// Record is a report with everything derived from it on arrival, as it is stored.
type Record struct {
	Report
	Summary
	Grouping Grouping

	// Occurred is the report's own Date, read as UTC; zero when it is missing or malformed. Day is
	// the UTC midnight of the day on which the report counts; see [CountingDay].
	Occurred, Day time.Time

	// Quality is how much the report says about its crash; see [mishap/crash/grouping.Quality].
	Quality int

	// Counted is false for reports of test machines.
	Counted bool

	// DuplicateKey is the same each time one machine submits the report; see [DuplicateKey]. If it
	// is zero, the report is never treated as a duplicate.
	DuplicateKey ReportKey

	// FormerKey is the key that earlier versions of mishap gave the report, if it differs; else
	// zero.
	FormerKey ReportKey
}

// Summary is the part of a report that lists show. Empty fields are unknown.
type Summary struct {
	ProblemType         string
	Title               string // apport's standard title, "tidewatch crashed with SIGSEGV in tide_parse_row()"
	Executable          string
	Package             string // binary package
	Version             string // version of the binary package
	SourcePackage       string
	Release             Release
	Architecture        string // of the machine
	PackageArchitecture string // of the package; "all" counts as the machine's
	AddressSignature    string // apport's crash_signature_addresses
	Proposed            bool   // the package came from the proposed pocket
	Complete            bool   // it has a stack, a traceback or similar text that shows a person what happened
}

// Rule is the name of the rule that grouped a report.
type Rule string

// The rules, in the order in which they are tried: the report's own signature, apport's rules,
// mishap's rules. The names are stored in the database and must not change.
const (
	RuleDuplicateSignature Rule = "duplicate-signature" // the report has its own
	RuleKernelCrash        Rule = "kernel-crash"
	RuleAssertion          Rule = "assertion"
	RuleStacktrace         Rule = "stacktrace"
	RuleTraceback          Rule = "traceback"
	RuleSuspendResume      Rule = "suspend-resume"
	RuleOops               Rule = "oops"
	RuleKernel             Rule = "kernel"
	RulePackage            Rule = "package"
	RuleJava               Rule = "java"
	RuleGoPanic            Rule = "go-panic"
	RuleRustPanic          Rule = "rust-panic"
	RuleCompiler           Rule = "compiler"
	RuleStackNames         Rule = "stacktrace-names" // all frames have names, in forms that apport rejects
	RulePython             Rule = "python"
	RuleSnap               Rule = "snap"
	RuleRecoverable        Rule = "recoverable"
	RuleAddress            Rule = "address"            // provisional: the frames have no names yet
	RuleStackPartial       Rule = "stacktrace-partial" // some frames have no name, and there is no address signature
	RuleHang               Rule = "hang"
	RuleNone               Rule = "" // in no bucket
)

// MaxSignature is the largest length of a signature, in code points; longer ones are truncated.
const MaxSignature = 32768

// Grouping is the bucket of a report, and why.
type Grouping struct {
	Signature   string // empty: in no bucket
	Rule        Rule
	Provisional bool   // keyed by an address signature until it is symbolised
	Reason      string // why it is in no bucket, as one sentence; empty when Signature is set
}

// ErasedCounts is what an erasure has removed.
type ErasedCounts struct {
	Reports  int64 `json:"reports"`
	Cores    int64 `json:"cores"`    // core dumps that were stored
	Requests int64 `json:"requests"` // requests for core dumps
	Jobs     int64 `json:"jobs"`     // of symbolising
	Problems int64 `json:"problems"` // that have lost reports
	Gone     int64 `json:"gone"`     // of these problems, those of which nothing was left
	Audit    int64 `json:"audit"`    // records of the audit log in which a digest replaces the machine
	Texts    int64 `json:"texts"`    // texts of people in which "erased-machine" replaces the machine
	// Anonymous is the number of reports that retention has dropped before. Their counts stay, and no
	// longer know the machine.
	Anonymous int64 `json:"anonymous"`
}

// Erasure is the removal of a machine with all that is known about it. It does not contain the id of the
// machine once it is finished.
type Erasure struct {
	ID        int64
	Digest    string // of the machine, with a key that only the database knows
	System    SystemID
	Blocked   bool   // new reports of the machine are refused
	Person    string // account; empty: the command line
	Via       string // token, or system user of the command
	Requested time.Time
	Until     time.Time // reports that arrived until then are erased
	Finished  time.Time // zero: it is running
	Counts    ErasedCounts
}

// MachineFacts is what an erasure would remove.
type MachineFacts struct {
	Reports, Problems, Cores, Jobs int64
	Only                           int64     // problems that no other machine has reported
	First, Last                    time.Time // arrival of the first and the last report
}
