package symbols_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/grouping"
	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
)

// functions returns the functions of the thread that crashed.
func functions(r symbols.Result) []string {
	var names []string
	for _, f := range grouping.Frames(r.Fields) {
		names = append(names, f.Function)
	}
	return names
}

func hasPrefix(got []string, want ...string) bool {
	return len(got) >= len(want) && strings.Join(got[:len(want)], " ") == strings.Join(want, " ")
}

// A name with line ends or terminal codes forges no frame.
func TestForgedNames(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	r := newBench(t, "", filepath.Join(dir, "original/forged")).must(t, symboltest.Core(t, "forged"))
	got := functions(r)
	if len(got) != 3 || !strings.HasPrefix(got[0], "na\uFFFDme\uFFFD#1") || got[1] != "forged" || got[2] != "main" {
		t.Errorf("got %q, want three frames", got)
	}
	for name, text := range r.Fields {
		if strings.ContainsAny(text, "\x1b\r") || name == "Stacktrace" && strings.Count(text, "\n") != 2 {
			t.Errorf("%s: got %q", name, text)
		}
	}
}

// The core holds a password in its heap and stack. No result does.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	core := symboltest.Core(t, "tidewatch")
	if !strings.Contains(string(core), "password=swordfish") {
		t.Fatal("the core does not hold the password")
	}
	r := newBench(t, "", published(t, "tidewatch", "libtide.so.1")...).must(t, core)
	for name, text := range r.Fields {
		if strings.Contains(text, "swordfish") || strings.Contains(text, "quay") {
			t.Errorf("%s holds a value of the process:\n%s", name, text)
		}
	}
}

// Without debug files, exported names and unwinding remain.
func TestNoDebugFiles(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	r := newBench(t, "", filepath.Join(dir, "root")).must(t, symboltest.Core(t, "tidewatch"))
	got := functions(r)
	if r.State != symbols.Partial || !hasPrefix(got, "tide_sum", "tide_each", "??", "??", "??") || len(got) < 7 {
		t.Errorf("got %s with %q", r.State, got)
	}
	if !strings.Contains(r.Fields["Stacktrace"], "tide_sum () from "+dir+"/original/libtide.so.1") {
		t.Errorf("got no library in\n%s", r.Fields["Stacktrace"])
	}
	if r.Grouping.Rule == crash.RuleStacktrace {
		t.Errorf("got the final signature %q for a stack without names", r.Grouping.Signature)
	}
}

// Without a library's executable, unwinding goes wrong there, so the stack ends.
func TestNoExecutable(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	files := append(published(t, "tidewatch"), filepath.Join(dir, "symbols/libtide.so.1.debug"))
	r := newBench(t, "", files...).must(t, symboltest.Core(t, "tidewatch"))
	for _, f := range grouping.Frames(r.Fields) {
		if f.Number > 0 && f.Module == "" && f.File == "" && !f.Named() {
			t.Errorf("got a frame outside all modules: %+v\n%s", f, r.Fields["Stacktrace"])
		}
	}
	for _, m := range r.Modules {
		if strings.HasSuffix(m.Path, "libtide.so.1") && (m.Executable == nil || m.Executable.Found || m.Debuginfo != nil) {
			t.Errorf("got %+v, want the executable missing", m)
		}
	}
	if r.State != symbols.Partial {
		t.Errorf("got %s", r.State)
	}
}

// A core that gdb has written instead of the kernel lacks the code of all files.
func TestCoreOfDebugger(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	for _, name := range []string{"tiny", "tail"} { // at a fixed address, and anywhere
		file := filepath.Join(symboltest.TempDir(t), name+".core")
		out, err := exec.CommandContext(t.Context(), "gdb", "-nx", "-batch", "-iex", "set auto-load no", "-iex",
			"set debuginfod enabled off", "-iex", "set startup-with-shell off", "-ex", "run", "-ex",
			"generate-core-file "+file, filepath.Join(dir, "original", name)).CombinedOutput()
		if err != nil {
			t.Fatalf("gdb: %v\n%s", err, out)
		}
		r := newBench(t, "", published(t, name)...).must(t, symboltest.Read(t, file))
		if !hasPrefix(functions(r), "parse") || r.Modules[0].BuildID != debuginfo.BuildID(symboltest.BuildID(t, name)) {
			t.Errorf("%s: got %q and %+v", name, functions(r), r.Modules)
		}
	}
}

