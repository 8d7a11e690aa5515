package ingest

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"mishap/crash"
	"mishap/crash/whoopsie"
)

const (
	// Each request may have so many bytes of its body, and so many of what is unpacked of it, without asking: most
	// reports need no more, so they are served however much others ask for.
	freeBytes  = 64 << 10
	usualBytes = 32 << 10 // of a body: as much as most reports have

	largeBodies = 64 << 20 // bytes of all bodies together, beyond those
	bodyStep    = 1 << 20  // most that is reserved for a body before any of it has arrived

	// A report whose fields are unpacked or cleaned reserves the most that can take, then returns what it did not need:
	// if it asked for more and more while it unpacked, requests could wait for each other in a circle. Besides the
	// texts there may be the decoder's window and a text that is copied while it grows.
	unpackFactor   = 3
	keptFactor     = 2 // of the texts made: they are held once, and once more while they are compressed for storing
	unpackedAtOnce = 2 // reports that may reserve the most
	memoryWait     = 4 * time.Second
)

var errMemory = &crash.Error{Kind: crash.Unavailable, Code: "large_bodies", RetryAfter: time.Minute,
	Message: "Too many large reports are arriving at the moment; please send this one again later."}

// memory is the budget of all requests of this process, in bytes. It has two parts, because a request holds its body
// while it waits for memory to unpack it: from a single part, bodies could take all that unpacking needs.
type memory struct {
	bodies   *semaphore.Weighted
	unpacked *semaphore.Weighted
	most     int64         // of unpacked
	wait     time.Duration // how long one request waits for memory, at most
}

func newMemory(maxBytes int64) *memory {
	most := int64(unpackedAtOnce * unpackFactor * max(maxBytes, whoopsie.MaxUnpacked))
	return &memory{
		bodies:   semaphore.NewWeighted(max(largeBodies, 2*maxBytes)),
		unpacked: semaphore.NewWeighted(most),
		most:     most,
		wait:     memoryWait,
	}
}

// acquire reserves n bytes, or fails with errMemory after the longest wait or when ctx ends.
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

// room is the memory that one request has.
type room struct {
	memory   *memory
	pool     *sync.Pool
	buffer   *[]byte // the first one, which is used again
	body     int64   // bytes reserved
	unpacked int64   // bytes reserved
}

func (h *handler) newRoom() *room {
	return &room{memory: h.memory, pool: &h.buffers}
}

// leave gives the first buffer to the next request. Nothing may use the bytes of the body any more.
func (m *room) leave() {
	if m.buffer != nil {
		m.pool.Put(m.buffer)
		m.buffer = nil
	}
}

// release returns all memory. Nothing that was made of the body may be used any more.
func (m *room) release() {
	m.leave()
	m.memory.bodies.Release(m.body)
	m.memory.unpacked.Release(m.unpacked)
	m.body, m.unpacked = 0, 0
}

// read reads a body. It reserves memory as the body arrives: the length that the sender states is believed only up to
// bodyStep, so that most large bodies ask once, and a sender that sends nothing holds little.
func (m *room) read(ctx context.Context, body *pacedBody) ([]byte, error) {
	first, ok := m.pool.Get().(*[]byte)
	if !ok {
		b := make([]byte, usualBytes)
		first = &b
	}
	m.buffer = first
	data := (*first)[:0]
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
			body.began = body.began.Add(waited) // the sender was not slow meanwhile
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

// fields returns the fields of a report, unpacked. Those that need little memory do not wait for any.
func (m *room) fields(ctx context.Context, d *whoopsie.Document) (crash.Fields, error) {
	if d.Cleaned() <= freeBytes {
		if fields, _, whole := d.Fields(freeBytes); whole {
			return fields, nil
		}
	}
	need := min(max(unpackFactor*whoopsie.MaxUnpacked, d.Cleaned()), m.memory.most)
	if err := acquire(ctx, m.memory.unpacked, need, m.memory.wait); err != nil {
		return nil, err
	}
	m.unpacked = need
	fields, made, _ := d.Fields(whoopsie.MaxUnpacked)
	if rest := m.unpacked - min(keptFactor*made, m.unpacked); rest > 0 {
		m.memory.unpacked.Release(rest)
		m.unpacked -= rest
	}
	return fields, nil
}
