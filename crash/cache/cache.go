// Package cache caches values in memory, up to a limit in bytes. The limit is not a number of
// values, because keys come from outside and values differ in size by a factor of a thousand.
package cache

import (
	"errors"
	"math"
	"math/bits"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache caches values that were loaded at one revision R of their source data. The first use of
// another revision drops all of them. A revision must never return; where that could happen, it
// contains the start time of the database server. When the cache is full, it drops the least
// recently used values. It is safe for concurrent use.
//
// Values of different types have separate keys. Values are shared, so callers must not modify them.
type Cache[R comparable] struct {
	limit    int64
	maxStale time.Duration // see New

	mu       sync.Mutex
	revision R
	previous R // requests that began at the previous revision may still use it
	held     int64
	lru      *simplelru.LRU[typedKey, entry[R]]
	loading  map[typedKey]any // *load for each value that a caller is reading
}

type typedKey struct {
	of  reflect.Type
	key any
}

type entry[R comparable] struct {
	value    any
	bytes    int64
	revision R
	stored   time.Time
}

// New returns an empty cache that holds at most limit bytes. With a maxStale above 0, it does not drop
// values of older revisions: [Get] returns such a value if it is not older than maxStale and another
// caller is reading the current one. With frequent changes, only one caller then waits.
func New[R comparable](limit int64, maxStale time.Duration) *Cache[R] {
	c := &Cache[R]{limit: limit, maxStale: maxStale}
	c.clear()
	return c
}

// Get returns the cached value of a key, or calls read and caches its result. Concurrent callers
// with the same key and revision wait for one call of read. Errors are not cached. A caller with
// the previous revision always calls read.
func Get[V any, R comparable](c *Cache[R], revision R, key any, read func() (V, error)) (V, error) {
	k := typedKey{reflect.TypeFor[V](), key}
	c.mu.Lock()
	if !c.enter(revision) {
		c.mu.Unlock()
		return read()
	}
	e, cached := c.lru.Get(k)
	l, loading := c.loading[k].(*load[R, V])
	if cached && (e.revision == revision || loading && time.Since(e.stored) < c.maxStale) {
		c.mu.Unlock()
		return e.value.(V), nil //nolint:forcetypeassert // the key names the type
	}
	if loading && l.revision == revision {
		c.mu.Unlock()
		<-l.done
		return l.value, l.err
	}
	l = &load[R, V]{revision: revision, done: make(chan struct{}), err: errPanicked}
	c.loading[k] = l
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		if c.loading[k] == l {
			delete(c.loading, k)
		}
		c.mu.Unlock()
		close(l.done)
	}()
	if l.value, l.err = read(); l.err == nil {
		put(c, revision, key, l.value)
	}
	return l.value, l.err
}

// load is a value that one caller of Get reads and other callers wait for.
type load[R comparable, V any] struct {
	revision R
	done     chan struct{} // closed when value and err are set
	value    V
	err      error
}

var errPanicked = errors.New("reading a value for the cache panicked")

// put stores a value that was loaded at a revision. It does nothing if another revision has been
// used since, or if the value is larger than the limit.
func put[V any, R comparable](c *Cache[R], revision R, key any, value V) {
	k := typedKey{reflect.TypeFor[V](), key}
	bytes := entryBytes[R]() + sizeOf(&k.key) + sizeOf(&value)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.revision != revision {
		return
	}
	if old, ok := c.lru.Peek(k); ok {
		c.held -= old.bytes
		c.lru.Remove(k)
	}
	if bytes > c.limit {
		return
	}
	c.lru.Add(k, entry[R]{value, bytes, revision, time.Now()})
	for c.held += bytes; c.held > c.limit; {
		_, oldest, _ := c.lru.RemoveOldest()
		c.held -= oldest.bytes
	}
}

// enter makes a revision the current one and returns true. It returns false for the previous
// revision, which cannot become current again.
func (c *Cache[R]) enter(revision R) bool {
	if c.revision == revision {
		return true
	}
	if c.previous == revision {
		return false
	}
	c.previous, c.revision = c.revision, revision
	if c.maxStale == 0 {
		c.clear()
	}
	return true
}

