// Package minidump reads minidumps, the crash dumps of Breakpad and crashpad, of programs for Linux and Android. It
// reads the signal, the modules, and the registers and the stack of the thread that crashed; the command line, the
// environment and what else a dump says about the machine, it does not.
package minidump

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"mishap/crash"
	"mishap/crash/grouping"
)

// The limits of a minidump.
const (
	maxStreams = 256
	maxModules = 4096
	maxThreads = 4096
	maxName    = 4096     // bytes of the path of a module
	maxBuildID = 64       // bytes
	maxScanned = 40       // frames
	maxStack   = 64 << 10 // bytes that are scanned for return addresses
)

// Types of streams.
const (
	streamThreads   = 3
	streamModules   = 4
	streamException = 6
	streamSystem    = 7
)

// Sizes in bytes.
const (
	headerSize    = 32
	directorySize = 12
	threadSize    = 48
	moduleSize    = 108
	exceptionSize = 168
	systemSize    = 24
)

// dumpRequested is the code of a dump of a program that has not crashed.
const dumpRequested = 0xffffffff

// architecture says where the context of a thread has its registers, as offsets.
type architecture struct {
	name        string // Debian's
	word        int    // bytes of a register
	pc, sp      uint64
	link        uint64 // return address of a function that has called no other; 0: there is no such register
	instruction uint64 // alignment of instructions
}

// architectures are known by the number in the dump.
var architectures = map[uint16]architecture{
	0:      {name: "i386", word: 4, pc: 0xb8, sp: 0xc4, instruction: 1},
	9:      {name: "amd64", word: 8, pc: 0xf8, sp: 0x98, instruction: 1},
	5:      {name: "armhf", word: 4, pc: 0x40, sp: 0x38, link: 0x3c, instruction: 2},
	12:     {name: "arm64", word: 8, pc: 0x108, sp: 0x100, link: 0xf8, instruction: 4},
	0x8003: {name: "arm64", word: 8, pc: 0x108, sp: 0x100, link: 0xf8, instruction: 4}, // of older Breakpads
}

// Platforms whose exceptions are signals.
const (
	platformLinux   = 0x8201
	platformAndroid = 0x8203
)

func invalid(format string, args ...any) *crash.Error {
	return crash.Errorf(crash.Invalid, "invalid_minidump", format, args...)
}

var (
	errDamaged = invalid("The minidump is damaged or cut short.")
	errSystem  = crash.Errorf(crash.Invalid, "minidump_system",
		"mishap reads only minidumps of programs for Linux and Android, on amd64, i386, arm64 and armhf.")
	errNoCrash = crash.Errorf(crash.Invalid, "no_crash", "The program of this minidump has not crashed.")
)

// Dump is a minidump.
type Dump struct {
	Architecture string // Debian's name
	Signal       int
	Program      string                 // path; the first module
	Time         time.Time              // of the dump
	Frames       []grouping.ModuleFrame // of the thread that crashed: the place, and return addresses on its stack

	sum [sha256.Size]byte
}

// IsDump reports whether data begins as a minidump does.
func IsDump(data []byte) bool {
	return bytes.HasPrefix(data, []byte("MDMP")) || bytes.HasPrefix(data, []byte("PMDM"))
}

// Parse reads a minidump. It needs memory for its modules only. Errors are of kind Invalid, with a sentence for the
// sender.
func Parse(data []byte) (Dump, error) {
	r := reader{data, binary.LittleEndian}
	if bytes.HasPrefix(data, []byte("PMDM")) {
		r.order = binary.BigEndian
	}
	if !IsDump(data) || len(data) < headerSize {
		return Dump{}, invalid("This is not a minidump.")
	}
	streams, err := r.streams()
	if err != nil {
		return Dump{}, err
	}
	d := Dump{Time: time.Unix(int64(r.u32(20)), 0).UTC(), sum: sha256.Sum256(data)}
	system, exception := streams[streamSystem], streams[streamException]
	if len(system.b) < systemSize {
		return Dump{}, errDamaged
	}
	arch, known := architectures[system.u16(0)]
	if p := system.u32(20); !known || p != platformLinux && p != platformAndroid {
		return Dump{}, errSystem
	}
	if len(exception.b) < exceptionSize {
		return Dump{}, errNoCrash
	}
	code := exception.u32(8)
	switch {
	case code == dumpRequested:
		return Dump{}, errNoCrash
	case code == 0 || code > 64:
		return Dump{}, invalid("The minidump has no signal.")
	}
	modules, err := r.modules(streams[streamModules])
	if err != nil {
		return Dump{}, err
	}
	d.Architecture, d.Signal, d.Program = arch.name, int(code), modules[0].path()
	context := r.part(uint64(exception.u32(164)), uint64(exception.u32(160)))
	stack, start, err := r.stack(streams[streamThreads], exception.u32(0))
	if err != nil {
		return Dump{}, err
	}
	d.Frames, err = frames(context, stack, start, arch, modules)
	return d, err
}

