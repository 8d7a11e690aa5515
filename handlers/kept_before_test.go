package handlers

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// While a page is made anew, others get that of before, if it is not old; who asks alone gets what is true now.
func TestKeptPageOfBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeptPages(maxPageBytes)
		var later atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
		release := make(chan struct{})
		page := func(tag string, wait bool) func() (*keptPage, error) {
			return func() (*keptPage, error) {
				if wait {
					<-release
				}
				return &keptPage{tag: tag}, nil
			}
		}
		want := func(state, tag string, make func() (*keptPage, error)) {
			t.Helper()
			if got, err := k.get(state, "/", clock, make); err != nil || got.tag != tag {
				t.Errorf("state %s: got %+v, %v, want page %s", state, got, err, tag)
			}
		}
		want("1", "a", page("a", false))
		want("2", "b", page("b", false)) // alone
		var waiting sync.WaitGroup
		waiting.Go(func() { want("3", "c", page("c", true)) })
		synctest.Wait()
		want("3", "b", page("x", false))
		want("4", "b", page("x", false)) // and another round meanwhile
		later.Store(int64(longestBefore))
		want("4", "d", page("d", false)) // too old
		close(release)
		waiting.Wait()
		want("4", "d", page("x", false))
		want("5", "e", page("e", false))
	})
}

// TestKeptPagesHoldWhatTheySay renders far more pages than fit, and compares with what the heap grew by: neither buffers
// that pages were rendered in, nor those in which they were compressed, may be held by them. It does not run in parallel
// with others, whose memory would count too.
func TestKeptPagesHoldWhatTheySay(t *testing.T) { //nolint:paralleltest // as said
	const limit = 4 << 20
	s := &Server{}
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]byte, 1<<16)
	for i := range words {
		words[i] = byte('a' + random.IntN(26))
	}
	k := newKeptPages(limit)
	before := heapBytes()
	for i := range 5000 {
		page, err := k.get("state", fmt.Sprintf("/?package=p%d", i), time.Now, func() (*keptPage, error) {
			return s.renderPage(func(w http.ResponseWriter, _ *http.Request) error {
				w.Header().Set("Content-Type", "text/html")
				_, err := w.Write(bytes.Repeat(words[i:i+1000], 30)) // 30 kB that compress to less than 1 kB
				return err
			}, nil)
		})
		if err != nil || len(page.packed) > 2000 || page.tag == "" {
			t.Fatalf("got %+v, %v, want a small page", page, err)
		}
		if held := k.cache.Held(); held > limit {
			t.Fatalf("got %d bytes held, want at most %d", held, limit)
		}
	}
	s.packers = sync.Pool{}
	grown := heapBytes() - before
	if n := k.cache.Len(); n < 500 || n > 4500 || grown > limit*13/10 {
		t.Errorf("the heap grew by %d kB with %d pages in the cache, said to hold %d kB, want at most about %d kB", grown>>10, n, k.cache.Held()>>10, limit>>10)
	}
	runtime.KeepAlive(k)
}

func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
