package index

import (
	"unsafe"

	"mishap/crash/cache"
)

// maxCacheBytes is how much memory cached lists and counts may hold. A row of a list takes 32
// bytes, and 32 more when All has returned the whole list.
const maxCacheBytes = 128 << 20

// cached returns the cached value of a key, or calls read, which must not fail. The cache is
// dropped with every change of the index. The caller holds b.mu for reading and must not change the
// value.
func cached[V any](b *Index, key any, read func() V) V {
	v, _ := cache.Get(b.cache, b.change, key, func() (V, error) { return read(), nil })
	return v
}

// CachedBytes implements [cache.Sizer]. The found rows have no pointers.
func (l *list) CachedBytes() int64 {
	return int64(unsafe.Sizeof(*l)) + int64(cap(l.found))*int64(unsafe.Sizeof(found{})) + int64(cap(l.past))*8
}

// allRows is a whole list as [Index.All] returns it.
type allRows []Row

// CachedBytes implements [cache.Sizer]. The problems that rows point to belong to the index.
func (r allRows) CachedBytes() int64 { return int64(cap(r)) * int64(unsafe.Sizeof(Row{})) }
