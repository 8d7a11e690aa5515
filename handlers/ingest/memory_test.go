package ingest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/cores"
	"mishap/db"
)

// readBody reads a body of size bytes into a room of the handler.
func (h *handler) readBody(t *testing.T, size int64) (*room, error) {
	t.Helper()
	body, err := newPacedBody(httptest.NewRecorder(), request(t, bytes.NewReader(make([]byte, size)), -1), 1<<30)
	checktest.NoError(t, err)
	in := h.newRoom()
	data, err := in.read(t.Context(), body)
	if err == nil && int64(len(data)) != size {
		t.Errorf("got %d bytes, want %d", len(data), size)
	}
	return in, err
}

func small() *handler {
	h := &handler{memory: newMemory(1)}
	h.memory.bodies = semaphore.NewWeighted(1 << 20)
	return h
}

// TestMemoryForBodies checks that small reports are accepted however little memory is left, and
// large ones only while there is enough.
func TestMemoryForBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := small()
		large, err := h.readBody(t, 900_000)
		if err != nil {
			t.Fatalf("large body: %v", err)
		}
		if other, err := h.readBody(t, 900_000); !errors.Is(err, errMemory) {
			t.Errorf("second large body, after the time-out: got %v, want %v", err, errMemory)
		} else {
			other.release()
		}
		if _, err := h.readBody(t, 50_000); err != nil {
			t.Errorf("small body: %v", err)
		}
		waiting := make(chan error)
		go func() {
			_, err := h.readBody(t, 900_000)
			waiting <- err
		}()
		synctest.Wait()
		large.release()
		if err := <-waiting; err != nil {
			t.Errorf("large body that waits for the first: %v", err)
		}
	})
}

// TestMemoryIsReturned decodes reports of all kinds and checks that all memory is free at the end.
func TestMemoryIsReturned(t *testing.T) {
	t.Parallel()
	h := small()
	for _, value := range []string{
		"short", strings.Repeat("long ", 30_000), strings.Repeat("\xff\x00", 60_000),
		crashtest.Compressed("short"), crashtest.Compressed(strings.Repeat("x", 1<<20)),
		crashtest.Compressed(strings.Repeat("x", 17<<20)),
	} {
		document, err := apport.OpenBSON(crashtest.Native(crashtest.Set("ProcMaps", value)).BSON())
		checktest.NoError(t, err)
		in, err := h.readBody(t, int64(len(value)))
		checktest.NoError(t, err)
		if _, err := in.fields(t.Context(), document); err != nil {
			t.Fatal(err)
		}
		in.release()
	}
	if !h.memory.bodies.TryAcquire(1<<20) || !h.memory.decompressed.TryAcquire(h.memory.most) {
		t.Error("some memory is still reserved, want all of it free")
	}
}

// TestMoreMemoryForDecompressing checks that reports with large compressed fields wait for each other,
// and that other reports do not.
func TestMoreMemoryForDecompressing(t *testing.T) {
	t.Parallel()
	open := func(size int) *apport.Document {
		d, err := apport.OpenBSON(crashtest.Native(crashtest.Set("ProcMaps",
			crashtest.Compressed(strings.Repeat("x", size)))).BSON())
		checktest.NoError(t, err)
		return d
	}
	large, little, bomb := open(10<<20), open(10<<10), open(40<<20)
	synctest.Test(t, func(t *testing.T) {
		h := small()
		var rooms []*room
		var err error
		for err == nil && len(rooms) < 100 {
			in := h.newRoom()
			rooms = append(rooms, in)
			var fields crash.Fields
			if fields, err = in.fields(t.Context(), large); err == nil && len(fields["ProcMaps"]) != 10<<20 {
				t.Errorf("got %d bytes, want all of them", len(fields["ProcMaps"]))
			}
		}
		if !errors.Is(err, errMemory) || len(rooms) < 3 || len(rooms) > 8 {
			t.Errorf("got %v for the report after %d others, want %v after some", err, len(rooms)-1, errMemory)
		}
		if fields, err := h.newRoom().fields(t.Context(), little); err != nil || len(fields["ProcMaps"]) != 10<<10 {
			t.Errorf("a report with a small field: got %d bytes, %v", len(fields["ProcMaps"]), err)
		}
		for _, in := range rooms {
			in.release()
		}
		in := h.newRoom()
		if fields, err := in.fields(t.Context(), bomb); err != nil || !strings.HasPrefix(fields["ProcMaps"], "H4sI") {
			t.Errorf("a bomb: got %.20q, %v; want it unchanged", fields["ProcMaps"], err)
		}
		in.release()
	})
}

// TestMemoryFlood decodes many decompression bombs at once with little memory. Some are accepted;
// the others fail after waiting.
func TestMemoryFlood(t *testing.T) {
	t.Parallel()
	d, err := apport.OpenBSON(crashtest.Native(crashtest.Set("ProcMaps",
		crashtest.Compressed(strings.Repeat("x", 2<<20)))).BSON())
	checktest.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		h := small()
		results := make(chan error)
		const n = 64
		for range n {
			go func() {
				in, err := h.readBody(t, 200_000)
				if err == nil {
					_, err = in.fields(t.Context(), d)
				}
				in.release()
				results <- err
			}()
		}
		taken := 0
		for range n {
			if err := <-results; err == nil {
				taken++
			} else if !errors.Is(err, errMemory) {
				t.Errorf("got %v, want %v", err, errMemory)
			}
		}
		if taken == 0 {
			t.Error("got no report accepted, want some")
		}
	})
}

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
	checktest.NoError(t, err)
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
		checktest.NoError(t, err)
		_, err = io.ReadAll(body)
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Kind != c.kind || e.Code != c.code {
			t.Errorf("%v: got %v, want %v %s", c.err, err, c.kind, c.code)
		}
	}
}

func openStore(t *testing.T) *cores.Store {
	t.Helper()
	s, err := cores.OpenFolder(t.Context(), t.TempDir(), "key")
	checktest.NoError(t, err)
	return s
}

// TestCoreSpaceKeepsDiskFree checks that reservations leave the disk above its low mark, and stop
// when others fill it.
func TestCoreSpaceKeepsDiskFree(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	free := db.Space{Free: 3 * gib, Total: 100 * gib}
	s := &coreSpace{cores: openStore(t), most: 100 * gib, space: func(string) (db.Space, error) { return free, nil }}
	if s.reserve(t.Context(), gib) != nil {
		t.Error("1 GiB of 3: got no room")
	}
	if !errors.Is(s.reserve(t.Context(), gib+1), errNoRoomForCore) {
		t.Error("1 GiB and more: got room, want 1 GiB to stay free")
	}
	if s.reserve(t.Context(), gib) != nil {
		t.Error("another 1 GiB: got no room")
	}
	s.release(gib)
	s.release(gib)
	if !errors.Is(s.reserve(t.Context(), 4*gib), errNoRoomForCore) {
		t.Error("more than the disk has: got room, want none")
	}
	body := &coreReader{from: strings.NewReader(strings.Repeat("x", 3*checkInterval)), space: s}
	if _, err := io.CopyN(io.Discard, body, checkInterval); err != nil {
		t.Error(err)
	}
	free.Free = gib / 2
	if _, err := io.Copy(io.Discard, body); !errors.Is(err, errNoRoomForCore) {
		t.Errorf("the disk fills up meanwhile: got %v, want %v", err, errNoRoomForCore)
	}
}
