package symbols

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		strings.Repeat("é", 1025): strings.Repeat("é", 1024) + "…", strings.Repeat("é", 1024): strings.Repeat("é", 1024),
	} {
		if got := cleanName(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestNoScripts checks gdb's settings without the sandbox, which would hide a script's effect. gdb
// runs a script in a program, one beside it and .gdbinit with apport's settings, and none with ours.
func TestNoScripts(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	program, err := FindDebugger("amd64")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "-nx", "-batch", "-ex", "python print(6*7)").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "42") {
		t.Fatalf("this gdb has no Python, so the test proves nothing; install gdb instead of gdb-minimal: %v\n%s", err, out)
	}
	work := t.TempDir()
	for from, to := range map[string]string{"original/scripted": "m0", "cores/scripted.core": "core"} {
		content := symboltest.Read(t, filepath.Join(dir, from))
		if err := os.WriteFile(filepath.Join(work, to), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	beside, start, inside := filepath.Join(work, "beside"), filepath.Join(work, "start"),
		filepath.Join(dir, "trace-of-script")
	for name, script := range map[string]string{
		"m0-gdb.py": "open('" + beside + "', 'w')\n", ".gdbinit": "shell touch " + start + "\n",
	} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
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
	if got := ran(gdbArguments(gdbRequest{Dir: work, Debug: "debug"})...); len(got) > 0 {
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
