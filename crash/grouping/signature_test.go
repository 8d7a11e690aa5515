package grouping_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

func TestSignatureOf(t *testing.T) {
	t.Parallel()
	native := func(more crash.Fields) crash.Fields {
		f := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/x", "Signal": "11"}
		for name, value := range more {
			f[name] = value
		}
		return f
	}
	for name, c := range map[string]struct {
		fields crash.Fields
		want   crash.Grouping
	}{
		"its own": {native(crash.Fields{"DuplicateSignature": " it's\n\"%2F\" \n", "StacktraceTop": "a ()\nb ()"}),
			crash.Grouping{Signature: " it's\n\"%2F\" \n", Rule: crash.RuleDuplicateSignature}},
		"an empty one of its own": {native(crash.Fields{"DuplicateSignature": "", "StacktraceTop": "a ()\nb ()"}),
			crash.Grouping{Signature: "/usr/bin/x:11:a:b", Rule: crash.RuleStacktrace}},
		"quotes are not doubled": {crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/x",
			"Traceback": "T\n  File \"/o'x\", line 1, in <module>\nE: 'y'"},
			crash.Grouping{Signature: "/usr/bin/x:E:/o'x@1", Rule: crash.RuleTraceback}},
		"no names": {native(crash.Fields{"StacktraceTop": "?? ()\n?? ()", "StacktraceAddressSignature": "/usr/bin/x:11:x+1"}),
			crash.Grouping{Signature: "/usr/bin/x:11:x+1", Rule: crash.RuleAddress, Provisional: true}},
		"no stack but addresses": {native(crash.Fields{"StacktraceAddressSignature": "/usr/bin/x:11:x+1"}),
			crash.Grouping{Signature: "/usr/bin/x:11:x+1", Rule: crash.RuleAddress, Provisional: true}},
		"some names": {native(crash.Fields{"StacktraceTop": "a ()\n?? ()"}),
			crash.Grouping{Reason: "Not every frame of the stack has a name, and there is no address signature."}},
		"one frame": {native(crash.Fields{"StacktraceTop": "a ()"}),
			crash.Grouping{Reason: "The stack has fewer than two frames, and there is no address signature."}},
		"an odd name": {native(crash.Fields{"StacktraceTop": "a ()\n(anonymous namespace)::f ()"}),
			crash.Grouping{Signature: "/usr/bin/x:11:a:{anonymous}::f", Rule: crash.RuleStackNames}},
		"only the runtime": {native(crash.Fields{"SymbolisedBy": "mishap", "Stacktrace": "#0  0x47e561 in runtime.raise " +
			"()\n" +
			"#1  0x45c7c5 in runtime.throw ()"}),
			crash.Grouping{Reason: "The stack has only functions that end the program or belong to a runtime, and there is no " +
				"address signature."}},
		"no stack": {native(nil),
			crash.Grouping{Reason: "The crash has no stack with function names and no address signature."}},
		"an empty traceback": {crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/x", "Traceback": ""},
			crash.Grouping{Reason: "The traceback has no exception and frames in a known form."}},
		"a modern oops": {crash.Fields{"ProblemType": "KernelOops", "OopsText": "BUG: kernel NULL pointer dereference, " +
			"address: b8\nRIP: 0010:brig_tx_done+0x62/0x110\nCall Trace:\n <TASK>\n brig_irq+0x41/0x80"},
			crash.Grouping{Signature: "kernel:NULL pointer dereference:brig_tx_done:brig_irq", Rule: crash.RuleKernel}},
		"an oops without functions": {crash.Fields{"ProblemType": "KernelOops", "OopsText": "BUG: kernel NULL pointer " +
			"dereference, address: b8\nCR2: b8"},
			crash.Grouping{Reason: "The kernel's text names no function in a known form."}},
		"a kernel report without text": {crash.Fields{"ProblemType": "KernelOops", "Failure": "oops"},
			crash.Grouping{Reason: "The kernel report holds no text and no stack to group by."}},
		"a kernel crash": {crash.Fields{"ProblemType": "KernelCrash"},
			crash.Grouping{Reason: "The kernel report holds no text and no stack to group by."}},
		"a package": {crash.Fields{"ProblemType": "Package", "Package": "p 1"},
			crash.Grouping{Reason: "Reports of this type are grouped by DuplicateSignature, and this one has none."}},
		"no program": {crash.Fields{"ProblemType": "Crash", "Signal": "11", "StacktraceTop": "a ()\nb ()"},
			crash.Grouping{Reason: "The report names no program."}},
		"java": {crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/share/java/reef.jar", "StackTrace": "x"},
			crash.Grouping{Reason: "The report has no stack, no traceback and no DuplicateSignature to group by."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := grouping.SignatureOf(c.fields); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestSignaturesAreTruncated checks that every rule truncates signatures by code points, not bytes.
func TestSignaturesAreTruncated(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ż", 40_000)
	for name, fields := range map[string]crash.Fields{
		"its own":   {"DuplicateSignature": long},
		"assertion": {"ProblemType": "Crash", "ExecutablePath": "/x", "Signal": "6", "AssertionMessage": long},
		"address":   {"ProblemType": "Crash", "ExecutablePath": "/x", "Signal": "6", "StacktraceAddressSignature": long},
	} {
		got := grouping.SignatureOf(fields).Signature
		if n := utf8.RuneCountInString(got); n != crash.MaxSignature || !utf8.ValidString(got) {
			t.Errorf("%s: got %d code points, want %d", name, n, crash.MaxSignature)
		}
	}
	exact := strings.Repeat("ż", crash.MaxSignature)
	if got := grouping.SignatureOf(crash.Fields{"DuplicateSignature": exact}).Signature; got != exact {
		t.Errorf("a signature of exactly %d code points was changed", crash.MaxSignature)
	}
}

// BenchmarkArrival measures everything that intake derives from a report.
func BenchmarkArrival(b *testing.B) {
	fields := crashtest.Native().Fields()
	for b.Loop() {
		grouping.SignatureOf(fields)
		grouping.SummaryOf(fields)
		crash.DuplicateKey("m", fields)
	}
}
