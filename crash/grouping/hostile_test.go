package grouping_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/grouping"
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
// times out if a rule needs quadratic time. Unless the run is thorough, each pattern in each field gets one kind.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	for i, h := range hostile {
		value := fill(h.pattern, 64<<10)
		for n, name := range []string{"DuplicateSignature", "Stacktrace", "StacktraceTop", "Traceback", "AssertionMessage",
			"OopsText", "ProcMaps", "ThreadStacktrace", "ErrorMessage", "Package", "Tags", "Date", "DistroRelease", "Signal"} {
			for _, report := range checktest.EveryNth([]crash.Fields{
				{"ProblemType": "Crash", "ExecutablePath": "/x", "Signal": "11", "Stacktrace": "#0 0x55d000000001 in f ()",
					"ProcMaps": "55d000000000-55d000010000 r--p 0  /x"},
				{"ProblemType": "KernelCrash"}, {"ProblemType": "KernelOops"}, {"ProblemType": "Package", "Package": "p 1"},
				{"ProblemType": "Crash", "ExecutablePath": "/x", "Signal": "6"},
			}, 5, i+n) {
				fields := maps.Clone(report)
				fields[name] = value
				readAll(t, h.name+" in "+name, fields)
			}
		}
	}
}

// largestReport returns the size of the largest accepted report, 16 MiB, or 1.25 MiB in usual runs.
// Quadratic algorithms time out with either size.
func largestReport() int { return checktest.Rounds(5<<18, 16<<20) }

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
	if s := summaryOf(fields); utf8.RuneCountInString(s.Title) > 1000 {
		t.Errorf("%s: got a title of %d bytes", what, len(s.Title))
	}
	crash.OccurredAt(fields["Date"])
}

// hostileTexts are patterns like [hostile] for our own rules, each with a report to which the rule
// applies.
var hostileTexts = []struct{ name, field, pattern string }{
	{"oops", "OopsText", "BUG: kernel NULL pointer\nCall Trace:\n| a+0x1/0x2\n"},
	{"oops, stamps", "OopsText", "[ 1.1]"},
	{"oops, open stamps", "OopsText", "["},
	{"oops, addresses", "OopsText", "BUG: kernel NULL pointer\nCall Trace:\n|[<1>] "},
	{"oops, one line", "OopsText", "BUG: |x at "},
	{"oops, problems", "OopsText", "WARNING: CPU: 1 at x.c:1 f+0x1/0x2\n"},
	{"oops, places", "OopsText", "RIP: 0010:|+0x"},
	{"oops, traces", "OopsText", "Call Trace:\n"},
	{"oops, long function", "OopsText", "BUG: kernel NULL pointer\nCall Trace:\n |x"},
	{"dmesg", "VmCoreDmesg", "[ 1.1] Kernel panic - not syncing: x\n"},
	{"package, lines", "DpkgTerminalLog", "error\n"},
	{"package, failures", "DpkgTerminalLog", "dpkg: error processing package p (--configure):\n"},
	{"package, returns", "DpkgTerminalLog", "\r"},
	{"package, message", "ErrorMessage", "1.2-3/"},
	{"package, digits", "ErrorMessage", "1"},
	{"package, dashes", "ErrorMessage", "1.1-1-"},
	{"package, dots", "ErrorMessage", "a."},
	{"package, colons", "ErrorMessage", "1:"},
	{"java, frames", "StackTrace", "a.B: x\n|\tat a.b.C.d(E.java:1)\n"},
	{"java, causes", "StackTrace", "a.B: x\n|Caused by: a.B: x\n"},
	{"java, suppressed", "StackTrace", "a.B: x\n|\tSuppressed: a.B\n"},
	{"java, dollars", "StackTrace", "a.B: x\n\tat |$$"},
	{"java, recursion", "StackTrace", "java.lang.StackOverflowError\n|\tat a.b(C.java:1)\n\tat a.c(C.java:1)\n"},
	{"go, goroutines", "StdErr", "panic: x\n\n|goroutine 1 [running]:\n"},
	{"go, frames", "StdErr", "panic: x\n\ngoroutine 1 [running]:\n|main.f(0x1)\n\tx.go:1\n"},
	{"go, brackets", "StdErr", "panic: x\n\ngoroutine 1 [running]:\nmain|[...]"},
	{"go, brackets in a function", "StdErr", "panic: x\n\ngoroutine 1 [running]:\nmain.f[()](\n|x]["},
	{"go, dots", "StdErr", "panic: x\n\ngoroutine 1 [running]:\nmain|.func1"},
	{"rust, frames", "StdErr", "thread 'main' panicked at a.rs:1:1:\nx\nstack backtrace:\n|  1: a::b\n"},
	{"rust, panics", "StdErr", "thread 'main' panicked at 'x', a.rs:1:1\n"},
	{"rust, message", "StdErr", "thread 'main' panicked at '|x', "},
	{"rust, closures", "StdErr", "thread 'main' panicked at a.rs:1:1:\nx\nstack backtrace:\n  1: |{{"},
	{"compiler, frames", "PreprocessedSource", "// internal compiler error: in x, at y.c:1\n|// 0x1 f(int)\n"},
	{"compiler, errors", "PreprocessedSource", "internal compiler error: "},
	{"names, angles", "StacktraceTop", "(a) ()\n|<"},
	{"names, operators", "StacktraceTop", "(a) ()\n|operator<"},
	{"names, braces", "StacktraceTop", "(a) ()\n|{"},
	{"names, lines", "StacktraceTop", "(a) ()\n"},
	{"names, hash sums", "StacktraceTop", "(a) ()\nx|[0123456789abcdef]"},
	{"halves", "StacktraceTop", "a ()\nb ()\n?? ()\n"},
	{"threads", "ThreadStacktrace", "Thread 1 (Thread 0x1 (LWP 1)):\n|#0 0x1 in f ()\n"},
	{"group", "Traceback", "  + Exception Group Traceback (most recent call last):\n|  | ValueError: a\n"},
	{"bars", "Traceback", ". "},
	{"snap", "Snap", "x"},
	{"snap, message", "ErrorMessage", "snap-reef-1.mount "},
	{"dialogue", "DialogBody", "/tmp/X1/"},
}

