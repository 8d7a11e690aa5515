package body

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"mishap/crash"
)

// TestReadBudget checks that readers of large reports wait until the requests of others are
// answered.
func TestReadBudget(t *testing.T) {
	t.Parallel()
	codec := NewCodec()
	large := codec.Compress(crash.Fields{"ProcMaps": strings.Repeat("x", 30<<20)})
	small := codec.Compress(crash.Fields{"ProcMaps": strings.Repeat("x", 30<<10)})
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget()
		var answered []context.CancelFunc
		var err error
		for err == nil && len(answered) < 100 {
			ctx, done := context.WithCancel(t.Context())
			answered = append(answered, done)
			err = b.Reserve(ctx, large)
		}
		if !errors.Is(err, errReading) || len(answered) < 3 {
			t.Errorf("got %v for the reader after %d others, want %v after some", err, len(answered)-1, errReading)
		}
		if err := b.Reserve(t.Context(), small); err != nil {
			t.Errorf("a small report meanwhile: %v", err)
		}
		waiting := make(chan error)
		go func() { waiting <- b.Reserve(context.WithoutCancel(t.Context()), large) }()
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
