package addr

import (
	"cmp"
	"debug/elf"
	"errors"
	"slices"
	"strings"

	"mishap/crash/symbols/elffile"
)

// symbol is a function in a table of symbols.
type symbol struct {
	address, size uint64
	name          string
}

// symbolTable holds symbols by address and name.
type symbolTable []symbol

// maxSymbols limits the symbols of one table. Browsers have about a million.
const maxSymbols = 4_000_000

// symbols reads .dynsym and .symtab.
func (o *object) symbols() (symbolTable, error) {
	var table symbolTable
	for _, names := range [][2]string{{".dynsym", ".dynstr"}, {".symtab", ".strtab"}} {
		in, ok := o.find(names[0])
		if !ok {
			continue
		}
		b, err := o.read(names[0])
		if err != nil {
			return nil, err
		}
		text, err := o.read(names[1])
		if err != nil {
			return nil, err
		}
		if err := longStrings(text); err != nil {
			return nil, err
		}
		if err := table.add(o, b, text); err != nil {
			return nil, errors.New(in.Name + ": " + err.Error())
		}
	}
	slices.SortFunc(table, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.address, b.address), strings.Compare(a.name, b.name))
	})
	return slices.Clip(slices.Compact(table)), nil
}

// add adds the functions of a section of symbols.
func (t *symbolTable) add(o *object, b, text []byte) error {
	entry := 24
	if o.file.Class == elf.ELFCLASS32 {
		entry = 16
	}
	if len(b)/entry > maxSymbols {
		return errors.New("too many symbols")
	}
	names := string(text) // symbols share it
	order := o.file.Order
	for ; len(b) >= entry; b = b[entry:] {
		var s symbol
		var info byte
		var section uint16
		if entry == 16 {
			s.address, s.size = uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:]))
			info, section = b[12], order.Uint16(b[14:])
		} else {
			info, section = b[4], order.Uint16(b[6:])
			s.address, s.size = order.Uint64(b[8:]), order.Uint64(b[16:])
		}
		kind := elf.ST_TYPE(info)
		if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC && kind != elf.STT_NOTYPE ||
			int(section) >= len(o.sections) || o.sections[section].Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		if o.file.Machine == elf.EM_ARM && kind == elf.STT_FUNC {
			s.address &^= 1 // the bit that says "Thumb"
		}
		if at := order.Uint32(b); uint64(at) < uint64(len(names)) {
			s.name = names[at:]
			s.name = s.name[:max(strings.IndexByte(s.name, 0), 0)]
		}
		s.name, _, _ = strings.Cut(s.name, "@@") // a version
		// Local labels and marks of the kind of code name no functions.
		if s.name != "" && !strings.HasPrefix(s.name, ".L") && !strings.HasPrefix(s.name, "$") {
			*t = append(*t, s)
		}
	}
	return nil
}

// at returns the symbol at an address by gdb's rules. Of several symbols, the last one by name wins.
func (t symbolTable) at(address uint64) (symbol, bool) {
	i, _ := slices.BinarySearchFunc(t, address, func(s symbol, address uint64) int {
		if s.address <= address {
			return -1
		}
		return 1
	})
	unsized := -1
	const reach = 1000 // symbols around one address
	for i--; i >= 0; i-- {
		s := t[i]
		if s.size == 0 {
			if unsized < 0 {
				unsized = i
			}
			if i > 0 && unsized-i < reach {
				continue
			}
			return t[unsized], true
		}
		inside := func(s symbol) bool { return address-s.address < s.size }
		if !inside(s) && i > 0 && t[i-1].size > 0 && inside(t[i-1]) {
			continue // a smaller symbol inside a larger one
		}
		if inside(s) {
			return s, true
		}
		break
	}
	if unsized >= 0 {
		return t[unsized], true
	}
	return symbol{}, false
}

// symbolAt returns the name of the symbol at an address, demangled.
func (m *Module) symbolAt(address uint64) string {
	var best symbol
	for _, t := range m.symbols {
		if s, ok := t.at(address); ok && (best.name == "" || s.address > best.address) {
			best = s
		}
	}
	return demangled(best.name)
}

// isCode reports whether an address is in an executable segment.
func isCode(code []elffile.Segment, address uint64) bool {
	for _, s := range code {
		if address >= s.Addr && address-s.Addr < s.MemSize {
			return true
		}
	}
	return false
}

// addressOf returns the address of a section.
func (o *object) addressOf(s elffile.Section) (uint64, bool) {
	for _, segment := range o.codeSegments() {
		if s.Offset >= segment.Offset && s.Offset-segment.Offset < segment.FileSize {
			return segment.Addr + (s.Offset - segment.Offset), true
		}
	}
	return 0, false
}

// nameIndex finds symbols by name.
type nameIndex struct {
	tables []symbolTable
	order  [][]int32 // of each table: its symbols by name
}

// newNameIndex sorts the symbols by name.
func newNameIndex(tables []symbolTable) nameIndex {
	x := nameIndex{tables: tables}
	for _, t := range tables {
		order := make([]int32, len(t))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int { return strings.Compare(t[a].name, t[b].name) })
		x.order = append(x.order, order)
	}
	return x
}

// find returns the address of a symbol, or 0.
func (x nameIndex) find(name string) uint64 {
	for i, t := range x.tables {
		at, found := slices.BinarySearchFunc(x.order[i], name, func(n int32, name string) int {
			return strings.Compare(t[n].name, name)
		})
		if found {
			return t[x.order[i][at]].address
		}
	}
	return 0
}
