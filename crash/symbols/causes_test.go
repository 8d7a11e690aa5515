package symbols_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/symbols"
	"mishap/crash/symbols/symboltest"
)

// causes lists cores with the functions of their signatures. Different faults must not share one, and
// one fault must have the same in every build.
var causes = map[string]struct{ program, functions string }{
	"spring-read":  {"spring", "6:main.read:main.main"},
	"spring-index": {"spring", "6:main.(*row).index:main.main"},
	"spring-store": {"spring", "6:main.store:main.main"},
	"spring-main":  {"spring", "6:runtime.sigpanic:main.main"},
	"gale-row":     {"gale", "6:std::vector::_M_range_check:std::vector::at:row:main"},
	"gale-name":    {"gale", "6:std::map::at:name:main"},
	"gale-own":     {"gale", "6:own:main"},
	"gale-quiet":   {"gale", "6:own:quiet:main"},
	"gale-main":    {"gale", "6:std::vector::_M_range_check:std::vector::at:main"},
	"alarm":        {"alarm", "11:give_up:on_alarm"},
	"alarm-abort":  {"alarm", "6:give_up:on_alarm:<signal handler called>:spin:main"},
	"length":       {"length", "11:strlen:load:main"},
}

// TestCauses checks that frames that do not show the cause are left out of the signature, of the title
// and of StacktraceTop, with a core and with addresses alone.
func TestCauses(t *testing.T) {
	t.Parallel()
	for core, want := range causes {
		t.Run(core, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "", published(t, want.program)...)
			r := b.must(t, symboltest.Core(t, core))
			if got := r.Grouping; !strings.HasSuffix(got.Signature, "/original/"+want.program+":"+want.functions) ||
				got.Rule != crash.RuleStacktrace || r.State != symbols.Done {
				t.Errorf("got %s, %+v; want %s\n%s", r.State, got, want.functions, r.Fields["Stacktrace"])
			}
			if top := r.Fields["StacktraceTop"]; strings.Contains(top, "abort") || strings.Contains(top, "??") {
				t.Errorf("got StacktraceTop\n%s", top)
			}
		})
	}
}

// nullCalls lists the ways in which adrift calls a null function pointer, with the first functions of
// their signatures.
var nullCalls = map[string]string{
	"load":      "11:load:main", // a pointer in a struct
	"direct":    "11:direct:main",
	"hidden":    "11:hidden:shown:main", // a static function
	"table":     "11:draw:main",
	"recursive": "11:deep:deep:deep:deep:deep",
	"worker":    "11:direct:work:start_thread:", // a thread
	"signal":    "11:on_signal",
	"compare":   "11:compare:msort_with_tmp:msort_with_tmp:", // called by the C library
}

// TestNullPointers checks that a call through a null function pointer has one signature in two builds
// with different addresses. A report with the stack of a debugger and one without names, which mishap
// names by its core or by its addresses, get the same.
func TestNullPointers(t *testing.T) {
	t.Parallel()
	for way, functions := range nullCalls {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			signatures := map[string]string{} // by source
			add := func(program, source string, got crash.Grouping) {
				_, signature, _ := strings.Cut(got.Signature, "/original/"+program+":")
				if !strings.HasPrefix(signature, functions) || got.Provisional {
					t.Errorf("%s, %s: got %+v, want %s", program, source, got, functions)
				}
				if other := signatures[source]; other != "" && other != signature {
					t.Errorf("%s: got %q and %q, want one signature", source, other, signature)
				}
				signatures[source] = signature
			}
			for _, program := range []string{"adrift", "adrift2"} {
				b, core := newBench(t, "", published(t, program)...), symboltest.Core(t, program+"-"+way)
				r := b.must(t, core)
				if r.State != symbols.Done {
					t.Errorf("%s: got %s: %s\n%s", program, r.State, r.Incomplete, r.Fields["Stacktrace"])
				}
				add(program, "core", r.Grouping)

				report := addressReport(t, program+"-"+way)
				if report["StacktraceAddressSignature"] != "" {
					named, err := b.namer(t, buildsIn(t, core)).Name(t.Context(), report)
					if err != nil {
						t.Fatal(err)
					}
					add(program, "addresses", named.Grouping)
				}
				if way == "signal" {
					continue // apport itself leaves the handler out
				}
				stack := debuggerStack(t, program, program+"-"+way)
				report["Stacktrace"], report["StacktraceTop"] = stack, grouping.StacktraceTop(stack)
				add(program, "debugger", grouping.SignatureOf(report))
			}
		})
	}
}

