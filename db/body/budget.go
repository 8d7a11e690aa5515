package body

import (
	"context"
	"time"

	"github.com/klauspost/compress/s2"
	"golang.org/x/sync/semaphore"

	"mishap/crash"
)

// Budget bounds the memory of large reports that are read at the same time, for pages and
// downloads. Small ones do not count; nearly all are small.
type Budget struct {
	bytes *semaphore.Weighted
	wait  time.Duration // how long one reader waits, at most
}

const (
	readTotal  = 192 << 20
	readFactor = 3       // of a report's size: as stored, as fields, as what is made of them
	smallRead  = 1 << 20 // bytes of a report that does not count
	readWait   = 10 * time.Second
)

var errReading = &crash.Error{Kind: crash.Unavailable, Code: "large_reports", RetryAfter: 10 * time.Second,
	Message: "Too many large reports are being read at the moment; please try again shortly."}

// NewBudget returns a Budget of 192 MiB.
func NewBudget() *Budget {
	return &Budget{bytes: semaphore.NewWeighted(readTotal), wait: readWait}
}

// Reserve reserves the memory that a stored report needs, until ctx is done: for a request that is when it has been
// answered. It returns Unavailable when there is none for too long.
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

// Borrow is reserve until release is called.
func (b *Budget) Borrow(ctx context.Context, body []byte) (release func(), err error) {
	if len(body) == 0 {
		return func() {}, nil
	}
	size, err := s2.DecodedLen(body[1:])
	if err != nil || size <= smallRead {
		return func() {}, nil // damaged, which unpacking tells, or small
	}
	need := min(readFactor*int64(size), readTotal)
	waiting, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	if b.bytes.Acquire(waiting, need) != nil {
		return nil, errReading
	}
	return func() { b.bytes.Release(need) }, nil
}
