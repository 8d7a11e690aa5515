package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
)

const (
	maxCoreThreads = 100_000
	maxModules     = 2000
	maxFileNote    = 16 << 20 // bytes of the list of mapped files; the kernel writes at most 4 MiB
	maxNotes       = 2_000_000
)

// Core is the content of a core dump.
type Core struct {
	Architecture string // Debian's name: "amd64"
	Machine      elf.Machine
	Class        elf.Class
	Signal       int          // that ended the process; 0: unknown
	Threads      []int        // the kernel's ids; the one that crashed is first
	Modules      []CoreModule // in the order of their addresses
	Executable   string       // path of the program; empty: unknown
	Truncated    bool         // the end of the core is missing

	file     *debuginfo.ELF
	segments []debuginfo.Segment // loaded ones, by address
	vdso     uint64
}

// CoreModule is a program or library that was mapped into the process.
type CoreModule struct {
	Path    string // without the kernel's mark of a deleted file
	Start   uint64 // address of the first byte of the file
	Offset  uint64 // difference between addresses in the process and in the file
	BuildID debuginfo.BuildID
	Program bool // the program itself, not a library
	Deleted bool // the file was removed or replaced while the process ran

	ranges []span // executable mappings
}

type span struct{ start, end uint64 }

// ReadCore reads what a Linux core dump of this size says about its process. Cores come from strangers and
// may be damaged, cut short or huge: reading costs time and memory that depend only on the numbers of
// threads and mappings, which are limited. Errors have the kind Invalid and say what is wrong with the core:
// not_a_core, unknown_architecture, too_many_mappings or damaged_core.
func ReadCore(in io.ReaderAt, size int64) (*Core, error) {
	f, err := debuginfo.OpenELF(in)
	switch {
	case errors.Is(err, debuginfo.ErrManySegments):
		return nil, crash.Errorf(crash.Invalid, "too_many_mappings",
			"The core has 65,535 mappings or more, which mishap cannot read.")
	case errors.Is(err, debuginfo.ErrNotELF):
		return nil, crash.Errorf(crash.Invalid, "not_a_core", "This is not a core dump: it is not an ELF file.")
	case err != nil:
		return nil, damaged(err)
	case f.Type != elf.ET_CORE:
		return nil, crash.Errorf(crash.Invalid, "not_a_core", "This is an ELF file, but not a core dump (%s).", f.Type)
	}
	c := &Core{Architecture: f.Architecture(), Machine: f.Machine, Class: f.Class, file: f}
	if c.Architecture == "" {
		return nil, crash.Errorf(crash.Invalid, "unknown_architecture",
			"The core is of an architecture that mishap does not know (%s, %s).", f.Machine, f.Class)
	}
	end := uint64(max(size, 0))
	for _, s := range f.Segments {
		if s.Offset > end || s.FileSize > end-s.Offset {
			c.Truncated = true
		}
		if s.Type == elf.PT_LOAD {
			c.segments = append(c.segments, s)
		}
	}
	slices.SortStableFunc(c.segments, func(a, b debuginfo.Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	files, err := c.readNotes()
	if err != nil {
		return nil, err
	}
	if len(c.Threads) == 0 {
		return nil, damaged(errors.New("it lists no threads"))
	}
	return c, c.addModules(files)
}

func damaged(err error) error {
	return crash.Errorf(crash.Invalid, "damaged_core", "The core is damaged: %v.", err)
}

// ModuleAt returns the module whose code is at an address, or nil.
func (c *Core) ModuleAt(address uint64) *CoreModule {
	for i := range c.Modules {
		for _, r := range c.Modules[i].ranges {
			if r.start <= address && address < r.end {
				return &c.Modules[i]
			}
		}
	}
	return nil
}

// InKernelCode reports whether an address is in the code that the kernel maps into every process
// (the vDSO).
func (c *Core) InKernelCode(address uint64) bool {
	s, ok := c.segmentAt(c.vdso)
	return ok && c.vdso != 0 && s.Addr <= address && address-s.Addr < s.MemSize
}

func (c *Core) segmentAt(address uint64) (debuginfo.Segment, bool) {
	i, exact := slices.BinarySearchFunc(c.segments, address, func(s debuginfo.Segment, a uint64) int {
		return cmp.Compare(s.Addr, a)
	})
	if !exact {
		i--
	}
	if i < 0 || address-c.segments[i].Addr >= c.segments[i].MemSize {
		return debuginfo.Segment{}, false
	}
	return c.segments[i], true
}

// memory reads up to n bytes of the process's memory, as far as the core holds them.
func (c *Core) memory(address uint64, n uint32) []byte {
	s, ok := c.segmentAt(address)
	if !ok || address-s.Addr >= s.FileSize || s.Offset > 1<<62 || address-s.Addr > 1<<62 {
		return nil
	}
	into := address - s.Addr
	b := make([]byte, min(uint64(n), s.FileSize-into))
	got, err := c.file.ReadAt(b, int64(s.Offset+into)) //nolint:gosec // below 1<<63
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return b[:got]
}

// pageSize is how much of a module's first page is searched. Kernels store the first page of each
// ELF file, and it has at least this size.
const pageSize = 4096

const maxPath = 4096

// addModules groups mappings to modules: consecutive mappings of one file, the first of them with
// offset 0, one of them executable or not described by the core. Other mapped files, such as fonts, are
// not modules.
func (c *Core) addModules(files []mappedFile) error {
	for len(files) > 0 {
		n := 1
		for n < len(files) && files[n].path == files[0].path && files[n].offset != 0 {
			n++
		}
		if m, ok := c.module(files[:n]); ok {
			if len(c.Modules) == maxModules {
				return crash.Errorf(crash.Invalid, "too_many_modules", "The core has more than %d libraries.", maxModules)
			}
			c.Modules = append(c.Modules, m)
		}
		files = files[n:]
	}
	slices.SortStableFunc(c.Modules, func(a, b CoreModule) int { return cmp.Compare(a.Start, b.Start) })
	return nil
}

func (c *Core) module(mappings []mappedFile) (CoreModule, bool) {
	first := mappings[0]
	m := CoreModule{Path: pathOf(first.path), Start: first.start, Offset: first.start,
		Deleted: strings.HasSuffix(first.path, deletedMark)}
	var absent []span // debuggers leave code out, and what the core says about it
	for _, f := range mappings {
		switch s, ok := c.segmentAt(f.start); {
		case !ok:
			absent = append(absent, span{f.start, f.end})
		case s.Flags&elf.PF_X != 0:
			m.ranges = append(m.ranges, span{f.start, f.end})
		}
	}
	if first.offset != 0 || len(m.ranges) == 0 && len(absent) == 0 {
		return CoreModule{}, false
	}
	m.Program = c.Executable != "" && m.Path == c.Executable
	page := c.memory(first.start, pageSize)
	f, err := debuginfo.OpenELF(bytes.NewReader(page))
	if err != nil || f.Type != elf.ET_DYN && f.Type != elf.ET_EXEC {
		// The first page is missing: in a truncated core, or if the process has overwritten it.
		return m, len(page) == 0 && len(m.ranges) > 0
	}
	if len(m.ranges) == 0 {
		m.ranges = absent
	}
	m.BuildID = f.BuildID(nil)
	if m.BuildID == "" {
		m.BuildID = f.FindBuildID(page)
	}
	m.Offset = first.start - f.FirstAddress()
	return m, true
}

const deletedMark = " (deleted)"

// pathOf returns the path of a mapped file as text, without the kernel's mark of a deleted file.
func pathOf(name string) string {
	name = strings.TrimSuffix(name, deletedMark)
	name = name[:min(len(name), maxPath)]
	if !utf8.ValidString(name) {
		name = strings.ToValidUTF8(name, "\uFFFD")
	}
	return name
}

// The types of notes, as in the kernel's uapi/linux/elf.h.
const (
	notePrStatus = 1
	noteAuxv     = 6
	noteFile     = 0x46494c45
)

// The entries of the auxiliary vector.
const (
	auxEntry = 9  // AT_ENTRY: where the program begins
	auxVDSO  = 33 // AT_SYSINFO_EHDR
)

type mappedFile struct {
	start, end uint64
	offset     uint64 // in the file, in bytes
	path       string
}

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
	if len(c.Threads) == 0 {
		c.Signal = int(c.file.Order.Uint16(b[signalAt:]))
	}
	c.Threads = append(c.Threads, int(int32(c.file.Order.Uint32(b[idAt:])))) //nolint:gosec // a pid
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

func (c *Core) desc(n debuginfo.Note, size int) ([]byte, error) {
	if n.Size < uint64(size) { //nolint:gosec // not negative
		return nil, errors.New("a note is too short")
	}
	b := make([]byte, size)
	return b, c.file.ReadFull(b, n.At)
}
