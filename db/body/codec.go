// Package body compresses the fields of reports for the database, and bounds the memory of large
// reports that are read at the same time.
package body

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"

	"mishap/crash"
)

// Codec converts the fields of a report to a body for the column reports.body, and back. A body
// consists of one byte for the format, and the names and values with their lengths, compressed with
// S2. S2 compresses a typical report to slightly more than a third. zstd compresses it to a
// quarter, but takes three times as long, which costs more than writing the difference to disk.
type Codec struct {
	scratch buffers // for compressing
	bodies  buffers // for bodies that are not stored yet
}

const (
	bodyFormat  = 1
	maxBody     = 1 << 30 // decompressed size in bytes, far above that of any accepted report
	usualPlain  = 32 << 10
	usualBody   = 8 << 10
	maxPoolBody = 1 << 20
)

// NewCodec returns a Codec. It is safe for concurrent use.
func NewCodec() *Codec {
	return &Codec{scratch: newBuffers(usualPlain, maxPoolBody), bodies: newBuffers(usualBody, 4*usualBody)}
}

// Compress returns fields as a body. The caller must pass the body to Release when it no longer
// needs it.
func (c *Codec) Compress(f crash.Fields) []byte {
	size := 0
	for name, value := range f {
		size += len(name) + len(value) + 2*binary.MaxVarintLen32
	}
	plain, compressed := slices.Grow(c.scratch.take(), size), c.scratch.take()
	for name, value := range f {
		plain = appendText(appendText(plain, name), value)
	}
	compressed = slices.Grow(compressed, s2.MaxEncodedLen(len(plain)))
	out := s2.Encode(compressed[:cap(compressed)], plain)
	body := append(append(c.bodies.take(), bodyFormat), out...)
	c.scratch.give(plain)
	c.scratch.give(compressed)
	return body
}

// Release recycles a body that Compress has returned. The caller must not use it afterwards.
func (c *Codec) Release(body []byte) { c.bodies.give(body) }

// buffers is a pool of byte slices.
type buffers struct {
	pool *sync.Pool
	most int // capacity in bytes above which a buffer is not reused
}

func newBuffers(usual, most int) buffers {
	return buffers{most: most, pool: &sync.Pool{New: func() any {
		b := make([]byte, 0, usual)
		return &b
	}}}
}

// take returns an empty buffer.
func (b buffers) take() []byte { return (*b.pool.Get().(*[]byte))[:0] }

// give returns a buffer to the pool. The caller must not use it, or parts of it, afterwards.
func (b buffers) give(used []byte) {
	if cap(used) <= b.most {
		b.pool.Put(&used)
	}
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errBody = errors.New("decompress report: the body is damaged")

// Decompress returns the fields of a body.
func (c *Codec) Decompress(body []byte) (crash.Fields, error) {
	if len(body) == 0 || body[0] != bodyFormat {
		return nil, errors.New("decompress report: unknown format")
	}
	if n, err := s2.DecodedLen(body[1:]); err != nil || n > maxBody {
		return nil, errBody
	}
	plain, err := s2.Decode(nil, body[1:])
	if err != nil {
		return nil, fmt.Errorf("decompress report: %w", err)
	}
	f := crash.Fields{}
	for len(plain) > 0 {
		var name, value string
		var ok bool
		if name, plain, ok = cutText(plain); !ok {
			return nil, errBody
		}
		if value, plain, ok = cutText(plain); !ok {
			return nil, errBody
		}
		f[name] = value
	}
	return f, nil
}

func cutText(b []byte) (s string, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) { //nolint:gosec // n is at most len(b)
		return "", nil, false
	}
	end := n + int(length) //nolint:gosec // no more than len(b)
	return string(b[n:end]), b[end:], true
}
