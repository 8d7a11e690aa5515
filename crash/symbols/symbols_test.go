package symbols_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/grouping"
	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
)

func TestMain(m *testing.M) { symboltest.Main(m) }

// bench is a Symboliser with folders of its own.
type bench struct {
	*symbols.Symboliser
	added *debuginfo.Folder
	dir   string
}

// newBench returns a Symboliser that knows the given files, the servers, and the C libraries of
// this machine with their debug files, if these are installed.
func newBench(t testing.TB, servers string, files ...string) bench {
	t.Helper()
	dir := symboltest.TempDir(t)
	added, err := debuginfo.OpenFolder(filepath.Join(dir, "added"), 0)
	checktest.NoError(t, err)
	for _, f := range files {
		err := added.Add(t.Context(), f, func(a debuginfo.Added) {
			if a.Refused != nil {
				t.Errorf("add %s: %v", a.Name, a.Refused)
			}
		})
		checktest.NoError(t, err)
	}
	cache, err := debuginfo.OpenFolder(filepath.Join(dir, "cache"), 1<<30)
	checktest.NoError(t, err)
	list, err := debuginfo.ParseServers(servers)
	checktest.NoError(t, err)
	// The tests' programs are at the paths in their cores, but must come from elsewhere.
	finder := debuginfo.NewFinder(debuginfo.Config{Added: added, Cache: cache, Servers: list, UserAgent: "test"})
	for _, library := range systemLibraries(t) {
		var debug []string
		err := added.Add(t.Context(), library, func(a debuginfo.Added) {
			if id := string(a.ID); len(id) > 2 {
				debug = append(debug, "/usr/lib/debug/.build-id/"+id[:2]+"/"+id[2:]+".debug")
			}
		})
		checktest.NoError(t, err)
		for _, file := range debug { // only these, because the distribution has hundreds
			if err := added.Add(t.Context(), file, func(debuginfo.Added) {}); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	s, err := symbols.New(symbols.Config{Finder: finder, WorkDir: filepath.Join(dir, "jobs"), Core: 1 << 30,
		Memory: 4 << 30, Time: 5 * time.Minute})
	checktest.NoError(t, err)
	return bench{s, added, dir}
}

// systemLibraries returns the C libraries of this machine.
func systemLibraries(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, name := range []string{"libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"} {
		for _, dir := range []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"} {
			file, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			files = append(files, file)
			break
		}
	}
	return files
}

func (b bench) run(ctx context.Context, t testing.TB, core []byte) (symbols.Result, error) {
	t.Helper()
	return b.runFor(ctx, t, crash.Fields{"Package": "tide 1.0"}, core)
}

// runFor symbolises the core of a report.
func (b bench) runFor(ctx context.Context, t testing.TB, report crash.Fields, core []byte) (symbols.Result, error) {
	t.Helper()
	job, err := b.NewJob()
	checktest.NoError(t, err)
	defer func() {
		if err := job.Close(); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(b.WorkDir, "mishap-job-*")); err != nil || len(left) > 0 {
			t.Errorf("got %v, %v; want no folder left", left, err)
		}
	}()
	dbtest.Must(job.Core().Write(core))(t)
	return job.Run(ctx, report)
}

// must symbolises a core without an error.
func (b bench) must(t testing.TB, core []byte) symbols.Result {
	t.Helper()
	r, err := b.run(t.Context(), t, core)
	checktest.NoError(t, err)
	return r
}

func published(t testing.TB, names ...string) []string {
	t.Helper()
	dir := symboltest.Programs(t)
	var files []string
	for _, name := range names {
		where := "root/usr/bin"
		if strings.Contains(name, ".so.") {
			where = "root/usr/lib"
		}
		files = append(files, filepath.Join(dir, where, name), filepath.Join(dir, "symbols", name+".debug"))
	}
	return files
}

// place is what must be the same in two stacks.
type place struct {
	function, file string
	line           int
}

func places(frames []grouping.Frame) []place {
	var all []place
	for _, f := range frames {
		all = append(all, place{f.Function, f.File, f.Line})
	}
	return all
}

// withoutGuesses removes the unnamed frames outside all files at the end of a stack. There, unwinding
// went wrong, as at the end of Go's threads.
func withoutGuesses(frames []grouping.Frame) []grouping.Frame {
	for len(frames) > 1 && !frames[len(frames)-1].Named() && frames[len(frames)-1].Module == "" {
		frames = frames[:len(frames)-1]
	}
	return frames
}

