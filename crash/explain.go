package crash

// Explanation says why a report is grouped as it is: what [SignatureOf] says of it, and how it came about.
type Explanation struct {
	Grouping
	Description string // of the rule, one sentence; empty when there is none
	Field       string // the field that decided; empty: several, or none
	Frames      []FrameUse
	Changes     []Change
}

// FrameUse is one frame, or line, that the rule looked at. The texts come from the report and may be private.
type FrameUse struct {
	Text string
	Used bool
	As   string // when used: what went into the signature
	Why  string // when not: the reason, "it only reports the fault"
}

// Change is a text that differs from machine to machine or from version to version, and what it became.
type Change struct{ From, To string }

// Bucket is the bucket that today's rules give; false when they give none.
func (e Explanation) Bucket() (BucketID, bool) {
	if e.Signature == "" {
		return BucketID{}, false
	}
	return BucketIDOf(e.Signature), true
}

// Explain says why [SignatureOf] groups a report as it does. Both go the same way: Explain only notes what happens.
func Explain(f Fields) Explanation {
	var to recorder
	e := Explanation{Grouping: group(f, &to)}
	e.Description = e.Rule.Description()
	e.Field, e.Frames, e.Changes = to.field, to.frames, to.changes
	return e
}

// Description says in one sentence what the rule goes by; empty for [RuleNone] and rules that are not known.
func (r Rule) Description() string { return ruleDescriptions[r] }

var ruleDescriptions = map[Rule]string{
	RuleDuplicateSignature: "The program that reported the problem says itself which one it is (DuplicateSignature).",
	RuleKernelCrash:        "The kernel ended; the functions of its stack say where.",
	RuleAssertion:          "The program stopped itself; the failed assertion is the same.",
	RuleStacktrace:         "The program ended with the same signal, in the same functions (the first five of the stack).",
	RuleTraceback:          "The same exception of Python, with the same functions.",
	RuleSuspendResume:      "The machine did not wake up; the model and its firmware are the same.",
	RuleOops:               "The kernel names the same fault and the same functions.",
	RuleKernel:             "The kernel names the same problem, in the same function, called in the same way.",
	RulePackage:            "The same package failed in the same step, with the same error.",
	RuleJava:               "The same exception of Java, with the same causes and methods.",
	RuleGoPanic:            "The program panicked in the same functions (Go).",
	RuleRustPanic:          "The program panicked in the same source file, with the same message and functions (Rust).",
	RuleCompiler:           "The compiler found the same error in itself.",
	RuleStackNames:         "The program ended with the same signal, in the same functions (in forms that apport does not read).",
	RulePython:             "The same exception of Python, with the same functions (in forms that apport does not read).",
	RuleSnap:               "The same snap or repair failed with the same error.",
	RuleRecoverable:        "The program told its user of the same problem.",
	RuleAddress:            "The functions have no names yet; the places in the files are the same. It is a provisional problem, until it is symbolised.",
	RuleStackPartial:       "The program ended with the same signal, in the same functions, as far as they have names.",
	RuleHang:               "The program did not answer; its first thread was in the same functions.",
}