// debuggerStack returns the stack that a machine with debug files sends: gdb prints it for the original
// program.
func debuggerStack(t *testing.T, program, core string) string {
	t.Helper()
	dir := symboltest.Programs(t)
	out, err := exec.CommandContext(t.Context(), "gdb", "-nx", "-batch", "-iex", "set auto-load no", "-iex",
		"set debuginfod enabled off", "-iex", "set width 0", "-ex", "bt full", filepath.Join(dir, "original", program),
		filepath.Join(dir, "cores", core+".core")).Output()
	if err != nil {
		t.Fatalf("gdb: %v", err)
	}
	// gdb prints the first frame when it loads the core, too.
	return string(out[strings.LastIndex(string(out), "\n#0 ")+1:])
}

// TestPanicWins checks that the panic in a report decides, whatever the core shows.
func TestPanicWins(t *testing.T) {
	t.Parallel()
	const said = "panic: runtime error: index out of range [3] with length 0\n\ngoroutine 1 [running]:\n" +
		"main.(*row).index(...)\n\t/src/main.go:18\nmain.main()\n\t/src/main.go:30 +0x1d\nexit status 2"
	b := newBench(t, "", published(t, "spring")...)
	r, err := b.runFor(t.Context(), t, crash.Fields{"StdErr": said, "ExecutablePath": "/usr/bin/spring"},
		symboltest.Core(t, "spring-index"))
	const want = "/usr/bin/spring:panic:index out of range [N] with length N:main.(*row).index:main.main"
	if err != nil || r.Grouping.Signature != want || r.Grouping.Rule != crash.RuleGoPanic {
		t.Errorf("got %+v, %v; want %s", r.Grouping, err, want)
	}
}

// TestAssertedLines checks that a failed assertion has the same signature after lines were inserted
// above it.
func TestAssertedLines(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", published(t, "asserted", "asserted2")...)
	first, second := b.must(t, symboltest.Core(t, "asserted")), b.must(t, symboltest.Core(t, "asserted2"))
	if got := strings.ReplaceAll(second.Grouping.Signature, "asserted2", "asserted"); got != first.Grouping.Signature ||
		first.Fields["AssertionMessage"] == second.Fields["AssertionMessage"] {
		t.Errorf("got %q and %q, want them equal", first.Grouping.Signature, got)
	}
}

// TestNoFileHelps checks that a stack that no file can name says so, and that others do not.
func TestNoFileHelps(t *testing.T) {
	t.Parallel()
	r := newBench(t, "", published(t, "stray")...).must(t, symboltest.Core(t, "stray"))
	if r.State != symbols.Partial || !r.NoFileHelps || !strings.Contains(r.Incomplete, "no file can help") {
		t.Errorf("at an address in no file: got %s, %v: %s\n%s", r.State, r.NoFileHelps, r.Incomplete,
			r.Fields["Stacktrace"])
	}
	core := symboltest.Core(t, "lost")
	r = newBench(t, "", published(t, "lost")...).must(t, core)
	if r.State != symbols.Done || r.NoFileHelps {
		t.Errorf("got %s, %v: %s", r.State, r.NoFileHelps, r.Incomplete)
	}
	// Without the program, the stack ends at the call.
	r = newBench(t, "").must(t, core)
	if r.State != symbols.Partial || r.NoFileHelps {
		t.Errorf("without the program: got %s, %v: %s", r.State, r.NoFileHelps, r.Incomplete)
	}
}
