package web

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"mishap/crash/cache"
)

// TestPageCacheMemory renders far more pages than fit and compares their size with the growth of
// the heap. Cached pages must not retain the buffers used to render or compress them. It does not
// run in parallel, because it measures the whole process.
func TestPageCacheMemory(t *testing.T) { //nolint:paralleltest // measures the whole process
	const limit = 4 << 20
	s := &Kit{}
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]byte, 1<<16)
	for i := range words {
		words[i] = byte('a' + random.IntN(26))
	}
	c := cache.New[string](limit)
	before := heapBytes()
	for i := range 5000 {
		page, err := cache.Get(c, "revision", fmt.Sprintf("/?package=p%d", i), func() (*cachedPage, error) {
			return s.record(http.Header{}, func(w http.ResponseWriter) error {
				w.Header().Set("Content-Type", "text/html")
				_, err := w.Write(bytes.Repeat(words[i:i+1000], 30)) // 30 kB that compress to less than 1 kB
				return err
			})
		})
		if err != nil || len(page.compressed) > 2000 || page.tag == "" {
			t.Fatalf("got %+v, %v, want a small page", page, err)
		}
		if held := c.Bytes(); held > limit {
			t.Fatalf("got %d bytes held, want at most %d", held, limit)
		}
	}
	s.compressors = sync.Pool{}
	grown := heapBytes() - before
	if n := c.Len(); n < 500 || n > 4500 || grown > limit*13/10 {
		t.Errorf("the heap grew by %d kB with %d cached pages of %d kB, want at most about %d kB", grown>>10,
			n, c.Bytes()>>10, limit>>10)
	}
	runtime.KeepAlive(c)
}

func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
