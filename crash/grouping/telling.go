package grouping

import "mishap/crash"

// Telling reports whether a report has something from which a developer could tell where the fault is: a stack with names, a
// traceback, an assertion, the message of the kernel or the package manager, or another text that a grouping rule reads.
func Telling(f crash.Fields) bool {
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
var tellingRules = map[crash.Rule]bool{
	crash.RuleKernel: true, crash.RulePackage: true, crash.RuleJava: true, crash.RuleGoPanic: true, crash.RuleRustPanic: true, crash.RuleCompiler: true, crash.RulePython: true, crash.RuleSnap: true,
	crash.RuleRecoverable: true, crash.RuleHang: true,
}
