package addr_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mishap/crash"
	"mishap/crash/symbols/addr"
	"mishap/crash/symbols/elffile"
	"mishap/crash/symbols/symboltest"
)

func TestMain(m *testing.M) { symboltest.Main(m) }

// build is one program or library of the tests.
type build struct {
	original           string // what gdb reads
	program, debug     []byte
	shared             []byte // nil: none
	textStart, textEnd uint64
}

func input(b []byte) *addr.Input {
	if b == nil {
		return nil
	}
	return &addr.Input{ReaderAt: bytes.NewReader(b), Size: int64(len(b))}
}

// published returns a program as it is published, with its debug information.
func published(t testing.TB, name string) build {
	t.Helper()
	dir := symboltest.Programs(t)
	folder := "root/usr/bin"
	if strings.Contains(name, ".so.") {
		folder = "root/usr/lib"
	}
	b := build{original: filepath.Join(dir, "original", name),
		program: symboltest.Read(t, filepath.Join(dir, folder, name)),
		debug:   symboltest.Read(t, filepath.Join(dir, "symbols", name+".debug"))}
	if name == "flow" {
		b.shared = symboltest.Read(t, filepath.Join(dir, "symbols/shared.debug"))
	}
	b.findText(t)
	return b
}

// findText finds the addresses of the code.
func (b *build) findText(t testing.TB) {
	t.Helper()
	f, err := elffile.Open(bytes.NewReader(b.program))
	if err != nil {
		t.Fatal(err)
	}
	sections, err := f.Sections(int64(len(b.program)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		for _, segment := range f.Segments {
			if s.Name == ".text" && s.Offset-segment.Offset < segment.FileSize && segment.Flags&1 != 0 {
				b.textStart = segment.Addr + s.Offset - segment.Offset
				b.textEnd = b.textStart + s.Size
			}
		}
	}
	if b.textStart == 0 {
		t.Fatalf("%s has no code", b.original)
	}
}

func (b build) id(t testing.TB) elffile.BuildID {
	t.Helper()
	f, err := elffile.Open(bytes.NewReader(b.program))
	if err != nil {
		t.Fatal(err)
	}
	sections, err := f.Sections(int64(len(b.program)))
	if err != nil {
		t.Fatal(err)
	}
	return f.BuildID(sections)
}

func (b build) open(t testing.TB) *addr.Module {
	t.Helper()
	m, err := addr.Open(addr.Files{ID: b.id(t), Executable: input(b.program), Debuginfo: input(b.debug),
		Shared: input(b.shared)}, addr.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// addresses returns random addresses of the code.
func (b build) addresses(n int) []uint64 {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	all := make([]uint64, n)
	for i := range all {
		all[i] = b.textStart + random.Uint64N(b.textEnd-b.textStart)
	}
	return all
}

// debuggerFrames returns what gdb knows about addresses.
func debuggerFrames(t *testing.T, original string, addresses []uint64) [][]addr.Frame {
	t.Helper()
	list := filepath.Join(t.TempDir(), "addresses")
	var b strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&b, "%x\n", a)
	}
	if err := os.WriteFile(list, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "gdb", "-nx", "-batch", "-iex", "set auto-load no", "-iex",
		"set debuginfod enabled off", "-x", "testdata/frames.py", original)
	cmd.Env = append(os.Environ(), "ADDRESSES="+list)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gdb: %v", err)
	}
	var all [][]addr.Frame
	for line := range strings.Lines(string(out)) {
		text, ok := strings.CutPrefix(line, "FRAMES ")
		if !ok {
			continue
		}
		var frames []addr.Frame
		if err := json.Unmarshal([]byte(text), &frames); err != nil {
			t.Fatal(err)
		}
		all = append(all, frames)
	}
	if len(all) != len(addresses) {
		t.Fatalf("gdb (with Python) named %d of %d addresses:\n%s", len(all), len(addresses), out)
	}
	return all
}

// verbose matches what gdb adds to Rust's symbols: hashes of crates, and types of constants.
var verbose = regexp.MustCompile(`\[[0-9a-f]{14,16}\]|: usize`)

// inStacks converts the name of a symbol to the one that gdb prints in stacks: for C++ without the
// arguments, if there is debug information.
func inStacks(f addr.Frame) addr.Frame {
	f.Function = verbose.ReplaceAllString(f.Function, "")
	if f.Line == 0 || strings.Contains(f.Function, "{lambda") {
		return f
	}
	s := strings.TrimSuffix(f.Function, " const")
	depth := 0
	for i := len(s) - 1; i >= 0 && strings.HasSuffix(s, ")"); i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth == 0 {
			s = s[:i]
			break
		}
	}
	if f.Function = s; len(s) > 1024 {
		f.Function = crash.Truncate(s, 1024) + "…"
	}
	return f
}

// TestEqualsDebugger names random addresses of stripped programs with debug files. Functions, inlined
// functions, files and lines are those that gdb finds with the original programs.
func TestEqualsDebugger(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	for _, name := range []string{"tiny", "tiny32", "tidewatch", "libtide.so.1", "isobar", "keel", "reef", "flow", "tail",
		"scripted", "libc.so.6"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b build
			if name == "libc.so.6" {
				b = systemLibrary(t)
			} else if _, err := os.Stat(filepath.Join(dir, "original", name)); err != nil && name == "reef" {
				t.Skip("rustc is not installed")
			} else {
				b = published(t, name)
			}
			addresses := b.addresses(1000)
			m := b.open(t)
			same := 0
			for i, want := range debuggerFrames(t, b.original, addresses) {
				for j := range want {
					want[j] = inStacks(want[j])
				}
				got := m.Frames(addresses[i])
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(addr.Frame{}, "Inlined", "Main")); diff != "" {
					t.Errorf("%#x (-gdb +got):\n%s", addresses[i], diff)
					continue
				}
				for j, f := range got {
					if f.Inlined != (j < len(got)-1) {
						t.Errorf("%#x: frame %d: got inlined %t", addresses[i], j, f.Inlined)
					}
				}
				same++
			}
			t.Logf("%d of %d addresses as in gdb; %d kB; %q", same, len(addresses), m.Bytes()>>10, m.Problems())
		})
	}
}

// systemLibrary returns the C library of this machine, with its debug information if that is
// installed. Without it, names come from the symbols.
func systemLibrary(t *testing.T) build {
	t.Helper()
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6", "/usr/lib/libc.so.6"} {
		content, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		b := build{original: path, program: content}
		id := string(b.id(t))
		b.debug, _ = os.ReadFile("/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug")
		b.findText(t)
		return b
	}
	t.Skip("the C library is at no known place")
	return build{}
}
