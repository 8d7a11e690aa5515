package crash

// Telling reports whether a report has something from which a developer could tell where the fault is: a stack with names, a
// traceback, an assertion, the message of the kernel or the package manager, or another text that a grouping rule reads.
func Telling(f Fields) bool {
	for _, field := range []string{"Traceback", "AssertionMessage", "OopsText", "ErrorMessage"} {
		if f[field] != "" {
			return true
		}
	}
	if HasUsefulStacktrace(f) || named(Frames(f)) > 1 {
		return true
	}
	return tellingRules[group(withoutOwnSignature(f), nil).Rule]
}

// tellingRules are the rules that read names of functions, or a message, in a text.
var tellingRules = map[Rule]bool{
	RuleKernel: true, RulePackage: true, RuleJava: true, RuleGoPanic: true, RuleRustPanic: true, RuleCompiler: true, RulePython: true, RuleSnap: true,
	RuleRecoverable: true, RuleHang: true,
}
