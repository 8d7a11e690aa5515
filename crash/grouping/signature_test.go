package grouping_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// groupCase is one problem of testdata/group: reports that belong together, and similar reports
// that do not.
type groupCase struct {
	name, signature string
	rule            crash.GroupingRule
	same, differs   []groupReport // the first of same is the report itself
}

type groupReport struct {
	name   string
	fields crash.Fields
}

// readGroupCases reads a file of problems: "=== rule | signature", then "--- report", "--- same",
// "--- differs", each with the fields of a report in apport's format. Those after the first modify
// the fields of the first report.
func readGroupCases(t *testing.T, path string) []groupCase {
	t.Helper()
	data, err := os.ReadFile(path)
	checktest.NoError(t, err)
	var cases []groupCase
	for i, text := range strings.Split("\n"+string(data), "\n=== ") {
		if i == 0 {
			continue
		}
		head, rest, _ := strings.Cut(text, "\n")
		rule, signature, ok := strings.Cut(head, " | ")
		if !ok {
			t.Fatalf("%s: got %q, want a rule and a signature", path, head)
		}
		c := groupCase{signature: strings.ReplaceAll(signature, `\n`, "\n"), rule: crash.GroupingRule(rule),
			name: signature[:min(len(signature), 60)]}
		for j, part := range strings.Split("\n"+rest, "\n--- ") {
			if j == 0 {
				continue
			}
			what, body, _ := strings.Cut(part, "\n")
			fields, _, err := apport.Read(strings.NewReader(strings.TrimRight(body, "\n")+"\n"), apport.Limits{})
			if err != nil {
				t.Fatalf("%s: %s: %s: %v", path, signature, what, err)
			}
			r := groupReport{what, fields}
			if len(c.same) > 0 {
				r.fields = maps.Clone(c.same[0].fields)
				maps.Copy(r.fields, fields)
			}
			if strings.HasPrefix(what, "differs") {
				c.differs = append(c.differs, r)
			} else {
				c.same = append(c.same, r)
			}
		}
		cases = append(cases, c)
	}
	return cases
}

