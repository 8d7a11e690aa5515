package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mishap/crash"

	"github.com/jackc/pgx/v5/pgconn"
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
	v := &saver{store: s, usual: make(chan *pendingReport, maxQueuedReports),
		large: make(chan *pendingReport, maxQueuedReports)}
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
			v.store.bodies.Drop(p.body)
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
		_ = crash.Sleep(ctx, batchInterval)
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

const (
	saveTimeout  = 20 * time.Second // for one transaction
	saveAttempts = 4
	savePause    = 25 * time.Millisecond // before the second attempt; four times as long before each further one
)

// save stores a batch, hands it over to be counted and answers its callers. When the database rejects the contents of a
// batch, its halves are tried one by one, and so on, so that in the end an invalid report fails alone.
func (v *saver) save(ctx context.Context, batch []*pendingReport) {
	v.store.counter.await()
	began := time.Now()
	done, err := v.attempts(ctx, batch)
	if faulty(err) && len(batch) > 1 {
		v.save(ctx, batch[:len(batch)/2])
		v.save(ctx, batch[len(batch)/2:])
		return
	}
	v.stats.batch(len(batch), time.Since(began))
	v.noSpace.Store(noSpace(err))
	if err != nil {
		err = fmt.Errorf("save %d reports: %w", len(batch), err)
		if noSpace(err) {
			err = errNoSpace.Because(err)
		} else if !faulty(err) { // the report is not at fault, and may be sent again
			err = errUnavailable.Because(err)
		}
		v.store.Log.ErrorContext(ctx, "reports not stored", "reports", len(batch), "first", batch[0].ID.String(), "error",
			err)
		for _, p := range batch {
			p.answer <- saved{err: err}
		}
		return
	}
	var counted <-chan struct{}
	if len(done.now) > 0 {
		counted = v.store.counter.add(done.work, len(done.now), v.underWay.Load())
	}
	buckets := map[crash.BucketID]bool{}
	for i, p := range batch {
		p.answer <- saved{id: done.first[i], counted: counted}
		if p.bucket != nil && done.now[p.ID] { // a report that is not stored may have left no bucket
			buckets[*p.bucket] = true
		}
	}
	v.buckets.add(done.server, buckets)
}

// stored is what a transaction has done.
type stored struct {
	first  []crash.OopsID        // for each report of the batch, the id under which its crash is stored
	now    map[crash.OopsID]bool // the reports that were stored by it
	work   [16]byte              // the row of uncounted that lists them
	server serverID              // where they are stored
}

// attempts tries again after transient errors: a deadlock, a lost connection, a missing partition. That is safe even when
// the lost attempt was committed: a report is never stored or counted twice.
func (v *saver) attempts(ctx context.Context, batch []*pendingReport) (done stored, err error) {
	pause := savePause
	for n := range saveAttempts {
		if n > 0 {
			_ = crash.Sleep(ctx, pause)
			pause *= 4
		}
		if done, err = v.attempt(ctx, batch, n > 0); err == nil || !transient(err) {
			return done, err
		}
		if missingPartition(err) {
			v.partitions.forget()
		}
	}
	return done, err
}

// transient reports whether the next attempt may succeed after err. A time-out of a whole attempt is not transient.
func transient(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "40001", "40P01", "55P03": // serialisation, deadlock, lock not available
			return true
		}
	}
	return missingPartition(err) || alreadyThere(err) || away(err) && !errors.Is(err, context.DeadlineExceeded)
}

// alreadyThere reports whether err says that a report with this id is stored: somebody sent the same one again.
func alreadyThere(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505" && strings.HasPrefix(pg.TableName, "reports_2")
}

// faulty reports whether err is about the contents: an invalid value, a violated constraint, too large a row.
func faulty(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch pg.Code[:2] {
	case "22", "23", "54":
		return true
	}
	return false
}

// missingPartition reports whether err says that there is no partition for a row. Unlike a violated constraint, it has no name.
func missingPartition(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23514" && pg.ConstraintName == ""
}
