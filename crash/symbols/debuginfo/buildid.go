package debuginfo

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

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
		return "", fmt.Errorf("%.130q is no build-id; want %d to %d lower-case hex digits", text, 2*minID, 2*maxID)
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
			if err := f.readAt(b, n.At); err != nil {
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
		if err := f.readAt(head[:], at); err != nil {
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
		if err := f.readAt(name, at+12); err != nil {
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
