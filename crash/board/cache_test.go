package board

import (
	"fmt"
	"runtime"
	"testing"

	"mishap/crash"
)

// TestCacheIsBounded asks for many lists, whole and in part, and compares what the cache says that it holds with what the
// heap grew by. It does not run in parallel with others, whose memory would count too.
func TestCacheIsBounded(t *testing.T) { //nolint:paralleltest // as said
	const problems = 20_000
	b := New()
	b.Update(func(u *Updater) {
		for i := range problems {
			id := crash.BucketIDOf(fmt.Sprint(i))
			u.Leaf(Leaf{ID: id, Head: id, Signature: fmt.Sprint(i), Package: "harbor", Source: "harbor"})
			u.Cell(id, 9000, []byte("Ubuntu 24.04"), []byte("1.0-1"), []byte("amd64"), []byte("amd64"), int64(i%7+1))
		}
	})
	filter := func(i int) Filter { return Filter{Since: Day(8000 - i), Until: 9000} }
	before := heap()
	for i := range 120 {
		f := filter(i)
		if rows, _ := b.All(f, nil); len(rows) != problems {
			t.Fatalf("got %d rows, want %d", len(rows), problems)
		}
		b.ProblemDays(Day(1000+i), 9000)
	}
	lists, others := b.cache.lists, b.cache.others
	if held := lists.Held(); held > maxListBytes || held < maxListBytes*8/10 || lists.Len() < 20 || lists.Len() > 100 {
		t.Errorf("got %d lists of %d MB, want as many as fit into %d MB", lists.Len(), held>>20, maxListBytes>>20)
	}
	if held := others.Held(); held > maxOtherBytes || others.Len() < 100 {
		t.Errorf("got %d others of %d MB, want as many as fit into %d MB", others.Len(), held>>20, maxOtherBytes>>20)
	}
	if grown, said := heap()-before, lists.Held()+others.Held(); grown > said*12/10 || grown < said*8/10 {
		t.Errorf("the heap grew by %d MB, want about the %d MB that are said to be held", grown>>20, said>>20)
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
