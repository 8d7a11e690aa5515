package ingest

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/semaphore"

	"mishap/crash"
	"mishap/crash/whoopsie"
)

const (
	// Each request may hold this many bytes of its body, and as many uncompressed, without
	// reservation. Most reports need no more, so other requests cannot delay them.
	freeBytes  = 64 << 10
	usualBytes = 32 << 10 // initial size of a body's buffer; large enough for most reports

	largeBodies = 64 << 20 // limit of all bodies together, beyond freeBytes each
	bodyStep    = 1 << 20  // limit of the reservation before any byte has arrived

	// A report with compressed fields reserves the maximum that they can need, then returns the rest.
	// Reserving gradually could deadlock several requests. Besides the texts, memory holds the
	// decoder's window and a text that is copied while it grows.
	decompressFactor   = 3
	storeFactor        = 2 // texts are in memory twice while they are compressed for storing
	decompressedAtOnce = 2 // reports that may reserve the maximum at the same time
	memoryWait         = 4 * time.Second
)

var errMemory = &crash.Error{Kind: crash.Unavailable, Code: "large_bodies", RetryAfter: time.Minute,
	Message: "Too many large reports are arriving at the moment; please send this one again later."}

// memory is the budget of all requests of this process, in bytes. It has two parts, because a
// request holds its body while it waits for memory to decompress it. With a single part, bodies
// could take all memory that decompression needs.
type memory struct {
	bodies       *semaphore.Weighted
	decompressed *semaphore.Weighted
	most         int64         // limit of uncompressed bytes
	wait         time.Duration // limit of the wait of a request
}

func newMemory(maxBytes int64) *memory {
	most := decompressedAtOnce * decompressFactor * max(maxBytes, whoopsie.MaxDecompressed)
	return &memory{
		bodies:       semaphore.NewWeighted(max(largeBodies, 2*maxBytes)),
		decompressed: semaphore.NewWeighted(most),
		most:         most,
		wait:         memoryWait,
	}
}

// acquire reserves n bytes, or fails with errMemory after the wait or when ctx ends.
func acquire(ctx context.Context, from *semaphore.Weighted, n int64, wait time.Duration) error {
	if from.TryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if from.Acquire(ctx, n) != nil {
		return errMemory
	}
	return nil
}

// room is the memory of one request.
type room struct {
	memory       *memory
	body         int64 // bytes reserved
	decompressed int64 // bytes reserved
}

func (h *handler) newRoom() *room { return &room{memory: h.memory} }

// release returns all memory.
func (m *room) release() {
	m.memory.bodies.Release(m.body)
	m.memory.decompressed.Release(m.decompressed)
	m.body, m.decompressed = 0, 0
}

// read reads a body and reserves memory as it arrives. It trusts the declared length only up to
// bodyStep. Most large bodies reserve memory once, and a sender that sends nothing holds little.
func (m *room) read(ctx context.Context, body *pacedBody) ([]byte, error) {
	data := make([]byte, 0, usualBytes)
	wait := m.memory.wait
	for {
		if len(data) == cap(data) {
			size := max(2*cap(data), int(min(body.r.ContentLength+1, bodyStep)))
			began := time.Now()
			if more := int64(size) - freeBytes - m.body; more > 0 {
				if err := acquire(ctx, m.memory.bodies, more, wait); err != nil {
					return nil, err
				}
				m.body += more
			}
			waited := time.Since(began)
			wait -= waited
			body.began = body.began.Add(waited) // the wait was not the sender's fault
			data = append(make([]byte, 0, size), data...)
		}
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// fields returns the uncompressed fields of a report. Those that need little memory do not wait.
func (m *room) fields(ctx context.Context, d *whoopsie.Document) (crash.Fields, error) {
	if d.Cleaned() <= freeBytes {
		if fields, _, whole := d.Fields(freeBytes); whole {
			return fields, nil
		}
	}
	need := min(max(decompressFactor*whoopsie.MaxDecompressed, d.Cleaned()), m.memory.most)
	if err := acquire(ctx, m.memory.decompressed, need, m.memory.wait); err != nil {
		return nil, err
	}
	m.decompressed = need
	fields, made, _ := d.Fields(whoopsie.MaxDecompressed)
	if rest := m.decompressed - min(storeFactor*made, m.decompressed); rest > 0 {
		m.memory.decompressed.Release(rest)
		m.decompressed -= rest
	}
	return fields, nil
}
