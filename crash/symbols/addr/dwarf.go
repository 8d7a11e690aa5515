package addr

import (
	"cmp"
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mishap/crash/symbols/elffile"
)

// debugInfo is the DWARF of one build. Units are parsed when an address first needs them.
type debugInfo struct {
	data    *dwarf.Data
	order   binary.ByteOrder
	code    []elffile.Segment
	byName  func(string) uint64 // address of a symbol; 0: unknown
	shared  *debugInfo          // debug information that several builds share; nil: none
	str     []byte
	line    []byte
	lineStr []byte
	units   []*unit     // by offset
	ranges  []unitRange // by start
	size    int64       // of the sections

	mu     sync.Mutex // for parsing, and for what follows
	budget *budget
	spent  int64 // estimated memory of parsed units
	failed error // the first unit that could not be parsed
}

// unit is one compilation unit.
type unit struct {
	unitHeader
	info     *debugInfo
	language int64
	name     string // of the source file
	dir      string // in which the compiler ran
	root     *dwarf.Entry

	scopes    map[dwarf.Offset]scope // nil until they are read; guarded by debugInfo.mu
	parseOnce sync.Once
	parsed    atomic.Pointer[unitCode] // nil until it is parsed
}

// unitRange says that the code of a unit is at these addresses.
type unitRange struct {
	start, end uint64
	unit       *unit
}

// The sections that are read. debug/dwarf gets each by name, because it refuses a file with a section
// .debug_gdb_scripts that has no content.
var dwarfSections = [...]string{".debug_abbrev", ".debug_info", ".debug_str", ".debug_line", ".debug_ranges",
	".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"}

// openDebugInfo reads the sections and the roots of all units.
func openDebugInfo(o, shared *object, code []elffile.Segment, b *budget) (info *debugInfo, err error) {
	defer recoverAs(&err)
	began := time.Now()
	info = &debugInfo{order: o.file.Order, code: code, budget: b}
	if _, ok := o.find(".gnu_debugaltlink"); ok {
		if shared == nil {
			return nil, errors.New("the file with what several builds share is missing")
		}
		if info.shared, err = openDebugInfo(shared, nil, nil, b); err != nil {
			return nil, err
		}
	}
	s := map[string][]byte{}
	for _, name := range dwarfSections {
		if s[name], err = o.read(name); err != nil {
			return nil, err
		}
		info.size += int64(len(s[name]))
	}
	info.str, info.line, info.lineStr = s[".debug_str"], s[".debug_line"], s[".debug_line_str"]
	headers, err := readUnits(s[".debug_info"], info.order)
	if err == nil {
		err = checkAbbreviations(headers, s[".debug_abbrev"])
	}
	if err == nil {
		err = errors.Join(longStrings(info.str), longStrings(info.lineStr))
	}
	if err != nil {
		return nil, err
	}
	if len(s[".debug_ranges"]) > maxRangeBytes || len(s[".debug_rnglists"]) > maxRangeBytes {
		return nil, errors.New("it has too many address ranges")
	}
	info.data, err = dwarf.New(s[".debug_abbrev"], nil, nil, s[".debug_info"], s[".debug_line"], nil, s[".debug_ranges"],
		s[".debug_str"])
	if err != nil {
		return nil, err
	}
	for _, name := range dwarfSections[5:] {
		if s[name] != nil {
			if err := info.data.AddSection(name, s[name]); err != nil {
				return nil, err
			}
		}
	}
	for _, h := range headers {
		if time.Since(began) > b.left {
			return nil, errTime
		}
		info.units = append(info.units, &unit{unitHeader: h, info: info})
	}
	if code != nil {
		err = info.indexUnits(began)
	}
	b.left -= time.Since(began)
	return info, err
}

