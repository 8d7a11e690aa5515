package symbols_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/format/abrt"
	"mishap/crash/format/coredump"
	"mishap/crash/grouping"
	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/symboltest"
)

// sender is what systemd-coredump and ABRT know of a crash without debug files: builds and offsets.
type sender struct {
	program, signal string
	frames          []grouping.ModuleFrame
}

func senderOf(t testing.TB, name string) sender {
	t.Helper()
	data := symboltest.Core(t, name)
	core, err := symbols.ReadCore(bytes.NewReader(data), int64(len(data)))
	checktest.NoError(t, err)
	s := sender{signal: strconv.Itoa(core.Signal)}
	program, _, _ := strings.Cut(name, "-")
	s.program = filepath.Join(symboltest.Programs(t), "original", program)
	_, _, addresses := rawStack(t, name)
	for line := range strings.Lines(addresses) {
		address, err := strconv.ParseUint(strings.TrimSpace(line), 0, 64)
		checktest.NoError(t, err)
		f := grouping.ModuleFrame{Address: address}
		if m := core.ModuleAt(address); m != nil {
			f.Module, f.BuildID, f.Offset = m.Path, string(m.BuildID), address-m.Start
		}
		s.frames = append(s.frames, f)
	}
	return s
}

// uReport returns the crash as ABRT reports it.
func (s sender) uReport(t testing.TB) crash.Fields {
	t.Helper()
	var frames []map[string]any
	for _, f := range s.frames {
		frame := map[string]any{"address": f.Address}
		if f.Module != "" {
			frame["build_id"], frame["build_id_offset"], frame["file_name"] = f.BuildID, f.Offset, f.Module
		}
		frames = append(frames, frame)
	}
	signal, err := strconv.Atoi(s.signal)
	checktest.NoError(t, err)
	body, err := json.Marshal(map[string]any{
		"ureport_version": 2, "reason": "crashed", "os": map[string]any{"name": "fedora", "version": "43",
			"architecture": "x86_64"},
		"problem": map[string]any{"type": "core", "component": "tide", "executable": s.program, "signal": signal,
			"stacktrace": []any{map[string]any{"crash_thread": true, "frames": frames}}},
		"packages": []any{map[string]any{"name": "tide", "version": "1.0", "release": "1.fc43",
			"architecture": "x86_64", "package_role": "affected"}},
	})
	checktest.NoError(t, err)
	report, err := abrt.Parse(body)
	checktest.NoError(t, err)
	return report.Fields
}

// record returns the crash as systemd-coredump reports it.
func (s sender) record(t testing.TB) crash.Fields {
	t.Helper()
	var message strings.Builder
	message.WriteString("Process 1 (tide) of user 1000 dumped core.\n\n")
	for _, f := range s.frames {
		if f.BuildID != "" {
			_, _ = fmt.Fprintf(&message, "Module %s with build-id %s\n", filepath.Base(f.Module), f.BuildID)
		}
	}
	message.WriteString("Stack trace of thread 1:\n")
	for i, f := range s.frames {
		module := "n/a"
		if f.Module != "" {
			module = filepath.Base(f.Module)
		}
		_, _ = fmt.Fprintf(&message, "#%d  0x%016x n/a (%s + 0x%x)\n", i, f.Address, module, f.Offset)
	}
	line, err := json.Marshal(map[string]string{"MESSAGE": message.String(), "COREDUMP_EXE": s.program,
		"COREDUMP_SIGNAL": s.signal, "COREDUMP_PACKAGE_NAME": "tide", "COREDUMP_PACKAGE_VERSION": "1.0"})
	checktest.NoError(t, err)
	e, err := coredump.Parse(line)
	checktest.NoError(t, err)
	f, err := e.Fields(func(string) string { return "" })
	checktest.NoError(t, err)
	f["Architecture"] = "amd64"
	return f
}

