package addr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Limits of debug information, far above those of the largest programs. Without them, a small file
// could make debug/dwarf use any amount of memory.
const (
	maxUnits       = 1_000_000
	maxAbbrevBytes = 16 << 20 // of all tables of abbreviations, overlapping ones counted twice
	maxAttributes  = 1000     // of one abbreviation
	maxString      = 1 << 20
	maxRangeBytes  = 32 << 20 // of a section of address ranges
)

// unitHeader is what the header of a unit says.
type unitHeader struct {
	at     int  // offset of the header
	root   int  // offset of the first entry
	end    int  // offset of the end
	wide   bool // offsets have 64 bits
	abbrev uint64
}

var errUnits = errors.New(".debug_info is damaged")

// readUnits reads the headers of all units.
func readUnits(info []byte, order binary.ByteOrder) ([]unitHeader, error) {
	var units []unitHeader
	for at := 0; at < len(info); {
		u := unitHeader{at: at, root: at + 4}
		if len(info)-at < 4 {
			return nil, errUnits
		}
		length := uint64(order.Uint32(info[at:]))
		if length == 0xffffffff && len(info)-at >= 12 {
			u.wide, u.root = true, at+12
			length = order.Uint64(info[at+4:])
		}
		if length > uint64(len(info)-u.root) { //nolint:gosec // at most the size of the section
			return nil, errUnits
		}
		u.end = u.root + int(length) //nolint:gosec // at most the size of the section
		at = u.end
		if length == 0 {
			continue
		}
		if err := u.readVersion(info[:u.end], order); err != nil {
			return nil, err
		}
		if len(units) == maxUnits {
			return nil, errors.New(".debug_info has too many units")
		}
		units = append(units, u)
	}
	return units, nil
}

// readVersion reads the rest of the header, which depends on the version of DWARF.
func (u *unitHeader) readVersion(info []byte, order binary.ByteOrder) error {
	b := info[u.root:]
	if len(b) < 24 {
		b = append(bytes.Clone(b), make([]byte, 24)...) // a missing end reads as zeros; debug/dwarf complains
	}
	version, kind, at := order.Uint16(b), byte(0), 2
	if version < 2 || version > 5 {
		return fmt.Errorf("version %d of DWARF, want 2 to 5", version)
	}
	if version == 5 {
		kind, at = b[2], 4
	}
	word := 4
	if u.wide {
		word = 8
		u.abbrev = order.Uint64(b[at:])
	} else {
		u.abbrev = uint64(order.Uint32(b[at:]))
	}
	at += word
	if version < 5 {
		at++ // the size of addresses
	}
	switch kind {
	case 4, 5: // DW_UT_skeleton, DW_UT_split_compile: an id follows
		at += 8
	case 2, 6: // DW_UT_type, DW_UT_split_type: a signature and an offset follow
		at += 8 + word
	}
	u.root += at
	return nil
}

// checkAbbreviations limits what the tables of abbreviations of all units cost when each is parsed
// once.
func checkAbbreviations(units []unitHeader, b []byte) error {
	seen, total := map[uint64]bool{}, 0
	for _, u := range units {
		if seen[u.abbrev] {
			continue
		}
		seen[u.abbrev] = true
		if u.abbrev > uint64(len(b)) {
			return errors.New(".debug_abbrev is cut short")
		}
		size, err := abbreviationsSize(b[u.abbrev:], maxAbbrevBytes-total)
		if err != nil {
			return err
		}
		total += size
	}
	return nil
}

// abbreviationsSize returns the size of one table of abbreviations.
func abbreviationsSize(b []byte, limit int) (int, error) {
	at := 0
	number := func() uint64 {
		n, length := binary.Uvarint(b[at:])
		if length <= 0 {
			at = len(b) + 1 // the end is missing
			return 0
		}
		at += length
		return n
	}
	for at < len(b) {
		if number() == 0 {
			return at, nil
		}
		number() // the tag
		at++     // whether it has children
		for n := 0; ; n++ {
			if at >= len(b) || at > limit || n > maxAttributes {
				return 0, errors.New(".debug_abbrev is damaged or too large")
			}
			name, form := number(), number()
			if at > len(b) {
				break
			}
			if form == 0x21 { // DW_FORM_implicit_const: a value follows
				number()
			}
			if name == 0 && form == 0 {
				break
			}
		}
	}
	return len(b), nil
}

// longStrings fails if a string is so long that copying it again and again would take too long.
func longStrings(b []byte) error {
	for len(b) > 0 {
		n := bytes.IndexByte(b, 0)
		if n < 0 {
			n = len(b)
		}
		if n > maxString {
			return errors.New("a name has more than a million bytes")
		}
		b = b[min(n+1, len(b)):]
	}
	return nil
}
