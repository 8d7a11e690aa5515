package symbols_test

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/grouping"
	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/symboltest"
)

// knownBuilds are the builds of files by path.
type knownBuilds map[string]debuginfo.BuildID

func (k knownBuilds) BuildsOf(_ context.Context, _ crash.Fields, paths []string) (map[string]debuginfo.BuildID, error) {
	found := map[string]debuginfo.BuildID{}
	for _, p := range paths {
		if id, ok := k[p]; ok {
			found[p] = id
		}
	}
	return found, nil
}

// buildsIn returns the builds that a core names.
func buildsIn(t testing.TB, core []byte) knownBuilds {
	t.Helper()
	c, err := symbols.ReadCore(bytes.NewReader(core), int64(len(core)))
	checktest.NoError(t, err)
	builds := knownBuilds{}
	for _, m := range c.Modules {
		builds[m.Path] = m.BuildID
	}
	return builds
}

// rawStack returns the stack of a core as a gdb without debug files shows it, the mappings, and the addresses of all
// frames. gdb reads the original program, because without symbols it cannot unwind a Go program.
func rawStack(t testing.TB, name string) (stack, mappings, addresses string) {
	t.Helper()
	dir := symboltest.Programs(t)
	core := filepath.Join(dir, "cores", name+".core")
	name, _, _ = strings.Cut(name, "-") // of the program
	args := []string{"-nx", "-batch", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off", "-iex",
		"set backtrace past-main on", "-iex", "set width 0"}
	out, err := exec.CommandContext(t.Context(), "gdb", append(args, "-x", "testdata/addresses.py",
		filepath.Join(dir, "original", name), core)...).Output()
	if err != nil {
		t.Fatalf("gdb: %v", err)
	}
	_, stack, _ = strings.Cut(string(out), "STACK\n")
	stack, mappings, _ = strings.Cut(stack, "MAPPINGS\n")
	mappings, addresses, found := strings.Cut(mappings, "ADDRESSES\n")
	if !found {
		t.Fatalf("gdb (with Python) printed\n%s", out)
	}
	return stack, mappings, addresses
}

// addressReport returns the report of a machine that has no debug files: by apport's rule, the
// addresses of the stack become an address signature.
func addressReport(t testing.TB, name string) crash.Fields {
	t.Helper()
	dir := symboltest.Programs(t)
	stack, mappings, _ := rawStack(t, name)
	name, _, _ = strings.Cut(name, "-")
	f := crash.Fields{"ProblemType": "Crash", "Architecture": "amd64", "Package": "tide 1.0", "Signal": "11",
		"ExecutablePath": filepath.Join(dir, "original", name), "Stacktrace": stack}
	if name == "isobar" || name == "keel" || name == "asserted" {
		f["Signal"] = "6"
	}
	for line := range strings.Lines(mappings) {
		if words := strings.Fields(line); len(words) == 5 && strings.HasPrefix(words[0], "0x") {
			f["ProcMaps"] += words[0][2:] + "-" + words[1][2:] + " r-xp 00000000 00:00 0     " + words[4] + "\n"
		}
	}
	f["StacktraceAddressSignature"] = grouping.AddressSignature(f)
	delete(f, "ProcMaps")
	delete(f, "Stacktrace")
	return f
}

// namer returns a Symboliser for addresses with the files and settings of a bench.
func (b bench) namer(t testing.TB, builds symbols.Builds) *symbols.Symboliser {
	t.Helper()
	config := b.Config
	config.Builds, config.WorkDir = builds, filepath.Join(b.dir, "names")
	s, err := symbols.New(config)
	checktest.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestAddressesEqualCore names the address signatures of reports. The functions, files, lines and the
// signature are those that gdb finds in the core. Unless the run is thorough, it takes three of the programs.
func TestAddressesEqualCore(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	for _, name := range checktest.EveryNth([]string{"tidewatch", "isobar", "keel", "tail", "ebb", "flow", "deep",
		"reef"}, 3, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(filepath.Join(dir, "original", name)); err != nil && name == "reef" {
				t.Skip("rustc is not installed")
			}
			files := append(published(t, name), filepath.Join(dir, "symbols/shared.debug"))
			if name == "tidewatch" {
				files = append(files, published(t, "libtide.so.1")...)
			}
			b, core := newBench(t, "", files...), symboltest.Core(t, name)
			report := addressReport(t, name)
			if report["StacktraceAddressSignature"] == "" {
				t.Fatal("the report has no address signature")
			}
			got, err := b.namer(t, buildsIn(t, core)).Name(t.Context(), report)
			checktest.NoError(t, err)
			want := b.must(t, core)
			wantFrames, gotFrames := places(grouping.Frames(want.Fields)), places(grouping.Frames(got.Fields))
			// An address signature has at most 15 places.
			if len(gotFrames) >= 15 {
				wantFrames = wantFrames[:min(len(gotFrames), len(wantFrames))]
			}
			if diff := cmp.Diff(wantFrames, gotFrames, cmp.AllowUnexported(place{})); diff != "" {
				t.Errorf("%s (-core +addresses):\n%s\n%s", report["StacktraceAddressSignature"], diff, got.Fields["Stacktrace"])
			}
			signature := want.Grouping.Signature
			if want.State == symbols.Partial {
				signature = report["StacktraceAddressSignature"]
			}
			if got.State != want.State || got.Grouping.Signature != signature {
				t.Errorf("got %s, %q; want %s, %q", got.State, got.Grouping.Signature, want.State, signature)
			}
			again, err := b.namer(t, buildsIn(t, core)).Name(t.Context(), report)
			if err != nil || again.Fields["Stacktrace"] != got.Fields["Stacktrace"] {
				t.Errorf("the second time: got %v and\n%s", err, again.Fields["Stacktrace"])
			}
		})
	}
}

