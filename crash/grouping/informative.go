package grouping

import "mishap/crash"

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

// informativeRules lists the rules that read function names or a message.
var informativeRules = map[crash.Rule]bool{
	crash.RuleKernel: true, crash.RulePackage: true, crash.RuleJava: true, crash.RuleGoPanic: true,
	crash.RuleRustPanic: true, crash.RuleCompiler: true, crash.RulePython: true, crash.RuleSnap: true,
	crash.RuleRecoverable: true, crash.RuleHang: true,
}