// reader reads numbers of a part of the dump. Numbers that are cut off are 0.
type reader struct {
	b     []byte
	order binary.ByteOrder
}

// part returns a part; empty if it is not within the dump.
func (r reader) part(at, size uint64) reader {
	if end := uint64(len(r.b)); at > end || size > end-at {
		return reader{nil, r.order}
	}
	return reader{r.b[at : at+size], r.order}
}

func (r reader) u16(at uint64) uint16 {
	if p := r.part(at, 2); p.b != nil {
		return r.order.Uint16(p.b)
	}
	return 0
}

func (r reader) u32(at uint64) uint32 {
	if p := r.part(at, 4); p.b != nil {
		return r.order.Uint32(p.b)
	}
	return 0
}

func (r reader) u64(at uint64) uint64 {
	if p := r.part(at, 8); p.b != nil {
		return r.order.Uint64(p.b)
	}
	return 0
}

// word returns a register, or a word of the stack.
func (r reader) word(at uint64, size int) uint64 {
	if size == 4 {
		return uint64(r.u32(at))
	}
	return r.u64(at)
}

// streams returns the first stream of each type.
func (r reader) streams() (map[uint32]reader, error) {
	count := uint64(r.u32(8))
	directory := r.part(uint64(r.u32(12)), count*directorySize)
	if count == 0 || count > maxStreams || directory.b == nil {
		return nil, errDamaged
	}
	streams := map[uint32]reader{}
	for i := range count {
		kind := directory.u32(i * directorySize)
		if _, twice := streams[kind]; !twice {
			streams[kind] = r.part(uint64(directory.u32(i*directorySize+8)), uint64(directory.u32(i*directorySize+4)))
		}
	}
	return streams, nil
}

// list returns the entries of a list, which begins with their number; some writers add a padding.
func (r reader) list(size, most uint64) ([]reader, error) {
	count := uint64(r.u32(0))
	if count == 0 || count > most || uint64(len(r.b)) < 4+count*size {
		return nil, errDamaged
	}
	start := uint64(4)
	if uint64(len(r.b)) == 8+count*size {
		start = 8
	}
	entries := make([]reader, count)
	for i := range entries {
		entries[i] = r.part(start+uint64(i)*size, size)
	}
	return entries, nil
}

// module is a program or library. Its texts are read when they are needed: all of them can have one long name.
type module struct {
	dump       reader
	entry      reader
	start, end uint64
}

func (m module) path() string { return m.dump.text(uint64(m.entry.u32(20))) }

func (m module) id() string {
	return m.dump.part(uint64(m.entry.u32(80)), uint64(m.entry.u32(76))).buildID()
}

func (r reader) modules(stream reader) ([]module, error) {
	list, err := stream.list(moduleSize, maxModules)
	if err != nil {
		return nil, err
	}
	modules := make([]module, len(list))
	for i, m := range list {
		start := m.u64(0)
		modules[i] = module{dump: r, entry: m, start: start, end: start + uint64(m.u32(8))}
	}
	return modules, nil
}

// text returns a text of UTF-16.
func (r reader) text(at uint64) string {
	p := r.part(at+4, uint64(r.u32(at)))
	if len(p.b) > 2*maxName {
		return ""
	}
	units := make([]uint16, len(p.b)/2)
	for i := range units {
		units[i] = p.u16(uint64(i) * 2)
	}
	return strings.ReplaceAll(string(utf16.Decode(units)), "\x00", "\uFFFD")
}