// TestHostileTexts checks that our own rules take linear time and give signatures within the
// limits. Unless the run is thorough, each text gets some of the kinds.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	large := largestReport()
	kinds := []crash.Fields{
		{"ProblemType": "Crash", "ExecutablePath": "/x"}, {"ProblemType": "Crash", "ExecutablePath": "/x", "Signal": "11"},
		{"ProblemType": "Crash", "Package": "p 1"},
		{"ProblemType": "KernelOops"}, {"ProblemType": "KernelCrash"}, {"ProblemType": "Package", "Package": "p 1"},
		{"ProblemType": "Hang", "Package": "p 1"},
		{"ProblemType": "Snap", "Snap": "reef"}, {"ProblemType": "Snap", "ErrorMessage": "x"},
		{"ProblemType": "RecoverableProblem", "Package": "p 1"},
	}
	for i, h := range hostileTexts {
		for n, size := range []int{64 << 10, large} {
			value := fill(h.pattern, size)
			if size > 1<<20 {
				value = strings.TrimSuffix(value, "\n")
			}
			for _, kind := range checktest.EveryNth(kinds, 4, i+n) {
				if size > 1<<20 && kind["Package"] == "" && h.field == "Traceback" {
					continue // apport's rule takes these, see TestHostileLines
				}
				fields := maps.Clone(kind)
				fields[h.field] = value
				readBounded(t, h.name, fields)
			}
		}
	}
}

// readBounded also checks the limits of explanations.
func readBounded(t *testing.T, name string, fields crash.Fields) {
	t.Helper()
	e := grouping.Explain(fields)
	if g := grouping.SignatureOf(fields); g != e.Grouping {
		t.Errorf("%s: SignatureOf and Explain differ", name)
	}
	if n := utf8.RuneCountInString(e.Signature); n > crash.MaxSignature || len(e.Frames) > 200 || len(e.Changes) > 50 {
		t.Errorf("%s: got %d code points, %d frames, %d changes", name, n, len(e.Frames), len(e.Changes))
	}
	if own(e.Rule) && len(e.Signature) > 150_000 {
		t.Errorf("%s: got a signature of %d bytes by rule %s", name, len(e.Signature), e.Rule)
	}
	for _, f := range e.Frames {
		if len(f.Text)+len(f.As) > 3000 || strings.ContainsAny(f.Text+f.As, "\n\x00\x1b") {
			t.Errorf("%s: got the frame %.200q", name, f.Text)
		}
	}
	if title := summaryOf(fields).Title; utf8.RuneCountInString(title) > 1000 {
		t.Errorf("%s: got a title of %d bytes", name, len(title))
	}
}

