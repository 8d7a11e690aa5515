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
	"mishap/crash/span"

	"github.com/jackc/pgx/v5/pgconn"
)

// These constants limit the queues and the transactions of reports.
const (
	maxQueuedReports = 2048 // in each of the two queues
	maxQueuedBytes   = 64 << 20
	maxBatchReports  = 256
	maxBatchBytes    = 2 << 20   // limits how long small reports wait for a batch of larger ones
	largeBody        = 256 << 10 // minimum size in bytes of the reports in the second queue
	usualWriters     = 2         // one fills its batch while the other waits for the disk
	maxCachedBuckets = 1 << 17
	// batchInterval is how long a writer waits for more reports under load. Without the wait there are
	// twice as many transactions, and each report takes a quarter more processor time (devtool bench,
	// half load).
	batchInterval = 2 * time.Millisecond
)

// saver groups reports into transactions. Large reports take long to store, so they have their own
// queue and writer, and other reports never wait for them.
type saver struct {
	store        *Store
	usual, large chan *pendingReport
	bytes        atomic.Int64 // size of the bodies that are queued or being written
	calls        atomic.Int64 // running calls of SaveReport
	noSpace      atomic.Bool  // the last transaction failed because the database's disk is full
	partitions   partitions
	buckets      rowCache[crash.BucketID, bool] // stored buckets; erasing a bucket ends the validity of the cache
	stats        saverStats
	writers      sync.WaitGroup

	mu     sync.RWMutex // held for reading while a report is queued
	closed bool
}

func startSaver(ctx context.Context, s *Store) *saver {
	v := &saver{store: s, usual: make(chan *pendingReport, maxQueuedReports),
		large: make(chan *pendingReport, maxQueuedReports)}
	v.buckets.limit = maxCachedBuckets
	v.stats = newSaverStats(v)
	ctx = context.WithoutCancel(ctx)
	var filling sync.Mutex
	for range usualWriters {
		v.writers.Go(func() { v.write(ctx, v.usual, &filling) })
	}
	v.writers.Go(func() { v.write(ctx, v.large, new(sync.Mutex)) })
	return v
}

// close waits until the writers have stored all accepted reports.
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

// submit queues a report. It returns Unavailable if the queue is full or closed.
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
	if waiting := v.bytes.Add(size); waiting <= maxQueuedBytes || waiting == size { // a single report always fits
		select {
		case queue <- p:
			return nil
		default:
		}
	}
	v.bytes.Add(-size)
	return errBusy
}

// waiting returns the number of queued reports.
func (v *saver) waiting() int { return len(v.usual) + len(v.large) }

// write stores batches until the queue is closed and empty. Only one writer of a queue fills a
// batch at a time, so that two writers do not share what could be one batch.
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
			v.store.recycle(p.body)
		}
	}
}

// fill waits for a report, and returns it together with the reports queued behind it. A single
// report is returned at once; the more arrive, the larger the batch. fill returns nothing if the
// queue is closed and empty.
func (v *saver) fill(ctx context.Context, queue <-chan *pendingReport) (batch []*pendingReport) {
	p, open := <-queue
	if !open {
		return nil
	}
	if v.calls.Load() > 1 && v.store.counter.busy() {
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
	saveTimeout  = 20 * time.Second // of one transaction
	saveAttempts = 4
	savePause    = 25 * time.Millisecond // before the second attempt; quadrupled for each further attempt
)

// save stores a batch, queues it for counting and answers its callers. If the database rejects the
// contents, save tries each half of the batch on its own, and so on. In the end only the invalid
// report fails.
func (v *saver) save(ctx context.Context, batch []*pendingReport) {
	v.store.counter.await()
	began := time.Now()
	ctx, step := v.startSpan(ctx, batch)
	done, err := v.saveWithRetries(ctx, batch)
	step.End(err)
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
		} else if !faulty(err) { // the report itself is fine and can be sent again
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
		counted = v.store.counter.add(done.work, len(done.now), v.calls.Load(), v.store.tracer.CauseOf(ctx))
	}
	buckets := map[crash.BucketID]bool{}
	for i, p := range batch {
		if done.first[i].IsZero() {
			p.answer <- saved{err: errErased}
			continue
		}
		p.answer <- saved{id: done.first[i], counted: counted}
		if p.bucket != nil && done.now[p.ID] { // the bucket of a duplicate may not be stored
			buckets[*p.bucket] = true
		}
	}
	v.buckets.add(done.server, buckets)
}

// startSpan starts the span of a batch, which the requests of its reports have caused.
func (v *saver) startSpan(ctx context.Context, batch []*pendingReport) (context.Context, *span.Span) {
	if v.store.tracer == nil {
		return ctx, nil
	}
	ctx, step := v.store.tracer.Start(ctx, "store reports",
		column(batch, func(p *pendingReport) span.Cause { return p.cause })...)
	step.Count(span.Reports, len(batch))
	return ctx, step
}

// stored is the result of a transaction.
type stored struct {
	first  []crash.OopsID        // for each report of the batch, the id under which its crash is stored; zero: erased
	now    map[crash.OopsID]bool // reports stored by this transaction
	work   [16]byte              // id of its row of uncounted
	server serverID              // database in which they are stored
}

// saveWithRetries repeats an attempt after a transient error: a deadlock, a lost connection, or a
// missing partition. This is safe even if the failed attempt was committed: no report is stored or
// counted twice.
func (v *saver) saveWithRetries(ctx context.Context, batch []*pendingReport) (done stored, err error) {
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

// transient reports whether another attempt may succeed after err. After a time-out it may not.
func transient(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "40001", "40P01", "55P03": // serialisation failure, deadlock, lock not available
			return true
		}
	}
	return missingPartition(err) || alreadyStored(err) ||
		isUnavailable(err) && !errors.Is(err, context.DeadlineExceeded)
}

// alreadyStored reports whether err says that a report with this id is stored already.
func alreadyStored(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505" && strings.HasPrefix(pg.TableName, "reports_2")
}

// faulty reports whether err is due to the contents: an invalid value, a violated constraint or too
// large a row.
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

// missingPartition reports whether err says that there is no partition for a row. Such an error has
// no constraint name, unlike one of a violated constraint.
func missingPartition(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23514" && pg.ConstraintName == ""
}
