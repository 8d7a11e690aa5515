package cache

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	t.Parallel()
	c := New[string, string](2000)
	want := func(key, value string, there bool) {
		t.Helper()
		if got, ok := c.Get(key); got != value || ok != there {
			t.Errorf("%s: got %q, %t, want %q, %t", key, got, ok, value, there)
		}
	}
	want("a", "", false)
	for _, key := range []string{"a", "b", "c"} {
		c.Put(key, key, 400)
	}
	want("a", "a", true) // and so it is the newest
	for _, key := range []string{"d", "e"} {
		c.Put(key, key, 400)
	}
	want("a", "a", true)
	want("b", "", false)
	held := c.Held()
	c.Put("a", "another", 400)
	want("a", "another", true)
	if c.Held() != held {
		t.Errorf("got %d bytes after a value was replaced, want %d as before", c.Held(), held)
	}
	c.Put("a", "too large", 2000)
	want("a", "", false)
	if c.Clear(); c.Held() != 0 || c.Len() != 0 {
		t.Errorf("got %d bytes of %d values after Clear, want none", c.Held(), c.Len())
	}
}

type node struct {
	name string
	next *node
	time time.Time
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
		{"nil", nil, 0},
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
		{"flat map", map[int32]int32{1: 1}, 48 + 8*(1+4+4)},
	} {
		if got := SizeOf(test.value); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

// TestCacheHoldsWhatItSays fills caches several times over and compares with what the heap grew by. It does not run in
// parallel with others, whose memory would count too.
func TestCacheHoldsWhatItSays(t *testing.T) { //nolint:paralleltest // as said
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
		c := New[string, any](limit)
		n := 0
		for ; n < 1000 || c.Len() == n; n++ {
			value := test.make(n)
			c.Put(fmt.Sprintf("key number %d", n), value, SizeOf(value))
		}
		for i := range n / 2 { // until other keys have taken the places of many
			value := test.make(n + i)
			c.Put(fmt.Sprintf("key number %d", n+i), value, SizeOf(value))
		}
		grown := heap() - before
		if held := c.Held(); held > limit || held < limit*9/10 || grown > limit*14/10 || grown < limit/2 {
			t.Errorf("%s: the heap grew by %d kB for %d values said to hold %d kB, want about the limit of %d kB",
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
