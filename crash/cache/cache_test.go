package cache

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mishap/crash/checktest"
)

// find returns the cached value of a key.
func find[V any, R comparable](c *Cache[R], revision R, key any) (V, bool) {
	v, err := Get(c, revision, key, func() (v V, err error) { return v, errors.ErrUnsupported })
	return v, err == nil
}

func TestCache(t *testing.T) {
	t.Parallel()
	c := New[int](2600, 0)
	want := func(key, value string, found bool) {
		t.Helper()
		if got, ok := find[string](c, 1, key); got != value || ok != found {
			t.Errorf("%s: got %q, %t, want %q, %t", key, got, ok, value, found)
		}
	}
	want("a", "", false)
	long := strings.Repeat("x", 400)
	for _, key := range []string{"a", "b", "c"} {
		put(c, 1, key, long)
	}
	want("a", long, true) // makes it the most recently used
	for _, key := range []string{"d", "e"} {
		put(c, 1, key, long)
	}
	want("a", long, true)
	want("b", "", false)
	held := c.Bytes()
	put(c, 1, "a", strings.Repeat("y", 400))
	want("a", strings.Repeat("y", 400), true)
	checktest.Equal(t, "bytes after a value was replaced", c.Bytes(), held)
	if _, ok := find[int](c, 1, "a"); ok {
		t.Error("got a value of another type, want none")
	}
	put(c, 1, "a", strings.Repeat("x", 2600))
	want("a", "", false)
}

// TestRevisions checks that a value loaded at one revision is never returned at another one.
func TestRevisions(t *testing.T) {
	t.Parallel()
	c := New[string](1<<20, 0)
	failed := errors.New("failed")
	loads := 0
	for i, step := range []struct {
		revision, key string
		value         int
		err           error
		want          int
		loads         int
	}{
		{"1", "a", 3, nil, 3, 1},
		{"1", "a", 4, nil, 3, 1},
		{"1", "b", 5, nil, 5, 2},
		{"2", "a", 6, nil, 6, 3},
		{"2", "c", 0, failed, 0, 4},
		{"2", "c", 7, nil, 7, 5}, // errors are not cached
		{"1", "a", 8, nil, 8, 6}, // a late request loads a value for itself
		{"2", "a", 9, nil, 6, 6}, // the late request drops no values
		{"3", "a", 1, nil, 1, 7},
	} {
		got, err := Get(c, step.revision, step.key, func() (int, error) { loads++; return step.value, step.err })
		if got != step.want || !errors.Is(err, step.err) || loads != step.loads {
			t.Errorf("step %d: got %d, %v after %d loads, want %d, %v after %d", i, got, err, loads, step.want, step.err,
				step.loads)
		}
	}
	if n := c.Len(); n != 1 {
		t.Errorf("got %d values, want only that of the newest revision", n)
	}
	put(c, "2", "late", 8)
	for _, revision := range []string{"2", "3"} {
		if got, ok := find[int](c, revision, "late"); ok {
			t.Errorf("revision %s: got %d, want no value that was stored at an old revision", revision, got)
		}
	}
}

// TestLoadsAreShared requests a value from many goroutines while it is loaded, and while another
// revision is loaded.
func TestLoadsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New[int](1<<20, 0)
		var loads atomic.Int32
		release := make(chan struct{})
		var asking sync.WaitGroup
		for i := range 12 {
			revision := 1 + i/4 // 1, 2, 3
			if i%4 == 0 {
				synctest.Wait()
			}
			asking.Go(func() {
				got, err := Get(c, revision, "a", func() (int, error) { loads.Add(1); <-release; return revision, nil })
				if got != revision || err != nil {
					t.Errorf("got %d, %v, want %d", got, err, revision)
				}
			})
		}
		synctest.Wait()
		if n := loads.Load(); n != 3 {
			t.Errorf("got %d loads, want one for each revision", n)
		}
		close(release)
		asking.Wait()
		if got, ok := find[int](c, 3, "a"); got != 3 || !ok || c.Len() != 1 {
			t.Errorf("got %d, %t and %d values, want only that of the newest revision", got, ok, c.Len())
		}
	})
}

