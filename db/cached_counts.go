package db

import (
	"context"
	"time"

	"mishap/crash/cache"
)

const (
	maxCountBytes   = 32 << 20         // limit of the cache of counts
	cachedCountTime = 30 * time.Second // longest time to read a value for the cache
)

// cachedCounts returns the counts of type V about a key, which must not be changed, or calls read.
// Everything that read looks at may change only when reports are counted: the stamp is read first,
// so the counts are at least as new as it says. read gets a context that is not cancelled when the
// caller leaves, since others may wait for the result.
func cachedCounts[V any](ctx context.Context, s *Store, key any, read func(context.Context) (V, error)) (V, error) {
	at, err := s.stamp(ctx)
	if err != nil {
		var none V
		return none, err
	}
	return cache.Get(s.counts, at, key, func() (V, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cachedCountTime)
		defer cancel()
		return read(ctx)
	})
}
