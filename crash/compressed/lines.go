package compressed

import (
	"bufio"
	"errors"
	"io"
)

// ErrPadding is returned for a line of base64 that ends within a group of four characters.
var ErrPadding = errors.New("a line of base64 is not complete")

// lineDecoder decodes base64 in which each line has its own padding. Like Python, it skips
// characters outside the alphabet and anything between the padding and the end of a line.
type lineDecoder struct {
	in     *bufio.Reader
	bits   uint32 // of the present group of characters
	n      int    // number of characters in the group
	pads   int
	closed bool // the line's padding was complete
	err    error
}

// newLineDecoder returns a decoder of text. Its Read needs space for three bytes, which
// bufio.Reader provides.
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

// Read implements io.Reader. It returns ErrPadding or an error of the reader of the text.
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

// group returns the bytes that the group encodes: three for four characters.
func (d *lineDecoder) group() []byte {
	bits := d.bits << (6 * (4 - d.n))
	return []byte{byte(bits >> 16), byte(bits >> 8), byte(bits)} //nolint:gosec // truncation is intended
}
