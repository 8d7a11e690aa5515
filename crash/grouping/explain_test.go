package grouping_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// builders returns one report of each kind.
func builders() map[string]crashtest.Report {
	return map[string]crashtest.Report{
		"native": crashtest.Native(), "unsymbolised": crashtest.Unsymbolised(), "hang": crashtest.Hang(),
		"assertion": crashtest.Assertion(), "python": crashtest.Python(),
		"recoverable": crashtest.Recoverable(), "package": crashtest.Package(), "oops": crashtest.Oops(),
		"suspend": crashtest.Suspend(), "ungroupable": crashtest.Ungroupable(),
		"markup": crashtest.Markup(), "long": crashtest.Long(), "unicode": crashtest.Unicode(),
		"modern oops": crashtest.ModernOops(), "bare package": crashtest.BarePackage(),
		"java": crashtest.Java(), "go": crashtest.GoPanic(), "rust": crashtest.RustPanic(),
		"compiler": crashtest.CompilerError(), "odd names": crashtest.OddNames(),
		"half named": crashtest.HalfNamed(), "thread hang": crashtest.ThreadHang(), "snap": crashtest.Snap(),
		"bare recoverable": crashtest.BareRecoverable(), "group": crashtest.ExceptionGroup(),
	}
}

// samples returns all invented reports, and those of apport's files and vectors.
func samples(t *testing.T) map[string]crash.Fields {
	t.Helper()
	reports := map[string]crash.Fields{}
	for name, r := range builders() {
		reports[name] = r.Fields()
	}
	for file, cases := range allGroupCases(t) {
		for _, c := range cases {
			for i, r := range slices.Concat(c.same, c.differs) {
				reports[fmt.Sprintf("%s: %s: %d %s", file, c.name, i, r.name)] = r.fields
			}
		}
	}
	paths, err := filepath.Glob("../apport/testdata/crashes/*.crash")
	if err != nil || len(paths) < 10 {
		t.Fatalf("got %d crash files, want 10 or more (%v)", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		checktest.NoError(t, err)
		if fields, _, err := apport.Read(bytes.NewReader(data), apport.Limits{}); err == nil { // one is broken
			reports[path] = fields
		}
	}
	var vectors []signatureVector
	readVectors(t, "crash_signature.json", &vectors, 98)
	for _, v := range vectors {
		reports["vector "+v.Name] = v.Report
	}
	return reports
}

// TestExplainAgrees checks that Explain agrees with SignatureOf, for every kind of report and with
// any one field missing.
func TestExplainAgrees(t *testing.T) {
	t.Parallel()
	reports := samples(t)
	for name, r := range builders() {
		for field := range r {
			without := r.Fields()
			delete(without, field)
			reports[name+" without "+field] = without
		}
	}
	for name, fields := range reports {
		checkExplanation(t, name, fields)
	}
}

func checkExplanation(t *testing.T, name string, fields crash.Fields) {
	t.Helper()
	e, g := grouping.Explain(fields), grouping.SignatureOf(fields)
	if e.Grouping != g {
		t.Errorf("%s: Explain: got %+v, SignatureOf %+v", name, e.Grouping, g)
	}
	if id, ok := e.Bucket(); ok != (g.Signature != "") || ok && id != crash.BucketIDOf(g.Signature) {
		t.Errorf("%s: got bucket %v (%v) for %q", name, id, ok, g.Signature)
	}
	if (e.Description == "") != (g.Rule == crash.RuleNone) {
		t.Errorf("%s: got the description %q for rule %q", name, e.Description, g.Rule)
	}
	if g.Signature == "" && (e.Field != "" || len(e.Frames)+len(e.Changes) > 0) {
		t.Errorf("%s: got %+v without a signature, want no steps of rules that did not apply", name, e)
	}
	if g.Signature != "" && g.Rule != crash.RuleStackNames && e.Field == "" {
		t.Errorf("%s: got no field for rule %s", name, g.Rule)
	}
	for _, f := range e.Frames {
		if f.Used == (f.Why != "") || f.Used && !strings.Contains(g.Signature, strings.TrimSuffix(f.As, "…")) &&
			f.As == strings.TrimSpace(f.As) && !strings.Contains(g.Signature, "recursion") {
			t.Errorf("%s: frame %+v is not in %q", name, f, g.Signature)
		}
	}
}

// TestExplainNative checks that unused frames have reasons.
func TestExplainNative(t *testing.T) {
	t.Parallel()
	stack := "#0  0x1 in __GI_abort () at abort.c:1\n#1  0x2 in g_logv () at log.c:1\n#2  0x3 in __strlen_sse2 () at " +
		"x.S:1\n#3  0x4 in a () at a.c:1\n#4  0x5 in b () at b.c:1\n" +
		"#5  0x6 in c () at c.c:1\n#6  0x7 in d () at d.c:1\n#7  0x8 in e () at e.c:1\n#8  0x9 in main () at m.c:1"
	e := grouping.Explain(crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/x", "Signal": "5", "Stacktrace": stack,
		"StacktraceTop": grouping.StacktraceTop(stack)})
	var got []string
	for _, f := range e.Frames {
		word, _, _ := strings.Cut(f.Text, " ")
		got = append(got, word+": "+f.As+f.Why)
	}
	want := []string{
		"__GI_abort: it is how the program ended, not why", "g_logv: it is how the program ended, not why",
		"__strlen_sse2: it differs from machine to machine",
		"a: a", "b: b", "c: c", "d: d", "e: e", "main: the first five frames are enough",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || e.Signature != "/x:5:a:b:c:d:e" {
		t.Errorf("got %s\n%s\nwant\n%s", e.Signature, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// readRules lists our own rules that read a text field, in which they must mark the lines that they
// use.
var readRules = map[crash.GroupingRule]bool{
	crash.RuleKernel: true, crash.RulePackage: true, crash.RuleJava: true, crash.RuleGoPanic: true,
	crash.RuleRustPanic: true, crash.RuleCompiler: true,
	crash.RuleStackNames: true, crash.RulePython: true, crash.RuleSnap: true, crash.RuleRecoverable: true,
	crash.RuleStackPartial: true, crash.RuleHang: true,
	crash.RuleAssertion: true, crash.RuleStacktrace: true, crash.RuleTraceback: true, crash.RuleSuspendResume: true,
	crash.RuleOops: true, crash.RuleKernelCrash: true,
}

// TestPassages checks that every rule marks the lines that it used, and that these contain what it
// used.
func TestPassages(t *testing.T) {
	t.Parallel()
	reports := samples(t)
	rules := map[crash.GroupingRule]int{}
	for name, fields := range reports {
		for _, f := range []crash.Fields{fields, with(fields, "DuplicateSignature", "brought along")} {
			rules[checkPassages(t, name, f)]++
		}
	}
	for rule := range readRules {
		if rules[rule] == 0 {
			t.Errorf("no sample tests rule %s", rule)
		}
	}
}

func with(f crash.Fields, name, value string) crash.Fields {
	other := maps.Clone(f)
	other[name] = value
	return other
}

// checkPassages returns the rule that read the passages.
func checkPassages(t *testing.T, name string, f crash.Fields) crash.GroupingRule {
	t.Helper()
	e := grouping.Explain(f)
	if e.Rule != crash.RuleDuplicateSignature && e.ReadBy != e.Rule {
		t.Errorf("%s: got the evidence of rule %s, want that of %s", name, e.ReadBy, e.Rule)
	}
	marked := ""
	for _, p := range e.Passages {
		if _, ok := f[p.Field]; !ok && p.Field != "ErrorMessage" {
			t.Errorf("%s: got a passage of field %s, which the report does not have", name, p.Field)
		}
		used := 0
		for _, line := range p.Excerpt(f[p.Field], 100_000) {
			if line.Used {
				used++
				marked += line.Text + "\n"
			}
		}
		checktest.Equal(t, fmt.Sprintf("%s: %s: marked lines", name, p.Field), used, len(p.Used))
	}
	// Apport's rules group some reports without any informative text.
	if readRules[e.ReadBy] && marked == "" && !strings.HasPrefix(name, "vector ") {
		t.Errorf("%s: rule %s marks no line (passages %v)", name, e.ReadBy, e.Passages)
	}
	if e.Rule != e.ReadBy || e.ReadBy == crash.RuleAddress {
		return e.ReadBy
	}
	for _, frame := range e.Frames {
		if text := strings.TrimSuffix(frame.As, "…"); frame.Used && !inMarked(marked, text, frame.Text) {
			t.Errorf("%s: rule %s used %q (%q), which is in no marked line:\n%s", name, e.ReadBy, text, frame.Text, marked)
		}
	}
	return e.ReadBy
}

// inMarked reports whether the marked lines contain a function, or the part of it that the report
// has in the signature's form.
func inMarked(marked, as, text string) bool {
	if strings.Contains(marked, strings.TrimSpace(strings.TrimSuffix(text, "…"))) || strings.Contains(marked, as) {
		return true
	}
	words := strings.FieldsFunc(as, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r < 128
	})
	for _, word := range words {
		if !strings.Contains(marked, word) {
			return false
		}
	}
	return len(words) > 0
}

// TestExcerpt checks that an excerpt shows the used lines with context, says how much it omits, and
// has a limited size.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3000)
	var b strings.Builder
	for n := range 1000 {
		b.WriteString("line " + strconv.Itoa(n) + "\n")
	}
	many := b.String()
	at := func(n int) int { return strings.Index(many, "line "+strconv.Itoa(n)+"\n") }
	for name, tt := range map[string]struct {
		text  string
		used  []int
		limit int
		want  string
	}{
		"short":         {"a\nb\nc\n", []int{2}, 40, " a >b  c"},
		"nothing used":  {"a\nb\nc\n", nil, 2, "(1)  b  c"},
		"empty":         {"", nil, 40, ""},
		"long line":     {long, []int{7}, 40, ">" + long[:500] + "…"},
		"narrow":        {many, []int{at(500)}, 3, "(499)  line 499 >line 500  line 501 (498)"},
		"two places":    {many, []int{at(1), at(900)}, 6, " line 0 >line 1  line 2 (896)  line 899 >line 900  line 901 (98)"},
		"more than fit": {many, []int{at(3), at(5), at(7)}, 2, "(3) >line 3 (1) >line 5 (994)"},
		"line ends":     {"a\r\nb\rc", []int{3, 5}, 9, " a >b >c"},
	} {
		var got []string
		for _, line := range (grouping.Passage{Field: "StdErr", Used: tt.used}).Excerpt(tt.text, tt.limit) {
			switch {
			case line.Skipped > 0:
				got = append(got, "("+strconv.Itoa(line.Skipped)+")")
			case line.Used:
				got = append(got, ">"+line.Text)
			default:
				got = append(got, " "+line.Text)
			}
		}
		if joined := strings.Join(got, " "); joined != tt.want {
			t.Errorf("%s: got  %q\nwant %q", name, joined, tt.want)
		}
	}
}

// TestHasEvidence checks that a report is complete if it has readable text, even if only our own
// rules read it.
func TestHasEvidence(t *testing.T) {
	t.Parallel()
	for name, r := range builders() {
		f := r.Fields()
		want := name != "suspend" && name != "ungroupable"
		checktest.Equal(t, name, grouping.HasEvidence(f, grouping.SignatureOf(f)), want)
		own := with(f, "DuplicateSignature", "brought along")
		if got := grouping.HasEvidence(own, grouping.SignatureOf(own)); got != want {
			t.Errorf("%s with its own signature: got %v, want %v", name, got, want)
		}
	}
}
