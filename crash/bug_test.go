package crash_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
)

// task returns a task of a bug. In these tests, "New" is the only incomplete status.
func task(target, status string) crash.BugTask {
	return crash.BugTask{Target: target, Status: status, Complete: status != "New"}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks []crash.BugTask
		want  bool
	}{
		"no tasks": {nil, false},
		"all": {[]crash.BugTask{task("/ubuntu/+source/a", "Invalid"),
			task("/ubuntu/noble/+source/a", "Fix Released")}, true},
		"one is open": {[]crash.BugTask{task("/ubuntu/+source/a", "New"),
			task("/ubuntu/noble/+source/a", "Fix Released")}, false},
		"upstream does not mind": {[]crash.BugTask{task("/a", "New"), task("/ubuntu/+source/a", "Fix Released")}, true},
		"upstream alone":         {[]crash.BugTask{task("/a", "New")}, false},
	} {
		checktest.Equal(t, name, (crash.BugReading{Tasks: tt.tasks}).Closed(), tt.want)
	}
}

func TestUpdatePolicies(t *testing.T) {
	t.Parallel()
	rules := crash.UpdatePolicies{{Pattern: "linux-firmware", Quiet: true}, {Pattern: "linux*", Again: true},
		{Pattern: "*-dkms", Section: true}, {Pattern: crash.EveryPackage, QuietWeeks: 3}}
	for source, want := range map[string]string{
		"linux-firmware": "linux-firmware", "linux": "linux*", "linux-hwe-6.8": "linux*", "wifi-dkms": "*-dkms",
		"linux-dkms": "linux*", "gtk+3.0": "*", "": "*",
	} {
		checktest.Equal(t, fmt.Sprintf("%q: rule for", source), rules.For(source).Pattern, want)
	}
	if got := (crash.UpdatePolicies{}).For("bash"); got.Again || got.Quiet || got.Section {
		t.Errorf("without rules: got %+v, want everything off", got)
	}
}

func TestSectionFactsWorth(t *testing.T) {
	t.Parallel()
	written := crash.SectionFacts{Reports: 100, Last: "2026-08-01", Shape: "a"}
	for name, c := range map[string]struct {
		now  crash.SectionFacts
		want bool
	}{
		"nothing":              {written, false},
		"a few more reports":   {crash.SectionFacts{Reports: 124, Last: "2026-08-07", Shape: "a"}, false},
		"a quarter more":       {crash.SectionFacts{Reports: 125, Last: "2026-08-01", Shape: "a"}, true},
		"a week later":         {crash.SectionFacts{Reports: 101, Last: "2026-08-08", Shape: "a"}, true},
		"a new version":        {crash.SectionFacts{Reports: 100, Last: "2026-08-01", Shape: "b"}, true},
		"some were taken away": {crash.SectionFacts{Reports: 99, Last: "2026-08-01", Shape: "a"}, true},
	} {
		checktest.Equal(t, name, c.now.Worth(written), c.want)
	}
}

func TestLastSupported(t *testing.T) {
	t.Parallel()
	today := day("2026-11-22")
	q := crash.QuietBug{Last: map[crash.Release]time.Time{
		"Ubuntu 24.04": day("2026-05-01"), "Ubuntu 19.10": day("2026-11-20")}}
	if got := q.LastSupported(today); !got.Equal(day("2026-05-01")) {
		t.Errorf("got %s, want the last report of the supported release", got)
	}
	delete(q.Last, "Ubuntu 24.04")
	if got := q.LastSupported(today); !got.Equal(day("2026-11-20")) {
		t.Errorf("without supported releases: got %s, want the last report of any", got)
	}
}

func keyOf(system crash.SystemID, r crashtest.Report) crash.ReportKey {
	return crash.DuplicateKey(system, r.Fields())
}

