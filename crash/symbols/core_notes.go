package symbols

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
)

// The types of notes, as in the kernel's uapi/linux/elf.h.
const (
	notePrStatus = 1
	notePrPsInfo = 3
	noteAuxv     = 6
	noteFile     = 0x46494c45
)

// The entries of the auxiliary vector.
const (
	auxEntry = 9  // AT_ENTRY: where the program begins
	auxVDSO  = 33 // AT_SYSINFO_EHDR
)

// mappedFile is one mapping of a file.
type mappedFile struct {
	start, end uint64
	offset     uint64 // in the file, in bytes
	path       string
}

// readNotes reads the threads and returns the mapped files.
func (c *Core) readNotes() ([]mappedFile, error) {
	var files []mappedFile
	notes := 0
	var entry uint64
	for _, s := range c.file.Segments {
		if s.Type != elf.PT_NOTE {
			continue
		}
		err := c.file.EachNote(s.Offset, s.FileSize, func(n debuginfo.Note) error {
			if notes++; notes > maxNotes {
				return errors.New("too many notes")
			}
			if n.Name != "CORE" {
				return nil
			}
			switch n.Type {
			case notePrStatus:
				return c.addThread(n)
			case notePrPsInfo:
				return c.readProcess(n)
			case noteAuxv:
				entry = c.readAuxv(n)
			case noteFile:
				if files != nil {
					return nil
				}
				var err error
				files, err = c.readFiles(n)
				return err
			}
			return nil
		})
		// A list that is cut short is used as far as it goes.
		if err != nil && (!errors.Is(err, io.ErrUnexpectedEOF) || len(c.Threads) == 0) {
			return nil, damagedNotes(err)
		}
	}
	for _, f := range files {
		if f.start <= entry && entry < f.end {
			c.Executable = pathOf(f.path)
		}
	}
	return files, nil
}

func damagedNotes(err error) error {
	if _, ok := errors.AsType[*crash.Error](err); ok {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("its notes are cut short")
	}
	return damaged(err)
}

// addThread reads the thread's id and signal. The first thread of a core is the one that crashed.
func (c *Core) addThread(n debuginfo.Note) error {
	const signalAt = 12 // behind pr_info
	idAt := 16 + 2*c.file.WordSize()
	b, err := c.desc(n, idAt+4)
	if err != nil {
		return err
	}
	if len(c.Threads) == maxCoreThreads {
		return crash.Errorf(crash.Invalid, "too_many_threads", "The core has more than %d threads.", maxCoreThreads)
	}
	c.Threads = append(c.Threads, CoreThread{
		ID: int(int32(c.file.Order.Uint32(b[idAt:]))), Signal: int(c.file.Order.Uint16(b[signalAt:])), //nolint:gosec // a pid
	})
	return nil
}

// readProcess reads the id of the process. It ignores name and arguments, which are private.
func (c *Core) readProcess(n debuginfo.Note) error {
	at := 24
	if c.Class == elf.ELFCLASS32 {
		at = 12 // user and group ids have 16 bits
	}
	b, err := c.desc(n, at+4)
	if err != nil {
		return err
	}
	c.PID = int(int32(c.file.Order.Uint32(b[at:]))) //nolint:gosec // a pid
	return nil
}

// readAuxv returns where the program begins, and stores where the vDSO is.
func (c *Core) readAuxv(n debuginfo.Note) (entry uint64) {
	word := c.file.WordSize()
	b, err := c.desc(n, int(min(n.Size, 4096)))
	if err != nil {
		return 0
	}
	for ; len(b) >= 2*word; b = b[2*word:] {
		switch value := c.file.Word(b[word:]); c.file.Word(b) {
		case auxEntry:
			entry = value
		case auxVDSO:
			c.vdso = value
		}
	}
	return entry
}

// readFiles reads the list of mapped files: a count, the page size, then start, end and page offset
// of each mapping, then the names, each with a NUL.
func (c *Core) readFiles(n debuginfo.Note) ([]mappedFile, error) {
	if n.Size > maxFileNote {
		return nil, crash.Errorf(crash.Invalid, "too_many_mappings",
			"The core has a list of mapped files of %d bytes; at most %d are possible.", n.Size, maxFileNote)
	}
	b, err := c.desc(n, int(n.Size))
	if err != nil {
		return nil, err
	}
	word := c.file.WordSize()
	if len(b) < 2*word {
		return nil, errors.New("its list of mapped files is cut short")
	}
	count, page := c.file.Word(b), c.file.Word(b[word:])
	b = b[2*word:]
	if count > uint64(len(b)/(3*word)) { //nolint:gosec // not negative
		return nil, errors.New("its list of mapped files is cut short")
	}
	names := b[int(count)*3*word:] //nolint:gosec // at most len(b)
	files := make([]mappedFile, 0, count)
	for ; count > 0; count-- {
		name, rest, ok := bytes.Cut(names, []byte{0})
		if !ok {
			return nil, errors.New("its list of mapped files has too few names")
		}
		names = rest
		files = append(files, mappedFile{
			start: c.file.Word(b), end: c.file.Word(b[word:]), offset: c.file.Word(b[2*word:]) * page, path: string(name),
		})
		b = b[3*word:]
	}
	return files, nil
}

// desc returns the first size bytes of a note.
func (c *Core) desc(n debuginfo.Note, size int) ([]byte, error) {
	if n.Size < uint64(size) { //nolint:gosec // not negative
		return nil, errors.New("a note is too short")
	}
	b := make([]byte, size)
	if got, err := c.file.ReadAt(b, int64(n.At)); got < size { //nolint:gosec // checked by EachNote
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b, nil
}