// A failed assertion is grouped by its message, which only the core holds.
func TestAddressesOfAssertion(t *testing.T) {
	t.Parallel()
	b, core := newBench(t, "", published(t, "asserted")...), symboltest.Core(t, "asserted")
	report := addressReport(t, "asserted")
	if report["Signal"] != "6" {
		t.Fatalf("got signal %s", report["Signal"])
	}
	r, err := b.namer(t, buildsIn(t, core)).Name(t.Context(), report)
	if err != nil || r.State != symbols.Partial || r.Grouping.Signature != report["StacktraceAddressSignature"] ||
		!strings.Contains(r.Incomplete, "only a core dump holds the message") ||
		!strings.Contains(r.Fields["Stacktrace"], " load () at asserted.c:2") {
		t.Errorf("got %v, %s, %q, %+v and\n%s", err, r.State, r.Incomplete, r.Grouping, r.Fields["Stacktrace"])
	}
	if want := b.must(t, core); want.Grouping.Rule != crash.RuleAssertion {
		t.Errorf("got rule %s with the core, want %s", want.Grouping.Rule, crash.RuleAssertion)
	}
}

// A stack is named completely or not at all: the build of every file must be known.
func TestAddressesUnknownBuild(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	b, core := newBench(t, "", append(published(t, "tidewatch"), published(t, "libtide.so.1")...)...), symboltest.Core(t,
		"tidewatch")
	report, builds := addressReport(t, "tidewatch"), buildsIn(t, core)
	library := filepath.Join(dir, "original/libtide.so.1")
	delete(builds, library)
	r, err := b.namer(t, builds).Name(t.Context(), report)
	if !errors.Is(err, symbols.ErrUnknownBuilds) || r.Fields != nil || len(r.Modules) < 2 {
		t.Fatalf("got %v and %+v", err, r)
	}
	for _, m := range r.Modules {
		if (m.BuildID == "") != (m.Path == library) {
			t.Errorf("got %+v", m)
		}
	}

	// A known build without files names nothing of that file.
	builds[library] = "00112233445566778899aabbccddeeff00112233"
	r, err = b.namer(t, builds).Name(t.Context(), report)
	if err != nil || r.State != symbols.Partial || !r.Grouping.Provisional ||
		r.Grouping.Signature != report["StacktraceAddressSignature"] ||
		!strings.Contains(r.Fields["Stacktrace"], "?? () from "+library) {
		t.Errorf("got %v, %s, %+v and\n%s", err, r.State, r.Grouping, r.Fields["Stacktrace"])
	}
	for _, m := range r.Modules {
		if m.Path == library && (m.Executable == nil || m.Executable.Found || m.Debuginfo == nil) {
			t.Errorf("got %+v", m)
		}
	}

	// Files that arrive later are used.
	builds[library] = debuginfo.BuildID(symboltest.BuildID(t, "libtide.so.1"))
	n := b.namer(t, builds)
	if r, err = n.Name(t.Context(), report); err != nil || r.State != symbols.Done {
		t.Errorf("got %v, %s", err, r.State)
	}
}

// What a core says about builds includes the package that a server found a program in.
func TestLoaded(t *testing.T) {
	t.Parallel()
	core := symboltest.Core(t, "tail")
	r := newBench(t, "", published(t, "tail")...).must(t, core)
	known := buildsIn(t, core)
	loaded := r.Loaded()
	if len(loaded) != len(r.Modules) || len(loaded) == 0 {
		t.Fatalf("got %+v", loaded)
	}
	for i, l := range loaded {
		if l.Build != known[l.Path] || l.Deleted || l.Archive != "" {
			t.Errorf("got %+v", l)
		}
		r.Modules[i].Executable = &debuginfo.Result{SymbolSearch: crash.SymbolSearch{Found: true,
			Origin: "http://symbols.example.com (tail_1.0_amd64.deb)"}}
	}
	if got := r.Loaded()[0].Archive; got != "tail_1.0_amd64.deb" {
		t.Errorf("got archive %q", got)
	}
}

