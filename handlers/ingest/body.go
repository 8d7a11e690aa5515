package ingest

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"mishap/crash"
)

const (
	// A body has 30 seconds, and one more for each 16 KiB that have come: whoopsie's reports arrive over any line, but
	// a sender that only keeps the connection busy is cut off. A machine waits for its answer without any time-out of
	// its own.
	grace      = 30 * time.Second
	perSecond  = 16 << 10
	drainBytes = 64 << 20
	drainTime  = 20 * time.Second

	// Memory for bodies: the first part of each is free, the rest of all of them together is bounded.
	usualBytes  = 32 << 10 // as much as most reports are
	freeBytes   = 64 << 10
	largeBodies = 64 << 20
)

var (
	errMemory = &crash.Error{Kind: crash.Unavailable, Code: "large_bodies", RetryAfter: time.Minute,
		Message: "Too many large reports are arriving at the moment; please send this one again later."}
	errInterrupted = crash.Errorf(crash.Unavailable, "interrupted", "The report did not arrive in full; please send it again.")
	errSlow        = crash.Errorf(crash.Unavailable, "slow", "The report came too slowly; please send it again later.")
)

func errTooLarge(limit int64) *crash.Error {
	return crash.Errorf(crash.TooLarge, "too_large", "The body is larger than the %d bytes that are taken here.", limit)
}

// pacedBody reads a request's body at a pace that it enforces, and up to a limit.
type pacedBody struct {
	r       *http.Request
	control *http.ResponseController
	began   time.Time
	limit   int64
	read    int64
}

// newPacedBody returns TooLarge at once when the client says itself that its body is over the limit. A client that waits
// for "100 Continue" then never sends it.
func newPacedBody(w http.ResponseWriter, r *http.Request, limit int64) (*pacedBody, error) {
	b := &pacedBody{r: r, control: http.NewResponseController(w), began: time.Now(), limit: limit}
	if r.ContentLength > limit {
		if r.Header.Get("Expect") == "" {
			b.drain()
		}
		return nil, errTooLarge(limit)
	}
	return b, nil
}

// Read implements io.Reader. Its errors besides io.EOF are answers: TooLarge and Unavailable.
func (b *pacedBody) Read(p []byte) (int, error) {
	b.deadline(b.began.Add(grace + time.Duration(b.read/perSecond)*time.Second))
	n, err := b.r.Body.Read(p)
	b.read += int64(n)
	switch {
	case b.read > b.limit:
		b.drain()
		return 0, errTooLarge(b.limit)
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		b.deadline(time.Time{}) // or else it would strike while the report is stored
		return n, io.EOF
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return n, errSlow.Because(err)
	}
	return n, errInterrupted.Because(err)
}

func (b *pacedBody) deadline(at time.Time) {
	_ = b.control.SetReadDeadline(at) // a writer that cannot do this is a test's
}

// drain reads and forgets what is left of a body that is too large, within reason: many clients look for an answer only
// after they have sent everything, and would take a closed connection for a failure of the network.
func (b *pacedBody) drain() {
	b.deadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, b.r.Body, drainBytes)
}

// room is the memory that a body takes.
type room struct {
	h      *handler
	buffer *[]byte // the first one, which is used again
	taken  int64   // bytes beyond those that everybody has
}

// leave is for when nothing uses the bytes of the body any more: the buffer goes to the next one.
func (m *room) leave() {
	if m.buffer != nil {
		m.h.buffers.Put(m.buffer)
		m.buffer = nil
	}
}

// release is for when nothing is left of what was made of the body either.
func (m *room) release() {
	m.leave()
	m.h.memory.Release(m.taken)
}

// whole reads a body into memory. The caller releases its room when it is done, whether there is an error or not.
func (h *handler) whole(body *pacedBody) (data []byte, in *room, err error) {
	first, ok := h.buffers.Get().(*[]byte)
	if !ok {
		b := make([]byte, usualBytes)
		first = &b
	}
	data, in = (*first)[:0], &room{h: h, buffer: first}
	for {
		if len(data) == cap(data) {
			more := max(2*int64(cap(data))-freeBytes, 0) - in.taken
			if !h.memory.TryAcquire(more) {
				return nil, in, errMemory
			}
			in.taken += more
			data = append(make([]byte, 0, 2*cap(data)), data...)
		}
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, in, nil
		}
		if err != nil {
			return nil, in, err
		}
	}
}