// A core without the first page of a file does not hold its build-id. The build of the installed package
// counts then.
func TestBuildOfPackage(t *testing.T) {
	t.Parallel()
	const header, size, address, bytesInFile = 64, 56, 16, 32 // of the program headers
	core := symboltest.Core(t, "tiny")
	for n := range int(binary.LittleEndian.Uint16(core[56:])) {
		segment := core[header+n*size:]
		if binary.LittleEndian.Uint64(segment[address:]) == 0x400000 {
			binary.LittleEndian.PutUint64(segment[bytesInFile:], 0)
		}
	}
	b := newBench(t, "", published(t, "tiny")...)
	if r := b.must(t, core); r.State != symbols.Partial || len(r.Modules) != 1 || r.Modules[0].BuildID != "" {
		t.Fatalf("without builds: got %s, %+v; want one module without a build-id", r.State, r.Modules)
	}
	b.Builds = knownBuilds{
		filepath.Join(symboltest.Programs(t), "original/tiny"): debuginfo.BuildID(symboltest.BuildID(t, "tiny"))}
	if r := b.must(t, core); r.State != symbols.Done || !hasPrefix(functions(r), "parse", "row", "load", "_start") {
		t.Errorf("got %s, %q", r.State, functions(r))
	}
}

// debuginfod serves a stripped program with scripts in it as its own debug information.
func TestStrippedProgramAsDebuginfo(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	stripped := symboltest.Debuginfod(t, []string{"scripted"}, "-F", filepath.Join(dir, "root"))
	r := newBench(t, stripped).must(t, symboltest.Core(t, "scripted"))
	m := r.Modules[0]
	if m.Debuginfo == nil || m.Debuginfo.Found || m.Debuginfo.Searched[2].Outcome != debuginfo.OutcomeUnusable {
		t.Fatalf("got %+v, want it unusable", m.Debuginfo)
	}
	good := symboltest.Debuginfod(t, []string{"scripted"}, "-F", filepath.Join(dir, "symbols"))
	r = newBench(t, stripped+" "+good).must(t, symboltest.Core(t, "scripted"))
	if got := functions(r); r.State != symbols.Done || !hasPrefix(got, "parse", "load") {
		t.Errorf("got %s, %q", r.State, got)
	}
	if got := r.Modules[0].Debuginfo.Origin; !strings.HasPrefix(got, good) {
		t.Errorf("got it from %s, want %s", got, good)
	}
	if _, err := os.Stat(filepath.Join(dir, "trace-of-script")); err == nil {
		t.Error("the script in the program has run")
	}
}

// Debug information that dwz has moved to a file of its own is fetched, too. Without it, gdb drops all
// of the module's.
func TestSharedDebugInformation(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	core := symboltest.Core(t, "flow")
	files := published(t, "flow")
	r := newBench(t, "", files...).must(t, core)
	m := r.Modules[0]
	if m.Shared == nil || m.Shared.Found || strings.Contains(r.Fields["Stacktrace"], "ebb.c:7") {
		t.Errorf("without the shared file: got %+v and\n%s", m.Shared, r.Fields["Stacktrace"])
	}
	r = newBench(t, "", append(files, filepath.Join(dir, "symbols/shared.debug"))...).must(t, core)
	if m := r.Modules[0]; m.Shared == nil || !m.Shared.Found || !strings.Contains(r.Fields["Stacktrace"], "ebb.c:7") {
		t.Errorf("with the shared file: got %+v and\n%s", m.Shared, r.Fields["Stacktrace"])
	}
}

// A deep recursion costs only its innermost frames, many threads only the first ones.
func TestDeepAndManyThreads(t *testing.T) {
	t.Parallel()
	r := newBench(t, "", published(t, "deep")...).must(t, symboltest.Core(t, "deep"))
	if got := functions(r); len(got) != 200 || got[199] != "down" || r.Usage.Memory > 300<<20 {
		t.Errorf("deep: got %d frames, %d MiB", len(got), r.Usage.Memory>>20)
	}
	r = newBench(t, "", published(t, "many")...).must(t, symboltest.Core(t, "many"))
	if got := grouping.Threads(r.Fields); r.Threads != 1001 || len(got) != 64 || functions(r)[0] != "main" {
		t.Errorf("many: got %d threads, %d of them shown", r.Threads, len(got))
	}
	t.Logf("1,001 threads: %.1f s, %d MiB", r.Seconds, r.Usage.Memory>>20)
}

