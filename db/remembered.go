package db

import (
	"context"
	"sync"

	"mishap/crash/cache"
)

// remembered caches what was read of counts for as long as nothing is counted, so that it is read once in a round however
// many ask. It is safe for concurrent use; what it returns is shared and must not be changed.
type remembered[K comparable, V any] struct {
	mu    sync.Mutex
	at    stamp
	cache *cache.Cache[K, V]
}

// maxRememberedBytes is how much memory one kind may hold: keys may come from outside.
const maxRememberedBytes = 8 << 20

// get returns what is cached, or reads it. Everything that read looks at may change in rounds only. The stamp is asked for
// first, so what is cached for a round is at least as new as that.
func (m *remembered[K, V]) get(ctx context.Context, s *Store, key K, read func() (V, error)) (V, error) {
	at, err := s.stamp(ctx)
	if err != nil {
		var none V
		return none, err
	}
	if v, ok := m.look(at, key); ok {
		return v, nil
	}
	v, err := read()
	if err == nil {
		m.keep(at, key, v)
	}
	return v, err
}

func (m *remembered[K, V]) look(at stamp, key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at != at || m.cache == nil {
		var none V
		return none, false
	}
	return m.cache.Get(key)
}

func (m *remembered[K, V]) keep(at stamp, key K, v V) {
	size := cache.SizeOf(v)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.server == at.server && m.at.round > at.round {
		return // another one has read newer counts meanwhile
	}
	if m.at != at || m.cache == nil {
		m.at, m.cache = at, cache.New[K, V](maxRememberedBytes)
	}
	m.cache.Put(key, v, size)
}
