package grouping_test

import (
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/sizetest"
)

// hostile lists patterns that are repeated to make parsing slow, each with the field that it mainly
// targets.
var hostile = []struct{ name, field, pattern string }{
	{"spaces", "Package", " "},
	{"lines", "StacktraceTop", "\n"},
	{"line ends", "Traceback", "\u2028"},
	{"words", "Traceback", "x"},
	{"unknown", "StacktraceTop", "?? ()\n"},
	{"numbers", "Stacktrace", "#1 0x1 in "},
	{"addresses", "AssertionMessage", "0x0x0x12345"},
	{"long address", "Stacktrace", "#0 0x|f"},
	{"frames", "Stacktrace", "#1  0x00007f2210029d90 in f (a=1) at x.c:1\n"},
	{"unwound", "Stacktrace", "#1  0x1 in _XError ()\n"},
	{"helpers", "Stacktrace", "#1  0x1 in __a_sse_sse2 ()\n"},
	{"long helper", "Stacktrace", "#1  0x1 in __|_sse2"},
	{"file", "Traceback", "  File \"| line 1 in "},
	{"files", "Traceback", "  |File \"a\", line "},
	{"quotes", "Traceback", "  File \"a\", line 1, in |\""},
	{"tracebacks", "Traceback", "  File \"/a\", line 1, in <module>\n"},
	{"maps", "ProcMaps", "55d000000000-55d000010000 r--p 00000000 fd:01 1001   /usr/bin/x\n"},
	{"map", "ProcMaps", "55d000000000-55d000010000 |  x"},
	{"brackets", "OopsText", "IP: |[] "},
	{"oops", "OopsText", "Call Trace:\n| [<c1>] a+0x1/0x2\n"},
	{"bug", "OopsText", "BUG: unable to handle | at "},
	{"kernel", "Stacktrace", "#1 [x] f\n"},
	{"parentheses", "StacktraceTop", " ("},
	{"angles", "StacktraceTop", "<"},
	{"threads", "ThreadStacktrace", "Thread 1 (Thread 0x1 (LWP 1)):\n#0 x ()\n"},
	{"bars", "Traceback", "  . "},
	{"colons", "Traceback", ": "},
}

// fill repeats the part of a pattern after "|", or all of it, up to a size.
func fill(pattern string, size int) string {
	start, repeated, found := strings.Cut(pattern, "|")
	if !found {
		start, repeated = "", pattern
	}
	return start + strings.Repeat(strings.ReplaceAll(repeated, ".", "|"), size/len(repeated))
}

// TestHostileFields tries each pattern in each field that a rule reads, for each kind of report. It
// times out if a rule needs quadratic time.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	for _, h := range hostile {
		value := fill(h.pattern, 64<<10)
		for _, name := range []string{"DuplicateSignature", "Stacktrace", "StacktraceTop", "Traceback", "AssertionMessage",
			"OopsText", "ProcMaps", "ThreadStacktrace", "ErrorMessage", "Package", "Tags", "Date", "DistroRelease", "Signal"} {
			for _, report := range []crash.Fields{
				{"ProblemType": "Crash", "ExecutablePath": "/x", "Signal": "11", "Stacktrace": "#0 0x55d000000001 in f ()",
					"ProcMaps": "55d000000000-55d000010000 r--p 0  /x"},
				{"ProblemType": "KernelCrash"}, {"ProblemType": "KernelOops"}, {"ProblemType": "Package", "Package": "p 1"},
				{"ProblemType": "Crash", "ExecutablePath": "/x", "Signal": "6"},
			} {
				fields := maps.Clone(report)
				fields[name] = value
				readAll(t, h.name+" in "+name, fields)
			}
		}
	}
}

// largestReport returns the size of the largest accepted report, 16 MiB, or a quarter of it in
// normal runs. Quadratic algorithms time out with either size.
func largestReport() int { return sizetest.Rounds(4<<20, 16<<20) }

// TestHostileLines parses the largest reports, with all text in one line.
func TestHostileLines(t *testing.T) {
	t.Parallel()
	for _, h := range hostile {
		if strings.HasSuffix(h.pattern, "\n") || h.name == "line ends" {
			continue
		}
		fields := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/x", "Signal": "11"}
		switch h.field {
		case "ProcMaps":
			fields["Stacktrace"] = "#0 0x55d000000001 in f ()"
		case "Traceback":
			delete(fields, "Signal")
		case "AssertionMessage":
			fields["Signal"] = "6"
		case "OopsText":
			fields = crash.Fields{"ProblemType": "KernelOops"}
		case "Stacktrace":
			fields["ProcMaps"] = "55d000000000-55d000010000 r--p 0  /x"
		}
		fields[h.field] = fill(h.pattern, largestReport())
		readOnArrival(t, h.name, fields)
	}
}

// readAll calls every function that parses a report.
func readAll(t *testing.T, what string, fields crash.Fields) {
	t.Helper()
	readOnArrival(t, what, fields)
	grouping.StacktraceTop(fields["Stacktrace"])
	grouping.HasUsefulStacktrace(fields)
	grouping.Frames(fields)
	grouping.Threads(fields)
	grouping.Tracebacks(fields)
}

func readOnArrival(t *testing.T, what string, fields crash.Fields) {
	t.Helper()
	if n := utf8.RuneCountInString(grouping.SignatureOf(fields).Signature); n > crash.MaxSignature {
		t.Errorf("%s: got a signature of %d code points", what, n)
	}
	if s := grouping.SummaryOf(fields); utf8.RuneCountInString(s.Title) > 1000 {
		t.Errorf("%s: got a title of %d bytes", what, len(s.Title))
	}
	crash.OccurredAt(fields["Date"])
}