// Signatures of records that identify the build of a module.
const (
	recordELF = 0x4270454c // the build-id
	recordPDB = 0x53445352 // of older Breakpads: 16 bytes of the build-id, and a number
)

func (r reader) buildID() string {
	id := r.b
	switch r.u32(0) {
	case recordELF:
		id = id[4:]
	case recordPDB:
		id = r.part(4, 16).b
	default:
		return ""
	}
	if len(id) > maxBuildID || !slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
		return ""
	}
	return hex.EncodeToString(id)
}

// stack returns the stack of a thread, and the address of its first byte.
func (r reader) stack(stream reader, thread uint32) (stack reader, start uint64, err error) {
	list, err := stream.list(threadSize, maxThreads)
	if err != nil {
		return stack, 0, err
	}
	for _, t := range list {
		if t.u32(0) == thread {
			return r.part(uint64(t.u32(36)), uint64(t.u32(32))), t.u64(24), nil
		}
	}
	return reader{nil, r.order}, 0, nil
}

// frames returns the place of the crash, and what looks like return addresses on the stack, from the crash outwards.
func frames(context, stack reader, start uint64, a architecture, modules []module) ([]grouping.ModuleFrame, error) {
	pc, sp := context.word(a.pc, a.word), context.word(a.sp, a.word)
	if pc == 0 && sp == 0 {
		return nil, errDamaged
	}
	sorted := slices.Clone(modules)
	slices.SortFunc(sorted, func(a, b module) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return 0
	})
	found := []grouping.ModuleFrame{place(sorted, pc)}
	add := func(address uint64) {
		f := place(sorted, address)
		if f.Module == "" || f.BuildID == "" || address%a.instruction != 0 && a.name != "armhf" ||
			address == found[len(found)-1].Address {
			return
		}
		f.Scanned = true
		found = append(found, f)
	}
	if a.link != 0 {
		add(context.word(a.link, a.word))
	}
	if sp < start || sp-start > uint64(len(stack.b)) {
		return found, nil
	}
	word := uint64(a.word) //nolint:gosec // 4 or 8
	at := (sp - start + word - 1) / word * word
	for end := at + maxStack; at < end && at+word <= uint64(len(stack.b)) && len(found) < maxScanned; at += word {
		add(stack.word(at, a.word))
	}
	return found, nil
}

// place returns the frame of an address.
func place(sorted []module, address uint64) grouping.ModuleFrame {
	f := grouping.ModuleFrame{Address: address}
	i, found := slices.BinarySearchFunc(sorted, address, func(m module, address uint64) int {
		switch {
		case m.start < address:
			return -1
		case m.start > address:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i >= 0 && address < sorted[i].end {
		f.Module, f.BuildID, f.Offset = sorted[i].path(), sorted[i].id(), address-sorted[i].start
	}
	return f
}

// Annotations are what a program sends with its dump. Others are not read.
type Annotations struct {
	Version string // ver, Version or the version in sentry[release]
	Client  string // guid: a number of the installation
}

// Project is the project whose key came with the dump.
type Project struct {
	Number int64
	Source string // source package
}

// Report returns the report of a dump.
func (d Dump) Report(a Annotations, p Project) crash.Report {
	prefix := "minidump/" + strconv.FormatInt(p.Number, 10) + "/"
	program := d.Program
	if !path.IsAbs(program) {
		program = p.Source
	}
	f := crash.Fields{"ProblemType": "Crash", "ExecutablePath": crash.Truncate(program, maxName),
		"Signal": strconv.Itoa(d.Signal), "Architecture": d.Architecture, "SourcePackage": p.Source,
		"Package": strings.TrimSpace(p.Source + " " + word(a.Version))}
	if d.Time.Unix() > 0 {
		f["Date"] = d.Time.Format(time.ANSIC)
	}
	grouping.SetStack(f, d.Frames)
	r := crash.Report{Fields: f, Number: prefix + hex.EncodeToString(d.sum[:])}
	if client := strings.TrimSpace(a.Client); client != "" {
		r.System = crash.HashedSystemID(prefix + client)
	}
	return r
}

// word returns a text without blanks and control characters.
func word(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	return crash.Truncate(strings.Join(strings.Fields(s), "_"), 200)
}
