package db

import (
	"sync"

	"mishap/crash"
)

// maxSeenBuckets bounds what a process remembers of buckets that are in the database.
const maxSeenBuckets = 1 << 17

// seenBuckets remembers which buckets are in the database, so that only new ones cost anything. Buckets are never removed.
type seenBuckets struct {
	mu   sync.Mutex
	seen map[crash.BucketID]bool
}

// unseen returns the reports of a batch whose buckets are not known to be in the database.
func (b *seenBuckets) unseen(batch []*pendingReport) (reports []*pendingReport) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range batch {
		if p.bucket != nil && !b.seen[*p.bucket] {
			reports = append(reports, p)
		}
	}
	return reports
}

// add is for a batch that is committed, with the reports that were stored by it: the others may have left no bucket.
func (b *seenBuckets) add(batch []*pendingReport, stored map[crash.OopsID]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil || len(b.seen) > maxSeenBuckets {
		b.seen = map[crash.BucketID]bool{}
	}
	for _, p := range batch {
		if p.bucket != nil && stored[p.ID] {
			b.seen[*p.bucket] = true
		}
	}
}
