package ingest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"mishap/crash"
)

// timed is a writer that records the read deadlines.
type timed struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (w *timed) SetReadDeadline(at time.Time) error {
	w.deadlines = append(w.deadlines, at)
	return nil
}

func request(t *testing.T, body io.Reader, length int64) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/machine", body)
	r.ContentLength = length
	return r
}

// TestPace checks how long a sender may take: a grace period at first, and more time as bytes
// arrive. No deadline may remain at the end.
func TestPace(t *testing.T) {
	t.Parallel()
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	body, err := newPacedBody(w, request(t, bytes.NewReader(make([]byte, 1<<20)), 1<<20), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, body); n != 1<<20 || err != nil {
		t.Fatalf("got %d bytes, %v", n, err)
	}
	first, last := w.deadlines[0].Sub(body.began), w.deadlines[len(w.deadlines)-2].Sub(body.began)
	if first != grace || last != grace+64*time.Second {
		t.Errorf("got %v at first and %v at the end, want %v and %v", first, last, grace, grace+64*time.Second)
	}
	if end := w.deadlines[len(w.deadlines)-1]; !end.IsZero() {
		t.Errorf("got deadline %v after the body, want none", end)
	}
}

func TestIncompleteBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		kind crash.Kind
		code string
	}{
		{os.ErrDeadlineExceeded, crash.Unavailable, "slow"},
		{io.ErrUnexpectedEOF, crash.Unavailable, "interrupted"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, crash.Unavailable, "interrupted"},
		{errors.New("invalid byte in chunk length"), crash.Invalid, "malformed_body"},
	} {
		in := io.MultiReader(bytes.NewReader([]byte("beginning")), iotest.ErrReader(c.err))
		body, err := newPacedBody(httptest.NewRecorder(), request(t, in, 100), 100)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(body)
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Kind != c.kind || e.Code != c.code {
			t.Errorf("%v: got %v, want %v %s", c.err, err, c.kind, c.code)
		}
	}
}
