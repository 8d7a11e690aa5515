package index

import (
	"fmt"
	"runtime"
	"testing"

	"mishap/crash"
)

// TestCacheIsBounded requests many lists and compares the size that the cache reports with the
// growth of the heap. It does not run in parallel with other tests, whose memory would count.
func TestCacheIsBounded(t *testing.T) { //nolint:paralleltest // measures the whole process
	const problems = 20_000
	b := New()
	b.Update(func(u *Updater) {
		for i := range problems {
			id := crash.BucketIDOf(fmt.Sprint(i))
			u.SetBucket(Bucket{ID: id, Head: id, Signature: fmt.Sprint(i), Package: "harbor", Source: "harbor"})
			u.SetCell(id, 9000, []byte("Ubuntu 24.04"), []byte("1.0-1"), []byte("amd64"), []byte("amd64"), int64(i%7+1))
		}
	})
	filter := func(i int) Filter { return Filter{Since: Day(8000 - i), Until: 9000} }
	before := heap()
	for i := range 200 {
		f := filter(i)
		if rows, _ := b.All(f, nil); len(rows) != problems {
			t.Fatalf("got %d rows, want %d", len(rows), problems)
		}
		b.ProblemDays(Day(1000+i), 9000)
	}
	held := b.cache.Bytes()
	if n := b.cache.Len(); held > maxCacheBytes || held < maxCacheBytes*8/10 || n < 100 || n > 400 {
		t.Errorf("got %d values of %d MB, want as many as fit into %d MB", n, held>>20, maxCacheBytes>>20)
	}
	if grown := heap() - before; grown > held*12/10 || grown < held*8/10 {
		t.Errorf("the heap grew by %d MB, want about the %d MB that the cache reports", grown>>20, held>>20)
	}
	runtime.KeepAlive(b)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
