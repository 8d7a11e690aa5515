package addr

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"mishap/crash/symbols/elffile"
)

// budget is what the files of a module may still cost.
type budget struct {
	bytes uint64
	left  time.Duration
}

// errTime is the error of files that take too long to read.
var errTime = errors.New("it takes too long to read")

// take reserves memory.
func (b *budget) take(n uint64) error {
	if n > b.bytes {
		return errors.New("it is too large")
	}
	b.bytes -= n
	return nil
}

// object is one open ELF file.
type object struct {
	in       *Input
	file     *elffile.File
	sections []elffile.Section
	id       elffile.BuildID
	budget   *budget
}

func openObject(in *Input, b *budget) (*object, error) {
	file, err := elffile.Open(in)
	if err != nil {
		return nil, err
	}
	// Shared debug information is no program, and has the type of an object file.
	if file.Type != elf.ET_EXEC && file.Type != elf.ET_DYN && file.Type != elf.ET_REL {
		return nil, fmt.Errorf("an ELF file of type %s, which is neither a program nor a library", file.Type)
	}
	sections, err := file.Sections(in.Size)
	if err != nil {
		return nil, err
	}
	return &object{in: in, file: file, sections: sections, id: file.BuildID(sections), budget: b}, nil
}

// codeSegments returns the executable segments.
func (o *object) codeSegments() []elffile.Segment {
	var code []elffile.Segment
	for _, s := range o.file.Segments {
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && s.Addr+s.MemSize >= s.Addr {
			code = append(code, s)
		}
	}
	return code
}

// find returns the first section of a name that has content in this file.
func (o *object) find(name string) (elffile.Section, bool) {
	for _, s := range o.sections {
		if s.Name == name && s.Type != elf.SHT_NOBITS && s.Size > 0 {
			return s, true
		}
	}
	return elffile.Section{}, false
}

// has reports whether the file has a section of debug information, possibly in the old compressed
// form: ".zdebug_info".
func (o *object) has(name string) bool {
	_, plain := o.find(name)
	_, old := o.find(".z" + name[1:])
	return plain || old
}

// read returns the uncompressed content of a section, or nil if there is none.
func (o *object) read(name string) ([]byte, error) {
	s, ok := o.find(name)
	if !ok {
		old, ok := o.find(".z" + name[1:])
		if !ok {
			return nil, nil
		}
		return o.readOld(old)
	}
	if s.Flags&elf.SHF_COMPRESSED == 0 {
		if err := o.budget.take(s.Size); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return o.file.ReadSection(s, s.Size)
	}
	head, word := make([]byte, 24), o.file.WordSize()
	if s.Size < uint64(3*word) { //nolint:gosec // sections are inside the file
		return nil, fmt.Errorf("%s: the header of the compressed data is cut short", name)
	}
	if _, err := o.file.ReadAt(head[:3*word], int64(s.Offset)); err != nil { //nolint:gosec // sections are inside the file
		return nil, err
	}
	// The header has a type, on 64 bits padding, the size and the alignment.
	kind, size := elf.CompressionType(o.file.Order.Uint32(head)), o.file.Word(head[word:])
	//nolint:gosec // sections are inside the file
	packed := io.NewSectionReader(o.file, int64(s.Offset)+int64(3*word), int64(s.Size)-int64(3*word))
	return o.decompress(name, kind, size, packed)
}

// readOld reads a section in the old compressed form: "ZLIB", the size and the data.
func (o *object) readOld(s elffile.Section) ([]byte, error) {
	head := make([]byte, 12)
	if s.Size < 12 {
		return nil, fmt.Errorf("%s: the header of the compressed data is cut short", s.Name)
	}
	if _, err := o.file.ReadAt(head, int64(s.Offset)); err != nil { //nolint:gosec // sections are inside the file
		return nil, err
	}
	if !bytes.HasPrefix(head, []byte("ZLIB")) {
		return nil, fmt.Errorf("%s: not compressed with zlib", s.Name)
	}
	//nolint:gosec // sections are inside the file
	packed := io.NewSectionReader(o.file, int64(s.Offset)+12, int64(s.Size)-12)
	return o.decompress(s.Name, elf.COMPRESS_ZLIB, binary.BigEndian.Uint64(head[4:]), packed)
}

func (o *object) decompress(name string, kind elf.CompressionType, size uint64, packed io.Reader) ([]byte, error) {
	if err := o.budget.take(size); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var in io.Reader
	switch kind {
	case elf.COMPRESS_ZLIB:
		r, err := zlib.NewReader(packed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		in = r
	case elf.COMPRESS_ZSTD:
		r, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer r.Close()
		in = r
	default:
		return nil, fmt.Errorf("%s: unknown compression %d", name, kind)
	}
	// The buffer grows with the data, because the size in the header can be a lie.
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(in, int64(size))); err != nil { //nolint:gosec // sections are inside the file
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if uint64(b.Len()) != size { //nolint:gosec // sections are inside the file
		return nil, fmt.Errorf("%s: %d bytes, want %d", name, b.Len(), size)
	}
	return b.Bytes(), nil
}
