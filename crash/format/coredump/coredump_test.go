package coredump_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/format/coredump"
	"mishap/crash/grouping"
)

// record returns the sample with some fields changed; nil removes one.
func record(t *testing.T, changes map[string]any) []byte {
	t.Helper()
	line, err := os.ReadFile("testdata/record.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(line, &all); err != nil {
		t.Fatal(err)
	}
	for name, value := range changes {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	line, err = json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func fieldsOf(t *testing.T, line []byte) crash.Fields {
	t.Helper()
	e, err := coredump.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Fields(noBuilds)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func noBuilds(string) string { return "" }

// TestBuilds checks of which files the builds are asked for.
func TestBuilds(t *testing.T) {
	t.Parallel()
	const maps = "55d000000000-55d000009000 r--p 00000000 fd:01 1 /usr/bin/tidewatch\n" +
		"55d000009000-55d00000a000 r-xp 00009000 fd:01 1 /usr/bin/tidewatch\n" +
		"7f2210000000-7f2210002000 r-xp 00001000 fd:01 2 /usr/lib/libreef.so.1\n" +
		"7f2210100000-7f2210102000 r-xp 00001000 fd:01 3 /usr/lib/libother.so.1\n" +
		"7f2210200000-7f2210202000 r-xp 00001000 fd:01 4 /usr/lib/libc.so.6 (deleted)\n" +
		"7f2210300000-7f2210302000 r-xp 00001000 00:00 0\n7fff0000-7fff1000 r-xp 00000000 00:00 0 [vdso]\n"
	for name, c := range map[string]struct{ maps, builds string }{
		"usual": {maps, "#0 aa11bb22cc33dd44+0x9234 tidewatch\n#1 ee55ff66aa77bb88+0x1a10 libreef.so.1"},
		"two files": {maps + "7f2210400000-7f2210402000 r-xp 00001000 fd:01 5 /opt/libreef.so.1\n",
			"#0 aa11bb22cc33dd44+0x9234 tidewatch"},
		"nothing": {"\x00", ""},
	} {
		var asked []string
		e, err := coredump.Parse(record(t, map[string]any{"COREDUMP_PROC_MAPS": c.maps,
			"MESSAGE":               strings.Replace(nameless, "Module libreef.so.1 with", "", 1),
			"COREDUMP_PACKAGE_JSON": nil}))
		checktest.NoError(t, err)
		f, err := e.Fields(func(file string) string {
			asked = append(asked, file)
			return map[string]string{"/usr/bin/tidewatch": "aa11bb22cc33dd44",
				"/usr/lib/libreef.so.1": "ee55ff66aa77bb88", "/usr/lib/libc.so.6": "0011223344556677"}[file]
		})
		checktest.NoError(t, err)
		checktest.Equal(t, name, f["StacktraceBuildIDs"], c.builds)
		slices.Sort(asked)
		if len(slices.Compact(asked)) != len(asked) || slices.Contains(asked, "/usr/lib/libother.so.1") {
			t.Errorf("%s: asked for %q", name, asked)
		}
		for field, text := range f {
			if strings.Contains(text, "/usr/lib/") {
				t.Errorf("%s: %s has a path of the memory map: %q", name, field, text)
			}
		}
	}
}

// TestFields checks that nothing but these fields is taken from an entry full of private ones.
func TestFields(t *testing.T) {
	t.Parallel()
	want := crash.Fields{
		"ProblemType": "Crash", "ExecutablePath": "/usr/bin/tidewatch", "Signal": "11", "SignalName": "SIGSEGV",
		"Date": "Thu Nov 20 00:53:19 2025", "Package": "tidewatch 1.4.9-2", "SourcePackage": "tidewatch",
		"PackageArchitecture": "amd64",
		"Stacktrace": "#0  0x000055d000009234 in tide_parse_row () from tidewatch\n" +
			"#1  0x000055d000009a10 in tide_load () from tidewatch\n" +
			"#2  0x00007f2210029d90 in ?? () from libc.so.6",
		"StacktraceTop": "tide_parse_row () from tidewatch\ntide_load () from tidewatch\n?? () from libc.so.6",
	}
	if diff := cmp.Diff(want, fieldsOf(t, record(t, nil))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

const nameless = "Process 4311 (tidewatch) of user 1000 dumped core.\n\n" +
	"Module libreef.so.1 with build-id bb22bb22bb22bb22\nStack trace of thread 4311:\n" +
	"#0  0x000055d000009234 n/a (tidewatch + 0x9234)\n" +
	"#1  0x00007f2210001a10 n/a (libreef.so.1 + 0x1a10)\n" +
	"#2  0x00007f2210029d90 n/a (libc.so.6 + 0x29d90)\n" +
	"#3  0x0000000000000000 n/a (n/a + 0x0)\n\n" +
	"Stack trace of thread 4312:\n#0  0x00007f2210100000 __poll (libc.so.6 + 0x100000)\n"

const partly = "\nModule libreef.so.1 with build-id bb22bb22bb22bb22\nStack trace of thread 4311:\n" +
	"#0  0x000055d000009234 n/a (tidewatch + 0x9234)\n" +
	"#1  0x00007f2210001a10 reef_read (libreef.so.1 + 0x1a10)\n" +
	"#2  0x00007f2210001b10 reef_open (libreef.so.1 + 0x1b10)\n"

func TestGrouping(t *testing.T) {
	t.Parallel()
	notes := `{"elfType":"coredump","/usr/bin/tidewatch":{"name":"tidewatch","version":"1.4.9-2",` +
		`"buildId":"aa11aa11aa11aa11"}}`
	inLibc := "\nStack trace of thread 1:\n#0  0x00007f2210029d90 n/a (libc.so.6 + 0x29d90)\n" +
		"#1  0x00007f2210029d91 n/a (libc.so.6 + 0x29d91)\n"
	for name, c := range map[string]struct {
		changes map[string]any
		want    string
		rule    crash.GroupingRule
	}{
		"names": {nil, "/usr/bin/tidewatch:11:tide_parse_row:tide_load:[libc.so]", crash.RuleStackPartial},
		"no names": {map[string]any{"MESSAGE": nameless, "COREDUMP_PACKAGE_JSON": notes},
			"/usr/bin/tidewatch:11:tidewatch@aa11aa11aa11aa11+9234:libreef.so.1@bb22bb22bb22bb22+1a10:libc.so.6+29d90",
			crash.RuleAddress},
		"some names, all builds": {map[string]any{"MESSAGE": partly, "COREDUMP_PACKAGE_JSON": notes},
			"/usr/bin/tidewatch:11:tidewatch@aa11aa11aa11aa11+9234:libreef.so.1@bb22bb22bb22bb22+1a10:" +
				"libreef.so.1@bb22bb22bb22bb22+1b10", crash.RuleAddress},
		"some names, not all builds": {map[string]any{"MESSAGE": partly},
			"/usr/bin/tidewatch:11:[tidewatch]:reef_read:reef_open", crash.RuleStackPartial},
		"only the C library": {map[string]any{"MESSAGE": inLibc}, "", crash.RuleNone},
		"no stack":           {map[string]any{"MESSAGE": "Process 1 (x) of user 0 dumped core."}, "", crash.RuleNone},
		"no message":         {map[string]any{"MESSAGE": nil}, "", crash.RuleNone},
	} {
		got := grouping.SignatureOf(fieldsOf(t, record(t, c.changes)))
		if got.Signature != c.want || got.Rule != c.rule {
			t.Errorf("%s: got %q by %q, want %q by %q", name, got.Signature, got.Rule, c.want, c.rule)
		}
	}
}

// TestValues checks all forms of values that journalctl prints.
func TestValues(t *testing.T) {
	t.Parallel()
	numbers := func(s string) (n []int) {
		for _, b := range []byte(s) {
			n = append(n, int(b))
		}
		return n
	}
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"text":          {"/usr/bin/reef", "/usr/bin/reef"},
		"bytes":         {numbers("/usr/bin/r\xffef"), "/usr/bin/r\uFFFDef"},
		"several":       {[]any{"/usr/bin/reef", "/usr/bin/forged"}, "/usr/bin/reef"},
		"several bytes": {[]any{numbers("/usr/bin/reef"), "/usr/bin/forged"}, ""},
		"none":          {json.RawMessage("null"), ""},
		"empty":         {[]any{}, ""},
		"a number":      {7, ""},
		"an object":     {map[string]any{"a": "b"}, ""},
		"too large":     {[]int{300, 1}, ""},
	} {
		e, err := coredump.Parse(record(t, map[string]any{"COREDUMP_EXE": c.value}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f, err := e.Fields(noBuilds)
		if f["ExecutablePath"] != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v; want %q", name, f["ExecutablePath"], err, c.want)
		}
	}
	for _, line := range []string{"", "[]", "null x", "7", `{"a":`} {
		if _, err := coredump.Parse([]byte(line)); err == nil {
			t.Errorf("%q: got no error", line)
		}
	}
}

func TestGenuine(t *testing.T) {
	t.Parallel()
	for unit, want := range map[any]bool{
		"systemd-coredump@0-4311-0.service": true,
		"user@1000.service":                 false,
		"session-1.scope":                   false,
		"systemd-coredump@x.socket":         false,
		nil:                                 false,
	} {
		e, err := coredump.Parse(record(t, map[string]any{"_SYSTEMD_UNIT": unit}))
		if err != nil || e.Genuine() != want {
			t.Errorf("%v: got %v, %v, want %v", unit, e.Genuine(), err, want)
		}
	}
}

// TestInvalid checks values that nobody should rely on.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for _, changes := range []map[string]any{
		{"COREDUMP_EXE": "usr/bin/x"}, {"COREDUMP_EXE": "/usr/../x"}, {"COREDUMP_EXE": "/" + strings.Repeat("x", 5000)},
		{"COREDUMP_SIGNAL": "0"}, {"COREDUMP_SIGNAL": "SEGV"}, {"COREDUMP_SIGNAL": "99999999999"},
	} {
		e, err := coredump.Parse(record(t, changes))
		if err != nil {
			t.Fatal(err)
		}
		if f, err := e.Fields(noBuilds); err == nil {
			t.Errorf("%v: got %v, want an error", changes, f)
		}
	}
	f := fieldsOf(t, record(t, map[string]any{
		"COREDUMP_SIGNAL_NAME": "SIG\nX", "COREDUMP_TIMESTAMP": "soon", "COREDUMP_PACKAGE_NAME": "a b",
		"COREDUMP_PACKAGE_JSON": `{"tidewatch":{"name":"a\nb","version":"1","architecture":"x y"},"x":7}`,
	}))
	if f["SignalName"]+f["Package"]+f["PackageArchitecture"] != "" || f["Date"] != "Thu Nov 20 00:53:20 2025" {
		t.Errorf("got %v", f)
	}
}

func FuzzParse(f *testing.F) {
	line, err := os.ReadFile("testdata/record.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"MESSAGE":[[[1]]],"COREDUMP_EXE":[[1]]}`))
	f.Fuzz(func(_ *testing.T, line []byte) {
		if e, err := coredump.Parse(line); err == nil {
			_, _ = e.Fields(noBuilds)
		}
	})
}