// TestStale checks that other callers get a stale value, if it is recent enough, while one caller
// reads the current one. A single caller must wait for the current one.
func TestStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New[int](1<<20, 5*time.Second)
		release := make(chan struct{})
		want := func(revision int, value string, read func() (string, error)) {
			t.Helper()
			if got, err := Get(c, revision, "a", read); err != nil || got != value {
				t.Errorf("revision %d: got %q, %v, want %q", revision, got, err, value)
			}
		}
		text := func(s string) func() (string, error) { return func() (string, error) { return s, nil } }
		want(1, "a", text("a"))
		want(2, "b", text("b")) // the only caller
		var waiting sync.WaitGroup
		waiting.Go(func() { want(3, "c", func() (string, error) { <-release; return "c", nil }) })
		synctest.Wait()
		want(3, "b", text("x"))
		want(4, "b", text("x")) // after another change
		<-time.After(5 * time.Second)
		want(4, "d", text("d")) // the stale value is too old
		close(release)
		waiting.Wait()
		want(4, "d", text("x"))
		want(5, "e", text("e"))
	})
}

func TestPanicOfLoad(t *testing.T) {
	t.Parallel()
	c := New[int](1<<20, 0)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("got no panic, want that of load")
			}
		}()
		_, _ = Get(c, 1, "a", func() (int, error) { panic("broken") })
	}()
	if got, err := Get(c, 1, "a", func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v after a panic, want 7", got, err)
	}
}

type node struct {
	name string
	next *node
	time time.Time //nolint:unused // counts towards the size
	any  any
}

func TestSizeOf(t *testing.T) {
	t.Parallel()
	loop := &node{name: "12345678"}
	loop.next = loop
	for _, test := range []struct {
		name  string
		value any
		want  int64
	}{
		{"number", 7, 0},
		{"text", "1234", 8},
		{"capacity", make([]int64, 1, 100), 800},
		{"nil slice", []string(nil), 0},
		{"texts", []string{"1", "22"}, 2*16 + 16},
		{"array", [2]string{"1", "22"}, 16},
		{"time", time.Now(), 0},
		{"loop", loop, 64 + 8},
		{"interface", node{any: [4]int64{}}, 32},
		{"map", map[string]int32{"1234": 1}, 48 + 8*(1+16+4) + 8},
		{"flat structs", make([]struct{ a, b int32 }, 1, 10), 80},
		{"flat map", map[int32]int32{1: 1}, 48 + 8*(1+4+4)},
	} {
		checktest.Equal(t, test.name, sizeOf(test.value), test.want)
	}
}

// TestCacheSizeIsAccurate fills caches several times and compares their size with the growth of the
// heap. It does not run in parallel with other tests, whose memory would count.
func TestCacheSizeIsAccurate(t *testing.T) { //nolint:paralleltest // measures the whole process
	const limit = 8 << 20
	for _, test := range []struct {
		name string
		make func(i int) any
	}{
		{"small values", func(i int) any { return i }},
		{"texts", func(i int) any { return strings.Repeat("x", i%2000) }},
		{"buffers with room", func(i int) any { return bytes.Repeat([]byte("x"), 100)[: i%100 : 100] }},
		{"slices of texts", func(i int) any { return strings.Fields(strings.Repeat(fmt.Sprint(i, " "), 50)) }},
		{"maps", func(i int) any {
			m := map[int]string{}
			for k := range i % 300 {
				m[k] = fmt.Sprint(k)
			}
			return m
		}},
		{"chains", func(i int) any {
			var n *node
			for range i % 20 {
				n = &node{name: fmt.Sprint(i), next: n}
			}
			return n
		}},
	} {
		before := heap()
		c := New[int](limit, 0)
		find[any](c, 1, "")
		n := 0
		for ; n < 1000 || c.Len() == n; n++ {
			value := test.make(n)
			put(c, 1, fmt.Sprintf("key number %d", n), value)
		}
		for i := range n / 2 { // until other keys have replaced many of them
			value := test.make(n + i)
			put(c, 1, fmt.Sprintf("key number %d", n+i), value)
		}
		grown := heap() - before
		if held := c.Bytes(); held > limit || held < limit*9/10 || grown > limit*14/10 || grown < limit/2 {
			t.Errorf("%s: the heap grew by %d kB for %d values of %d kB, want about the limit of %d kB",
				test.name, grown>>10, c.Len(), held>>10, limit>>10)
		}
		runtime.KeepAlive(c)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
