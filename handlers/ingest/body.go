package ingest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"mishap/crash"
)

const (
	// A body may take 30 seconds, plus one second for each 16 KiB that have arrived. whoopsie's
	// reports can arrive over any line, but a sender that only keeps the connection busy is cut off.
	// whoopsie itself has no time-out.
	grace      = 30 * time.Second
	perSecond  = 16 << 10
	drainBytes = 64 << 20
	drainTime  = 20 * time.Second
)

var (
	errInterrupted = crash.Errorf(crash.Unavailable, "interrupted",
		"The report did not arrive in full; please send it again.")
	errSlow      = crash.Errorf(crash.Unavailable, "slow", "The report came too slowly; please send it again later.")
	errMalformed = crash.Errorf(crash.Invalid, "malformed_body", "The body is not a well-formed HTTP body.")
)

func errTooLarge(limit int64) *crash.Error {
	return crash.Errorf(crash.TooLarge, "too_large", "The body is larger than the limit of %d bytes.", limit)
}

// pacedBody reads a request's body, up to a size limit, and enforces a minimum speed.
type pacedBody struct {
	r       *http.Request
	control *http.ResponseController
	began   time.Time
	limit   int64
	read    int64
}

// newPacedBody returns TooLarge at once if the declared length is over the limit. A client that
// waits for "100 Continue" then never sends the body.
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

// Read implements io.Reader. Its errors besides io.EOF are answers: TooLarge, Invalid and
// Unavailable.
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
		b.deadline(time.Time{}) // or it would expire while the report is stored
		return n, io.EOF
	}
	return n, bodyError(err)
}

// bodyError distinguishes an incomplete body, which may be sent again, from a malformed one, such
// as unreadable chunks, which would be malformed again.
func bodyError(err error) error {
	network, ok := errors.AsType[net.Error](err)
	switch {
	case ok && network.Timeout():
		return errSlow.Because(err)
	case ok, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, context.Canceled):
		return errInterrupted.Because(err)
	default:
		return errMalformed.Because(err)
	}
}

func (b *pacedBody) deadline(at time.Time) {
	_ = b.control.SetReadDeadline(at) // only the writers of tests do not support this
}

// drain reads and discards the rest of a body that is too large, up to a limit. Many clients send
// everything before they read the answer. They would report a closed connection as a network
// failure.
func (b *pacedBody) drain() {
	b.deadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, b.r.Body, drainBytes)
}
