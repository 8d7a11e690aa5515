package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestShown(t *testing.T) {
	t.Parallel()
	m := shown[int]{"number", newShownFacts()}
	other := shown[string]{"text", m.facts}
	var reads int
	get := func(state, key string, give int, err error) (int, error) {
		return m.get(t.Context(), state, key, func(*http.Request) (int, error) { reads++; return give, err })
	}
	broken := errors.New("broken")
	for i, step := range []struct {
		state, key string
		give       int
		err        error
		want       int
		reads      int
	}{
		{state: "1", key: "a", give: 3, want: 3, reads: 1},
		{state: "1", key: "a", give: 4, want: 3, reads: 1},
		{state: "1", key: "b", give: 5, want: 5, reads: 2},
		{state: "2", key: "a", give: 6, want: 6, reads: 3},
		{state: "2", key: "c", err: broken, reads: 4},
		{state: "2", key: "c", give: 7, want: 7, reads: 5}, // what failed is not cached
	} {
		got, err := get(step.state, step.key, step.give, step.err)
		if got != step.want || !errors.Is(err, step.err) || reads != step.reads {
			t.Errorf("step %d: got %d, %v after %d reads, want %d, %v after %d", i, got, err, reads, step.want, step.err, step.reads)
		}
	}
	m.keep("1", "d", 8) // was read before something changed
	if got, ok := m.find("2", "d"); ok {
		t.Errorf("got %d, which was read of an older state, want nothing", got)
	}
	if got, ok := other.find("2", "a"); ok {
		t.Errorf("got %q of another kind, want nothing", got)
	}
	other.keep("2", "long", strings.Repeat("x", maxFactBytes))
	for i := range 100 {
		other.keep("2", fmt.Sprint(i), strings.Repeat("x", maxFactBytes/20))
	}
	if n, held := m.facts.cache.Len(), m.facts.cache.Held(); n > 20 || n < 10 || held > maxFactBytes {
		t.Errorf("got %d values of %d bytes, want as many as fit into %d", n, held, maxFactBytes)
	}
}

// However many ask for something at once, it is read once; who leaves does not take it from the others, and nobody's
// request is seen by what reads.
func TestShownIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := shown[int]{"number", newShownFacts()}
		var reads atomic.Int32
		release := make(chan struct{})
		read := func(r *http.Request) (int, error) {
			reads.Add(1)
			<-release
			return 7, r.Context().Err()
		}
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() {
				if got, err := m.get(t.Context(), "1", "a", read); got != 7 || err != nil {
					t.Errorf("got %d, %v, want 7", got, err)
				}
			})
		}
		synctest.Wait()
		close(release)
		asking.Wait()
		if n := reads.Load(); n != 1 {
			t.Errorf("got %d reads, want 1", n)
		}
	})
}
