package addr_test

import (
	"bytes"
	"debug/elf"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"mishap/crash/sizetest"
	"mishap/crash/symbols/addr"
	"mishap/crash/symbols/elffile"
)

// symbolAddress returns the address of a function of a program.
func symbolAddress(t *testing.T, file, name string) (start, end uint64) {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value, s.Value + s.Size
		}
	}
	t.Fatalf("%s has no function %s", file, name)
	return 0, 0
}

// A function that was left by a jump is found between its caller and the function it jumped to.
func TestTailCalls(t *testing.T) {
	t.Parallel()
	b := published(t, "tail")
	m := b.open(t)
	start, end := symbolAddress(t, b.original, "load")
	callee, _ := symbolAddress(t, b.original, "parse")
	found := 0
	for after := start; after <= end; after++ {
		chain := m.TailCalls(after, callee)
		if len(chain) == 0 {
			continue
		}
		found++
		frames := m.Frames(chain[0] - 1)
		if isCall, known := m.AfterCall(after); len(chain) != 1 || frames[0].Function != "hand_over" || !isCall || !known {
			t.Errorf("%#x: got %x in %+v; behind a call: %t, %t", after, chain, frames, isCall, known)
		}
		if direct := m.TailCalls(after, chain[0]-1); len(direct) > 0 {
			t.Errorf("got %x between a function and the one that it calls", direct)
		}
	}
	if found != 1 {
		t.Errorf("got %d calls with a jump behind them, want 1", found)
	}
}

// Without debug information, exported symbols remain, and a Go program names itself.
func TestNoDebugInformation(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"libtide.so.1", "keel"} {
		b := published(t, name)
		full := b.open(t)
		b.debug = nil
		m := b.open(t)
		if len(m.Problems()) == 0 || m.Problems()[0] != "no debug information" {
			t.Errorf("%s: got problems %q", name, m.Problems())
		}
		named := 0
		for _, a := range b.addresses(500) {
			got, want := m.Frames(a), full.Frames(a)
			if got[0].Function == "" {
				continue
			}
			named++
			if len(got) != 1 || got[0].Function != want[len(want)-1].Function {
				t.Errorf("%s: %#x: got %+v, want the last of %+v", name, a, got, want)
			}
		}
		if named < 100 {
			t.Errorf("%s: got %d of 500 addresses named", name, named)
		}
	}
}

// Debug information that is shared with other files is needed for any of a file's. Symbols remain.
func TestSharedMissing(t *testing.T) {
	t.Parallel()
	b := published(t, "flow")
	b.shared = nil
	m := b.open(t)
	a, _ := symbolAddress(t, b.original, "parse")
	got := m.Frames(a)
	if p := strings.Join(m.Problems(), "\n"); !strings.Contains(p, "what several builds share is missing") ||
		len(got) != 1 || got[0] != (addr.Frame{Function: "parse"}) {
		t.Errorf("got %+v and problems %q", got, p)
	}
}

