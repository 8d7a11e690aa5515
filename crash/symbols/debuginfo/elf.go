package debuginfo

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The limits of a file. The largest programs have some thousand sections.
const (
	maxSections = 100_000
	maxNames    = 4 << 20 // bytes of the table of section names
)

// The errors of files that OpenELF does not read. Other errors say which part is damaged.
var (
	ErrNotELF       = errors.New("not an ELF file")
	ErrManySegments = errors.New("65,535 or more segments")
)

// ELF is an open ELF file that a stranger made: a program, debug file or core dump. In contrast to
// debug/elf, reading it costs bounded memory, and its end may be missing.
type ELF struct {
	Class    elf.Class
	Order    binary.ByteOrder
	Type     elf.Type
	Machine  elf.Machine
	Segments []Segment

	in           io.ReaderAt
	sectionsAt   uint64
	sectionSize  uint16
	sectionCount uint16
	namesIn      uint16 // the section with the names of sections
}

// Segment is one entry of the program header table.
type Segment struct {
	Type     elf.ProgType
	Flags    elf.ProgFlag
	Offset   uint64 // in the file
	Addr     uint64
	FileSize uint64
	MemSize  uint64
}

// Section is one entry of the section header table.
type Section struct {
	Name   string
	Type   elf.SectionType
	Flags  elf.SectionFlag
	Offset uint64
	Size   uint64
}

// header holds the offsets of fields, which depend on the class.
type header struct {
	size, segmentSize, sectionSize int
	// of the file header
	segments, sections, segmentEntry int
}

var headers = map[elf.Class]header{
	elf.ELFCLASS32: {size: 52, segmentSize: 32, sectionSize: 40, segments: 28, sections: 32, segmentEntry: 42},
	elf.ELFCLASS64: {size: 64, segmentSize: 56, sectionSize: 64, segments: 32, sections: 40, segmentEntry: 54},
}

