package grouping_test

import (
	"strings"
	"testing"

	"mishap/crash"
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

// TestExplainAgrees checks that Explain agrees with SignatureOf, for every kind of report and with
// any one field missing.
func TestExplainAgrees(t *testing.T) {
	t.Parallel()
	reports := map[string]crash.Fields{}
	for name, r := range builders() {
		reports[name] = r.Fields()
		for field := range r {
			without := r.Fields()
			delete(without, field)
			reports[name+" without "+field] = without
		}
	}
	for file, cases := range allGroupCases(t) {
		for _, c := range cases {
			for _, r := range append(c.same, c.differs...) {
				reports[file+c.name+r.name] = r.fields
			}
		}
	}
	var vectors []signatureVector
	readVectors(t, "crash_signature.json", &vectors, 98)
	for _, v := range vectors {
		reports["vector "+v.Name] = v.Report
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

// TestRuleDescriptions checks that every rule has a description.
func TestRuleDescriptions(t *testing.T) {
	t.Parallel()
	seen := map[crash.Rule]bool{}
	for _, cases := range allGroupCases(t) {
		for _, c := range cases {
			seen[c.rule] = true
		}
	}
	for _, r := range builders() {
		seen[grouping.SignatureOf(r.Fields()).Rule] = true
	}
	for rule := range seen {
		if (rule == crash.RuleNone) != (rule.Description() == "") {
			t.Errorf("rule %q: got the description %q", rule, rule.Description())
		}
	}
	if len(seen) < 20 {
		t.Errorf("reports use %d rules, want all 20", len(seen))
	}
}