// TestDuplicateKey changes one field at a time and checks whether the report is still recognised as
// a duplicate.
func TestDuplicateKey(t *testing.T) {
	t.Parallel()
	const same, other = true, false
	for _, c := range []struct {
		name   string
		report func(...crashtest.Option) crashtest.Report
		change crashtest.Option
		want   bool
	}{
		{"crash, nothing changed", crashtest.Native, crashtest.Without(), same},
		{"crash, another package", crashtest.Native, crashtest.Set("Package", "another 1"), same},
		{"crash, another process", crashtest.Native, crashtest.Process(7), other},
		{"crash, another date", crashtest.Native, crashtest.Set("Date", "Mon May  5 14:46:11 2025"), other},
		{"crash, another program", crashtest.Native, crashtest.Set("ExecutablePath", "/usr/bin/other"), other},
		{"package, nothing changed", crashtest.Package, crashtest.Without(), same},
		{"package, upgrade status as of another day", crashtest.Package, crashtest.Set("UpgradeStatus", "Upgraded to noble "+
			"on 2026-04-29 (20 days ago)"), same},
		{"package, logs and bookkeeping added", crashtest.Package, all(
			crashtest.Set("JournalErrors", "x"), crashtest.Set("_MarkForUpload", "True"), crashtest.Set("CrashCounter", "2"),
			crashtest.Set("Title", "y")), same},
		{"package, fields that old clients drop", crashtest.Package, crashtest.Without("ErrorMessage", "DpkgTerminalLog",
			"Tags", "UpgradeStatus"), same},
		{"package, another version", crashtest.Package, crashtest.Version("9"), other},
		{"package, another date", crashtest.Package, crashtest.Set("Date", "Mon May  5 14:46:11 2025"), other},
		{"package, another fault", crashtest.Package, crashtest.Set("DuplicateSignature", "z"), other},
		{"package without a signature, another log", crashtest.BarePackage,
			crashtest.Set("DpkgTerminalLog", "Setting up x (1) ..."), other},
		{"oops, nothing changed", crashtest.Oops, crashtest.Without(), same},
		{"oops, another text", crashtest.Oops, crashtest.Set("OopsText", "BUG: other"), other},
		{"snap, nothing changed", crashtest.Snap, crashtest.Without(), same},
		{"snap, another one", crashtest.Snap, crashtest.Set("Snap", "other"), other},
		{"snap, another message", crashtest.Snap, crashtest.Set("ErrorMessage", "other"), other},
		{"no date, nothing changed", dateless, crashtest.Without(), same},
		{"no date, retraced and collected again", dateless, all(crashtest.Set("ThreadStacktrace", "x"),
			crashtest.Set("Uname", "y"), crashtest.Without("Dependencies")), same},
		{"no date, a field of unknown meaning", dateless, crashtest.Set("BrigStatus", "7"), other},
		{"no date, another text", dateless, crashtest.Set("OopsText", "BUG: other"), other},
	} {
		before, after := keyOf("m", c.report()), keyOf("m", c.report(c.change))
		if (before == after) != c.want {
			t.Errorf("%s: got keys %x and %x, want the same: %v", c.name, before, after, c.want)
		}
		if before == (crash.ReportKey{}) || keyOf("m2", c.report()) == before {
			t.Errorf("%s: got key %x, want one that is not zero and belongs to one machine", c.name, before)
		}
	}
}

func all(options ...crashtest.Option) crashtest.Option {
	return func(r crashtest.Report) {
		for _, o := range options {
			o(r)
		}
	}
}

func dateless(options ...crashtest.Option) crashtest.Report {
	return crashtest.Oops(append([]crashtest.Option{crashtest.Without("Date")}, options...)...)
}

