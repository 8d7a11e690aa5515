package db

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"
	"golang.org/x/sync/semaphore"

	"mishap/crash"
)

const (
	bodyFormat = 1
	maxBody    = 1 << 30 // decompressed size in bytes, far above that of any accepted report
)

// Compress returns the fields of a report as a body for the column reports.body. A body consists of
// one byte for the format, and the names and values with their lengths, compressed with S2. S2
// compresses a typical report to slightly more than a third. zstd compresses it to a quarter, but
// takes three times as long, which costs more than writing the difference to disk.
func Compress(f crash.Fields) []byte {
	size := 0
	for name, value := range f {
		size += len(name) + len(value) + 2*binary.MaxVarintLen32
	}
	plain := make([]byte, 0, size)
	for name, value := range f {
		plain = appendText(appendText(plain, name), value)
	}
	return slices.Concat([]byte{bodyFormat}, s2.Encode(nil, plain))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errBody = errors.New("decompress report: the body is damaged")

// Decompress returns the fields of a body. Pages use [Store.ReadBody].
func Decompress(body []byte) (crash.Fields, error) {
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

// readBudget limits the memory of large reports that are read at the same time, for pages and
// downloads. It ignores reports of at most 1 MiB, which nearly all are.
type readBudget struct {
	bytes *semaphore.Weighted
	wait  time.Duration // maximum time for which a reader waits
}

const (
	readTotal  = 192 << 20
	readFactor = 3       // memory needed per byte of a report: stored, as fields, and as output
	smallRead  = 1 << 20 // maximum size in bytes of a report that is ignored
	readWait   = 10 * time.Second
)

var errReading = &crash.Error{Kind: crash.Unavailable, Code: "large_reports", RetryAfter: 10 * time.Second,
	Message: "Too many large reports are being read at the moment; please try again shortly."}

// newReadBudget returns a readBudget of 192 MiB.
func newReadBudget() *readBudget {
	return &readBudget{bytes: semaphore.NewWeighted(readTotal), wait: readWait}
}

// reserve reserves the memory that a stored report needs until ctx is done. The context of a
// request is done once the request is answered. It returns Unavailable if the memory is not free
// within 10 seconds.
func (b *readBudget) reserve(ctx context.Context, body []byte) error {
	release, err := b.borrow(ctx, body)
	switch {
	case err != nil:
	case ctx.Done() == nil: // never ends
		release()
	default:
		context.AfterFunc(ctx, release)
	}
	return err
}

// borrow reserves the memory that a stored report needs until the caller calls release. It returns
// Unavailable if the memory is not free within 10 seconds.
func (b *readBudget) borrow(ctx context.Context, body []byte) (release func(), err error) {
	if len(body) == 0 {
		return func() {}, nil
	}
	size, err := s2.DecodedLen(body[1:])
	if err != nil || size <= smallRead {
		return func() {}, nil // small, or damaged, which Decompress will report
	}
	need := min(readFactor*int64(size), readTotal)
	waiting, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	if b.bytes.Acquire(waiting, need) != nil {
		return nil, errReading
	}
	return func() { b.bytes.Release(need) }, nil
}