// Truncated cores still give the frames whose stack they hold, or a reason.
func TestTruncatedCores(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", published(t, "tidewatch", "libtide.so.1")...)
	core := symboltest.Core(t, "tidewatch")
	points := checktest.Rounds(8, 20)
	named := 0
	for i := 1; i <= points; i++ {
		size := len(core) * i / (points + 1)
		if i%2 == 0 { // the library's first page is there, the link map in the last pages is not
			size = len(core) - 4096*i*2
		}
		r, err := b.run(t.Context(), t, core[:size])
		switch {
		case err != nil && crash.KindOf(err) == 0:
			t.Errorf("%d of %d bytes: %v, which is no reason for people", size, len(core), err)
		case err == nil && !r.Truncated:
			t.Errorf("%d of %d bytes: the core does not count as truncated", size, len(core))
		case err == nil && hasPrefix(functions(r), "cell", "pair", "tide_sum"):
			named++
		}
	}
	if named == 0 {
		t.Error("no truncated core had names")
	}
	t.Logf("%d of %d truncated cores had names", named, points)
}

// Damaged cores cause an error for people or frames, never a hang or a crash of the reader.
func TestDamagedCores(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", published(t, "tiny", "aborted")...)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range checktest.Rounds(10, 200) {
		core := symboltest.Core(t, []string{"tiny", "aborted"}[i%2])
		for range 1 + random.IntN(40) {
			at := random.IntN(len(core))
			if i%3 > 0 {
				at = random.IntN(8192) // headers and notes
			}
			core[at] = byte(random.Uint32())
		}
		if _, err := b.run(t.Context(), t, core); err != nil && crash.KindOf(err) == 0 {
			t.Errorf("core %d: %v, which is no reason for people", i, err)
		}
	}
}

// Damaged programs and debug files are refused or harmless.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	core := symboltest.Core(t, "tiny")
	for i := range checktest.Rounds(6, 60) {
		dir := t.TempDir()
		var files []string
		for _, from := range published(t, "tiny") {
			b := symboltest.Read(t, from)
			for range 1 + random.IntN(20) {
				b[64+random.IntN(len(b)-64)] = byte(random.Uint32())
			}
			to := filepath.Join(dir, filepath.Base(from))
			checktest.NoError(t, os.WriteFile(to, b, 0o600))
			files = append(files, to)
		}
		b := newBench(t, "")
		for _, f := range files {
			checktest.NoError(t, b.added.Add(t.Context(), f, func(debuginfo.Added) {}))
		}
		if _, err := b.run(t.Context(), t, core); err != nil && crash.KindOf(err) == 0 {
			t.Errorf("files %d: %v, which is no reason for people", i, err)
		}
	}
}

