package index

import (
	"unsafe"

	"mishap/crash/cache"
)

// maxCacheBytes is the memory limit of cached lists and counts. A row of a list takes 32 bytes, and
// 32 more if All has returned the whole list.
const maxCacheBytes = 128 << 20

// cached returns the cached value of a key, or calls read, which must not fail. Each change of the
// index empties the cache. The caller holds ix.mu for reading and must not modify the value.
func cached[V any](ix *Index, key any, read func() V) V {
	if ix.hiddenKey != "" {
		key = hiddenCacheKey{ix.hiddenKey, key}
	}
	v, _ := cache.Get(ix.cache, ix.change, key, func() (V, error) { return read(), nil })
	return v
}

// CacheSize returns the memory of cached lists and counts, in bytes, and their number.
func (ix *Index) CacheSize() (size int64, entries int) { return ix.cache.Bytes(), ix.cache.Len() }

// CachedBytes implements [cache.Sizer]. The found rows have no pointers.
func (l *list) CachedBytes() int64 {
	return int64(unsafe.Sizeof(*l)) + int64(cap(l.found))*int64(unsafe.Sizeof(found{}))
}

// allRows is a whole list as [Index.All] returns it.
type allRows []Row

// CachedBytes implements [cache.Sizer]. The problems that rows point to belong to the index.
func (r allRows) CachedBytes() int64 { return int64(cap(r)) * int64(unsafe.Sizeof(Row{})) }
