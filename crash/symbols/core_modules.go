package symbols

import (
	"bytes"
	"debug/elf"
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
)

// pageSize is how much of a module's first page is searched. Kernels store the first page of each
// ELF file, and it has at least this size.
const pageSize = 4096

// maxPath limits the path of a module, in bytes.
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
	slices.SortStableFunc(c.Modules, func(a, b CoreModule) int {
		switch {
		case a.Start < b.Start:
			return -1
		case a.Start > b.Start:
			return 1
		}
		return 0
	})
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

// deletedMark is what the kernel writes behind the path of a deleted file.
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
