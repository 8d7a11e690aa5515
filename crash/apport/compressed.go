package apport

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// errFormat is returned if the decoded base64 is not compressed in a known format.
var errFormat = errors.New("neither gzip, zstd nor zlib")

// ErrLimit is returned if the decompressed value is larger than the caller allows.
var ErrLimit = errors.New("larger than allowed")

// maxWindow is the largest window of a zstd stream, in bytes. The decoder allocates it. It is also
// limited to the limit of the decompressed size.
const maxWindow = 32 << 20

// Decompress decompresses text, a value of a report in apport's format: base64, with padding in each
// line, of gzip, zstd or bare zlib data. It writes at most limit bytes to w. It returns the number of bytes
// written. It returns ErrLimit if the value is larger than limit, or if decompressing it requires a
// window of that size. Other errors mean that text is malformed: errFormat, invalid base64, or an
// invalid or truncated stream.
func Decompress(w io.Writer, text io.Reader, limit int64) (int64, error) {
	decompressed, err := newReader(text, limit)
	if err != nil {
		return 0, err
	}
	defer func() { _ = decompressed.Close() }() // only read from
	n, err := io.Copy(w, io.LimitReader(decompressed, limit))
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return n, ErrLimit
	}
	if err != nil || n < limit {
		return n, err
	}
	switch _, err := io.ReadFull(decompressed, make([]byte, 1)); {
	case err == nil:
		return n, ErrLimit
	case errors.Is(err, io.EOF):
		return n, nil
	default:
		return n, err
	}
}

// newReader decompresses text, and once more if the result is a zstd stream again, as in apport's
// CoreDump.zst. It ignores data after the end of a gzip or zlib stream.
func newReader(text io.Reader, limit int64) (io.ReadCloser, error) {
	outer, err := decompressor(bufio.NewReaderSize(&lineDecoder{in: bufio.NewReader(text)}, 32<<10), limit)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(outer)
	if start, _ := in.Peek(4); formOf(start) != formZstd { // a later read returns the error
		return readCloser{in, outer.Close}, nil
	}
	inner, err := decompressor(bufio.NewReader(io.LimitReader(in, limit)), limit)
	if err != nil {
		return nil, errors.Join(err, outer.Close())
	}
	return readCloser{inner, func() error { return errors.Join(inner.Close(), outer.Close()) }}, nil
}

type readCloser struct {
	io.Reader
	close func() error
}

func (r readCloser) Close() error { return r.close() }

// decompressor chooses the format by the first bytes.
func decompressor(in *bufio.Reader, limit int64) (io.ReadCloser, error) {
	start, err := in.Peek(4)
	if len(start) < 2 {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch form := formOf(start); form {
	case formGzip:
		r, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		r.Multistream(false)
		return r, nil
	case formZstd:
		window := uint64(max(zstd.MinWindowSize, min(limit, maxWindow)))
		r, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return r.IOReadCloser(), nil
	case formZlib:
		r, err := zlib.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("zlib: %w", err)
		}
		return r, nil
	default:
		return nil, errFormat
	}
}

type form int

const (
	formNone form = iota
	formGzip
	formZstd
	formZlib
)

func formOf(start []byte) form {
	switch s := string(start); {
	case strings.HasPrefix(s, "\x1f\x8b\x08"):
		return formGzip
	case strings.HasPrefix(s, "\x28\xb5\x2f\xfd"):
		return formZstd
	case len(s) >= 2 && s[0]&0x0f == 8 && s[0]>>4 <= 7 && (int(s[0])<<8|int(s[1]))%31 == 0:
		return formZlib
	default:
		return formNone
	}
}

// isCompressed reports whether text may be a compressed value without apport's marker: its first line is
// the base64 encoding of a known header.
func isCompressed(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	if len(line) < 4 || len(line)%4 != 0 {
		return false
	}
	start := make([]byte, 6)
	n, err := base64.StdEncoding.Decode(start, []byte(line[:min(8, len(line))]))
	return err == nil && formOf(start[:n]) != formNone
}

// errPadding is returned for a line of base64 that ends within a group of four characters.
var errPadding = errors.New("a line of base64 is not complete")

// lineDecoder decodes base64 in which each line has its own padding. Like Python, it skips
// characters outside the alphabet and anything between the padding and the end of a line. Its Read
// needs space for three bytes.
type lineDecoder struct {
	in     *bufio.Reader
	bits   uint32 // of the present group of characters
	n      int    // number of characters in the group
	pads   int
	closed bool // the line's padding was complete
	err    error
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

// Read implements io.Reader. It returns errPadding or an error of the reader of the text.
func (d *lineDecoder) Read(p []byte) (int, error) {
	n := 0
	for len(p)-n >= 3 && d.err == nil {
		var c byte
		if c, d.err = d.in.ReadByte(); d.err != nil {
			if errors.Is(d.err, io.EOF) && d.n != 0 {
				d.err = errPadding
			}
			break
		}
		switch s := sextets[c]; {
		case s == lineEnd:
			if d.n != 0 {
				d.err = errPadding
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
