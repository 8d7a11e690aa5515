package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// SignatureOf says which bucket a report belongs to. It tries, in this order: the report's own DuplicateSignature, kept
// as it stands; apport's rules ([CrashSignature]); our own, where apport has none (see [crash.RuleKernel] and those after it);
// for a native crash or hang whose frames have no names, its address signature, provisionally, until it is symbolised; for
// one that has not even that, the names that there are. Signatures are cut to [crash.MaxSignature] code points. A report that
// fits nothing gets a Reason. [Explain] says how it came about.
func SignatureOf(f crash.Fields) crash.Grouping { return group(f, nil) }

func group(f crash.Fields, to *recorder) crash.Grouping {
	if own := f["DuplicateSignature"]; own != "" {
		to.read("DuplicateSignature")
		return crash.Grouping{Signature: crash.Truncate(own, crash.MaxSignature), Rule: crash.RuleDuplicateSignature}
	}
	signature, rule := crashSignature(f, to)
	if signature != "" {
		return crash.Grouping{Signature: crash.Truncate(signature, crash.MaxSignature), Rule: rule}
	}
	if g := sign(ownRules[:], f, to); g.Signature != "" {
		return g
	}
	if address := AddressSignature(f); address != "" {
		to.addresses(f, address)
		return crash.Grouping{Signature: crash.Truncate(address, crash.MaxSignature), Rule: crash.RuleAddress, Provisional: true}
	}
	if g := sign(lastRules[:], f, to); g.Signature != "" {
		return g
	}
	return crash.Grouping{Reason: whyNone(f, rule)}
}

// whyNone explains why a report has no signature; rule is the one of apport's that applied and gave nothing.
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
