// Package grouping determines the problem that a report belongs to. It parses stacks, tracebacks
// and messages, and applies apport's signature rules and rules of mishap's own. It explains which
// lines of which field a rule used, and derives titles and summaries. All functions are pure and
// limit the amount of text that they read.
package grouping

import (
	"regexp"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// SignatureOf returns the bucket of a report, by the first of: its DuplicateSignature, unchanged; rules
// for stacks that mishap has worked out, else apport's; mishap's own rules (see [crash.RuleKernel] and
// those after it); for a native crash or hang without function names, its address signature, which
// is provisional until the report is symbolised; without an address signature, the names that there
// are. Signatures are truncated to [crash.MaxSignature] code points. A report that no rule groups
// gets a Reason. [Explain] shows the steps.
func SignatureOf(f crash.Fields) crash.Grouping { return group(f, nil) }

func group(f crash.Fields, rec *recorder) crash.Grouping {
	if own := f["DuplicateSignature"]; own != "" {
		rec.read("DuplicateSignature")
		return crash.Grouping{Signature: crash.Truncate(own, crash.MaxSignature), Rule: crash.RuleDuplicateSignature}
	}
	rule := crash.RuleStacktrace
	if namedHere(f) {
		if g := sign(namedRules[:], f, rec); g.Signature != "" {
			return g
		}
	} else {
		var signature string
		if signature, rule = crashSignature(f, rec); signature != "" {
			return crash.Grouping{Signature: crash.Truncate(signature, crash.MaxSignature), Rule: rule}
		}
	}
	if g := sign(ownRules[:], f, rec); g.Signature != "" {
		return g
	}
	if address := AddressSignature(f); address != "" {
		rec.addresses(f, address)
		return crash.Grouping{Signature: crash.Truncate(address, crash.MaxSignature), Rule: crash.RuleAddress,
			Provisional: true}
	}
	if g := sign(lastRules[:], f, rec); g.Signature != "" {
		return g
	}
	return crash.Grouping{Reason: whyNone(f, rule)}
}

// whyNone says why a report has no signature; rule is the apport rule that applied but gave none.
func whyNone(f crash.Fields, rule crash.GroupingRule) string {
	kind := f["ProblemType"]
	_, oops := f["OopsText"]
	switch {
	case rule == crash.RuleStacktrace && f["ExecutablePath"] != "":
		return whyNoStacktrace(f)
	case rule == crash.RuleTraceback && f["ExecutablePath"] != "":
		return "The traceback has no exception and frames in a known form."
	case kind == "KernelOops" && oops:
		return "The kernel's text names no function in a known form."
	case kind == "KernelOops", kind == "KernelCrash":
		return "The kernel report holds no text and no stack to group by."
	case kind == "Package", kind == "RecoverableProblem", kind == "Snap", kind == "Repair":
		return "Reports of this type are grouped by DuplicateSignature, and this one has none."
	case f["ExecutablePath"] == "":
		return "The report names no program."
	case f["Signal"] != "":
		return "The crash has no stack with function names and no address signature."
	default:
		return "The report has no stack, no traceback and no DuplicateSignature to group by."
	}
}

func whyNoStacktrace(f crash.Fields) string {
	if namedHere(f) && f["StacktraceTop"] == "" {
		return "The stack has only functions that end the program or belong to a runtime, and there is no address signature."
	}
	n := 0
	for line := range pytext.Lines(f["StacktraceTop"]) {
		n++
		if strings.HasPrefix(line, "??") {
			return "Not every frame of the stack has a name, and there is no address signature."
		}
	}
	if n < 2 {
		return "The stack has fewer than two frames, and there is no address signature."
	}
	return "A frame of the stack has a name in an unknown form, and there is no address signature."
}

// RulesVersion is the version of the grouping rules, that is, of [SignatureOf]. Each report is
// stored with the version that grouped it. Raise it when a change of the rules changes the
// signature of any report; stored reports of lower versions are then regrouped.
//
// Version 1: apport's rules and address signatures. 2: our own rules, where apport has none. 3:
// oopses without offsets, network addresses, full disks, Rust executors, Flatpaks and AppImages. 4:
// stacks that mishap works out, calls of wrong pointers.
const RulesVersion = 4

// CurrentRules returns the grouping rules of this program.
func CurrentRules() crash.GroupingRules {
	return crash.GroupingRules{Version: RulesVersion, Group: SignatureOf}
}

// The rules of mishap's own, for reports to which apport gives no signature. The comment of each function has its
// rationale.
//
// Their signatures begin with the program, the package or "kernel", followed by names that locate
// the fault, separated by colons. They omit addresses, process ids, temporary names, line numbers
// and versions, which vary between machines and updates. A rule that cannot distinguish faults
// gives no signature: people can merge buckets, but they cannot use a bucket of many faults.

// ownRule is one of these rules. sign returns "" if the rule does not apply; it records what it
// used and omitted.
type ownRule struct {
	rule crash.GroupingRule
	sign func(f crash.Fields, rec *recorder) string
}

// ownRules are tried before the address signature, because they use names. The first one that gives
// a signature decides.
var ownRules = [...]ownRule{
	{crash.RuleKernel, kernelSignature},
	{crash.RulePackage, packageSignature},
	{crash.RuleJava, javaSignature},
	{crash.RuleGoPanic, goPanicSignature},
	{crash.RuleRustPanic, rustPanicSignature},
	{crash.RuleCompiler, compilerSignature},
	{crash.RuleStackNames, stackNamesSignature},
	{crash.RulePython, pythonSignature},
	{crash.RuleSnap, snapSignature},
	{crash.RuleRecoverable, recoverableSignature},
}

// namedRules apply, instead of apport's, to crashes whose stack mishap has worked out. What a panic
// says is better than the stack that the debugger shows.
var namedRules = [...]ownRule{
	{crash.RuleGoPanic, goPanicSignature},
	{crash.RuleRustPanic, rustPanicSignature},
	{crash.RuleAssertion, assertionSignature},
	{crash.RuleStacktrace, namedStackSignature},
}

// namedHere reports whether mishap has worked out the stack of a native crash.
func namedHere(f crash.Fields) bool { return f[crash.SymbolisedBy] != "" && f["Signal"] != "" }

// lastRules apply to reports without an address signature.
var lastRules = [...]ownRule{
	{crash.RuleStackPartial, stackPartialSignature},
	{crash.RuleHang, hangSignature},
}

const (
	maxRead            = 1 << 20 // bytes of one field that a rule reads
	maxMessage         = 500     // code points of a message in a signature
	maxSymbol          = 1000    // code points of a name in a signature
	maxSignatureFrames = 5       // frames of one stack, as in apport
)

func sign(rules []ownRule, f crash.Fields, rec *recorder) crash.Grouping {
	for _, r := range rules {
		rec.reset()
		if signature := r.sign(f, rec); signature != "" {
			return crash.Grouping{Signature: crash.Truncate(signature, crash.MaxSignature), Rule: r.rule}
		}
	}
	rec.reset()
	return crash.Grouping{}
}

// subject returns the beginning of a signature: the program, else the package. It omits the
// directories that Snap, Flatpak and AppImage name after a revision or a run:
// "/snap/reef/123/bin/reef", "/tmp/.mount_reefAb3xY9/usr/bin/reef".
func subject(f crash.Fields) string {
	if path := f["ExecutablePath"]; path != "" {
		return crash.Truncate(currentRevision(path), maxExecutable)
	}
	return crash.Truncate(pytext.FirstWord(crash.Truncate(f["Package"], maxWords)), maxName)
}

// revisions match the directories of [subject], with their replacements.
var revisions = []struct {
	directory *regexp.Regexp
	current   string
}{
	{regexp.MustCompile(`^(/tmp/\.mount_[^/]+)[^/]{6}/`), "${1}/"},
	{regexp.MustCompile(`(/flatpak/app/[^/]*/[^/]*/[^/]*/)[0-9a-fA-F]{64}/`), "${1}active/"},
	{regexp.MustCompile(`^((?:/snap|/var/lib/snapd/snap)/[^/]*)/x?[0-9]+/`), "${1}/current/"},
}

// currentRevision removes what changes with each revision or run from the path of a program.
func currentRevision(path string) string {
	for _, r := range revisions {
		path = r.directory.ReplaceAllString(path, r.current)
	}
	return path
}

// isRevision reports whether a directory is named after a revision: "123", or "x1" for a snap
// installed from a file.
func isRevision(s string) bool {
	digits := strings.TrimPrefix(s, "x")
	return digits != "" && pytext.Run(digits, pytext.IsDigit) == digits
}

// tailOf returns the last maxRead bytes of s, without an incomplete first line. Logs end with the
// most recent events.
func tailOf(s string) string {
	if len(s) <= maxRead {
		return s
	}
	_, rest, _ := strings.Cut(s[len(s)-maxRead:], "\n")
	return rest
}

func headOf(s string) string { return s[:min(len(s), maxRead)] }

// join joins the parts of a signature. It replaces control characters by blanks and skips empty
// parts.
func join(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		part = strings.TrimSpace(withoutControl(crash.Truncate(part, maxSymbol)))
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(':')
		}
		b.WriteString(part)
	}
	return b.String()
}