// FuzzSignatureOf puts any text into any field that a rule reads, in each kind of report. It checks
// for panics, different results of two calls, and results beyond the limits.
func FuzzSignatureOf(f *testing.F) {
	kinds := map[string]crash.Fields{}
	for name, r := range builders() {
		kinds[name] = r.Fields()
		for _, field := range texts {
			if r[field] != "" {
				f.Add(name, field, r[field])
			}
		}
	}
	for _, h := range hostileTexts {
		f.Add("ungroupable", h.field, fill(h.pattern, 200))
	}
	f.Fuzz(func(t *testing.T, kind, field, text string) {
		fields := maps.Clone(kinds[kind])
		if fields == nil {
			fields = crash.Fields{"ProblemType": kind, "Package": "p 1"}
		}
		text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "�")
		fields[field] = text
		readBounded(t, kind, fields)
		wantFrames(t, grouping.Frames(fields), fields)
		threads, parts := grouping.Threads(fields), grouping.Tracebacks(fields)
		if len(threads) > 200 || len(parts) > 200 {
			t.Errorf("got %d threads and %d parts of a traceback, want at most 200", len(threads), len(parts))
		}
		for _, thread := range threads {
			wantFrames(t, thread.Frames, fields)
		}
		for _, part := range parts {
			wantFrames(t, part.Frames, fields)
		}
		if top := grouping.StacktraceTop(text); strings.Count(top, "\n") > 4 || len(top) > len(text)+4 {
			t.Errorf("got a StacktraceTop of %d lines, %d bytes", 1+strings.Count(top, "\n"), len(top))
		}
		delete(fields, "DuplicateSignature")
		delete(fields, "Signal")
		readBounded(t, kind, fields)
	})
}

// wantFrames checks that frames consist of parts of lines of a report.
func wantFrames(t *testing.T, frames []grouping.Frame, fields crash.Fields) {
	t.Helper()
	longest := 0
	for _, value := range fields {
		longest = max(longest, len(value))
	}
	if len(frames) > 500 {
		t.Errorf("got %d frames, want at most 500", len(frames))
	}
	for _, fr := range frames {
		for _, part := range []string{fr.Function, fr.Args, fr.Module, fr.File} {
			if len(part) > longest+len("…") || !utf8.ValidString(part) || strings.Contains(part, "\n") {
				t.Errorf("got %.200q, which is not part of a line", part)
			}
		}
		if fr.Line < 0 || fr.Number < 0 {
			t.Errorf("got frame %d at line %d, want none below 0", fr.Number, fr.Line)
		}
	}
}

// mutation changes only what varies between machines or versions.
type mutation struct {
	name   string
	where  *regexp.Regexp
	change func(r *rand.Rand, found string) string
}

// digits replaces each digit by a random one, hexadecimal or decimal like the original. The first
// never becomes 0.
func digits(r *rand.Rand, found string) string {
	first := true
	return strings.Map(func(c rune) rune {
		switch {
		case '0' <= c && c <= '9':
			d := rune('0' + r.IntN(10))
			if first {
				d = rune('1' + r.IntN(9))
			}
			first = false
			return d
		case 'a' <= c && c <= 'f':
			return rune('a' + r.IntN(6))
		}
		return c
	}, found)
}

// after changes only the hexadecimal or decimal number at the end of a match.
func after(start string) func(*rand.Rand, string) string {
	return func(r *rand.Rand, found string) string { return start + digits(r, strings.TrimPrefix(found, start)) }
}

var mutations = []mutation{
	{"addresses", regexp.MustCompile(`\b0x[0-9a-f]{9,16}\b`), after("0x")},
	{"bare addresses", regexp.MustCompile(`\[<[0-9a-f]{8,16}>\]`), digits},
	{"offsets in functions", regexp.MustCompile(`\+0x[0-9a-f]+/0x[0-9a-f]+`), func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("+0x%x/0x%x", r.IntN(1<<12), r.IntN(1<<12))
	}},
	{"kernel stamps", regexp.MustCompile(`(?m)^\[ *\d+\.\d+\] `), func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("[%5d.%06d] ", r.IntN(1<<16), r.IntN(1_000_000))
	}},
	{"process ids", regexp.MustCompile(`(PID: |LWP |pid:)\d+`), func(r *rand.Rand, found string) string {
		return strings.TrimRight(found, "0123456789") + fmt.Sprint(1+r.IntN(4_000_000))
	}},
	{"threads", regexp.MustCompile(`goroutine \d+ |thread 'main' \(\d+\)`), func(r *rand.Rand, found string) string {
		return regexp.MustCompile(`\d+`).ReplaceAllString(found, fmt.Sprint(1+r.IntN(100_000)))
	}},
	{"lines", regexp.MustCompile(`\.(go|rs|cc|c|java|hpp|S):\d+`), func(r *rand.Rand, found string) string {
		return strings.TrimRight(found, "0123456789") + fmt.Sprint(1+r.IntN(30_000))
	}},
	{"versions", regexp.MustCompile(`\b[1-9]\d*\.\d+(\.\d+)*(-\d+)?(ubuntu\d+)?`), func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("%d.%d.%d-%d", 1+r.IntN(30), r.IntN(100), r.IntN(20), r.IntN(100))
	}},
	{"people", regexp.MustCompile(`/home/\w+`), func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("/home/u%d",
			r.IntN(1000))
	}},
	{"hash sums", regexp.MustCompile(`::h[0-9a-f]{16}|rustc/[0-9a-f]{40}`), func(r *rand.Rand, found string) string {
		i := strings.IndexAny(found, "h/") + 1
		return found[:i] + digits(r, found[i:])
	}},
	{"generated classes", regexp.MustCompile(`\$\$Lambda\$\d+|lambda\$run\$\d+|\$Proxy\d+`),
		func(r *rand.Rand, found string) string {
			return strings.TrimRight(found, "0123456789") + fmt.Sprint(r.IntN(1000))
		}},
}

