package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/sizetest"
	"mishap/crash/symbols/symboltest"
)

// newNamer returns a Namer and the folder of its files.
func newNamer(t *testing.T) (*gdbNamer, string) {
	t.Helper()
	symboltest.Programs(t) // needs gdb
	program, err := FindDebugger("amd64")
	if err != nil {
		t.Fatal(err)
	}
	dir := symboltest.TempDir(t)
	n, err := startNamer(t.Context(), gdbRequest{Program: program, Dir: dir, Debug: "debug", Memory: 4 << 30,
		Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n, dir
}

// give places a file in the folder of a Namer.
func give(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// randomPlaces returns random addresses of the code of a program.
func randomPlaces(t *testing.T, original, name string, n int) []gdbPlace {
	t.Helper()
	f, err := elf.Open(original)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	text, random := f.Section(".text"), rand.New(rand.NewPCG(1, uint64(n)))
	places := make([]gdbPlace, n)
	for i := range places {
		places[i] = gdbPlace{name, text.Addr + random.Uint64N(text.Size)}
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
		for range sizetest.Rounds(3, 50) {
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
		if got := withoutArguments(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
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
		if err != nil {
			t.Fatal(err)
		}
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