// OpenELF reads the file header and the segments. It fails with ErrNotELF or ErrManySegments, or if
// the table of segments is incomplete.
func OpenELF(in io.ReaderAt) (*ELF, error) {
	b := make([]byte, 64)
	n, err := in.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	b = b[:n]
	if len(b) < 52 || !bytes.HasPrefix(b, []byte(elf.ELFMAG)) {
		return nil, ErrNotELF
	}
	f := &ELF{in: in, Class: elf.Class(b[elf.EI_CLASS])}
	h, ok := headers[f.Class]
	if !ok || len(b) < h.size {
		return nil, ErrNotELF
	}
	switch elf.Data(b[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		f.Order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.Order = binary.BigEndian
	default:
		return nil, ErrNotELF
	}
	f.Type, f.Machine = elf.Type(f.Order.Uint16(b[16:])), elf.Machine(f.Order.Uint16(b[18:]))
	f.sectionsAt = f.Word(b[h.sections:])
	tail := b[h.segmentEntry:]
	entry, count := int(f.Order.Uint16(tail)), int(f.Order.Uint16(tail[2:]))
	f.sectionSize, f.sectionCount, f.namesIn = f.Order.Uint16(tail[4:]), f.Order.Uint16(tail[6:]), f.Order.Uint16(tail[8:])
	if count == 0xffff {
		return nil, ErrManySegments
	}
	if count > 0 && entry != h.segmentSize {
		return nil, fmt.Errorf("segments of %d bytes, want %d", entry, h.segmentSize)
	}
	table := make([]byte, count*entry)
	if err := f.ReadFull(table, f.Word(b[h.segments:])); err != nil {
		return nil, fmt.Errorf("the table of segments is cut short: %w", err)
	}
	for ; len(table) > 0; table = table[entry:] {
		f.Segments = append(f.Segments, f.segment(table))
	}
	return f, nil
}

// Word decodes an address or size: 4 or 8 bytes at the start of b.
func (f *ELF) Word(b []byte) uint64 {
	if f.Class == elf.ELFCLASS32 {
		return uint64(f.Order.Uint32(b))
	}
	return f.Order.Uint64(b)
}

// WordSize returns the size of an address in bytes.
func (f *ELF) WordSize() int {
	if f.Class == elf.ELFCLASS32 {
		return 4
	}
	return 8
}

func (f *ELF) segment(b []byte) Segment {
	u32 := func(at int) uint64 { return uint64(f.Order.Uint32(b[at:])) }
	s := Segment{Type: elf.ProgType(f.Order.Uint32(b))}
	if f.Class == elf.ELFCLASS32 {
		s.Offset, s.Addr, s.FileSize, s.MemSize = u32(4), u32(8), u32(16), u32(20)
		s.Flags = elf.ProgFlag(f.Order.Uint32(b[24:]))
		return s
	}
	s.Flags = elf.ProgFlag(f.Order.Uint32(b[4:]))
	s.Offset, s.Addr, s.FileSize, s.MemSize = f.Word(b[8:]), f.Word(b[16:]), f.Word(b[32:]), f.Word(b[40:])
	return s
}

// Sections reads the table of sections with their names. It fails if a section is not inside a file
// of this size, because then the file is cut short.
func (f *ELF) Sections(size int64) ([]Section, error) {
	end := uint64(max(size, 0))
	if f.sectionsAt == 0 {
		return nil, nil
	}
	h := headers[f.Class]
	if int(f.sectionSize) != h.sectionSize || f.sectionCount == 0 || int(f.sectionCount) > maxSections {
		return nil, fmt.Errorf("%d sections of %d bytes, want at most %d of %d",
			f.sectionCount, f.sectionSize, maxSections, h.sectionSize)
	}
	table := make([]byte, int(f.sectionCount)*h.sectionSize)
	if err := f.ReadFull(table, f.sectionsAt); err != nil {
		return nil, fmt.Errorf("the table of sections is cut short: %w", err)
	}
	sections, nameAt := make([]Section, f.sectionCount), make([]uint32, f.sectionCount)
	for i := range sections {
		b := table[i*h.sectionSize:]
		word := f.WordSize()
		s := Section{Type: elf.SectionType(f.Order.Uint32(b[4:])), Flags: elf.SectionFlag(f.Word(b[8:]) & 0xffffffff)}
		s.Offset, s.Size = f.Word(b[8+2*word:]), f.Word(b[8+3*word:])
		nameAt[i] = f.Order.Uint32(b)
		if s.Type != elf.SHT_NULL && s.Type != elf.SHT_NOBITS && (s.Offset > end || s.Size > end-s.Offset) {
			return nil, fmt.Errorf("section %d ends behind the end of the file", i)
		}
		sections[i] = s
	}
	names, err := f.sectionNames(sections)
	if err != nil {
		return nil, err
	}
	for i := range sections {
		if at := nameAt[i]; int64(at) < int64(len(names)) {
			name, _, _ := bytes.Cut(names[at:], []byte{0})
			sections[i].Name = string(name[:min(len(name), 256)])
		}
	}
	return sections, nil
}

func (f *ELF) sectionNames(sections []Section) ([]byte, error) {
	if int(f.namesIn) >= len(sections) || sections[f.namesIn].Type != elf.SHT_STRTAB {
		return nil, errors.New("no table of section names")
	}
	in := sections[f.namesIn]
	if in.Size > maxNames {
		return nil, fmt.Errorf("a table of section names of %d bytes", in.Size)
	}
	names := make([]byte, in.Size)
	return names, f.ReadFull(names, in.Offset)
}

// ReadSection returns the content of a section of at most limit bytes.
func (f *ELF) ReadSection(s Section, limit uint64) ([]byte, error) {
	if s.Size > limit {
		return nil, fmt.Errorf("section %q has %d bytes, want at most %d", s.Name, s.Size, limit)
	}
	b := make([]byte, s.Size)
	return b, f.ReadFull(b, s.Offset)
}

// ReadFull fills b from an offset. It fails with io.ErrUnexpectedEOF if the file is cut short.
func (f *ELF) ReadFull(b []byte, at uint64) error {
	if len(b) == 0 {
		return nil
	}
	if at > 1<<62 {
		return io.ErrUnexpectedEOF
	}
	n, err := f.in.ReadAt(b, int64(at))
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	default:
		return err
	}
}

// Architecture is an architecture of ELF files that mishap knows.
type Architecture struct {
	Name    string // Debian's
	Machine elf.Machine
	Class   elf.Class
	order   binary.ByteOrder
}

// Architectures lists them.
var Architectures = []Architecture{
	{"amd64", elf.EM_X86_64, elf.ELFCLASS64, binary.LittleEndian},
	{"i386", elf.EM_386, elf.ELFCLASS32, binary.LittleEndian},
	{"arm64", elf.EM_AARCH64, elf.ELFCLASS64, binary.LittleEndian},
	{"armhf", elf.EM_ARM, elf.ELFCLASS32, binary.LittleEndian},
	{"riscv64", elf.EM_RISCV, elf.ELFCLASS64, binary.LittleEndian},
	{"ppc64el", elf.EM_PPC64, elf.ELFCLASS64, binary.LittleEndian},
	{"s390x", elf.EM_S390, elf.ELFCLASS64, binary.BigEndian},
}

