package addr

import (
	"debug/dwarf"
	"errors"
	"time"
)

// scope is an entry that names something: a function, class or namespace.
type scope struct {
	tag           dwarf.Tag
	name, linkage string
	parent        dwarf.Offset // 0: the unit
	from          reference    // the entry that this one completes: it has what is missing here
	declared      bool         // only: the code is elsewhere
}

// reference names an entry, possibly in the shared file.
type reference struct {
	at     dwarf.Offset // 0: none
	shared bool
}

// Codes of attributes and entries that GCC used before DWARF 5.
const (
	tagGNUCallSite  dwarf.Tag  = 0x4109
	attrGNUTailCall dwarf.Attr = 0x2115
	attrMIPSLinkage dwarf.Attr = 0x2007
)

// parse returns the code of a unit, read once. It is nil if the unit is damaged.
func (u *unit) parse() *unitCode {
	u.parseOnce.Do(func() {
		d := u.info
		d.mu.Lock()
		defer d.mu.Unlock()
		c, err := u.read()
		if err != nil {
			if d.failed == nil {
				d.failed = err
			}
			return
		}
		d.spent += c.bytes() + int64(len(u.scopes))*100
		u.parsed.Store(c)
	})
	return u.parsed.Load()
}

// read reads all entries of a unit, and then the names of its functions. The caller holds the lock.
func (u *unit) read() (c *unitCode, err error) {
	defer recoverAs(&err)
	began := time.Now()
	defer func() { u.info.budget.left -= time.Since(began) }()
	w := &walk{unit: u, until: began.Add(u.info.budget.left), code: &unitCode{}}
	if err := w.entries(); err != nil {
		return nil, err
	}
	u.scopes = w.scopes
	if err := w.code.lines(u, w.until); err != nil {
		return nil, err
	}
	w.code.flatten()
	names := map[reference]string{}
	for i := range w.code.blocks {
		b := &w.code.blocks[i]
		if time.Now().After(w.until) {
			return nil, errTime
		}
		name, ok := names[b.function]
		if !ok {
			name = u.nameOf(b.function, w.until)
			names[b.function] = name
		}
		b.name = name
	}
	return w.code, w.code.addCalls(u, w.calls, w.until)
}

// walk is reading the entries of one unit.
type walk struct {
	unit   *unit
	until  time.Time
	scopes map[dwarf.Offset]scope
	code   *unitCode // nil: only scopes are read
	calls  []rawCall
	stack  []level
	ranges int
}

// level is an entry around the current one.
type level struct {
	scope    dwarf.Offset // the innermost one with a name
	block    int32        // the innermost one with code; -1: none
	function int32        // the innermost one that is not inlined; -1: none
}

const maxDepth = 1000 // of nested entries

// entries reads all entries of the unit.
func (w *walk) entries() error {
	w.scopes = map[dwarf.Offset]scope{}
	r := w.unit.info.data.Reader()
	r.Seek(dwarf.Offset(w.unit.unitHeader.root)) //nolint:gosec // limited; wrong numbers name nothing
	w.stack = append(w.stack, level{block: -1, function: -1})
	for {
		e, err := r.Next()
		if err != nil {
			return err
		}
		if e == nil || int(e.Offset) >= w.unit.end {
			return nil
		}
		if time.Now().After(w.until) {
			return errTime
		}
		if e.Tag == 0 {
			if w.stack = w.stack[:len(w.stack)-1]; len(w.stack) <= 1 {
				return nil
			}
			continue
		}
		l, err := w.entry(e, w.stack[len(w.stack)-1])
		if err != nil {
			return err
		}
		if e.Children {
			if len(w.stack) == maxDepth {
				return errors.New("entries are nested too deeply")
			}
			w.stack = append(w.stack, l)
		}
	}
}

