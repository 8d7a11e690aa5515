package db

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"mishap/crash"
	"mishap/crash/crashtest"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]crash.Fields{
		"none":  {},
		"usual": crashtest.Native().Fields(),
		"long":  crashtest.Long().Fields(),
		"odd":   {"": "no name", "Empty": "", "NUL": "a\x00b", "Text": "ż\u2028"},
		"large": {"Large": strings.Repeat("All work and no play. ", 1<<18)},
	} {
		body := Compress(f)
		got, err := Decompress(body)
		if err != nil || !maps.Equal(got, f) {
			t.Errorf("%s: got %d fields, %v; want the %d that were packed", name, len(got), err, len(f))
		}
	}
}

func TestDamagedBodies(t *testing.T) {
	t.Parallel()
	body := Compress(crashtest.Native().Fields())
	for end := range body {
		if f, err := Decompress(body[:end]); err == nil {
			t.Fatalf("cut after %d bytes: got %d fields, want an error", end, len(f))
		}
	}
	huge := []byte{bodyFormat, 0xff, 0xff, 0xff, 0xff, 0x0f}
	if _, err := Decompress(huge); err == nil {
		t.Error("a body that says to be 4 GB: got no error")
	}
	if _, err := Decompress(slices.Concat([]byte{bodyFormat + 1}, body[1:])); err == nil {
		t.Error("a body of another form: got no error")
	}
}

// TestReadBudget checks that readers of large reports wait until the requests of others are
// answered.
func TestReadBudget(t *testing.T) {
	t.Parallel()
	large := Compress(crash.Fields{"ProcMaps": strings.Repeat("x", 30<<20)})
	small := Compress(crash.Fields{"ProcMaps": strings.Repeat("x", 30<<10)})
	synctest.Test(t, func(t *testing.T) {
		b := newReadBudget()
		var answered []context.CancelFunc
		var err error
		for err == nil && len(answered) < 100 {
			ctx, done := context.WithCancel(t.Context())
			answered = append(answered, done)
			err = b.reserve(ctx, large)
		}
		if !errors.Is(err, errReading) || len(answered) < 3 {
			t.Errorf("got %v for the reader after %d others, want %v after some", err, len(answered)-1, errReading)
		}
		if err := b.reserve(t.Context(), small); err != nil {
			t.Errorf("a small report meanwhile: %v", err)
		}
		waiting := make(chan error)
		go func() { waiting <- b.reserve(context.WithoutCancel(t.Context()), large) }()
		synctest.Wait()
		for _, done := range answered {
			done()
		}
		if err := <-waiting; err != nil {
			t.Errorf("a reader that waits until the others are done: %v", err)
		}
		synctest.Wait()
		if !b.bytes.TryAcquire(readTotal) {
			t.Error("some memory is still reserved, want all of it free")
		}
	})
}