func TestOtherBuild(t *testing.T) {
	t.Parallel()
	b, other := published(t, "tail"), published(t, "deep")
	for _, files := range []addr.Files{
		{ID: other.id(t), Executable: input(b.program)},
		{ID: b.id(t), Executable: input(b.program), Debuginfo: input(other.debug)},
		{ID: b.id(t)},
	} {
		if m, err := addr.Open(files, addr.DefaultLimits); err == nil {
			t.Errorf("got %+v, want an error", m)
		}
	}
	_, err := addr.Open(addr.Files{ID: b.id(t), Debuginfo: input(b.debug)}, addr.Limits{Bytes: 100, Time: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("with little memory: got %v", err)
	}
	b = published(t, "keel")
	m, err := addr.Open(addr.Files{ID: b.id(t), Executable: input(b.program), Debuginfo: input(b.debug)},
		addr.Limits{Bytes: 400_000, Time: time.Hour})
	if err != nil || !strings.Contains(strings.Join(m.Problems(), "\n"), "too large") {
		t.Errorf("with some memory: got %v, %+v", err, m)
	}
}

// An offset of an address signature counts from the page on which the code begins.
func TestAddress(t *testing.T) {
	t.Parallel()
	b := published(t, "tiny")
	m := b.open(t)
	start, _ := symbolAddress(t, b.original, "parse")
	offset := start & 0xfff
	for _, test := range []struct {
		offset uint64
		mapped int64
		ok     bool
	}{
		{offset, -1, true}, {offset, 0x1000, true}, {offset, 0x7000, false}, {1 << 40, -1, false}, {1<<64 - 1, -1, false},
	} {
		got, ok := m.Address(test.offset, test.mapped)
		if ok != test.ok || ok && (got != start || m.Frames(got)[0].Function != "parse") {
			t.Errorf("%#x in %#x: got %#x, %t; want %#x, %t", test.offset, test.mapped, got, ok, start, test.ok)
		}
	}
	// The debug file has the right addresses, but wrong offsets.
	b.program, b.debug = b.debug, nil
	m, err := addr.Open(addr.Files{ID: published(t, "tiny").id(t), Debuginfo: input(b.program)}, addr.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := m.Address(offset, 0x1000); !ok || got != start {
		t.Errorf("debug file: got %#x, %t; want %#x", got, ok, start)
	}
}

// Damaged files cost bounded memory, and no panic leaves the package.
func TestDamaged(t *testing.T) {
	t.Parallel()
	const most = 1 << 30
	random := rand.New(rand.NewPCG(3, 4))
	opened, named := 0, 0
	for _, name := range []string{"tiny", "tidewatch", "isobar", "keel", "flow"} {
		b := published(t, name)
		id := b.id(t)
		for range sizetest.Rounds(50, 1000) {
			program, debug := damage(random, b.program), damage(random, b.debug)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := addr.Open(addr.Files{ID: id, Executable: input(program), Debuginfo: input(debug),
				Shared: input(b.shared)}, addr.DefaultLimits)
			if err == nil {
				opened++
				for _, a := range b.addresses(100) {
					if f := m.Frames(a); f[0].Function != "" {
						named++
					}
					m.TailCalls(a, a+64)
					m.AfterCall(a)
				}
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > most {
				t.Errorf("%s: %d MiB allocated", name, n>>20)
			}
		}
	}
	if opened == 0 || named == 0 {
		t.Errorf("got %d files open, %d addresses named; want some", opened, named)
	}
	t.Logf("%d damaged files opened, %d addresses named", opened, named)
}

// damage overwrites a few places of a file, more likely at its ends, where headers are, or cuts it.
func damage(random *rand.Rand, b []byte) []byte {
	if random.IntN(8) == 0 {
		return b[:random.IntN(len(b))]
	}
	b = bytes.Clone(b)
	for range 1 + random.IntN(20) {
		at := random.IntN(len(b))
		switch random.IntN(3) {
		case 0:
			at = random.IntN(min(len(b), 4096))
		case 1:
			at = len(b) - 1 - random.IntN(min(len(b), 4096))
		}
		b[at] = byte(random.Uint32())
	}
	return b
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"testdata/tiny", "testdata/tiny.debug"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint64(0x401000))
	}
	f.Fuzz(func(_ *testing.T, b []byte, address uint64) {
		file, err := elffile.Open(bytes.NewReader(b))
		if err != nil {
			return
		}
		sections, err := file.Sections(int64(len(b)))
		if err != nil {
			return
		}
		m, err := addr.Open(addr.Files{ID: file.BuildID(sections), Executable: input(b), Debuginfo: input(b)},
			addr.DefaultLimits)
		if err != nil {
			return
		}
		for _, a := range []uint64{address, file.Entry} {
			m.Frames(a)
			m.TailCalls(a, address)
			m.AfterCall(a)
			m.Address(a, -1)
		}
		m.Problems()
	})
}

// BenchmarkFrames names addresses of the C library or of a C++ program, all of whose units are read.
func BenchmarkFrames(b *testing.B) {
	one := published(b, "isobar")
	m, addresses := one.open(b), one.addresses(10_000)
	for _, a := range addresses {
		m.Frames(a)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Frames(addresses[i%len(addresses)])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "addresses/s")
}

// BenchmarkOpen reads the index of a program's debug information, which a cache saves.
func BenchmarkOpen(b *testing.B) {
	one := published(b, "reef")
	for b.Loop() {
		one.open(b)
	}
}
