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

// Codec converts the fields of a report to a body, as the column reports.body stores it, and back. A
// body is a byte that names the form, then names and values with their lengths, compressed with S2.
// S2 compresses a usual report to a little more than a third. zstd reaches a quarter, but takes three
// times as long, which costs more than writing the difference to disk.
type Codec struct {
	scratch buffers // for what is unpacked, and for packing
	bodies  buffers // for bodies on their way to the disk
}

const (
	bodyForm    = 1
	maxBody     = 1 << 30 // bytes unpacked: far above what is ever taken in
	usualPlain  = 32 << 10
	usualBody   = 8 << 10
	maxPoolBody = 1 << 20
)

// NewCodec returns a Codec. It is safe for concurrent use.
func NewCodec() *Codec {
	return &Codec{scratch: newBuffers(usualPlain, maxPoolBody), bodies: newBuffers(usualBody, 4*usualBody)}
}

// Pack returns a body in a buffer, which is to be given to drop when it is not used any more.
func (c *Codec) Pack(f crash.Fields) []byte {
	size := 0
	for name, value := range f {
		size += len(name) + len(value) + 2*binary.MaxVarintLen32
	}
	plain, packed := slices.Grow(c.scratch.take(), size), c.scratch.take()
	for name, value := range f {
		plain = appendText(appendText(plain, name), value)
	}
	packed = slices.Grow(packed, s2.MaxEncodedLen(len(plain)))
	out := s2.Encode(packed[:cap(packed)], plain)
	body := append(append(c.bodies.take(), bodyForm), out...)
	c.scratch.give(plain)
	c.scratch.give(packed)
	return body
}

// Drop is for a body that pack made, and that nobody uses any more.
func (c *Codec) Drop(body []byte) { c.bodies.give(body) }

// buffers are used again and again.
type buffers struct {
	pool *sync.Pool
	most int // one that has grown larger, in bytes, is not kept
}

func newBuffers(usual, most int) buffers {
	return buffers{most: most, pool: &sync.Pool{New: func() any {
		b := make([]byte, 0, usual)
		return &b
	}}}
}

// take returns an empty one.
func (b buffers) take() []byte { return (*b.pool.Get().(*[]byte))[:0] } //nolint:forcetypeassert // nothing else is put there

// give is for one that is not used any more, nor anything that was made in it.
func (b buffers) give(used []byte) {
	if cap(used) <= b.most {
		b.pool.Put(&used)
	}
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errBody = errors.New("unpack report: damaged")

// Unpack returns the fields in a body.
func (c *Codec) Unpack(body []byte) (crash.Fields, error) {
	if len(body) == 0 || body[0] != bodyForm {
		return nil, fmt.Errorf("unpack report: unknown form")
	}
	if n, err := s2.DecodedLen(body[1:]); err != nil || n > maxBody {
		return nil, errBody
	}
	plain, err := s2.Decode(nil, body[1:])
	if err != nil {
		return nil, fmt.Errorf("unpack report: %w", err)
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
