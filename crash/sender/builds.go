package sender

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
	"syscall"
	"time"
)

// buildID returns the build-id of a program or library in hex, or "" if it has none, cannot be read, or came to its
// place after the crash.
func buildID(file string, crashed time.Time) string {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !time.Unix(stat.Ctim.Unix()).Before(crashed.Add(time.Second)) {
		return ""
	}
	module, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	for _, p := range module.Progs {
		const most = 64 << 10 // bytes of notes
		if p.Type != elf.PT_NOTE {
			continue
		}
		notes, err := io.ReadAll(io.LimitReader(p.Open(), most))
		if err != nil {
			return ""
		}
		if id := gnuBuildID(notes, module.ByteOrder.Uint32); id != nil {
			return hex.EncodeToString(id)
		}
	}
	return ""
}

// gnuBuildID returns the build-id among the notes of a segment, or nil. Each note has the lengths of its owner and its
// text, and its type; see elf(5).
func gnuBuildID(notes []byte, number func([]byte) uint32) []byte {
	const head, buildIDType, longest = 12, 3, 64
	padded := func(n uint32) int { return int(min(n, 1<<20)+3) &^ 3 }
	for len(notes) >= head {
		owner, text, kind := number(notes), number(notes[4:]), number(notes[8:])
		start := head + padded(owner)
		end := start + padded(text)
		if end > len(notes) {
			return nil
		}
		if kind == buildIDType && bytes.HasPrefix(notes[head:start], []byte("GNU\x00")) && text > 0 && text <= longest {
			return notes[start : start+int(text)]
		}
		notes = notes[end:]
	}
	return nil
}