// own reports whether a rule is our own and reads text.
func own(rule crash.GroupingRule) bool {
	return !slices.Contains(apportRules, rule) && rule != crash.RuleNone
}

// texts lists the fields that rules read.
var texts = []string{"OopsText", "VmCoreDmesg", "ErrorMessage", "DpkgTerminalLog", "StackTrace", "Traceback", "StdErr",
	"StacktraceTop", "ThreadStacktrace", "PreprocessedSource", "DialogBody"}

// ownReports returns all samples that our own rules group.
func ownReports(t *testing.T) map[string]crash.Fields {
	t.Helper()
	reports := samples(t)
	maps.DeleteFunc(reports, func(name string, f crash.Fields) bool {
		return strings.HasPrefix(name, "vector ") || !own(grouping.SignatureOf(f).Rule)
	})
	if len(reports) < 120 {
		t.Fatalf("got %d reports, want at least 120", len(reports))
	}
	return reports
}

// TestMutationsStayTogether checks that reports of other machines and versions stay in the same
// problem.
func TestMutationsStayTogether(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 0))
	changed := map[string]int{}
	reports := ownReports(t)
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		fields := reports[name]
		want := grouping.SignatureOf(fields)
		for range checktest.Rounds(5, 25) {
			f := maps.Clone(fields)
			var done []string
			for _, m := range mutations {
				if r.IntN(2) == 0 || m.name == "lines" && (want.Rule == crash.RulePython || strings.Contains(want.Signature,
					".rs@")) {
					continue
				}
				for _, field := range texts {
					if before := f[field]; before != "" && (m.name != "versions" || versioned(field)) {
						if f[field] = m.where.ReplaceAllStringFunc(before,
							func(s string) string { return m.change(r, s) }); f[field] != before {
							done = append(done, m.name)
							changed[m.name]++
						}
					}
				}
			}
			if got := grouping.SignatureOf(f); got != want {
				t.Errorf("%s, with other %s:\n got %s\nwant %s", name, strings.Join(done, ", "), got.Signature, want.Signature)
				break
			}
			checkExplanation(t, name, f)
		}
	}
	for _, m := range mutations {
		if changed[m.name] < checktest.Rounds(8, 20) {
			t.Errorf("%s: got %d changes, want more", m.name, changed[m.name])
		}
	}
}

// versioned reports whether numbers with dots in a field are versions, rather than parts of names.
func versioned(field string) bool {
	return field == "ErrorMessage" || field == "DpkgTerminalLog" || field == "DialogBody"
}

// TestOtherNamesSplit checks that a report with a different name in a used position belongs to
// another problem.
func TestOtherNamesSplit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 0))
	tried := map[crash.GroupingRule]int{}
	name := regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{3,}`)
	for what, fields := range ownReports(t) {
		e := grouping.Explain(fields)
		var used []string
		for _, f := range e.Frames {
			if f.Used && f.As != "raise" && f.As != "abort" { // the text has __GI_raise
				used = append(used, name.FindAllString(f.As, -1)...)
			}
		}
		for range checktest.Rounds(5, 20) {
			if len(used) == 0 {
				break
			}
			old := used[r.IntN(len(used))]
			text := fields[e.Field]
			f := maps.Clone(fields)
			f[e.Field] = regexp.MustCompile(`\b`+old+`\b`).ReplaceAllString(text, old+"_zz")
			if f[e.Field] == text {
				continue // a word that the rule added
			}
			got := grouping.SignatureOf(f)
			if got.Signature == e.Signature {
				t.Errorf("%s: got the same signature with another %q in %s: %s", what, old, e.Field, got.Signature)
				break
			}
			checkExplanation(t, what, f)
			tried[e.Rule]++
		}
	}
	for _, rule := range []crash.GroupingRule{crash.RuleKernel, crash.RulePackage, crash.RuleJava, crash.RuleGoPanic,
		crash.RuleRustPanic, crash.RuleCompiler, crash.RuleStackNames, crash.RuleStackPartial, crash.RulePython,
		crash.RuleHang} {
		if tried[rule] < 4 {
			t.Errorf("rule %s: got %d attempts, want more", rule, tried[rule])
		}
	}
}
