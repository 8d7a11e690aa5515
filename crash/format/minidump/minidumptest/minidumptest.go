// Package minidumptest makes minidumps for tests.
package minidumptest

import (
	"encoding/binary"
	"encoding/hex"
	"testing"
	"unicode/utf16"

	"mishap/crash/checktest"
)

// Module is a program or library.
type Module struct {
	Path    string
	Start   uint64
	Size    uint32
	BuildID string
}

// Dump is a minidump of a program for Linux on amd64.
type Dump struct {
	Signal   uint32
	Platform uint32 // 0: Linux
	Modules  []Module
	PC       uint64
	Stack    []uint64 // of the thread that crashed, from the stack pointer on
	Secret   string   // command line and environment
}

// Bytes returns the minidump as Breakpad writes it.
func (d Dump) Bytes(t testing.TB) []byte {
	t.Helper()
	le := binary.LittleEndian
	const stackAt, thread = 0x7fff00000000, 4311
	if d.Platform == 0 {
		d.Platform = 0x8201
	}
	streams := []uint32{7, 3, 4, 6, 0x47670006, 0x47670007}
	b := make([]byte, 32+12*len(streams))
	copy(b, "MDMP")
	le.PutUint32(b[4:], 0xa793)
	le.PutUint32(b[8:], uint32(len(streams))) //nolint:gosec // six
	le.PutUint32(b[12:], 32)
	le.PutUint32(b[20:], 1795311290)
	put := func(data []byte) (at, size uint32) {
		at = uint32(len(b)) //nolint:gosec // small
		b = append(b, data...)
		return at, uint32(len(data)) //nolint:gosec // small
	}
	stream := func(i int, data []byte) {
		at, size := put(data)
		entry := b[32+12*i:]
		le.PutUint32(entry, streams[i])
		le.PutUint32(entry[4:], size)
		le.PutUint32(entry[8:], at)
	}

	system := make([]byte, 56)
	le.PutUint16(system, 9)
	le.PutUint32(system[20:], d.Platform)
	stream(0, system)

	var words []byte
	for _, word := range d.Stack {
		words = le.AppendUint64(words, word)
	}
	stack, stackSize := put(words)
	context := make([]byte, 1232)
	le.PutUint64(context[0x98:], stackAt)
	le.PutUint64(context[0xf8:], d.PC)
	registers, contextSize := put(context)
	threads := make([]byte, 4+48)
	le.PutUint32(threads, 1)
	le.PutUint32(threads[4:], thread)
	le.PutUint64(threads[4+24:], stackAt)
	le.PutUint32(threads[4+32:], stackSize)
	le.PutUint32(threads[4+36:], stack)
	stream(1, threads)

	modules := make([]byte, 4+108*len(d.Modules))
	le.PutUint32(modules, uint32(len(d.Modules))) //nolint:gosec // small
	for i, m := range d.Modules {
		units := utf16.Encode([]rune(m.Path))
		name := le.AppendUint32(nil, uint32(2*len(units))) //nolint:gosec // small
		for _, unit := range units {
			name = le.AppendUint16(name, unit)
		}
		nameAt, _ := put(name)
		id, err := hex.DecodeString(m.BuildID)
		checktest.NoError(t, err)
		record, size := put(append(le.AppendUint32(nil, 0x4270454c), id...))
		entry := modules[4+108*i:]
		le.PutUint64(entry, m.Start)
		le.PutUint32(entry[8:], m.Size)
		le.PutUint32(entry[20:], nameAt)
		le.PutUint32(entry[76:], size)
		le.PutUint32(entry[80:], record)
	}
	stream(2, modules)

	exception := make([]byte, 168)
	le.PutUint32(exception, thread)
	le.PutUint32(exception[8:], d.Signal)
	le.PutUint64(exception[24:], 8) // the address that the program read
	le.PutUint32(exception[160:], contextSize)
	le.PutUint32(exception[164:], registers)
	stream(3, exception)
	stream(4, []byte(d.Secret))
	stream(5, []byte("TOKEN="+d.Secret))
	return b
}