// TestBuildsEqualCore checks that the reports of systemd-coredump and ABRT of one crash have one address signature,
// and get the functions, lines and signature of the core: of programs at fixed and at variable addresses, libraries,
// inlined functions and signal handlers.
func TestBuildsEqualCore(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	kinds := map[elf.Type]bool{}
	for _, name := range []string{"tidewatch", "tiny", "ebb", "alarm", "gale-row"} {
		program, _, _ := strings.Cut(name, "-")
		f, err := elf.Open(filepath.Join(dir, "original", program))
		checktest.NoError(t, err)
		kinds[f.Type] = true
		checktest.NoError(t, f.Close())
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := append(published(t, program), filepath.Join(dir, "symbols/shared.debug"))
			if program == "tidewatch" {
				files = append(files, published(t, "libtide.so.1")...)
			}
			b := newBench(t, "", files...)
			want := b.must(t, symboltest.Core(t, name))
			namer, sent := b.namer(t, nil), senderOf(t, name)
			journal, micro := sent.record(t), sent.uReport(t)
			if a, b := grouping.AddressSignature(journal), grouping.AddressSignature(micro); a != b || a == "" {
				t.Errorf("got the address signatures\n%s\n%s", a, b)
			}
			for sender, report := range map[string]crash.Fields{"journal": journal, "µReport": micro} {
				if g := grouping.SignatureOf(report); g.Rule != crash.RuleAddress || !g.Provisional {
					t.Errorf("%s: got rule %s before", sender, g.Rule)
				}
				got, err := namer.Name(t.Context(), report)
				checktest.NoError(t, err)
				wantFrames, gotFrames := places(grouping.Frames(want.Fields)), places(grouping.Frames(got.Fields))
				if diff := cmp.Diff(wantFrames, gotFrames, cmp.AllowUnexported(place{})); diff != "" {
					t.Errorf("%s (-core +builds):\n%s\n%s", sender, diff, got.Fields["Stacktrace"])
				}
				if got.State != symbols.Done || got.Grouping.Signature != want.Grouping.Signature || !got.ByBuildIDs {
					t.Errorf("%s: got %s, %q; want done, %q", sender, got.State, got.Grouping.Signature,
						want.Grouping.Signature)
				}
			}
		})
	}
	if !kinds[elf.ET_EXEC] || !kinds[elf.ET_DYN] {
		t.Errorf("got programs of the kinds %v, want fixed and variable addresses", kinds)
	}
}

// TestBuildsMissing checks that a stack of which files are missing stays at its addresses, and lists the files.
func TestBuildsMissing(t *testing.T) {
	t.Parallel()
	sent := senderOf(t, "tidewatch")
	sent.frames[1].Function = "sent_by_client"
	report := sent.uReport(t)
	b := newBench(t, "", published(t, "tidewatch")...)
	r, err := b.namer(t, nil).Name(t.Context(), report)
	checktest.NoError(t, err)
	if r.State != symbols.Partial || r.Grouping.Signature != report["StacktraceAddressSignature"] {
		t.Errorf("got %s, %+v and\n%s", r.State, r.Grouping, r.Fields["Stacktrace"])
	}
	for _, m := range r.Modules {
		if strings.HasSuffix(m.Path, "libtide.so.1") && (m.Executable == nil || m.Executable.Found ||
			string(m.BuildID) != symboltest.BuildID(t, "libtide.so.1")) {
			t.Errorf("got %+v, want the library missing", m)
		}
	}
}

// TestBuildsDebuginfod checks names by files of a real debuginfod, which serves builds only.
func TestBuildsDebuginfod(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	url := symboltest.Debuginfod(t, []string{"tidewatch", "libtide.so.1"}, "-F", filepath.Join(dir, "root"),
		filepath.Join(dir, "symbols"))
	b := newBench(t, url)
	r, err := b.namer(t, nil).Name(t.Context(), senderOf(t, "tidewatch").record(t))
	checktest.NoError(t, err)
	if r.State != symbols.Done || !strings.Contains(r.Fields["Stacktrace"], "cell () at libtide.c:2") {
		t.Errorf("got %s and\n%s", r.State, r.Fields["Stacktrace"])
	}
}

// storedNames is a store of names that counts the places that were asked and learned.
type storedNames struct {
	mu             sync.Mutex
	names          map[crash.BuildPlace][]byte
	asked, learned int
}