// TestDuplicateKeyTime checks the time in keys, by which they are partitioned.
func TestDuplicateKeyTime(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"Mon May  5 14:46:10 2025": "\x68\x18\xcf\x32", "": "\x00\x00\x00\x00", "yesterday": "\x00\x00\x00\x00",
		"Mon Jan  1 00:00:00 1900": "\x00\x00\x00\x00", "Fri Dec 31 23:59:59 9999": "\xff\xff\xff\xff",
	} {
		for _, r := range []crashtest.Report{crashtest.Native(), crashtest.Package()} {
			key := keyOf("m", dated(r, date))
			if got := string(key[:4]); got != want {
				t.Errorf("%s of %q: got time % x, want % x", r["ProblemType"], date, got, want)
			}
		}
	}
}

func dated(r crashtest.Report, date string) crashtest.Report {
	r = crashtest.Report(r.Fields())
	r["Date"] = date
	return r
}

// TestDuplicateKeyAcrossForms compares apport's files with what two versions of whoopsie send of
// them.
func TestDuplicateKeyAcrossForms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("apport", "testdata", "crashes", "*.crash"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	compared := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".crash")
		in, err := os.Open(file)
		checktest.NoError(t, err)
		defer in.Close() //nolint:errcheck // only read
		fields, _, err := apport.Read(in, apport.Limits{})
		if err != nil {
			continue // a damaged sample
		}
		want := crash.DuplicateKey("m", fields)
		for _, form := range []string{"modern", "v0133"} {
			body, err := os.ReadFile(filepath.Join("apport", "testdata", name+"."+form+".bson"))
			checktest.NoError(t, err)
			sent, err := crashtest.Decode(body)
			checktest.NoError(t, err)
			compared++
			got := crash.DuplicateKey("m", sent)
			// Without OopsText, nothing distinguishes this oops from another one in the same
			// second.
			lost := form == "v0133" && strings.HasPrefix(name, "linux-image-") && fields["OopsText"] != ""
			if (got == want) == lost {
				t.Errorf("%s, %s: got key %x, of the file %x; want the same: %v", name, form, got, want, !lost)
			}
		}
	}
	if compared < 20 {
		t.Errorf("compared %d bodies only", compared)
	}
}

