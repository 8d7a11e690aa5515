package grouping_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// TestTitles checks that reports without apport's title get ours, and that apport's title stays,
// except for an oops's time stamp.
func TestTitles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report crashtest.Report
		want   string
	}{
		"java": {crashtest.Java(), "chartroom crashed with java.lang.IllegalStateException in chartroom.Store.open()"},
		"go":   {crashtest.GoPanic(), "keeld panicked: index out of range [N] with length N in main.load()"},
		"rust": {crashtest.RustPanic(crashtest.Without("StacktraceTop")), "rustle panicked in src/index.rs: called " +
			"`Option::unwrap()` on a `None` value"},
		"rust, title": {crashtest.RustPanic(), "rustle crashed with SIGABRT"},
		"compiler":    {crashtest.CompilerError(), "cc1plus: internal compiler error: in gimplify_expr, at gimplify.cc"},
		"hang":        {crashtest.ThreadHang(), "lumen-shell did not answer in lumen_wait_reply()"},
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
		if got := grouping.SummaryOf(c.report.Fields()).Title; got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestSummaryOf(t *testing.T) {
	t.Parallel()
	got := grouping.SummaryOf(crash.Fields{
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(crash.Summary{}, grouping.SummaryOf(nil)); diff != "" {
		t.Errorf("summary of an empty report (-want +got):\n%s", diff)
	}
}

func TestSummaryFields(t *testing.T) {
	t.Parallel()
	of := func(name, value string) crash.Summary {
		return grouping.SummaryOf(crash.Fields{"Architecture": "arm64", name: value})
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
	s := grouping.SummaryOf(crash.Fields{
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
