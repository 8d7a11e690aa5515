package grouping

import (
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
func whyNone(f crash.Fields, rule crash.Rule) string {
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
