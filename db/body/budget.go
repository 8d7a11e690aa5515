package body

import (
	"context"
	"time"

	"github.com/klauspost/compress/s2"
	"golang.org/x/sync/semaphore"

	"mishap/crash"
)

// Budget limits the memory of large reports that are read at the same time, for pages and
// downloads. It ignores reports of at most 1 MiB, which nearly all are.
type Budget struct {
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

// NewBudget returns a Budget of 192 MiB.
func NewBudget() *Budget {
	return &Budget{bytes: semaphore.NewWeighted(readTotal), wait: readWait}
}

// Reserve reserves the memory that a stored report needs until ctx is done. The context of a
// request is done once the request is answered. It returns Unavailable if the memory is not free
// within 10 seconds.
func (b *Budget) Reserve(ctx context.Context, body []byte) error {
	release, err := b.Borrow(ctx, body)
	switch {
	case err != nil:
	case ctx.Done() == nil: // never ends
		release()
	default:
		context.AfterFunc(ctx, release)
	}
	return err
}

// Borrow reserves the memory that a stored report needs until the caller calls release. It returns
// Unavailable if the memory is not free within 10 seconds.
func (b *Budget) Borrow(ctx context.Context, body []byte) (release func(), err error) {
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
