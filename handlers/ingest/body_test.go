package ingest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sync/semaphore"

	"mishap/crash"
)

// timed is a writer that remembers the deadlines that are set for reading.
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

// TestPace looks at how long a sender may take: a while at first, longer as bytes come, and no bound stays when all have.
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

func TestBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code string
	}{
		{os.ErrDeadlineExceeded, "slow"},
		{io.ErrUnexpectedEOF, "interrupted"},
	} {
		in := io.MultiReader(bytes.NewReader([]byte("beginning")), iotest.ErrReader(c.err))
		body, err := newPacedBody(httptest.NewRecorder(), request(t, in, 100), 100)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(body)
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Kind != crash.Unavailable || e.Code != c.code {
			t.Errorf("%v: got %v, want %s, which may be sent again", c.err, err, c.code)
		}
	}
}

// TestMemoryForBodies takes small reports however little is left, and large ones only while there is room.
func TestMemoryForBodies(t *testing.T) {
	t.Parallel()
	h := &handler{memory: semaphore.NewWeighted(1 << 20)}
	read := func(size int64) (release func(), err error) {
		body, err := newPacedBody(httptest.NewRecorder(), request(t, bytes.NewReader(make([]byte, size)), -1), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		data, in, err := h.whole(body)
		if err == nil && int64(len(data)) != size {
			t.Errorf("got %d bytes, want %d", len(data), size)
		}
		return in.release, err
	}
	releaseLarge, err := read(900_000)
	if err != nil {
		t.Fatalf("large body: %v", err)
	}
	if release, err := read(900_000); !errors.Is(err, errMemory) {
		t.Errorf("another large body: got %v, want %v", err, errMemory)
	} else {
		release()
	}
	if _, err := read(50_000); err != nil {
		t.Errorf("small body: %v", err)
	}
	releaseLarge()
	if _, err := read(900_000); err != nil {
		t.Errorf("large body after the first was done: %v", err)
	}
}