// debuggerThreads returns the stacks that gdb prints for the original program on this machine.
func debuggerThreads(t testing.TB, name string) []grouping.Thread {
	t.Helper()
	dir := symboltest.Programs(t)
	// Go's and Rust's pretty-printers play no part; frames without arguments are easier to read.
	out, err := exec.CommandContext(t.Context(), "gdb", "-nx", "-batch", "-iex", "set auto-load no", "-iex",
		"set debuginfod enabled off", "-ex", "set width 0", "-ex", "set print frame-arguments none", "-ex",
		"thread apply all -q bt 64", filepath.Join(dir, "original", name), filepath.Join(dir, "cores", name+".core")).Output()
	if err != nil {
		t.Fatalf("gdb: %v", err)
	}
	// The parser knows apport's form, with the thread's own name.
	threads := grouping.Threads(crash.Fields{"ThreadStacktrace": numbered(string(out))})
	if len(threads) > 0 {
		return threads
	}
	return []grouping.Thread{{Number: 1, Frames: grouping.Frames(crash.Fields{"Stacktrace": string(out)})}}
}

// numbered gives each thread of "thread apply -q" a head, which that leaves out. gdb prints the thread
// with the highest number first.
func numbered(out string) string {
	stacks := strings.Split("\n"+out[max(strings.Index(out, "\n#0 "), 0):], "\n#0 ")[1:]
	var b strings.Builder
	// gdb prints frame 0 of the current thread once more when it loads the core.
	if len(stacks) > 1 && strings.Count(stacks[0], "\n#") == 0 {
		stacks = stacks[1:]
	}
	for i, s := range stacks {
		b.WriteString("Thread " + strconv.Itoa(len(stacks)-i) + " (LWP 1):\n#0 " + strings.TrimRight(s, "\n") + "\n")
	}
	return b.String()
}

// TestFramesEqualDebugger symbolises stripped programs with files from a real debuginfod. All threads
// must have the frames that gdb shows with the original programs. Unless the run is thorough, it takes half of the
// programs.
func TestFramesEqualDebugger(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	names := []string{"tiny", "tiny32", "tidewatch", "isobar", "keel", "tail", "aborted", "ebb", "flow", "lost", "reef"}
	server := symboltest.Debuginfod(t, append(names, "libtide.so.1"), "-F", filepath.Join(dir, "root"),
		filepath.Join(dir, "symbols"))
	signatures := map[string]string{
		"tiny":      "/tiny:11:parse:row:load:_start",
		"tidewatch": "/tidewatch:11:cell:pair:tide_sum:tide_each:parse",
		"aborted":   `/aborted:ERROR:aborted.c:load: assertion failed: (row != \"north\")`,
		"tail":      "/tail:11:parse:hand_over:load:",
		"reef":      "/reef:11:main::parse:main::load:main::main",
	}
	for _, name := range checktest.EveryNth(names, 2, 0) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(filepath.Join(dir, "original", name)); err != nil && name == "reef" {
				t.Skip("rustc is not installed")
			}
			if name == "tiny32" {
				run := exec.CommandContext(t.Context(), filepath.Join(dir, "original", name))
				if errors.Is(run.Run(), syscall.ENOEXEC) {
					t.Skip("this kernel runs no 32-bit programs, so there is no core of one")
				}
			}
			r := newBench(t, server).must(t, symboltest.Core(t, name))
			got := grouping.Threads(r.Fields)
			if len(got) == 0 {
				got = []grouping.Thread{{Number: 1, Frames: grouping.Frames(r.Fields)}}
			}
			want := debuggerThreads(t, name)
			if len(got) != len(want) || len(got) == 0 {
				t.Fatalf("got %d threads, want %d\n%s", len(got), len(want), r.Fields["ThreadStacktrace"])
			}
			for i := range got {
				gdb, ours := places(withoutGuesses(want[i].Frames)), places(got[i].Frames)
				if diff := cmp.Diff(gdb, ours, cmp.AllowUnexported(place{})); diff != "" {
					t.Errorf("thread %d (-gdb +got):\n%s\n%s", want[i].Number, diff, r.Fields["ThreadStacktrace"])
				}
			}
			if want := signatures[name]; !strings.Contains(r.Grouping.Signature, want) {
				t.Errorf("got signature %q, want %q", r.Grouping.Signature, want)
			}
			for _, m := range r.Modules {
				if strings.HasPrefix(m.Path, dir) && (m.Executable == nil || !strings.HasPrefix(m.Executable.Origin, server)) {
					t.Errorf("%s: got %+v, want it from the server", m.Path, m.Executable)
				}
			}
			// The core does not hold the code. Without the files, gdb disassembles zeros.
			if got, _, _ := strings.Cut(r.Fields["Disassembly"], "\n"); name != "lost" && !strings.HasPrefix(got, "=> 0x") ||
				strings.Contains(got, "add    %al,(%rax)") {
				t.Errorf("got disassembly %s", got)
			}
			if got := r.Fields["Registers"]; !strings.Contains(got, "rip  ") && !strings.Contains(got, "eip  ") ||
				strings.Contains(got, "xmm") {
				t.Errorf("got registers\n%s", got)
			}
			t.Logf("gdb took %.1f s, %s of CPU, %d MiB", r.Seconds, r.Usage.CPU, r.Usage.Memory>>20)
		})
	}
}

