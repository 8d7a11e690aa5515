package addr

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"io"
	"slices"
	"time"
)

// row says which line the code from an address on comes from. A line 0 ends a sequence.
type row struct {
	address uint64
	line    int32
	file    uint32 // number in the line table, and in the highest bit whether it begins a statement
}

const (
	maxRows   = 16_000_000
	statement = 1 << 31
)

// lines reads the table of lines of a unit by gdb's rules.
func (c *unitCode) lines(u *unit, until time.Time) error {
	if u.root == nil {
		return nil
	}
	r, err := u.info.data.LineReader(u.root)
	if err != nil || r == nil {
		return err
	}
	c.files = u.fileNames(r.Files())
	numbers := map[*dwarf.LineFile]uint32{}
	for i, f := range r.Files() {
		numbers[f] = uint32(i)
	}
	var e dwarf.LineEntry
	var seq sequence
	for n := 0; ; n++ {
		err := r.Next(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if n%1024 == 0 && time.Now().After(until) || len(c.rows) >= maxRows {
			return errTime
		}
		if e.EndSequence {
			if seq.begun {
				c.rows = append(c.rows, row{address: e.Address})
			}
			seq = sequence{}
			continue
		}
		if e.Line <= 0 || !isCode(u.info.code, e.Address) {
			continue
		}
		next := row{e.Address, int32(min(e.Line, 1<<31-1)), numbers[e.File]}
		if seq.repeats(next, e.Discriminator) {
			continue
		}
		if e.IsStmt {
			next.file |= statement
		}
		if c.addRow(next) {
			seq.recorded = next.line
		}
	}
	slices.SortStableFunc(c.rows, func(a, b row) int {
		// The end of a sequence counts less than the start of another one.
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(min(a.line, 1), min(b.line, 1)))
	})
	c.rows = slices.Clip(c.rows)
	return nil
}

// sequence is the state of reading one sequence of rows.
type sequence struct {
	begun         bool
	last          row   // that was read
	recorded      int32 // line of the last row that was not dropped
	discriminator bool  // one of the last rows with this line has one
}

// repeats reports whether gdb drops a row, because it only divides the code of one line into blocks.
func (s *sequence) repeats(r row, discriminator int) bool {
	s.discriminator = discriminator != 0 || s.begun && s.last.line == r.line && s.discriminator
	drop := s.begun && s.recorded == r.line && s.last.file == r.file && s.discriminator
	s.begun, s.last = true, r
	return drop
}

// addRow adds a row. If the file changes at one address, gdb drops the rows of the other file, unless
// only they begin a statement. It reports whether it added the row.
func (c *unitCode) addRow(next row) bool {
	if n := len(c.rows); n > 0 {
		last := c.rows[n-1]
		if last.line > 0 && last.address == next.address && last.file&^statement != next.file&^statement {
			if next.file&statement == 0 {
				for i := n - 1; i >= 0 && c.rows[i].address == next.address; i-- {
					if c.rows[i].file&statement != 0 {
						return false
					}
				}
			}
			for n > 0 && c.rows[n-1].address == next.address && c.rows[n-1].line > 0 {
				n--
			}
			c.rows = c.rows[:n]
		}
	}
	c.rows = append(c.rows, next)
	return true
}

// lineAt returns the line of an address.
func (c *unitCode) lineAt(address uint64) (file string, line int) {
	i, _ := slices.BinarySearchFunc(c.rows, address, func(r row, address uint64) int {
		if r.address <= address {
			return -1
		}
		return 1
	})
	if i--; i < 0 || c.rows[i].line == 0 {
		return "", 0
	}
	// Of several rows at one address, the last one counts, unless only an earlier one begins a statement.
	best := i
	for best > 0 && c.rows[best].file&statement == 0 && c.rows[best-1].address == c.rows[i].address &&
		c.rows[best-1].line > 0 {
		best--
	}
	if c.rows[best].file&statement == 0 {
		best = i
	}
	//nolint:gosec // debug/dwarf reads at most 2^31 files
	return c.fileName(int32(c.rows[best].file &^ statement)), int(c.rows[best].line)
}
