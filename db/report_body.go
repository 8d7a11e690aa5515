package db

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"

	"mishap/crash"
)

// A bodyCodec turns the fields of a report into what stands in reports.body and back: each name and value behind its length,
// packed by S2 behind a byte that names this form. S2 packs a usual report to a little more than a third; zstd would pack it
// to a quarter, but takes three times as long for that, which is more than the disk takes for the difference.
type bodyCodec struct{ buffers sync.Pool }

const (
	bodyForm    = 1
	maxBody     = 1 << 30 // bytes unpacked: far above what is ever taken in
	usualBody   = 32 << 10
	maxPoolBody = 1 << 20 // a buffer that has grown larger is not kept
)

func newBodyCodec() *bodyCodec {
	return &bodyCodec{buffers: sync.Pool{New: func() any {
		b := make([]byte, 0, usualBody)
		return &b
	}}}
}

func (c *bodyCodec) pack(f crash.Fields) []byte {
	plain, packed := c.buffer(), c.buffer()
	defer c.free(plain)
	defer c.free(packed)
	*plain = (*plain)[:0]
	for name, value := range f {
		*plain = appendText(appendText(*plain, name), value)
	}
	if most := s2.MaxEncodedLen(len(*plain)); cap(*packed) < most {
		*packed = make([]byte, most)
	}
	out := s2.Encode((*packed)[:cap(*packed)], *plain)
	return append(append(make([]byte, 0, 1+len(out)), bodyForm), out...)
}

func (c *bodyCodec) buffer() *[]byte { return c.buffers.Get().(*[]byte) } //nolint:forcetypeassert // nothing else is put there

func (c *bodyCodec) free(b *[]byte) {
	if cap(*b) <= maxPoolBody {
		c.buffers.Put(b)
	}
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errBody = errors.New("unpack report: damaged")

func (c *bodyCodec) unpack(body []byte) (crash.Fields, error) {
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
	if n <= 0 || length > uint64(len(b)-n) {
		return "", nil, false
	}
	end := n + int(length) //nolint:gosec // no more than len(b)
	return string(b[n:end]), b[end:], true
}