// Architecture returns Debian's name of the file's architecture, or an empty string if mishap does
// not know it.
func (f *ELF) Architecture() string {
	for _, a := range Architectures {
		if a.Machine == f.Machine && a.Class == f.Class && a.order == f.Order {
			return a.Name
		}
	}
	return ""
}

// ReadAt implements io.ReaderAt on the content of the file.
func (f *ELF) ReadAt(b []byte, at int64) (int, error) { return f.in.ReadAt(b, at) }

// FirstAddress returns the address that the file gives to its first byte. It is 0 for libraries and
// position-independent programs.
func (f *ELF) FirstAddress() uint64 {
	for _, s := range f.Segments {
		if s.Type == elf.PT_LOAD {
			if s.Offset > s.Addr {
				return 0
			}
			return (s.Addr - s.Offset) &^ 4095
		}
	}
	return 0
}

// BuildID identifies one build of a program or library, in lower-case hex digits. An empty BuildID
// means unknown.
type BuildID string

// The sizes of build-ids in bytes. Linkers write 8, 16 or 20.
const (
	minID = 4
	maxID = 64
)

// ParseBuildID checks and returns a build-id.
func ParseBuildID(text string) (BuildID, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) < minID || len(b) > maxID || text != strings.ToLower(text) {
		return "", fmt.Errorf("%.130q is not a build-id; want %d to %d lower-case hex digits", text, 2*minID, 2*maxID)
	}
	return BuildID(text), nil
}

func buildID(b []byte) BuildID {
	if len(b) < minID || len(b) > maxID {
		return ""
	}
	return BuildID(hex.EncodeToString(b))
}

// maxNotes limits the bytes of notes that are searched for a build-id.
const maxNotes = 1 << 20

// BuildID returns the build-id from the notes that a segment names, or from those that a section
// names. The result is empty if there is none.
func (f *ELF) BuildID(sections []Section) BuildID {
	for _, s := range f.Segments {
		if s.Type == elf.PT_NOTE {
			if id := f.idInNotes(s.Offset, s.FileSize); id != "" {
				return id
			}
		}
	}
	for _, s := range sections {
		if s.Type == elf.SHT_NOTE {
			if id := f.idInNotes(s.Offset, s.Size); id != "" {
				return id
			}
		}
	}
	return ""
}

