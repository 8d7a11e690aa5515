package crashtest

import "math/rand/v2"

// otherProblem returns a fault of a program in a language for which apport has no rule.
func otherProblem(r *rand.Rand, language, binary, source, path string) Report {
	function, caller := pick(r, verbs), pick(r, nouns)
	var t Report
	switch language {
	case "Java":
		t = Java(Set("StackTrace", javaTrace(function, caller)))
	case "Go":
		t = GoPanic(Set("StdErr", goPanic(function, caller)))
	case "Rust":
		t = RustPanic(Set("StdErr", rustPanic(caller, function)))
	default: // C++
		if t = OddNames(); r.IntN(3) == 0 {
			t = HalfNamed()
		}
		t["StacktraceTop"] = function + "_" + caller + " (n=1) at ../src/" + caller + ".cc:7\n" + t["StacktraceTop"]
	}
	t["Package"], t["SourcePackage"], t["ExecutablePath"] = binary+" 1", source, path
	return t
}
