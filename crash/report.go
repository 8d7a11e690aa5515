package crash

import "time"

// Fields are the fields of a report by apport's names ("ExecutablePath", "StacktraceTop"). Values are valid UTF-8
// without NUL.
type Fields map[string]string

// Report is one crash as received.
type Report struct {
	ID     OopsID
	System SystemID
	Fields Fields

	// Done is called by whoever stores the report, once none of its texts is used any more: they may lie in a buffer that is
	// wanted for the next one. Nil: nobody waits for that.
	Done func()
}

// Received is when the report arrived, UTC, to the millisecond.
func (r Report) Received() time.Time { return r.ID.Received() }

// Record is a report together with everything that was worked out about it on arrival; it is what gets stored.
type Record struct {
	Report
	Summary
	Grouping Grouping

	// Occurred is the report's own Date read as UTC, zero when it is missing or unreadable. Day is the UTC midnight of
	// the day that the report counts on: that of Occurred when plausible, else that of the arrival.
	Occurred, Day time.Time

	// Counted is false for test machines: stored, never counted.
	Counted bool

	// DuplicateKey is the same for every submission of one report by one machine, see [DuplicateKey]. Zero means that
	// the report is never taken for a repetition.
	DuplicateKey ReportKey

	// FormerKey is the key that earlier versions of mishap gave the report, where it differs; else zero.
	FormerKey ReportKey
}

// Summary is what lists show of a report. Empty: not known.
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
	Complete            bool   // brought a stack, a traceback or the like, from which a person can tell what happened
}

// Rule names the rule that grouped a report.
type Rule string

// The rules, in the order in which they are tried: the report's own word, apport's, ours. Their names are stored and stay.
const (
	RuleDuplicateSignature Rule = "duplicate-signature" // the report brought its own
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
	RuleStackNames         Rule = "stacktrace-names" // all frames are named, in forms that apport refuses
	RulePython             Rule = "python"
	RuleSnap               Rule = "snap"
	RuleRecoverable        Rule = "recoverable"
	RuleAddress            Rule = "address"            // provisional: no names yet
	RuleStackPartial       Rule = "stacktrace-partial" // some frames have no name, and there is no address signature
	RuleHang               Rule = "hang"
	RuleNone               Rule = "" // cannot be bucketed
)

// MaxSignature is how many characters (code points) of a signature are kept.
const MaxSignature = 32768

// Grouping says which bucket a report belongs to and why.
type Grouping struct {
	Signature   string // empty: cannot be bucketed
	Rule        Rule
	Provisional bool   // keyed by its address signature until it is symbolised
	Reason      string // why it cannot be bucketed, one sentence; empty when Signature is set
}