// TestMissingSymbolCommand checks the commands that provide symbols. Names come from reports, so
// they are hostile.
func TestMissingSymbolCommand(t *testing.T) {
	t.Parallel()
	const id = "ab12cd34"
	for name, c := range map[string]struct {
		missing crash.MissingSymbol
		want    string
	}{
		"program": {crash.MissingSymbol{Kind: crash.MissingProgram, Package: "libtide1", Version: "1:2.0-1+b2",
			Architecture: "amd64"}, "mishap symbols add libtide1_2.0-1+b2_amd64.deb"},
		"debug file of Ubuntu": {crash.MissingSymbol{Kind: crash.MissingDebugFile, Package: "libtide1", Version: "2.0",
			Architecture: "amd64", Release: "Ubuntu 24.04"}, "mishap symbols add libtide1-dbgsym_2.0_amd64.ddeb"},
		"debug file of Debian": {crash.MissingSymbol{Kind: crash.MissingDebugFile, Package: "libtide1", Version: "2.0~rc1",
			Architecture: "arm64", Release: "Debian 12"}, "mishap symbols add libtide1-dbgsym_2.0~rc1_arm64.deb"},
		"debug file of Fedora": {crash.MissingSymbol{Kind: crash.MissingDebugFile, Package: "tide", Version: "2-1.fc43",
			Architecture: "x86_64", Release: "Fedora 43", BuildID: id}, "mishap symbols add " +
			"/usr/lib/debug/.build-id/ab/12cd34.debug"},
		"program of Arch": {crash.MissingSymbol{Kind: crash.MissingProgram, Package: "tide", Version: "2.0-1",
			Architecture: "x86_64", Release: "Arch", Path: "/usr/lib/libtide.so"}, "mishap symbols add " +
			"/usr/lib/libtide.so"},
		"C library": {crash.MissingSymbol{Kind: crash.MissingDebugFile, Package: "libc6", Version: "2.36-9",
			Architecture: "amd64"}, "mishap symbols add libc6-dbg_2.36-9_amd64.deb"},
		"build": {crash.MissingSymbol{Kind: crash.MissingBuild, Package: "libtide1", Version: "2.0", Architecture: "amd64"},
			"mishap symbols add libtide1_2.0_amd64.deb libtide1-dbgsym_2.0_amd64.ddeb"},
		"build in an unknown package": {crash.MissingSymbol{Kind: crash.MissingBuild, Path: "/opt/tide",
			Architecture: "amd64"}, ""},
		"program in an unknown package": {crash.MissingSymbol{Kind: crash.MissingProgram, Path: "/opt/tide/libtide.so"},
			"mishap symbols add /opt/tide/libtide.so"},
		"debug file of an unknown package": {crash.MissingSymbol{Kind: crash.MissingDebugFile, BuildID: id},
			"mishap symbols add /usr/lib/debug/.build-id/ab/12cd34.debug"},
		"version that is none": {crash.MissingSymbol{Kind: crash.MissingDebugFile, BuildID: id, Package: "libtide1",
			Version: "$(reboot)", Architecture: "amd64"}, "mishap symbols add /usr/lib/debug/.build-id/ab/12cd34.debug"},
		"package that is none": {crash.MissingSymbol{Kind: crash.MissingBuild, Package: "--to=evil", Version: "1",
			Architecture: "amd64"}, ""},
		"architecture that is none": {crash.MissingSymbol{Kind: crash.MissingBuild, Package: "tide", Version: "1",
			Architecture: "a;b"}, ""},
		"path for a terminal": {crash.MissingSymbol{Kind: crash.MissingProgram, Path: "/opt/a\x1b[2Jb"}, ""},
		"long path":           {crash.MissingSymbol{Kind: crash.MissingProgram, Path: "/" + strings.Repeat("x", 600)}, ""},
		"relative path":       {crash.MissingSymbol{Kind: crash.MissingProgram, Path: "-rf"}, ""},
		"build-id that is none": {crash.MissingSymbol{Kind: crash.MissingDebugFile, BuildID: "../../x"},
			""},
	} {
		checktest.Equal(t, name, c.missing.Command(), c.want)
	}

	path := `/opt/it's $(id) "x" * ;`
	out, err := exec.CommandContext(t.Context(), "sh", "-c",
		"mishap() { printf %s \"$3\"; }\n"+crash.MissingSymbol{Kind: crash.MissingProgram, Path: path}.Command()).Output()
	if err != nil || string(out) != path {
		t.Errorf("in a shell: got %q, %v; want %q", out, err, path)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s                    string
		n                    int
		truncated, shortened string
	}{
		{"", 3, "", ""},
		{"naïve", 5, "naïve", "naïve"},
		{"naïve", 4, "naïv", "naï…"},
		{"a b c", 3, "a b", "a…"},
		{"\xff\xff\xff", 2, "\xff\xff", "\xff…"},
	} {
		if got := crash.Truncate(c.s, c.n); got != c.truncated {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.s, c.n, got, c.truncated)
		}
		if got := crash.Shorten(c.s, c.n); got != c.shortened {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.s, c.n, got, c.shortened)
		}
	}
}

func TestParseNetworks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "[]", " , ": "[]", "127.0.0.0/8": "[127.0.0.0/8]", "127.0.0.0/8 ::1/128": "[127.0.0.0/8 ::1/128]",
		"10.1.2.3,fd00::7,\t192.0.2.0/24": "[10.1.2.3/32 fd00::7/128 192.0.2.0/24]", "10.9.9.9/8": "[10.0.0.0/8]",
		"0.0.0.0/0 ::/0": "[0.0.0.0/0 ::/0]",
	} {
		if got, err := crash.ParseNetworks(text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"localhost", "10.0.0.0/33", "10.0.0", "10.0.0.0/8; ::1", "fe80::1%eth0", "::ffff:10.0.0.0/104",
		"::ffff:10.0.0.1", "*",
	} {
		if got, err := crash.ParseNetworks(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
