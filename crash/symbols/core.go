package symbols

import (
	"cmp"
	"debug/elf"
	"errors"
	"io"
	"slices"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
)

// The limits of a core.
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
	PID          int
	Signal       int          // that ended the process; 0: unknown
	Threads      []CoreThread // the one that crashed is first
	Modules      []CoreModule // in the order of their addresses
	Executable   string       // path of the program; empty: unknown
	Truncated    bool         // the end of the core is missing

	file     *debuginfo.ELF
	segments []debuginfo.Segment // loaded ones, by address
	vdso     uint64
}

// CoreThread is one thread of the process.
type CoreThread struct {
	ID     int // of the kernel
	Signal int
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
	c.Signal = c.Threads[0].Signal
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

// segmentAt returns the loaded segment that contains an address.
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