func withoutControl(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

type call struct {
	text string // for explanations
	name string // empty: it is no part of a recursion either
	why  string // the reason for which the signature omits it; empty: none
	at   int    // offset of its line in the field
}

const whyEnough = "the signature has enough frames"

func callNames(calls []call, most int, field string, rec *recorder) []string {
	var names []string
	for _, c := range calls {
		if c.why == "" && len(names) == most {
			c.why = whyEnough
		}
		if rec.decide(c.text, c.name, c.why) {
			rec.mark(field, c.at)
			names = append(names, c.name)
		}
	}
	return names
}

// recursion returns the parts of the signature of a stack that overflowed: the sorted functions of the
// infinite recursion, since which of them is on top varies. It returns nil if none occurs often.
func recursion(calls []call, field string, rec *recorder) []string {
	const often, most = 3, 12
	seen := map[string]int{}
	var circle []string
	for _, c := range calls {
		if seen[c.name]++; c.name != "" && seen[c.name] == often {
			circle = append(circle, c.name)
		}
	}
	if len(circle) == 0 {
		return nil
	}
	slices.Sort(circle)
	circle = circle[:min(len(circle), most)]
	for _, c := range calls {
		rec.skip(c.text, "the stack overflowed: only what recurs counts")
	}
	for _, name := range circle {
		rec.use(name, name)
		rec.mark(field, calls[slices.IndexFunc(calls, func(c call) bool { return c.name == name })].at)
	}
	return append([]string{"recursion"}, circle...)
}

func hasAnyPrefix(s string, starts ...string) bool {
	return slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(s, start) })
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// Informative reports whether a report helps a developer to locate the fault. It has a stack with
// names, a traceback, an assertion, a message of the kernel or the package manager, or another text
// that a grouping rule reads.
func Informative(f crash.Fields) bool {
	for _, field := range []string{"Traceback", "AssertionMessage", "OopsText", "ErrorMessage"} {
		if f[field] != "" {
			return true
		}
	}
	if HasUsefulStacktrace(f) || named(Frames(f)) > 1 {
		return true
	}
	return informativeRules[group(withoutOwnSignature(f), nil).Rule]
}

var informativeRules = map[crash.GroupingRule]bool{
	crash.RuleKernel: true, crash.RulePackage: true, crash.RuleJava: true, crash.RuleGoPanic: true,
	crash.RuleRustPanic: true, crash.RuleCompiler: true, crash.RulePython: true, crash.RuleSnap: true,
	crash.RuleRecoverable: true, crash.RuleHang: true,
}
