package db

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mishap/crash"
)

// How many reports may be queued, and how many go into one transaction.
const (
	maxQueuedReports = 2048 // in each of the two queues
	maxQueuedBytes   = 64 << 20
	maxBatchReports  = 256
	maxBatchBytes    = 2 << 20   // small reports do not wait long behind a batch of larger ones
	largeBody        = 256 << 10 // bytes from which a report is stored by the writer of large reports
	usualWriters     = 2         // while one waits for the disk, the other one fills its batch
	maxCachedBuckets = 1 << 17   // ids of buckets that are in the database
	// batchInterval is how long a writer lets reports gather under load. Without it, twice as many transactions take a
	// quarter more processor time per report at half load (devtool bench).
	batchInterval = 2 * time.Millisecond
)

// saver groups reports into transactions. Large reports, which take long to store, have a queue and a writer of their own,
// so that the others never wait for them.
type saver struct {
	store        *Store
	usual, large chan *pendingReport
	bytes        atomic.Int64 // of bodies that are queued or being written
	underWay     atomic.Int64 // calls of SaveReport
	noSpace      atomic.Bool  // the last transaction failed because the database's disk is full
	partitions   partitions
	buckets      seen[crash.BucketID, bool] // that are in the database: they are never removed
	stats        saverStats
	writers      sync.WaitGroup

	mu     sync.RWMutex // held for reading while a report is put into a queue
	closed bool
}

func startSaver(ctx context.Context, s *Store) *saver {
	v := &saver{store: s, usual: make(chan *pendingReport, maxQueuedReports), large: make(chan *pendingReport, maxQueuedReports)}
	v.buckets.most = maxCachedBuckets
	v.stats = newSaverStats(v)
	ctx = context.WithoutCancel(ctx)
	var filling sync.Mutex
	for range usualWriters {
		v.writers.Go(func() { v.write(ctx, v.usual, &filling) })
	}
	v.writers.Go(func() { v.write(ctx, v.large, new(sync.Mutex)) })
	return v
}

// close lets the writers finish what was accepted and waits for them.
func (v *saver) close() {
	v.mu.Lock()
	if !v.closed {
		v.closed = true
		close(v.usual)
		close(v.large)
	}
	v.mu.Unlock()
	v.writers.Wait()
}

// submit queues a report, or returns Unavailable.
func (v *saver) submit(p *pendingReport) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.closed {
		return errUnavailable
	}
	queue, size := v.usual, int64(len(p.body))
	if size >= largeBody {
		queue = v.large
	}
	if waiting := v.bytes.Add(size); waiting <= maxQueuedBytes || waiting == size { // a single one always fits
		select {
		case queue <- p:
			return nil
		default:
		}
	}
	v.bytes.Add(-size)
	return errBusy
}

// waiting returns how many reports are queued.
func (v *saver) waiting() int { return len(v.usual) + len(v.large) }

// write stores batches until the queue is closed and empty. One writer of a queue fills its batch at a time, so that two do
// not share what could be one batch.
func (v *saver) write(ctx context.Context, queue <-chan *pendingReport, filling *sync.Mutex) {
	for {
		filling.Lock()
		batch := v.fill(ctx, queue)
		filling.Unlock()
		if len(batch) == 0 {
			return
		}
		v.save(ctx, batch)
		for _, p := range batch {
			v.bytes.Add(-int64(len(p.body)))
			v.store.bodies.drop(p.body)
		}
	}
}

// fill waits for a report and returns it with those that have queued up behind it. A single report is written at once; the
// more arrive, the more of them share a transaction. It returns nothing when the queue is closed and empty.
func (v *saver) fill(ctx context.Context, queue <-chan *pendingReport) (batch []*pendingReport) {
	p, open := <-queue
	if !open {
		return nil
	}
	if v.underWay.Load() > 1 && v.store.counter.busy() {
		wait(ctx, batchInterval)
	}
	for size := 0; ; {
		batch = append(batch, p)
		if size += len(p.body); len(batch) == maxBatchReports || size >= maxBatchBytes {
			return batch
		}
		select {
		case p = <-queue:
			if p == nil { // closed
				return batch
			}
		default:
			return batch
		}
	}
}
