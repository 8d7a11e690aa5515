package db

import (
	"context"
	"sync"
)

// remembered keeps what was read of counts for as long as nothing is counted, so that it is read once in a round however
// many ask. It is safe for concurrent use; what it gives is shared and not to be changed.
type remembered[K comparable, V any] struct {
	mu    sync.Mutex
	round int64
	kept  map[K]V
}

// rememberedMost bounds how much is kept: keys may come from outside.
const rememberedMost = 100

// get returns what is kept, or reads it. Everything that read looks at may change in rounds only. The round is asked for
// first, so what is kept for a round is at least as new as that.
func (m *remembered[K, V]) get(ctx context.Context, s *Store, key K, read func() (V, error)) (V, error) {
	var round int64
	if err := s.pool.QueryRow(ctx, sqlRound).Scan(&round); err != nil {
		var none V
		return none, err
	}
	if v, ok := m.look(round, key); ok {
		return v, nil
	}
	v, err := read()
	if err == nil {
		m.keep(round, key, v)
	}
	return v, err
}

func (m *remembered[K, V]) look(round int64, key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.round != round {
		var none V
		return none, false
	}
	v, ok := m.kept[key]
	return v, ok
}

func (m *remembered[K, V]) keep(round int64, key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.round > round {
		return // another one has read newer counts meanwhile
	}
	if m.round < round || m.kept == nil || len(m.kept) >= rememberedMost {
		m.round, m.kept = round, map[K]V{}
	}
	m.kept[key] = v
}
