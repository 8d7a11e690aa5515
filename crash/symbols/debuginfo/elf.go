package debuginfo

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	if err := f.readAt(table, f.Word(b[h.segments:])); err != nil {
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
	if err := f.readAt(table, f.sectionsAt); err != nil {
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
	return names, f.readAt(names, in.Offset)
}

// ReadSection returns the content of a section of at most limit bytes.
func (f *ELF) ReadSection(s Section, limit uint64) ([]byte, error) {
	if s.Size > limit {
		return nil, fmt.Errorf("section %q has %d bytes, want at most %d", s.Name, s.Size, limit)
	}
	b := make([]byte, s.Size)
	return b, f.readAt(b, s.Offset)
}

// readAt fills b from an offset of the file.
func (f *ELF) readAt(b []byte, at uint64) error {
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

// Architecture returns Debian's name of the file's architecture, or an empty string if mishap does
// not know it.
func (f *ELF) Architecture() string {
	if f.Class == elf.ELFCLASS32 {
		switch {
		case f.Machine == elf.EM_386:
			return "i386"
		case f.Machine == elf.EM_ARM && f.Order == binary.LittleEndian:
			return "armhf"
		}
		return ""
	}
	little := f.Order == binary.LittleEndian
	switch {
	case f.Machine == elf.EM_X86_64 && little:
		return "amd64"
	case f.Machine == elf.EM_AARCH64 && little:
		return "arm64"
	case f.Machine == elf.EM_RISCV && little:
		return "riscv64"
	case f.Machine == elf.EM_PPC64 && little:
		return "ppc64el"
	case f.Machine == elf.EM_S390 && !little:
		return "s390x"
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
