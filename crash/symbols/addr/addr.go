// Package addr names addresses of code in programs and libraries, without a debugger: functions,
// inlined functions, source files and lines, as gdb prints them. It reads DWARF, the symbols of ELF
// files and the tables of Go programs. Files come from strangers: they cost bounded memory and time,
// and damaged ones are errors. The package does not unwind stacks and knows no processes.
package addr

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"mishap/crash/symbols/elffile"
)

// Frame is one function at an address. Unknown values are empty or 0.
type Frame struct {
	Function string
	File     string // as gdb prints it, often relative to the folder in which the compiler ran
	Line     int
	Inlined  bool // into the next frame
	Main     bool // where the programmer's code begins; gdb ends stacks there
}

// Input is one file to read.
type Input struct {
	io.ReaderAt
	Size int64
}

// Files are the files of one build. At least one of Executable and Debuginfo is set.
type Files struct {
	ID         elffile.BuildID // both must have it
	Executable *Input
	Debuginfo  *Input
	Shared     *Input // debug information that several builds share (dwz)
}

// Limits bounds what the files of one build may cost.
type Limits struct {
	Bytes uint64        // of uncompressed sections in memory
	Time  time.Duration // of reading, in total
}

// DefaultLimits suffices for all but the largest programs. Parsed data needs up to about three times
// the memory of the sections.
var DefaultLimits = Limits{Bytes: 256 << 20, Time: time.Minute}

// Module names addresses in one build. It is safe for concurrent use. It reads debug information
// when an address first needs it, and from then on uses the executable only in [Module.AfterCall].
type Module struct {
	Machine elf.Machine
	Class   elf.Class

	code     []elffile.Segment // executable segments
	offsets  bool              // the segments have the right file offsets
	text     *Input            // nil: only debug information
	dwarf    *debugInfo        // nil: none
	symbols  []symbolTable     // in the order in which gdb searches them
	golang   *goTable          // nil: not a Go program, or not needed
	problems []string
}

// Open reads the headers, symbols and the index of the debug information. It fails if a file is
// damaged in these parts or has another build-id. If only the debug information cannot be used, it
// succeeds, and [Module.Problems] says why.
func Open(files Files, limits Limits) (m *Module, err error) {
	defer recoverAs(&err)
	m = &Module{}
	b := &budget{bytes: limits.Bytes, left: limits.Time}
	var opened []*object
	for _, in := range []*Input{files.Executable, files.Debuginfo} {
		if in == nil {
			continue
		}
		o, err := openObject(in, b)
		if err != nil {
			return nil, err
		}
		if o.id != files.ID {
			return nil, fmt.Errorf("the build-id is %q, want %q", o.id, files.ID)
		}
		if len(opened) > 0 && (o.file.Machine != m.Machine || o.file.Class != m.Class) {
			return nil, errors.New("the program and its debug information are for different machines")
		}
		m.Machine, m.Class = o.file.Machine, o.file.Class
		opened = append(opened, o)
	}
	if len(opened) == 0 {
		return nil, errors.New("no files")
	}
	m.code, m.offsets = opened[0].codeSegments(), files.Executable != nil
	if files.Executable != nil {
		m.text = files.Executable
	}
	for _, o := range opened {
		table, err := o.symbols()
		if err != nil {
			return nil, err
		}
		m.symbols = append(m.symbols, table)
	}
	var shared *object
	if files.Shared != nil {
		if shared, err = openObject(files.Shared, b); err != nil {
			return nil, fmt.Errorf("shared debug information: %w", err)
		}
	}
	m.openDebugInfo(opened, shared, b)
	return m, nil
}

// openDebugInfo opens the debug information, or the tables of a Go program without any.
func (m *Module) openDebugInfo(opened []*object, shared *object, b *budget) {
	for _, o := range opened {
		if !o.has(".debug_info") {
			continue
		}
		info, err := openDebugInfo(o, shared, m.code, b)
		if err != nil {
			m.problems = append(m.problems, "debug information: "+err.Error())
			continue
		}
		index := sync.OnceValue(func() nameIndex { return newNameIndex(m.symbols) })
		info.byName = func(name string) uint64 { return index().find(name) }
		m.dwarf = info
		return
	}
	if len(m.problems) == 0 {
		m.problems = append(m.problems, "no debug information")
	}
	table, err := openGoTable(opened[0])
	if err != nil {
		m.problems = append(m.problems, "functions of Go: "+err.Error())
	}
	m.golang = table
}

// Problems says why names, lines or inlined functions may be missing. It is empty if nothing is.
func (m *Module) Problems() []string {
	problems := m.problems
	if m.dwarf != nil {
		problems = append(problems[:len(problems):len(problems)], m.dwarf.problems()...)
	}
	return problems
}

// Bytes estimates the memory of the module.
func (m *Module) Bytes() int64 {
	size := int64(1000)
	for _, t := range m.symbols {
		size += int64(cap(t)) * 80
	}
	if m.dwarf != nil {
		size += m.dwarf.bytes()
	}
	if m.golang != nil {
		size += m.golang.bytes
	}
	return size
}

const pageSize = 4096

// Address converts an offset in an executable mapping to an address of the file. It returns false
// if it cannot tell which segment was mapped. A mapping begins at a page of the file; -1: unknown.
func (m *Module) Address(offset uint64, mapped int64) (uint64, bool) {
	var found *elffile.Segment
	for i, s := range m.code {
		if mapped >= 0 && m.offsets && s.Offset&^(pageSize-1) != uint64(mapped) {
			continue
		}
		if found != nil {
			return 0, false
		}
		found = &m.code[i]
	}
	if found == nil {
		return 0, false
	}
	address := found.Addr&^(pageSize-1) + offset
	if address < offset || address >= found.Addr+found.MemSize {
		return 0, false
	}
	return address, true
}

// Frames returns the functions at an address, the innermost inlined one first. If nothing is known,
// the result is one empty frame. For the return address of a call, pass the address before it.
func (m *Module) Frames(address uint64) []Frame {
	if m.dwarf != nil {
		if frames := m.dwarf.frames(address); len(frames) > 0 {
			outer := &frames[len(frames)-1]
			if outer.Function == "" {
				outer.Function = m.symbolAt(address)
			}
			outer.Main = outer.Main || outer.Function == "main"
			return frames
		}
	}
	f := Frame{Function: m.symbolAt(address)}
	if f.Function == "" && m.golang != nil {
		f = m.golang.frame(address)
	}
	f.Main = f.Function == "main" || f.Function == goMain
	return []Frame{f}
}

// recoverAs turns a panic of a package that reads files into an error.
func recoverAs(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged: %s", strings.TrimPrefix(fmt.Sprint(p), "runtime error: "))
	}
}
