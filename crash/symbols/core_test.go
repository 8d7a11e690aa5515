package symbols_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"testing"

	"mishap/crash"
	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
)

// tiny returns a small core that Linux has written, of a program without a C library.
func tiny(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".core.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		if c.Architecture != want.architecture || c.Signal != 11 || c.PID == 0 || len(c.Threads) != 1 ||
			c.Threads[0].ID != c.PID || c.Truncated || c.Executable != "/usr/bin/"+name {
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