func allGroupCases(t *testing.T) map[string][]groupCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/group/*.txt")
	if err != nil || len(paths) < 9 {
		t.Fatalf("got %d files of problems, want 9 or more (%v)", len(paths), err)
	}
	cases := map[string][]groupCase{}
	for _, path := range paths {
		cases[strings.TrimSuffix(filepath.Base(path), ".txt")] = readGroupCases(t, path)
	}
	return cases
}

// TestGrouping checks that reports of one problem have one signature, whatever the machine and
// version, and that others differ.
func TestGrouping(t *testing.T) {
	t.Parallel()
	owner := map[string]string{} // of signatures
	for file, cases := range allGroupCases(t) {
		if len(cases) == 0 {
			t.Errorf("%s: got no problems", file)
		}
		for _, c := range cases {
			name := file + ": " + c.name
			want := crash.Grouping{Signature: c.signature, Rule: c.rule, Provisional: c.rule == crash.RuleAddress}
			for _, r := range c.same {
				if got := grouping.SignatureOf(r.fields); got != want {
					t.Errorf("%s: %s\n got %+v\nwant %+v", name, r.name, got, want)
				}
			}
			claim(t, owner, c.signature, name)
			for _, r := range c.differs {
				got := grouping.SignatureOf(r.fields)
				if got.Signature == "" {
					t.Errorf("%s: %s: got no signature: %s", name, r.name, got.Reason)
				}
				claim(t, owner, got.Signature, name+": "+r.name)
			}
		}
	}
}

// claim fails if another problem has that signature.
func claim(t *testing.T, owner map[string]string, signature, name string) {
	t.Helper()
	if other, taken := owner[signature]; taken && signature != "" {
		t.Errorf("%s and %s have the same signature %q", name, other, signature)
	}
	owner[signature] = name
}

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
			"()\n#1  0x45c7c5 in runtime.throw ()"}),
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
		checktest.Equal(t, name, grouping.SignatureOf(c.fields), c.want)
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

// signatureVector is one report with apport 2.36's result. Our empty text corresponds to null, and
// to an exception.
type signatureVector struct {
	Name             string            `json:"name"`
	Note             string            `json:"note"`
	Report           crash.Fields      `json:"report"`
	Signature        *string           `json:"crash_signature"`
	Addresses        *string           `json:"crash_signature_addresses"`
	Title            *string           `json:"standard_title"`
	UsefulStacktrace bool              `json:"has_useful_stacktrace"`
	TopFunction      *string           `json:"stacktrace_top_function"`
	Raises           map[string]string `json:"raises"`
}

func TestSignatureVectors(t *testing.T) {
	t.Parallel()
	var vectors []signatureVector
	readVectors(t, "crash_signature.json", &vectors, 98)
	raising := 0
	for _, v := range vectors {
		raising += len(v.Raises)
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			checkText(t, "CrashSignature", grouping.CrashSignature(v.Report), v.Signature, v.Note)
			checkText(t, "AddressSignature", grouping.AddressSignature(v.Report), v.Addresses, v.Note)
			checkText(t, "StandardTitle", grouping.StandardTitle(v.Report), v.Title, v.Note)
			checkText(t, "TopFunction", grouping.TopFunction(v.Report), v.TopFunction, v.Note)
			if got := grouping.HasUsefulStacktrace(v.Report); got != v.UsefulStacktrace {
				t.Errorf("HasUsefulStacktrace: got %v, want %v (%s)", got, v.UsefulStacktrace, v.Note)
			}
			for what, how := range v.Raises {
				got := map[string]string{
					"crash_signature":           grouping.CrashSignature(v.Report),
					"crash_signature_addresses": grouping.AddressSignature(v.Report),
					"standard_title":            grouping.StandardTitle(v.Report),
				}[what]
				if got != "" {
					t.Errorf("%s: got %q, want none: apport raises %s", what, got, how)
				}
			}
			checkGrouping(t, v)
		})
	}
	if raising != 4 {
		t.Errorf("got %d cases in which apport raises, want 4", raising)
	}
}

// checkGrouping derives the result of SignatureOf from a vector. If apport gives neither a
// signature nor addresses, our own rules may give one; their own tests check that.
func checkGrouping(t *testing.T, v signatureVector) {
	t.Helper()
	got := grouping.SignatureOf(v.Report)
	if (got.Reason == "") != (got.Signature != "") || (got.Rule == crash.RuleNone) != (got.Signature == "") ||
		got.Provisional != (got.Rule == crash.RuleAddress) {
		t.Errorf("SignatureOf: got rule %q and reason %q with signature %q", got.Rule, got.Reason, got.Signature)
	}
	want := v.Report["DuplicateSignature"]
	if want == "" && v.Signature != nil {
		want = *v.Signature
	}
	if want == "" && v.Addresses != nil {
		want = *v.Addresses
	}
	if want == "" {
		if slices.Contains(apportRules, got.Rule) {
			t.Errorf("SignatureOf: got %q by rule %q, where apport has none", got.Signature, got.Rule)
		}
		return
	}
	if got.Signature != want {
		t.Errorf("SignatureOf: got %q, want %q", got.Signature, want)
	}
}

// apportRules lists apport's rules and the one for addresses.
var apportRules = []crash.GroupingRule{
	crash.RuleDuplicateSignature, crash.RuleKernelCrash, crash.RuleAssertion, crash.RuleStacktrace, crash.RuleTraceback,
	crash.RuleSuspendResume,
	crash.RuleOops, crash.RuleAddress,
}

func TestStacktraceTopVectors(t *testing.T) {
	t.Parallel()
	var vectors []struct {
		Name       string  `json:"name"`
		Note       string  `json:"note"`
		Stacktrace string  `json:"Stacktrace"`
		Top        string  `json:"StacktraceTop"`
		Signature  *string `json:"crash_signature"`
	}
	readVectors(t, "stacktrace_top.json", &vectors, 16)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			top := grouping.StacktraceTop(v.Stacktrace)
			if top != v.Top {
				t.Errorf("StacktraceTop: got %q, want %q (%s)", top, v.Top, v.Note)
			}
			report := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/tidewatch", "Signal": "11",
				"StacktraceTop": top}
			checkText(t, "CrashSignature", grouping.CrashSignature(report), v.Signature, v.Note)
		})
	}
}

// readVectors fails if the file does not contain exactly n cases, so that none can be lost
// unnoticed.
func readVectors[T any](t *testing.T, name string, into *[]T, n int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	checktest.NoError(t, err)
	checktest.NoError(t, json.Unmarshal(data, into))
	if len(*into) != n {
		t.Fatalf("%s: got %d cases, want %d", name, len(*into), n)
	}
}

func checkText(t *testing.T, what, got string, want *string, note string) {
	t.Helper()
	expected := ""
	if want != nil {
		expected = *want
	}
	if got != expected {
		t.Errorf("%s: got %q, want %q (%s)", what, got, expected, note)
	}
}

// TestTitles checks that panics and reports without apport's title get ours, and that apport's other titles
// stay, except for an oops's time stamp.
func TestTitles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report crashtest.Report
		want   string
	}{
		"java": {crashtest.Java(), "chartroom crashed with java.lang.IllegalStateException in chartroom.Store.open()"},
		"go":   {crashtest.GoPanic(), "keeld panicked: index out of range [N] with length N in main.load()"},
		"rust": {crashtest.RustPanic(crashtest.Without("StacktraceTop")), "rustle panicked: called " +
			"`Option::unwrap()` on a `None` value in rustle::index::load()"},
		"rust, stack": {crashtest.RustPanic(), "rustle panicked: called `Option::unwrap()` on a `None` value in " +
			"rustle::index::load()"},
		"compiler": {crashtest.CompilerError(), "cc1plus: internal compiler error: in gimplify_expr, at gimplify.cc"},
		"hang":     {crashtest.ThreadHang(), "lumen-shell did not answer in lumen_wait_reply()"},
		"snap": {crashtest.Snap(),
			`snap reef: cannot perform the following tasks: - Mount snap "reef" (N) ([start snap-reef-N.mount] failed with exit status 1)`},
		"recoverable": {crashtest.BareRecoverable(), "reefd: The index in /home/USER/.cache/reef was damaged (N entries) " +
			"and has been rebuilt."},
		"group": {crashtest.ExceptionGroup(), "harbor-sync crashed with ExceptionGroup in main()"},
		"oops":  {crashtest.ModernOops(), "BUG: kernel NULL pointer dereference, address: 00000000000000b8"},
		"kernel": {crashtest.ModernOops(crashtest.Set("ProblemType", "KernelCrash"),
			crashtest.Set("VmCoreDmesg", crashtest.ModernOops()["OopsText"]), crashtest.Without("OopsText")),
			"kernel: NULL pointer dereference in brig_tx_done [brigwifi]"},
		"panic": {crashtest.ModernOops(crashtest.Set("ProblemType", "KernelCrash"), crashtest.Without("OopsText"),
			crashtest.Set("VmCoreDmesg", "[ 1.2] Kernel panic - not syncing: VFS: Unable to mount root fs on "+
				"unknown-block(0,0)")), "kernel: panic: VFS: Unable to mount root fs on unknown-block(N,N)"},
		"names": {crashtest.OddNames(), "isobar-map crashed with SIGSEGV"},
		"names of a hang": {crashtest.OddNames(crashtest.Set("ProblemType", "Hang"), crashtest.Without("Signal")),
			"isobar-map did not answer in {anonymous}::parse()"},
		"a signature of its own": {crashtest.Recoverable(), ""},
		"its own":                {crashtest.BareRecoverable(crashtest.Set("Title", "the index broke")), "the index broke"},
		"nothing":                {crashtest.Ungroupable(), ""},
		"nothing but lines":      {crashtest.Java(crashtest.Set("StackTrace", "\n:::\n")), ""},
	} {
		checktest.Equal(t, name, summaryOf(c.report.Fields()).Title, c.want)
	}
}

// summaryOf returns the summary of a report that is grouped as usual, with its title.
func summaryOf(f crash.Fields) crash.Summary {
	s := grouping.SummaryOf(f)
	s.Title = grouping.TitleOf(f, grouping.SignatureOf(f))
	return s
}

func TestSummaryOf(t *testing.T) {
	t.Parallel()
	got := summaryOf(crash.Fields{
		"ProblemType": "Crash", "ExecutablePath": "/usr/bin/tidewatch", "Package": "tidewatch 1.4.9-2 [modified: " +
			"usr/bin/x] [origin: LP-PPA-x]",
		"SourcePackage": "tide", "DistroRelease": "Ubuntu 24.04", "Architecture": "amd64", "PackageArchitecture": "all",
		"Tags": "noble package-from-proposed wayland-session", "Signal": "11", "StacktraceTop": "a ()\nb ()",
		"StacktraceAddressSignature": "/usr/bin/tidewatch:11:x+1", "Title": "what someone typed",
	})
	want := crash.Summary{
		ProblemType: "Crash", Title: "tidewatch crashed with SIGSEGV in a()", Executable: "/usr/bin/tidewatch",
		Package: "tidewatch",
		Version: "1.4.9-2", SourcePackage: "tide", Release: "Ubuntu 24.04", Architecture: "amd64",
		PackageArchitecture: "amd64",
		AddressSignature:    "/usr/bin/tidewatch:11:x+1", Proposed: true,
	}
	checktest.Diff(t, "summary", got, want)
	checktest.Diff(t, "summary of an empty report", summaryOf(nil), crash.Summary{})
}

func TestSummaryFields(t *testing.T) {
	t.Parallel()
	of := func(name, value string) crash.Summary {
		return summaryOf(crash.Fields{"Architecture": "arm64", name: value})
	}
	for text, want := range map[string][2]string{
		"":                      {"", ""},
		"  ":                    {"", ""},
		"reef":                  {"reef", ""},
		"reef 1":                {"reef", "1"},
		"  reef \t 1  x":        {"reef", "1"},
		"reef (not installed)":  {"reef", ""},
		"reef (not (installed)": {"reef", ""},
		strings.Repeat("p", 1000) + " " + strings.Repeat("ż", 1000): {strings.Repeat("p", 128), strings.Repeat("ż", 128)},
	} {
		if s := of("Package", text); s.Package != want[0] || s.Version != want[1] {
			t.Errorf("Package %.40q: got %q and %q, want %q", text, s.Package, s.Version, want)
		}
	}
	for text, want := range map[string]string{"all": "arm64", "unknown": "", "i386": "i386", "": ""} {
		if got := of("PackageArchitecture", text).PackageArchitecture; got != want {
			t.Errorf("PackageArchitecture %q: got %q, want %q", text, got, want)
		}
	}
	// Only a short, printable text is a release.
	for text, want := range map[string]crash.Release{
		"Ubuntu 24.04": "Ubuntu 24.04", " Ubuntu 24.04\n": "Ubuntu 24.04", "": "", "  ": "", "Ubuntu\n24.04": "",
		"Ubuntu\x1b[31m": "", "Plum\uFFFD": "",
		strings.Repeat("ż", 64): crash.Release(strings.Repeat("ż", 64)), strings.Repeat("ż", 65): "",
		strings.Repeat("x", 1<<20): "",
	} {
		if got := of("DistroRelease", text).Release; got != want {
			t.Errorf("DistroRelease %.40q: got %q, want %q", text, got, want)
		}
	}
}

func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ż", 1<<18)
	s := summaryOf(crash.Fields{
		"ProblemType": long, "Title": long, "ExecutablePath": "/" + long, "Package": long + " " + long, "SourcePackage": long,
		"DistroRelease": long, "Architecture": long, "PackageArchitecture": long, "StacktraceAddressSignature": long,
		"Tags": long,
	})
	// The size limit of a row in PostgreSQL's indexes is 2,704 bytes.
	if n := len(s.ProblemType + s.Package + s.Version + string(s.Release) + s.Architecture); n > 2500 {
		t.Errorf("the indexed texts take %d bytes together, want at most 2500", n)
	}
	if n := len(s.Title + s.Executable + s.AddressSignature); n > 4*(1000+4096+crash.MaxSignature) {
		t.Errorf("the longer texts take %d bytes together", n)
	}
}
