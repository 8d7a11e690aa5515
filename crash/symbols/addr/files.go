package addr

import (
	"debug/dwarf"
	"encoding/binary"
	"strings"
)

// fileNames returns the source files of a unit's table of lines as gdb names them. The file of the
// unit is named as in the call of the compiler, if its folder is absolute; the others with their
// folder, which can be relative. debug/dwarf joins and shortens the paths, so its names serve only if
// the table cannot be read here.
func (u *unit) fileNames(files []*dwarf.LineFile) []string {
	names := make([]string, len(files))
	for i, f := range files {
		if f != nil {
			names[i] = clean(f.Name)
		}
	}
	at, _ := u.root.Val(dwarf.AttrStmtList).(int64)
	t := &lineTable{order: u.info.order, str: u.info.str, lineStr: u.info.lineStr}
	if at >= 0 && at < int64(len(u.info.line)) {
		t.b = u.info.line[at:]
	}
	if !t.readHeader(len(files)) || len(t.files) != len(files) {
		return names
	}
	for i, f := range t.files {
		name := f.name
		if !strings.HasPrefix(name, "/") && f.dir < len(t.dirs) && t.dirs[f.dir] != "" {
			name = strings.TrimSuffix(t.dirs[f.dir], "/") + "/" + name
		}
		if strings.HasPrefix(name, "/") && name == strings.TrimSuffix(u.dir, "/")+"/"+u.name {
			name = u.name
		}
		names[i] = clean(name)
	}
	return names
}

// lineTable is the header of a table of lines.
type lineTable struct {
	order        binary.ByteOrder
	str, lineStr []byte
	b            []byte // what is left to read
	bad          bool
	wide         bool

	dirs  []string
	files []lineFile
}

type lineFile struct {
	name string
	dir  int
}

func (t *lineTable) bytes(n uint64) []byte {
	if t.bad || n > uint64(len(t.b)) {
		t.bad = true
		return make([]byte, 8)
	}
	b := t.b[:n]
	t.b = t.b[n:]
	return b
}

// number reads n bytes.
func (t *lineTable) number(n uint64) uint64 {
	switch b := t.bytes(n); n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(t.order.Uint16(b))
	case 4:
		return uint64(t.order.Uint32(b))
	default:
		return t.order.Uint64(b)
	}
}

func (t *lineTable) offset() uint64 {
	if t.wide {
		return t.number(8)
	}
	return t.number(4)
}

func (t *lineTable) leb() uint64 {
	n, length := binary.Uvarint(t.b)
	if length <= 0 {
		t.bad = true
		return 0
	}
	t.b = t.b[length:]
	return n
}

func (t *lineTable) text() string {
	s := textAt(t.b, 0)
	t.bytes(uint64(len(s)) + 1)
	return s
}

// readHeader reads folders and files. It returns false if they cannot be read.
func (t *lineTable) readHeader(files int) bool {
	if t.number(4) == 0xffffffff {
		t.wide = true
		t.number(8)
	}
	version := t.number(2)
	if version == 5 {
		t.bytes(2) // the sizes of addresses and segments
	}
	t.offset() // the length of the header
	t.bytes(4) // the length of instructions, and three more; from version 4 on, one more follows
	if version >= 4 {
		t.bytes(1)
	}
	base := t.number(1)
	t.bytes(max(base, 1) - 1) // the lengths of operations
	if version == 5 {
		t.entries(func(f lineFile) { t.dirs = append(t.dirs, f.name) })
		t.entries(func(f lineFile) { t.files = append(t.files, f) })
		return !t.bad
	}
	t.dirs = append(t.dirs, "") // in which the compiler ran
	for name := t.text(); name != "" && !t.bad && len(t.dirs) < maxFiles; name = t.text() {
		t.dirs = append(t.dirs, name)
	}
	t.files = append(t.files, lineFile{})
	for len(t.files) < files && !t.bad {
		t.files = append(t.files, lineFile{t.text(), int(t.leb() % maxFiles)})
		t.leb() // the time
		t.leb() // the size
	}
	return !t.bad
}

const maxFiles = 1 << 20

// entries reads a table of folders or files in the form of DWARF 5.
func (t *lineTable) entries(add func(lineFile)) {
	type form struct{ content, form uint64 }
	forms := make([]form, t.number(1))
	for i := range forms {
		forms[i] = form{t.leb(), t.leb()}
	}
	count := t.leb()
	for n := uint64(0); n < count && !t.bad && n < maxFiles && len(forms) > 0; n++ {
		var f lineFile
		for _, form := range forms {
			text, number := t.value(form.form)
			switch form.content {
			case 1: // DW_LNCT_path
				f.name = text
			case 2: // DW_LNCT_directory_index
				f.dir = int(number % maxFiles)
			}
		}
		add(f)
	}
}

// value reads one value in a form that tables of lines use.
func (t *lineTable) value(form uint64) (string, uint64) {
	switch form {
	case 0x08: // DW_FORM_string
		return t.text(), 0
	case 0x0e: // DW_FORM_strp
		return textAt(t.str, t.offset()), 0
	case 0x1f: // DW_FORM_line_strp
		return textAt(t.lineStr, t.offset()), 0
	case 0x0b: // DW_FORM_data1
		return "", t.number(1)
	case 0x05: // DW_FORM_data2
		return "", t.number(2)
	case 0x06: // DW_FORM_data4
		return "", t.number(4)
	case 0x07: // DW_FORM_data8
		return "", t.number(8)
	case 0x0f: // DW_FORM_udata
		return "", t.leb()
	case 0x1e: // DW_FORM_data16
		t.bytes(16)
	case 0x09: // DW_FORM_block
		t.bytes(t.leb())
	default:
		t.bad = true
	}
	return "", 0
}
