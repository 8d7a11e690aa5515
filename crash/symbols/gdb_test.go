package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/symbols/symboltest"
)

func TestParseRecord(t *testing.T) {
	t.Parallel()
	text := func(s string) value { return value{text: s} }
	for line, want := range map[string]record{
		"(gdb) \n":                {},
		`^done`:                   {kind: '^', class: "done"},
		`12^error,msg="No \"x\""`: {12, '^', "error", value{items: []item{{"msg", text(`No "x"`)}}}},
		`~"a\tb\n\033[2J\e\\"`:    {kind: '~', value: text("a\tb\n\x1b[2J\x1b\\")},
		`7^done,stack=[frame={level="0",args=[]},frame={level="1"}],x=["a","b"],n={}`: {7, '^', "done", value{items: []item{
			{"stack", value{items: []item{
				{"frame", value{items: []item{{"level", text("0")}, {"args", value{}}}}},
				{"frame", value{items: []item{{"level", text("1")}}}}}}},
			{"x", value{items: []item{{"", text("a")}, {"", text("b")}}}}, {"n", value{}}}}},
		`^done,f="\303\251\377"`: {kind: '^', class: "done", value: value{items: []item{{"f", text("é\uFFFD")}}}},
	} {
		got, err := parseRecord(line)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{}, value{}, item{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, diff)
		}
	}
	for _, line := range []string{"", "text", `^done,`, `^done,x`, `^done,x="`, `^done,x="\`, `^done,x={`, `^done,x=["a"`,
		`^done,x=["a""b"]`, `^done,x="\777"`, `99999999999999999999^done`, `~text`, `^done,x=[` + strings.Repeat("[", 99)} {
		if got, err := parseRecord(line); err == nil {
			t.Errorf("%.40s: got %+v, want an error", line, got)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(`7^done,stack=[frame={level="0",addr="0x1",args=["a",{name="b"}]}]`)
	f.Add(`~"a\n\033\"\\"`)
	f.Fuzz(func(_ *testing.T, line string) {
		r, err := parseRecord(line)
		if err == nil {
			r.value.get("stack")
		}
	})
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"std::map<int, char>": "std::map<int, char>", "a\nb\x1b[2J\u0085\u2028é": "a\uFFFDb\uFFFD[2J\uFFFD\uFFFDé",
		strings.Repeat("é", 1025): strings.Repeat("é", 1024) + "…",
		strings.Repeat("é", 1024): strings.Repeat("é", 1024),
	} {
		checktest.Equal(t, in, cleanName(in), want)
	}
}

// TestNoScripts checks gdb's settings without the sandbox, which would hide a script's effect. gdb
// runs a script in a program, one beside it and .gdbinit with apport's settings, and none with ours.
func TestNoScripts(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	program, err := FindDebugger("amd64")
	checktest.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), program, "-nx", "-batch", "-ex", "python print(6*7)").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "42") {
		t.Fatalf("this gdb has no Python, so the test proves nothing; install gdb instead of gdb-minimal: %v\n%s", err, out)
	}
	work := t.TempDir()
	for from, to := range map[string]string{"original/scripted": "m0", "cores/scripted.core": "core"} {
		content := symboltest.Read(t, filepath.Join(dir, from))
		checktest.NoError(t, os.WriteFile(filepath.Join(work, to), content, 0o600))
	}
	beside, start, inside := filepath.Join(work, "beside"), filepath.Join(work, "start"),
		filepath.Join(dir, "trace-of-script")
	for name, script := range map[string]string{
		"m0-gdb.py": "open('" + beside + "', 'w')\n", ".gdbinit": "shell touch " + start + "\n",
	} {
		checktest.NoError(t, os.WriteFile(filepath.Join(work, name), []byte(script), 0o600))
	}
	ran := func(args ...string) (names []string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = work
		cmd.Stdin = strings.NewReader("-target-select core core\n-interpreter-exec console \"add-symbol-file m0 -o 0\"\n" +
			"-interpreter-exec console \"symbol-file m0\"\n-stack-list-frames 0 9\n-gdb-exit\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gdb: %v\n%s", err, out)
		}
		for _, trace := range []string{beside, start, inside} {
			if os.Remove(trace) == nil {
				names = append(names, filepath.Base(trace))
			}
		}
		return names
	}
	if got := ran(gdbArguments(gdbRequest{Dir: work})...); len(got) > 0 {
		t.Errorf("with our settings, these scripts ran: %v", got)
	}
	unsafe := ran("-q", "-i=mi3", "-iex", "add-auto-load-safe-path /", "-iex", "set auto-load local-gdbinit on", "-iex",
		"set debuginfod enabled off")
	if len(unsafe) < 2 {
		t.Errorf("with apport's settings, only these scripts ran: %v; the test proves little", unsafe)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	symboltest.Programs(t) // needs gdb
	if got, err := FindDebugger("amd64"); err != nil || !filepath.IsAbs(got) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := FindDebugger("s390x"); err != nil && !strings.Contains(err.Error(), "gdb-multiarch is not installed") {
		t.Errorf("got %v", err)
	}
}

// newNamer returns a Namer and the folder of its files.
func newNamer(t *testing.T) (*gdbNamer, string) {
	t.Helper()
	symboltest.Programs(t) // needs gdb
	program, err := FindDebugger("amd64")
	checktest.NoError(t, err)
	dir := symboltest.TempDir(t)
	n, err := startNamer(t.Context(), gdbRequest{Program: program, Dir: dir, Memory: 4 << 30,
		Time: time.Minute})
	checktest.NoError(t, err)
	t.Cleanup(n.Close)
	return n, dir
}

// give places a file in the folder of a Namer.
func give(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	checktest.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
}

// randomPlaces returns random addresses of the code of a program.
func randomPlaces(t *testing.T, original, name string, n int) []gdbPlace {
	t.Helper()
	f, err := elf.Open(original)
	checktest.NoError(t, err)
	defer f.Close() //nolint:errcheck // only read
	text, random := f.Section(".text"), rand.New(rand.NewPCG(1, uint64(n)))
	places := make([]gdbPlace, n)
	for i := range places {
		places[i] = gdbPlace{File: name, Address: text.Addr + random.Uint64N(text.Size)}
	}
	return places
}

// TestDamagedPrograms checks that damaged files name fewer addresses or none, and stop nothing.
func TestDamagedPrograms(t *testing.T) {
	t.Parallel()
	n, dir := newNamer(t)
	random := rand.New(rand.NewPCG(3, 4))
	named, refused := 0, 0
	for _, name := range []string{"tiny", "tidewatch", "isobar", "keel", "flow"} {
		original := filepath.Join(symboltest.Programs(t), "original", name)
		content, places := symboltest.Read(t, original), randomPlaces(t, original, name, 100)
		for range checktest.Rounds(3, 50) {
			give(t, dir, name, damage(random, content))
			found, err := n.Name(t.Context(), places)
			if crash.KindOf(err) == crash.Unprocessable { // gdb itself has crashed
				refused++
				n, dir = newNamer(t)
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v, which is no reason for people", name, err)
			}
			for _, one := range found {
				if one.At[0].Function != "" {
					named++
				}
			}
			for i := range places {
				places[i].File = name + "x"
			}
			name += "x" // gdb reads each file once
		}
	}
	if named == 0 {
		t.Error("got no address named, want some")
	}
	t.Logf("%d addresses named, gdb ended %d times", named, refused)
}

// damage overwrites a few places of a file, more likely at its start, or cuts it.
func damage(random *rand.Rand, b []byte) []byte {
	if random.IntN(8) == 0 {
		return b[:random.IntN(len(b))]
	}
	b = bytes.Clone(b)
	for range 1 + random.IntN(20) {
		at := random.IntN(len(b))
		if random.IntN(2) == 0 {
			at = random.IntN(min(len(b), 4096))
		}
		b[at] = byte(random.Uint32())
	}
	return b
}

// TestNamerTimeLimit checks that gdb is killed when it takes too long for a stack.
func TestNamerTimeLimit(t *testing.T) {
	t.Parallel()
	n, dir := newNamer(t)
	n.time = time.Millisecond
	original := filepath.Join(symboltest.Programs(t), "original/keel")
	give(t, dir, "keel", symboltest.Read(t, original))
	_, err := n.Name(t.Context(), randomPlaces(t, original, "keel", 1))
	if crash.KindOf(err) != crash.Unprocessable || !strings.Contains(err.Error(), "longer than 1ms") {
		t.Errorf("got %v, want the reason", err)
	}
}

func TestWithoutArguments(t *testing.T) {
	t.Parallel()
	const at = "isobar::(anonymous namespace)::Grid<double>::at"
	const lambda = "work::{lambda(int)#1}::operator()(int) const"
	for name, want := range map[string]string{
		"main": "main", "main()": "main", "row(std::vector<int> const&)": "row", at + "(std::string const&, int) const": at,
		"(anonymous namespace)::draw": "(anonymous namespace)::draw", lambda: lambda,
		"less::operator()(int (*)(int)) const": "less::operator()", "main.(*row).index": "main.(*row).index",
		"call_once<fn(), ()>": "call_once<fn(), ()>", "(int)": "(int)", ")": ")",
	} {
		checktest.Equal(t, name, withoutArguments(name), want)
	}
}

func TestAfterCall(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]map[elf.Machine]bool{
		"9090e801020304": {elf.EM_X86_64: true, elf.EM_386: true},   // call 0x…
		"9090909090ffd0": {elf.EM_X86_64: true},                     // call *%rax
		"90909090ff5008": {elf.EM_X86_64: true},                     // call *8(%rax)
		"ff142500000000": {elf.EM_X86_64: true},                     // call *0
		"9090909090ffe0": {elf.EM_X86_64: false, elf.EM_386: false}, // jmp *%rax
		"90909090908b00": {elf.EM_X86_64: false},                    // mov (%rax),%eax
		"90909001000094": {elf.EM_AARCH64: true},                    // bl
		"90909000003fd6": {elf.EM_AARCH64: true},                    // blr x0
		"90909000001fd6": {elf.EM_AARCH64: false},                   // br x0
	} {
		b, err := hex.DecodeString(code)
		checktest.NoError(t, err)
		for machine, want := range want {
			if got, known := (gdbNamed{Code: b}).AfterCall(machine); got != want || !known {
				t.Errorf("%s on %s: got %t, %t; want %t", code, machine, got, known, want)
			}
		}
		if _, known := (gdbNamed{Code: b}).AfterCall(elf.EM_S390); known {
			t.Error("got an answer for s390x")
		}
	}
	if _, known := (gdbNamed{}).AfterCall(elf.EM_X86_64); known {
		t.Error("got an answer without code")
	}
}
