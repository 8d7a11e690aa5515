package ingest

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/semaphore"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/whoopsie"
)

// readBody reads a body of size bytes into a room of the handler.
func (h *handler) readBody(t *testing.T, size int64) (*room, error) {
	t.Helper()
	body, err := newPacedBody(httptest.NewRecorder(), request(t, bytes.NewReader(make([]byte, size)), -1), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
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
		document, err := whoopsie.Open(crashtest.Native(crashtest.Set("ProcMaps", value)).BSON())
		if err != nil {
			t.Fatal(err)
		}
		in, err := h.readBody(t, int64(len(value)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.fields(t.Context(), document); err != nil {
			t.Fatal(err)
		}
		in.release()
	}
	if !h.memory.bodies.TryAcquire(1<<20) || !h.memory.decompressed.TryAcquire(h.memory.most) {
		t.Error("some memory is still reserved, want all of it free")
	}
}

// TestMemoryForDecompressing checks that reports with large compressed fields wait for each other,
// and that other reports do not.
func TestMemoryForDecompressing(t *testing.T) {
	t.Parallel()
	open := func(size int) *whoopsie.Document {
		d, err := whoopsie.Open(crashtest.Native(crashtest.Set("ProcMaps",
			crashtest.Compressed(strings.Repeat("x", size)))).BSON())
		if err != nil {
			t.Fatal(err)
		}
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
	d, err := whoopsie.Open(crashtest.Native(crashtest.Set("ProcMaps",
		crashtest.Compressed(strings.Repeat("x", 2<<20)))).BSON())
	if err != nil {
		t.Fatal(err)
	}
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
