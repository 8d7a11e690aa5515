// Package cache holds values that can be made again, up to a limit of bytes. It counts what the values hold in memory, not
// how many there are: keys come from outside, and values differ in size by a factor of a thousand.
package cache

import (
	"math"
	"sync"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache is a cache that drops what was used least recently when it would hold more bytes than its limit. It is safe for
// concurrent use. Values are shared and must not be changed.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	limit int64
	held  int64
	lru   *simplelru.LRU[K, sized[V]]
}

type sized[V any] struct {
	value V
	bytes int64
}

// New returns an empty cache that holds at most limit bytes.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	c := &Cache[K, V]{limit: limit}
	c.Clear()
	return c
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.lru.Get(key)
	return e.value, ok
}

// Put stores a value, of which bytes are held in memory besides the value itself: see [SizeOf]. A value that is larger than
// the limit is not stored.
func (c *Cache[K, V]) Put(key K, value V, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.lru.Peek(key); ok {
		c.held -= old.bytes
		c.lru.Remove(key)
	}
	bytes += entryBytes[K, V]() + SizeOf(key)
	if bytes > c.limit {
		return
	}
	c.lru.Add(key, sized[V]{value, bytes})
	for c.held += bytes; c.held > c.limit; {
		_, oldest, _ := c.lru.RemoveOldest()
		c.held -= oldest.bytes
	}
}

// Clear drops everything.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A map does not give back its memory when its keys are deleted, so that a new one is made.
	c.lru, _ = simplelru.NewLRU[K, sized[V]](math.MaxInt, nil) // fails only without a size
	c.held = 0
}

// Held returns how many bytes the cache holds, and Len how many values.
func (c *Cache[K, V]) Held() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// Len returns how many values the cache holds.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Len()
}

// entryBytes returns what an entry costs besides what key and value point to: a node of the list with both and six words,
// and the key with a pointer in a map that may be half empty.
func entryBytes[K comparable, V any]() int64 {
	var key K
	var value sized[V]
	const word = int64(unsafe.Sizeof(uintptr(0)))
	return int64(unsafe.Sizeof(key)) + int64(unsafe.Sizeof(value)) + 10*word + 2*(int64(unsafe.Sizeof(key))+word+1)
}