// indexUnits reads which unit has which addresses.
func (d *debugInfo) indexUnits(began time.Time) error {
	r := d.data.Reader()
	total := 0
	for _, u := range d.units {
		if time.Since(began) > d.budget.left {
			return errTime
		}
		if err := u.readRoot(r); err != nil {
			return err
		}
		if u.root == nil {
			continue
		}
		ranges, err := d.data.Ranges(u.root)
		if err != nil {
			return fmt.Errorf("ranges of a unit: %w", err)
		}
		if total += len(ranges); total > maxRanges {
			return errors.New("it has too many address ranges")
		}
		for _, r := range ranges {
			if r[0] < r[1] && isCode(d.code, r[0]) {
				d.ranges = append(d.ranges, unitRange{r[0], r[1], u})
			}
		}
	}
	slices.SortStableFunc(d.ranges, func(a, b unitRange) int { return cmp.Compare(a.start, b.start) })
	return nil
}

// maxRanges limits the address ranges of all functions of a file together.
const maxRanges = 16_000_000

// readRoot reads the first entry of a unit. Units of types and parts of units have no code.
func (u *unit) readRoot(r *dwarf.Reader) error {
	if u.unitHeader.root >= u.end {
		return nil
	}
	r.Seek(dwarf.Offset(u.unitHeader.root)) //nolint:gosec // an offset; wrong ones are found to be outside
	e, err := r.Next()
	if err != nil || e == nil {
		return err
	}
	u.language, _ = e.Val(dwarf.AttrLanguage).(int64)
	if e.Tag == dwarf.TagCompileUnit {
		u.root = e
		u.name, u.dir = u.info.text(e, dwarf.AttrName), u.info.text(e, dwarf.AttrCompDir)
	}
	return nil
}

// text returns a string attribute, which can be in the shared file.
func (d *debugInfo) text(e *dwarf.Entry, a dwarf.Attr) string {
	switch f := e.AttrField(a); {
	case f == nil:
	case f.Class == dwarf.ClassString:
		s, _ := f.Val.(string)
		return s
	case f.Class == dwarf.ClassStringAlt && d.shared != nil:
		at, _ := f.Val.(int64)
		return textAt(d.shared.str, uint64(at)) //nolint:gosec // an offset; wrong ones are found to be outside
	}
	return ""
}

// textAt returns the string at an offset of a section of strings.
func textAt(b []byte, at uint64) string {
	if at >= uint64(len(b)) {
		return ""
	}
	b = b[at:]
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return ""
}

// unitAt returns the unit with an offset.
func (d *debugInfo) unitAt(at dwarf.Offset) *unit {
	i, found := slices.BinarySearchFunc(d.units, int(at), func(u *unit, at int) int { return cmp.Compare(u.at, at) })
	if !found {
		i--
	}
	if i < 0 || int(at) >= d.units[i].end {
		return nil
	}
	return d.units[i]
}

// codeAt returns the parsed unit that has an address, or nil. Ranges of units hardly ever overlap.
func (d *debugInfo) codeAt(address uint64) *unitCode {
	i, found := slices.BinarySearchFunc(d.ranges, address, func(r unitRange, address uint64) int {
		return cmp.Compare(r.start, address)
	})
	if !found {
		i--
	}
	for n := 0; i >= 0 && n < 4; i, n = i-1, n+1 {
		if r := d.ranges[i]; address >= r.start && address < r.end {
			return r.unit.parse()
		}
	}
	return nil
}

// frames returns the functions at an address, or nil if no unit has it. The outermost one has no name
// if it has no debug information.
func (d *debugInfo) frames(address uint64) []Frame {
	c := d.codeAt(address)
	if c == nil {
		return nil
	}
	return c.frames(address)
}

// problems says which parts could not be read.
func (d *debugInfo) problems() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		return nil
	}
	return []string{"a part of the debug information: " + d.failed.Error()}
}

func (d *debugInfo) bytes() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := d.size + d.spent + int64(len(d.units))*300 + int64(len(d.ranges))*24
	if d.shared != nil {
		size += d.shared.bytes()
	}
	return size
}
