package db

import "mishap/crash"

// maxSeenBuckets bounds what a process remembers of buckets that are in the database.
const maxSeenBuckets = 1 << 17

// seenBuckets remembers which buckets are in the database. Buckets are never removed.
type seenBuckets = seen[crash.BucketID, bool]

// unseenBuckets returns the reports of a batch whose buckets are not known to be in the database.
func unseenBuckets(buckets *seenBuckets, server serverID, batch []*pendingReport) (reports []*pendingReport) {
	for _, p := range batch {
		if p.bucket == nil {
			continue
		}
		if _, ok := buckets.find(server, *p.bucket); !ok {
			reports = append(reports, p)
		}
	}
	return reports
}

// storedBuckets returns the buckets of the reports that a transaction has stored: the others may have left no bucket.
func storedBuckets(batch []*pendingReport, stored map[crash.OopsID]bool) map[crash.BucketID]bool {
	buckets := map[crash.BucketID]bool{}
	for _, p := range batch {
		if p.bucket != nil && stored[p.ID] {
			buckets[*p.bucket] = true
		}
	}
	return buckets
}
