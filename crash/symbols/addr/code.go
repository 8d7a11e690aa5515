package addr

import (
	"cmp"
	"debug/dwarf"
	"slices"
)

// unitCode is what a unit says about addresses. It is not changed once it is read.
type unitCode struct {
	blocks   []block
	ranges   []blockRange      // only while it is read
	segments []segment         // by start
	rows     []row             // by address
	files    []string          // as gdb names them, by their numbers in the line table
	calls    []call            // by return address
	tails    map[uint64][]call // of each function, by its start
}

// block is a function, or one that was inlined at one place.
type block struct {
	function           reference
	name               string
	start              uint64
	outer              int32 // the block around this one; -1: none
	callFile, callLine int32 // where it was called, if it is inlined
	inlined            bool
	main               bool // the unit says that the programmer's code begins there
}

type blockRange struct {
	start, end uint64
	block      int32
}

// segment says which block is the innermost one from an address up to the next segment; -1: none.
type segment struct {
	start uint64
	block int32
}

func (c *unitCode) bytes() int64 {
	return int64(len(c.blocks))*96 + int64(len(c.segments))*16 + int64(len(c.rows))*16 + int64(len(c.files))*64 +
		int64(len(c.calls))*24
}

// flatten computes the segments. Ranges of inner blocks lie in those of outer ones.
func (c *unitCode) flatten() {
	slices.SortStableFunc(c.ranges, func(a, b blockRange) int {
		// Outer blocks come before inner ones, since they were read first.
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.block, b.block))
	})
	var open []blockRange
	add := func(at uint64, block int32) {
		if n := len(c.segments); n > 0 && c.segments[n-1].start == at {
			c.segments[n-1].block = block
			return
		}
		c.segments = append(c.segments, segment{at, block})
	}
	closeUntil := func(at uint64) {
		for n := len(open); n > 0 && open[n-1].end <= at; n = len(open) {
			ended := open[n-1].end
			open = open[:n-1]
			for len(open) > 0 && open[len(open)-1].end <= ended {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				add(ended, open[len(open)-1].block)
			} else {
				add(ended, -1)
			}
		}
	}
	for _, r := range c.ranges {
		closeUntil(r.start)
		if n := len(open); n > 0 {
			r.end = min(r.end, open[n-1].end)
		}
		add(r.start, r.block)
		open = append(open, r)
	}
	closeUntil(1<<64 - 1)
	c.ranges = nil
	c.segments = slices.Clip(c.segments)
}

// blockAt returns the innermost block at an address, or -1.
func (c *unitCode) blockAt(address uint64) int32 {
	i, found := slices.BinarySearchFunc(c.segments, address, func(s segment, address uint64) int {
		return cmp.Compare(s.start, address)
	})
	if !found {
		i--
	}
	if i < 0 {
		return -1
	}
	return c.segments[i].block
}

// frames returns the functions at an address. The last one has no name if no function is known.
func (c *unitCode) frames(address uint64) []Frame {
	frames := make([]Frame, 1, 4)
	frames[0].File, frames[0].Line = c.lineAt(address)
	for i := c.blockAt(address); i >= 0; i = c.blocks[i].outer {
		b := &c.blocks[i]
		f := &frames[len(frames)-1]
		f.Function, f.Inlined, f.Main = b.name, b.inlined, b.main || b.name == goMain
		if !b.inlined {
			break
		}
		frames = append(frames, Frame{File: c.fileName(b.callFile), Line: int(b.callLine)})
	}
	return frames
}

func (c *unitCode) fileName(number int32) string {
	if number < 0 || int(number) >= len(c.files) {
		return ""
	}
	return c.files[number]
}

// functionAt returns the function at an address that is not inlined, or nil.
func (c *unitCode) functionAt(address uint64) *block {
	for i := c.blockAt(address); i >= 0; i = c.blocks[i].outer {
		if !c.blocks[i].inlined {
			return &c.blocks[i]
		}
	}
	return nil
}

// rawCall is a call as it is read.
type rawCall struct {
	after  uint64
	target reference
	caller int32
	tail   bool
}

// call adds a call to those of the unit.
func (w *walk) call(e *dwarf.Entry, l level) {
	if w.code == nil || l.function < 0 {
		return
	}
	after, ok := e.Val(dwarf.AttrCallReturnPC).(uint64)
	if !ok {
		after, ok = e.Val(dwarf.AttrLowpc).(uint64)
	}
	if !ok {
		return
	}
	c := rawCall{after: after, target: referred(e, dwarf.AttrCallOrigin), caller: l.function}
	if c.target.at == 0 {
		c.target = referred(e, dwarf.AttrAbstractOrigin)
	}
	c.tail, _ = e.Val(dwarf.AttrCallTailCall).(bool)
	if old, _ := e.Val(attrGNUTailCall).(bool); old {
		c.tail = true
	}
	w.calls = append(w.calls, c)
}
