package grouping_test

import (
	"testing"

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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := grouping.SummaryOf(c.report.Fields()).Title; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
