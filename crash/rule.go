package crash

// Description describes, in one sentence, what the rule compares. It returns "" for [RuleNone] and
// unknown rules.
func (r Rule) Description() string { return ruleDescriptions[r] }

var ruleDescriptions = map[Rule]string{
	RuleDuplicateSignature: "The reports contain this signature (DuplicateSignature).",
	RuleKernelCrash:        "Kernel crashes with the same functions on the stack.",
	RuleAssertion: "The same program and the same failed assertion; memory addresses in the message " +
		"do not count.",
	RuleStacktrace:    "The same program, the same signal and the same functions on top of the stack.",
	RuleTraceback:     "The same program, the same exception and the same functions in the Python traceback.",
	RuleSuspendResume: "The same failure to sleep or wake up, on the same model with the same firmware.",
	RuleOops:          "The same kernel fault in the same functions.",
	RuleKernel:        "The same kernel problem in the same function, called by the same functions.",
	RulePackage: "The same package, the same step of its installation and the same error, without " +
		"versions and numbers.",
	RuleJava:    "The same program, the same Java exception with the same causes, and the same methods.",
	RuleGoPanic: "The same program, the same kind of panic (Go) and the same functions of the goroutine.",
	RuleRustPanic: "The same program, the same source file and message of the panic (Rust), and the " +
		"same functions.",
	RuleCompiler: "The same compiler and the same internal error, in the same functions of the compiler.",
	RuleStackNames: "The same program, the same signal and the same functions on top of the stack; " +
		"some of their names are in forms that apport does not read.",
	RulePython: "The same program, the same exception and the same functions; the traceback is in " +
		"a form that apport does not read.",
	RuleSnap:        "The same snap or repair and the same error, without revisions and numbers.",
	RuleRecoverable: "The same program and the same message to its user, without numbers and names of people.",
	RuleAddress: "The same program, the same signal and the same places in the binaries. The " +
		"frames have no function names yet; once they are symbolised, the reports move to " +
		"the problem with names.",
	RuleStackPartial: "The same program, the same signal and the same functions on top of the stack, as " +
		"far as they have names.",
	RuleHang: "The same program, which stopped responding, and the same functions of its first thread.",
}