// clear drops all values. It allocates new maps, since maps do not release memory when keys are
// deleted.
func (c *Cache[R]) clear() {
	c.lru, _ = simplelru.NewLRU[typedKey, entry[R]](math.MaxInt, nil) // fails only for a size of 0
	c.loading, c.held = map[typedKey]any{}, 0
}

// Bytes returns the size of all cached values in bytes.
func (c *Cache[R]) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// Len returns how many values the cache holds.
func (c *Cache[R]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Len()
}

// entryBytes returns the size of an entry, excluding what its key and value point to. It consists
// of a list node (key, entry and six words), and of the key with a pointer in a map that may be
// half empty.
func entryBytes[R comparable]() int64 {
	const word, key = int64(unsafe.Sizeof(uintptr(0))), int64(unsafe.Sizeof(typedKey{}))
	return key + size(reflect.TypeFor[entry[R]]()) + 6*word + 2*(key+word+1)
}

// sizeOf returns the number of bytes in memory that a value refers to, excluding the value itself:
// strings, slices with their capacity, maps with their empty slots, and the targets of pointers,
// each once. Functions and channels count as 0.
func sizeOf(value any) int64 { return visited{}.below(reflect.ValueOf(value)) }

// visited contains the counted addresses with their types, since a struct and its first field have
// the same address.
type visited map[visit]bool

type visit struct {
	address uintptr
	of      reflect.Type
}

func (s visited) first(address uintptr, of reflect.Type) bool {
	at := visit{address, of}
	if s[at] {
		return false
	}
	s[at] = true
	return true
}

var location = reflect.TypeFor[time.Location]() // zones are shared by all times

func (s visited) below(v reflect.Value) (n int64) {
	switch v.Kind() { //nolint:exhaustive // all others hold nothing else
	case reflect.String:
		return rounded(int64(v.Len()))
	case reflect.Pointer:
		if v.IsNil() || v.Type().Elem() == location || !s.first(v.Pointer(), v.Type()) {
			return 0
		}
		return size(v.Type().Elem()) + s.below(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return size(v.Elem().Type()) + s.below(v.Elem())
	case reflect.Slice:
		if v.Cap() == 0 || !s.first(v.Pointer(), v.Type()) {
			return 0
		}
		return rounded(int64(v.Cap())*size(v.Type().Elem())) + s.elements(v)
	case reflect.Array:
		return s.elements(v)
	case reflect.Struct:
		for i := range v.NumField() {
			n += s.below(v.Field(i))
		}
		return n
	case reflect.Map:
		return s.belowMap(v)
	}
	return 0
}

func (s visited) elements(v reflect.Value) (n int64) {
	if flat(v.Type().Elem()) {
		return 0
	}
	for i := range v.Len() {
		n += s.below(v.Index(i))
	}
	return n
}

// belowMap returns the size of a map. A map has eight slots or a larger power of two, at most 7/8
// of them in use.
func (s visited) belowMap(v reflect.Value) int64 {
	if v.IsNil() || !s.first(v.Pointer(), v.Type()) {
		return 0
	}
	slots := int64(8)
	if n := v.Len(); n > 8 {
		slots = 1 << bits.Len(uint(n*8/7))
	}
	n := int64(48) + slots*(1+size(v.Type().Key())+size(v.Type().Elem()))
	if flat(v.Type().Key()) && flat(v.Type().Elem()) {
		return n
	}
	for each := v.MapRange(); each.Next(); {
		n += s.below(each.Key()) + s.below(each.Value())
	}
	return n
}

// rounded returns the smallest size of an allocation of n bytes.
func rounded(n int64) int64 { return (n + 7) &^ 7 }

func size(t reflect.Type) int64 { return int64(t.Size()) } //nolint:gosec // no type is that large

func flat(t reflect.Type) bool {
	switch t.Kind() { //nolint:exhaustive // all others are numbers
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return false
	case reflect.Array:
		return flat(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !flat(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}