func (f *ELF) idInNotes(at, size uint64) BuildID {
	var id BuildID
	err := f.EachNote(at, min(size, maxNotes), func(n Note) error {
		if n.Type == noteBuildID && n.Name == "GNU" && n.Size <= maxID {
			b := make([]byte, n.Size)
			if err := f.ReadFull(b, n.At); err != nil {
				return err
			}
			id = buildID(b)
			return errStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return ""
	}
	return id
}

const noteBuildID = 3 // NT_GNU_BUILD_ID

var errStop = errors.New("found")

// FindBuildID searches bytes for a note with a build-id, wherever it is. Go's linker leaves the note
// outside the segment of notes.
func (f *ELF) FindBuildID(b []byte) BuildID {
	var head [16]byte
	f.Order.PutUint32(head[:], 4)
	f.Order.PutUint32(head[8:], noteBuildID)
	copy(head[12:], "GNU\x00")
	for i := 0; i+len(head) <= len(b); i += 4 {
		size := f.Order.Uint32(b[i+4:])
		f.Order.PutUint32(head[4:], size)
		if size <= maxID && string(b[i:i+len(head)]) == string(head[:]) && i+len(head)+int(size) <= len(b) {
			if id := buildID(b[i+len(head) : i+len(head)+int(size)]); id != "" {
				return id
			}
		}
	}
	return ""
}

// Note is one entry of a segment or section of notes, without its content.
type Note struct {
	Name string // without the final NUL
	Type uint32
	At   uint64 // offset of the content in the file
	Size uint64 // of the content, in bytes
}

// EachNote calls a function for each note of an area of the file, until it returns an error, which
// EachNote returns. EachNote fails with io.ErrUnexpectedEOF if the area is cut short.
func (f *ELF) EachNote(at, size uint64, each func(Note) error) error {
	const align = 4
	if at > 1<<62 || size > 1<<62 {
		return io.ErrUnexpectedEOF
	}
	for end := at + size; at+12 <= end; {
		var head [12]byte
		if err := f.ReadFull(head[:], at); err != nil {
			return err
		}
		nameSize, descSize := uint64(f.Order.Uint32(head[:])), uint64(f.Order.Uint32(head[4:]))
		n := Note{Type: f.Order.Uint32(head[8:]), Size: descSize}
		n.At = at + 12 + (nameSize+align-1)/align*align
		next := n.At + (descSize+align-1)/align*align
		if n.At+descSize > end {
			return io.ErrUnexpectedEOF
		}
		name := make([]byte, min(nameSize, 16))
		if err := f.ReadFull(name, at+12); err != nil {
			return err
		}
		n.Name = strings.TrimRight(string(name), "\x00")
		if err := each(n); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// openOnMachine opens a file of this machine: the module's own path, or the place where
// distributions install debug files. The path comes from a core and can be anything; verify decides
// whether the file is the right one.
func (f *Finder) openOnMachine(w Wanted) (*os.File, string, string, error) {
	if f.machine == "" {
		return nil, "", "", fs.ErrNotExist
	}
	id := string(w.ID)
	path := filepath.Join(f.machine, "usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
	if w.Kind == Executable {
		if !filepath.IsAbs(w.Path) {
			return nil, "", "", fs.ErrNotExist
		}
		path = filepath.Join(f.machine, w.Path)
	}
	file, err := openRegular(path)
	if err != nil && w.Kind == Debuginfo && errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(w.Path) {
		path = filepath.Join(f.machine, w.Path) // not stripped
		file, err = openRegular(path)
	}
	if err != nil {
		return nil, "", "", fs.ErrNotExist
	}
	return file, path, path, nil
}

// Info is what mishap needs to know about an ELF file before it gives the file to a debugger.
type Info struct {
	ID       BuildID
	Machine  elf.Machine
	Class    elf.Class
	HasCode  bool    // a program or library, not only its debug information
	HasDWARF bool    // debug information
	Alt      BuildID // of the file with debug information shared by several files (dwz); usually empty
}

// Inspect reads the headers of an ELF file of this size. It fails if they are damaged, or if the
// file is cut short.
func Inspect(in io.ReaderAt, size int64) (Info, error) {
	f, err := OpenELF(in)
	if err != nil {
		return Info{}, err
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN && f.Type != elf.ET_REL {
		return Info{}, fmt.Errorf("an ELF file of type %s, which is neither program, library nor debug information", f.Type)
	}
	sections, err := f.Sections(size)
	if err != nil {
		return Info{}, err
	}
	info := Info{ID: f.BuildID(sections), Machine: f.Machine, Class: f.Class}
	for _, s := range sections {
		switch {
		case s.Type != elf.SHT_PROGBITS || s.Size == 0:
		case s.Flags&elf.SHF_EXECINSTR != 0:
			info.HasCode = true
		case s.Name == ".debug_info" || s.Name == ".zdebug_info":
			info.HasDWARF = true
		case s.Name == ".gnu_debugaltlink":
			if info.Alt, err = altOf(f, s); err != nil {
				return Info{}, err
			}
		}
	}
	if info.HasCode {
		end := uint64(max(size, 0))
		for _, s := range f.Segments {
			if s.Type == elf.PT_LOAD && (s.Offset > end || s.FileSize > end-s.Offset) {
				return Info{}, errors.New("a segment ends behind the end of the file")
			}
		}
	}
	return info, nil
}

// altOf reads the section .gnu_debugaltlink: a path, NUL, and a build-id.
func altOf(f *ELF, s Section) (BuildID, error) {
	b, err := f.ReadSection(s, 8192)
	if err != nil {
		return "", err
	}
	_, id, ok := bytes.Cut(b, []byte{0})
	if !ok {
		return "", errors.New("the section .gnu_debugaltlink names no build-id")
	}
	return ParseBuildID(fmt.Sprintf("%x", id))
}

// Kind is one of the files of a build. Its value is the name of the file in a [Folder], as in
// debuginfod's cache and on its servers.
type Kind string

// The kinds of files.
const (
	Executable Kind = "executable" // the program or library
	Debuginfo  Kind = "debuginfo"  // its debug information
)

func (i Info) kinds() []Kind {
	var kinds []Kind
	if i.HasCode {
		kinds = append(kinds, Executable)
	}
	if i.HasDWARF {
		kinds = append(kinds, Debuginfo)
	}
	return kinds
}

// refusal returns why a file is not the wanted one, or nil.
func (i Info) refusal(w Wanted) error {
	var wrong []string
	switch i.ID {
	case w.ID:
	case "":
		wrong = append(wrong, "it has no build-id")
	default:
		wrong = append(wrong, "its build-id is "+string(i.ID))
	}
	if i.Machine != w.Machine || i.Class != w.Class {
		wrong = append(wrong, fmt.Sprintf("it is for %s (%s), not for %s (%s)", i.Machine, i.Class, w.Machine, w.Class))
	}
	if w.Kind == Executable && !i.HasCode {
		wrong = append(wrong, "it has no code")
	}
	if w.Kind == Debuginfo && !i.HasDWARF {
		wrong = append(wrong, "it has no debug information")
	}
	if wrong == nil {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}
