package debuginfo

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"
)

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

// kinds returns the kinds that a file can serve as.
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

// refusal returns why a file is not the wanted one, or an empty string.
func (i Info) refusal(w Wanted) string {
	var wrong []string
	if i.ID != w.ID {
		if i.ID == "" {
			wrong = append(wrong, "it has no build-id")
		} else {
			wrong = append(wrong, "its build-id is "+string(i.ID))
		}
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
	return strings.Join(wrong, "; ")
}