// entry reads one entry. It returns the level of its children.
func (w *walk) entry(e *dwarf.Entry, l level) (level, error) {
	switch e.Tag { //nolint:exhaustive // others say nothing about code
	case dwarf.TagSubprogram, dwarf.TagNamespace, dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType,
		dwarf.TagEnumerationType, dwarf.TagModule, dwarf.TagInterfaceType:
		d := w.unit.info
		s := scope{tag: e.Tag, name: limited(d.text(e, dwarf.AttrName)), parent: l.scope, from: origin(e)}
		if declared, _ := e.Val(dwarf.AttrDeclaration).(bool); declared {
			s.declared = true
		}
		if s.linkage = limited(d.text(e, dwarf.AttrLinkageName)); s.linkage == "" {
			s.linkage = limited(d.text(e, attrMIPSLinkage))
		}
		w.scopes[e.Offset] = s
		l.scope = e.Offset
		if e.Tag == dwarf.TagSubprogram {
			l.block, l.function = -1, -1
			return w.block(e, reference{at: e.Offset}, l)
		}
	case dwarf.TagInlinedSubroutine:
		return w.block(e, origin(e), l)
	case dwarf.TagCallSite, tagGNUCallSite:
		w.call(e, l)
	}
	return l, nil
}

// limited cuts names to what [demangled] reads.
func limited(name string) string { return name[:min(len(name), maxMangled+1)] }

// origin returns the entry that e completes.
func origin(e *dwarf.Entry) reference {
	for _, a := range []dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification} {
		if r := referred(e, a); r.at != 0 {
			return r
		}
	}
	return reference{}
}

func referred(e *dwarf.Entry, a dwarf.Attr) reference {
	switch f := e.AttrField(a); {
	case f == nil:
	case f.Class == dwarf.ClassReference:
		at, _ := f.Val.(dwarf.Offset)
		return reference{at: at}
	case f.Class == dwarf.ClassReferenceAlt:
		at, _ := f.Val.(int64)
		return reference{at: dwarf.Offset(at), shared: true} //nolint:gosec // limited; wrong numbers name nothing
	}
	return reference{}
}

// block adds a function or an inlined one with its ranges.
func (w *walk) block(e *dwarf.Entry, function reference, l level) (level, error) {
	if w.code == nil {
		return l, nil
	}
	ranges, err := w.unit.info.data.Ranges(e)
	if err != nil {
		return l, err
	}
	if w.ranges += len(ranges); w.ranges > maxRanges {
		return l, errors.New("it has too many address ranges")
	}
	b := block{function: function, outer: l.block, inlined: e.Tag == dwarf.TagInlinedSubroutine}
	if b.inlined {
		file, _ := e.Val(dwarf.AttrCallFile).(int64)
		line, _ := e.Val(dwarf.AttrCallLine).(int64)
		b.callFile, b.callLine = int32(file), int32(line) //nolint:gosec // limited; wrong numbers name nothing
		if l.block < 0 {
			return l, nil
		}
	}
	b.main, _ = e.Val(dwarf.AttrMainSubprogram).(bool)
	number := int32(len(w.code.blocks)) //nolint:gosec // limited; wrong numbers name nothing
	for _, r := range ranges {
		if r[0] < r[1] && isCode(w.unit.info.code, r[0]) {
			w.code.ranges = append(w.code.ranges, blockRange{r[0], r[1], number})
			if b.start == 0 {
				b.start = r[0] // gdb: the entry is the start of the first range
			}
		}
	}
	if b.start == 0 {
		return l, nil
	}
	w.code.blocks = append(w.code.blocks, b)
	l.block = number
	if !b.inlined {
		l.function = number
	}
	return l, nil
}

// scopeOf returns the entry of a reference, and its unit. The caller holds the lock.
func (u *unit) scopeOf(r reference, until time.Time) (scope, *unit) {
	d := u.info
	if r.shared {
		if d = d.shared; d == nil {
			return scope{}, nil
		}
	}
	to := d.unitAt(r.at)
	if to == nil {
		return scope{}, nil
	}
	if to.scopes == nil {
		to.scopes = map[dwarf.Offset]scope{}
		w := &walk{unit: to, until: until}
		if err := w.entries(); err != nil {
			return scope{}, nil // a missing name
		}
		to.scopes = w.scopes
		d.spent += int64(len(w.scopes)) * 100
	}
	return to.scopes[r.at], to
}
