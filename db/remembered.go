package db

import (
	"context"
	"sync"
)

// remembered keeps what was read of counts for as long as nothing is counted, so that it is read once in a round however
// many ask. It is safe for concurrent use; what it gives is shared and not to be changed.
type remembered[K comparable, V any] struct {
	mu   sync.Mutex
	at   stamp
	kept map[K]V
}

// rememberedMost bounds how much is kept: keys may come from outside.
const rememberedMost = 100

// get returns what is kept, or reads it. Everything that read looks at may change in rounds only. The stamp is asked for
// first, so what is kept for a round is at least as new as that.
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
	if m.at != at {
		var none V
		return none, false
	}
	v, ok := m.kept[key]
	return v, ok
}

func (m *remembered[K, V]) keep(at stamp, key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.server == at.server && m.at.round > at.round {
		return // another one has read newer counts meanwhile
	}
	if m.at != at || m.kept == nil || len(m.kept) >= rememberedMost {
		m.at, m.kept = at, map[K]V{}
	}
	m.kept[key] = v
}
