package packed

import (
	"bufio"
	"errors"
	"io"
)

// ErrPadding says that a line of base64 ends in the middle of a group of four characters.
var ErrPadding = errors.New("a line of base64 is not complete")

// lineDecoder reads base64 in which each line is complete by itself, with its own padding. Characters outside of the
// alphabet are skipped, and so is what follows the padding within its line, as Python does.
type lineDecoder struct {
	in     *bufio.Reader
	bits   uint32 // of the characters of the group so far
	n      int    // how many characters these are
	pads   int
	closed bool // the line has had its padding
	err    error
}

// newLineDecoder decodes what it reads from text. Its Read needs room for three bytes, which a bufio.Reader gives.
func newLineDecoder(text io.Reader) *bufio.Reader {
	return bufio.NewReaderSize(&lineDecoder{in: bufio.NewReader(text)}, 32<<10)
}

const (
	skip    = 0xff
	pad     = 0xfe
	lineEnd = 0xfd
)

var sextets = func() (t [256]byte) {
	for i := range t {
		t[i] = skip
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	t['='], t['\n'] = pad, lineEnd
	return t
}()

// Read implements io.Reader. It fails with ErrPadding, or as the text's reader does.
func (d *lineDecoder) Read(p []byte) (int, error) {
	n := 0
	for len(p)-n >= 3 && d.err == nil {
		var c byte
		if c, d.err = d.in.ReadByte(); d.err != nil {
			if errors.Is(d.err, io.EOF) && d.n != 0 {
				d.err = ErrPadding
			}
			break
		}
		switch s := sextets[c]; {
		case s == lineEnd:
			if d.n != 0 {
				d.err = ErrPadding
			}
			d.pads, d.closed = 0, false
		case s == skip || d.closed:
		case s == pad:
			if d.pads++; d.n >= 2 && d.n+d.pads >= 4 {
				n += copy(p[n:], d.group()[:d.n-1])
				d.n, d.closed = 0, true
			}
		default:
			d.bits, d.n, d.pads = d.bits<<6|uint32(s), d.n+1, 0
			if d.n == 4 {
				n += copy(p[n:], d.group())
				d.n = 0
			}
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, d.err
}

// group is what the characters of the group stand for: three bytes for four characters, less for fewer.
func (d *lineDecoder) group() []byte {
	bits := d.bits << (6 * (4 - d.n))
	return []byte{byte(bits >> 16), byte(bits >> 8), byte(bits)} //nolint:gosec // cut on purpose
}