func (s *storedNames) KnownNames(_ context.Context, places []crash.BuildPlace) (map[crash.BuildPlace][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked += len(places)
	found := map[crash.BuildPlace][]byte{}
	for _, p := range places {
		if name, ok := s.names[p]; ok {
			found[p] = name
		}
	}
	return found, nil
}

func (s *storedNames) LearnNames(_ context.Context, names map[crash.BuildPlace][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learned += len(names)
	maps.Copy(s.names, names)
	return nil
}

// TestBuildsOnce checks that a place in a build is looked up once: the second report needs neither gdb nor files, and
// has the same result. A report that shares some places has only the others looked up.
func TestBuildsOnce(t *testing.T) {
	t.Parallel()
	sent := senderOf(t, "tidewatch")
	report := sent.record(t)
	b := newBench(t, "", append(published(t, "tidewatch"), published(t, "libtide.so.1")...)...)
	stored := &storedNames{names: map[crash.BuildPlace][]byte{}}
	first := b.namer(t, nil)
	first.Names = stored
	want, err := first.Name(t.Context(), report)
	checktest.NoError(t, err)
	if stored.learned == 0 {
		t.Fatal("got nothing learned")
	}
	learned := stored.learned
	none, err := symbols.New(symbols.Config{Finder: debuginfo.NewFinder(debuginfo.Config{Added: folder(t),
		Cache: folder(t)}), WorkDir: t.TempDir(), Names: stored}) // Memory and Time of 0: gdb could not run
	checktest.NoError(t, err)
	got, err := none.Name(t.Context(), report)
	checktest.NoError(t, err)
	if got.State != symbols.Done || got.Fields["Stacktrace"] != want.Fields["Stacktrace"] || got.Engine != "" ||
		got.Grouping != want.Grouping || stored.learned != learned {
		t.Errorf("got %s by %q and\n%s\nwant\n%s", got.State, got.Engine, got.Fields["Stacktrace"],
			want.Fields["Stacktrace"])
	}
	sent.frames = append(sent.frames[:1:1], sent.frames...) // the innermost place called itself
	more, err := first.Name(t.Context(), sent.record(t))
	checktest.NoError(t, err)
	if more.State != symbols.Done || stored.learned != learned+1 {
		t.Errorf("got %s, %d more places looked up; want 1", more.State, stored.learned-learned)
	}
}

// TestBuildsHostile checks that no text of a report can lead out of the folders of files, or break a stack.
func TestBuildsHostile(t *testing.T) {
	t.Parallel()
	n := newBench(t, "").namer(t, nil)
	base := crash.Fields{"ProblemType": "Crash", "Architecture": "amd64", "Signal": "11", "ExecutablePath": "/usr/bin/x",
		"Stacktrace": "#0  0x1 in ?? ()\n#1  0x2 in ?? ()"}
	for _, text := range []string{"#0 ../../../etc+0x1 x", "#0 aabb+0x1 x", "#0 +0x1 x", "#0 AABBCCDD+0x1 x",
		"#0 aabbccddee+0x1", "#0 aabbccddeef+0x1 x", "#9 aabbccddee+0x1 x", "#0 aabbccddee+0xffffffffffffffff x",
		"#0 " + strings.Repeat("ab", 80) + "+0x1 x", "#-1 aabbccddee+0x1 x", "#99999999999 aabbccddee+0x1 x", "\n\n"} {
		report := maps.Clone(base)
		report[grouping.BuildIDsField] = text
		if r, err := n.Name(t.Context(), report); !errors.Is(err, crash.Unprocessable) {
			t.Errorf("%q: got %v and %+v", text, err, r)
		}
	}
	report := maps.Clone(base)
	report[grouping.BuildIDsField] = "#0 aabbccddee+0x7fffffffffffffff ../../etc/passwd\n#1 aabbccddee+0x0 "
	r, err := n.Name(t.Context(), report)
	if err != nil || r.State != symbols.Partial || len(r.Modules) != 2 || r.Modules[0].Executable.Found {
		t.Errorf("got %v and %+v", err, r)
	}
}