func TestAddressesRefused(t *testing.T) {
	t.Parallel()
	finder := debuginfo.NewFinder(debuginfo.Config{Added: folder(t), Cache: folder(t)})
	n, err := symbols.New(symbols.Config{Finder: finder, Builds: knownBuilds{}, WorkDir: t.TempDir()})
	checktest.NoError(t, err)
	for _, f := range []crash.Fields{
		{}, {"StacktraceAddressSignature": "no addresses"}, {"StacktraceAddressSignature": "/usr/bin/x+12"},
		{"StacktraceAddressSignature": "/usr/bin/x:eleven:/usr/bin/x+12", "Architecture": "amd64"},
		{"StacktraceAddressSignature": "/usr/bin/x:11:/usr/bin/x+12", "Architecture": "vax"},
		{"StacktraceAddressSignature": "/usr/bin/x:11:[heap]+12", "Architecture": "amd64"},
		{"StacktraceAddressSignature": "/usr/bin/x:11:/usr/bin/x+12", "Architecture": "amd64"},
	} {
		if r, err := n.Name(t.Context(), f); !errors.Is(err, crash.Unprocessable) {
			t.Errorf("%v: got %v and %+v", f, err, r)
		}
	}
}

func folder(t *testing.T) *debuginfo.Folder {
	t.Helper()
	f, err := debuginfo.OpenFolder(t.TempDir(), 0)
	checktest.NoError(t, err)
	return f
}

// namedStack names a report with these places of a program in /usr/bin. Only the given files are known.
func namedStack(t *testing.T, program, places string, files ...string) symbols.Result {
	t.Helper()
	path := "/usr/bin/" + program
	builds := knownBuilds{path: debuginfo.BuildID(symboltest.BuildID(t, program))}
	r, err := newBench(t, "", files...).namer(t, builds).Name(t.Context(),
		crash.Fields{"ProblemType": "Crash", "Architecture": "amd64", "ExecutablePath": path, "Signal": "11",
			"StacktraceAddressSignature": path + ":11" + strings.ReplaceAll(places, " ", ":"+path+"+")})
	checktest.NoError(t, err)
	return r
}

// offsetOf returns the offset of a function in the code of a program.
func offsetOf(t *testing.T, program, function string) string {
	t.Helper()
	f, err := elf.Open(filepath.Join(symboltest.Programs(t), "original", program))
	checktest.NoError(t, err)
	defer f.Close() //nolint:errcheck // only read
	list, err := f.Symbols()
	checktest.NoError(t, err)
	for _, s := range list {
		for _, p := range f.Progs {
			if s.Name == function && p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
				return fmt.Sprintf(" %x", s.Value-p.Vaddr&^4095)
			}
		}
	}
	t.Fatalf("%s has no function %s", program, function)
	return ""
}

// A part of the files names a part of what all of them name.
func TestAddressesFewFiles(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	for name, c := range map[string]struct{ program, function, file, want string }{
		"all files":           {"tiny", "parse", "original/tiny", "#0  parse () at tiny.c:1"},
		"only a debug file":   {"tiny", "parse", "symbols/tiny.debug", "#0  parse () at tiny.c:1"},
		"no debug file":       {"libtide.so.1", "tide_each", "root/usr/lib/libtide.so.1", "#0  tide_each ()"},
		"no exported symbol":  {"tiny", "parse", "root/usr/bin/tiny", "#0  ?? ()"},
		"no shared file":      {"flow", "parse", "symbols/flow.debug", "#0  parse ()"},
		"split in many files": {"split", "parse", "original/split", "#0  parse ()"},
	} {
		r := namedStack(t, c.program, offsetOf(t, c.program, c.function), filepath.Join(dir, c.file))
		if got := r.Fields["Stacktrace"]; got != c.want {
			t.Errorf("%s: got %q, want %q; %s", name, got, c.want, r.Incomplete)
		}
	}
}

// Offsets outside the code name nothing.
func TestAddressesOutside(t *testing.T) {
	t.Parallel()
	file := filepath.Join(symboltest.Programs(t), "original/tiny")
	r := namedStack(t, "tiny", offsetOf(t, "tiny", "parse")+" 10000000000 ffffffffffffffff", file)
	const want = "#0  parse () at tiny.c:1\n#1  ?? ()\n#2  ?? ()"
	if got := r.Fields["Stacktrace"]; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