// tiny returns a small core that Linux has written, of a program without a C library.
func tiny(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".core.gz")
	checktest.NoError(t, err)
	defer file.Close() //nolint:errcheck // only read
	unpacked, err := gzip.NewReader(file)
	checktest.NoError(t, err)
	b, err := io.ReadAll(unpacked)
	checktest.NoError(t, err)
	return b
}

func read(b []byte) (*symbols.Core, error) {
	return symbols.ReadCore(bytes.NewReader(b), int64(len(b)))
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		architecture string
		start        uint64
		id           debuginfo.BuildID
	}{
		"tiny":   {"amd64", 0x400000, "0ab3b21ee82d68f317ca77c59b83a41737b993de"},
		"tiny32": {"i386", 0x8048000, "b4117a015ce20e18a48293602fe44b7de45333dd"},
	} {
		c, err := read(tiny(t, name))
		checktest.NoError(t, err)
		if c.Architecture != want.architecture || c.Signal != 11 || len(c.Threads) != 1 ||
			c.Threads[0] == 0 || c.Truncated || c.Executable != "/usr/bin/"+name {
			t.Errorf("%s: got %+v", name, c)
		}
		if len(c.Modules) != 1 {
			t.Fatalf("%s: got %d modules", name, len(c.Modules))
		}
		m := c.Modules[0]
		if m.Path != "/usr/bin/"+name || m.Start != want.start || m.Offset != 0 || m.BuildID != want.id || !m.Program {
			t.Errorf("%s: got %+v, want %+v", name, m, want)
		}
		code := want.start + 0x1000
		if c.ModuleAt(code) != &c.Modules[0] || c.ModuleAt(1) != nil || c.ModuleAt(want.start-1) != nil {
			t.Errorf("%s: the code at %#x is in %+v", name, code, c.ModuleAt(code))
		}
	}
}

// A file that was replaced while the process ran is marked, because its package says nothing about it.
func TestDeleted(t *testing.T) {
	t.Parallel()
	whole := tiny(t, "tiny")
	c, err := read(whole)
	if err != nil || c.Modules[0].Deleted {
		t.Fatalf("got %v, %+v", err, c.Modules)
	}
	path := c.Modules[0].Path
	kept := path[:len(path)-len(" (deleted)")]
	c, err = read(bytes.ReplaceAll(whole, []byte(path), []byte(kept+" (deleted)")))
	if err != nil || len(c.Modules) == 0 || !c.Modules[0].Deleted || c.Modules[0].Path != kept {
		t.Errorf("got %v, %+v; want %s deleted", err, c.Modules, kept)
	}
}

// TestTruncated cuts the core at each byte of its headers and notes, and at some later ones.
func TestTruncated(t *testing.T) {
	t.Parallel()
	whole := tiny(t, "tiny")
	for size := 0; size < len(whole); size++ {
		if size > 4096 && size%4096 != 0 {
			continue
		}
		c, err := read(whole[:size])
		switch {
		case err != nil && crash.KindOf(err) != crash.Invalid:
			t.Fatalf("%d bytes: %v, which is not Invalid", size, err)
		case err == nil && !c.Truncated:
			t.Fatalf("%d bytes of %d do not count as truncated", size, len(whole))
		}
	}
}

// TestHugeNumbers patches every word of the headers and notes to large values: the cost must not
// depend on them.
func TestHugeNumbers(t *testing.T) {
	t.Parallel()
	whole := tiny(t, "tiny")
	for at := 16; at < 4096; at += 4 {
		for _, value := range []uint32{0xffffffff, 0x7fffffff, 0x10000000, 0} {
			b := bytes.Clone(whole)
			binary.LittleEndian.PutUint32(b[at:], value)
			if _, err := read(b); err != nil && crash.KindOf(err) != crash.Invalid {
				t.Fatalf("%#x at %d: %v, which is not Invalid", value, at, err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"tiny", "tiny32"} {
		whole := tiny(f, name)
		f.Add(whole[:16384])
		f.Add(whole[:6000])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := read(b)
		if err != nil {
			if crash.KindOf(err) != crash.Invalid {
				t.Errorf("got %v, which is not Invalid", err)
			}
			return
		}
		c.InKernelCode(0x400000)
		for _, m := range c.Modules {
			c.ModuleAt(m.Start)
			if _, err := debuginfo.ParseBuildID(string(m.BuildID)); m.BuildID != "" && err != nil {
				t.Error(err)
			}
		}
	})
}