func TestRefusedCores(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	core := symboltest.Core(t, "tiny")
	patched := func(at int, value uint16) []byte {
		c := append([]byte(nil), core...)
		binary.LittleEndian.PutUint16(c[at:], value)
		return c
	}
	for name, c := range map[string]struct {
		core []byte
		code string
	}{
		"text":            {[]byte("no core"), "not_a_core"},
		"nothing":         {nil, "not_a_core"},
		"a program":       {patched(16, 2), "not_a_core"},
		"65,535 mapped":   {patched(56, 0xffff), "too_many_mappings"},
		"another CPU":     {patched(18, 0x9026), "unknown_architecture"},
		"only a header":   {core[:64], "damaged_core"},
		"without notes":   {core[:600], "damaged_core"},
		"foreign, no gdb": {patched(18, 243), ""}, // riscv64: reading works; there is no gdb or no stack
	} {
		_, err := b.run(t.Context(), t, c.core)
		known, ok := err.(*crash.Error) //nolint:errorlint // returned as it is
		if !ok || c.code != "" && known.Code != c.code {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
}

func TestCoreTooLarge(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.Core = 1000
	job, err := b.NewJob()
	checktest.NoError(t, err)
	defer job.Close() //nolint:errcheck // checked elsewhere
	if _, err := job.Core().Write(make([]byte, 12_000)); err != nil {
		t.Errorf("empty pages: got %v", err)
	}
	if _, err := job.Core().Write(make([]byte, 4001)); crash.KindOf(err) != crash.TooLarge {
		t.Errorf("too many empty pages: got %v, want it too large", err)
	}
	if _, err := job.Core().Write(bytes.Repeat([]byte{1}, 4000)); crash.KindOf(err) != crash.TooLarge {
		t.Errorf("got %v, want it too large", err)
	}
}

// What a process that was killed left behind is removed at the next start. Jobs of others are not.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	job, err := b.NewJob()
	checktest.NoError(t, err)
	left := filepath.Join(b.WorkDir, "mishap-job-1")
	checktest.NoError(t, os.Mkdir(left, 0o750))
	checktest.NoError(t, os.WriteFile(filepath.Join(left, "core"), []byte("password"), 0o600))
	dbtest.Must(symbols.New(b.Config))(t)
	folders, err := filepath.Glob(filepath.Join(b.WorkDir, "mishap-job-*"))
	if err != nil || len(folders) != 1 || folders[0] == left {
		t.Errorf("got %v, %v; want only the folder of the job", folders, err)
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// A program with many threads has a core that is much larger than its content.
func TestStacksOfThreads(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", published(t, "tiny")...)
	b.Core = 2 << 20
	r, err := b.run(t.Context(), t, append(symboltest.Core(t, "tiny"), make([]byte, 24<<20)...))
	if err != nil || !hasPrefix(functions(r), "parse", "row", "load") {
		t.Errorf("got %v, %v", functions(r), err)
	}
}

// gdb shows no stack of a program whose debug information is in files that nobody publishes. The
// names of its functions are in the table of symbols, too.
func TestSplitDebugInformation(t *testing.T) {
	t.Parallel()
	r := newBench(t, "", published(t, "split")...).must(t, symboltest.Core(t, "split"))
	if got := functions(r); r.State != symbols.Done || !hasPrefix(got, "parse", "load", "main") {
		t.Errorf("got %s, %q", r.State, got)
	}
	if !strings.Contains(r.Incomplete, "could not read the debug information") {
		t.Errorf("got %q, want what is missing", r.Incomplete)
	}
}

// The reason for an unreadable core names no folder of this machine.
func TestReasonWithoutFolder(t *testing.T) {
	t.Parallel()
	core := symboltest.Core(t, "tiny")
	at := bytes.Index(core, []byte("\x02\x02\x00\x00LINUX\x00")) // the vector registers, the last note
	if at < 4 {
		t.Skip("the processor has no vector registers")
	}
	binary.LittleEndian.PutUint32(core[at-4:], 1<<31-1) // its size
	b := newBench(t, "", published(t, "tiny")...)
	_, err := b.run(t.Context(), t, core)
	if err == nil || strings.Contains(err.Error(), "/") || !strings.Contains(err.Error(), "gdb could not read the core") {
		t.Errorf("got %v, want gdb's reason without a path", err)
	}
}

// Zeros cost no space.
func TestSparseCore(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", published(t, "tiny")...)
	core := append(symboltest.Core(t, "tiny"), make([]byte, 512<<20)...)
	r, err := b.run(t.Context(), t, core)
	if err != nil || !hasPrefix(functions(r), "parse", "row", "load") {
		t.Errorf("got %v, %v", functions(r), err)
	}
}

// gdb is killed when its time is over.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", published(t, "tidewatch", "libtide.so.1")...)
	b.Time = 1e6 // a millisecond
	_, err := b.run(t.Context(), t, symboltest.Core(t, "tidewatch"))
	if crash.KindOf(err) != crash.Unprocessable || !strings.Contains(err.Error(), "longer than 1ms") {
		t.Errorf("got %v, want the reason", err)
	}
}

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
// and of StacktraceTop, with a core and with addresses alone. Unless the run is thorough, it reads half of the cores.
func TestCauses(t *testing.T) {
	t.Parallel()
	for _, core := range checktest.EveryNth(slices.Sorted(maps.Keys(causes)), 2, 1) {
		want := causes[core]
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
// names by its core or by its addresses, get the same. Unless the run is thorough, it tries two of the calls.
func TestNullPointers(t *testing.T) {
	t.Parallel()
	for _, way := range checktest.EveryNth(slices.Sorted(maps.Keys(nullCalls)), 4, 0) {
		functions := nullCalls[way]
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
					checktest.NoError(t, err)
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
