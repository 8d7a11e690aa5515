package db

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mishap/crash"
)

// SaveReport stores rec, in one transaction that it may share with reports of other callers, and returns when that is on
// disk. It is counted by a round that follows at once; while not much is under way, SaveReport waits for that too. A crash
// that was stored before (equal DuplicateKey) is not stored or counted again: the first report's id comes back with true.
//
// It returns Unavailable when the database is away, when the store is closing, and when more reports wait than it is
// willing to hold. ctx bounds only the waiting: a report that was taken in is stored even when nobody waits any more.
func (s *Store) SaveReport(ctx context.Context, rec crash.Record) (id crash.OopsID, duplicate bool, err error) {
	s.saver.underWay.Add(1)
	defer s.saver.underWay.Add(-1)
	p := newPendingReport(rec, s.bodies.pack(rec.Fields))
	if err := s.saver.submit(p); err != nil {
		return crash.OopsID{}, false, err
	}
	select {
	case a := <-p.answer:
		if a.counted != nil {
			waitFor(ctx, a.counted, maxCountWait)
		}
		return a.id, a.err == nil && a.id != rec.ID, a.err
	case <-ctx.Done():
		return crash.OopsID{}, false, errNotWaited.Because(ctx.Err())
	}
}

// maxCountWait is how long the answer for a report that is on disk waits for its being counted.
const maxCountWait = 250 * time.Millisecond

func waitFor(ctx context.Context, done <-chan struct{}, atMost time.Duration) {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-ctx.Done():
	}
}

var (
	errBusy = &crash.Error{Kind: crash.Unavailable, Code: "overload", RetryAfter: time.Minute,
		Message: "Too many reports are arriving at the moment; please send this one again later."}
	errNotWaited = crash.Errorf(crash.Unavailable, "not_waited", "The report was not confirmed in time; please send it again later.")
)

// How much may wait, and how much goes into one transaction. A batch ends early when it gets heavy, so that small
// reports do not wait long behind large ones.
const (
	maxQueuedReports = 2048
	maxQueuedBytes   = 64 << 20
	maxBatchReports  = 256
	maxBatchBytes    = 2 << 20
	fewOf            = 4                    // a batch of less than this part of what is under way waits for more
	fewReports       = 16                   // and, while much arrives, one of less than this
	batchPatience    = 3 * time.Millisecond // for so long at most
	saveWriters      = 2                    // more gain nothing: each batch ends in one wait for the disk, and hot rows take turns
)

// saver groups reports into transactions. Each writer takes whatever has queued up while its last transaction ran: lone
// reports are written at once, and the busier it gets the more of them share a commit.
type saver struct {
	store      *Store
	queue      chan *pendingReport
	bytes      atomic.Int64 // of the bodies that wait or are being written
	underWay   atomic.Int64 // reports whose callers wait
	partitions partitions
	buckets    seenBuckets
	filling    sync.Mutex // one writer at a time fills its batch, so that they do not share out what would be one
	joined     buffers    // in which the bodies of a batch are sent
	stats      saverStats
	writers    sync.WaitGroup

	mu     sync.RWMutex // held for reading while something is put into the queue
	closed bool
}

func startSaver(ctx context.Context, s *Store) *saver {
	v := &saver{store: s, queue: make(chan *pendingReport, maxQueuedReports), joined: newBuffers(2 * maxBatchBytes)}
	v.stats = newSaverStats(v)
	for range saveWriters {
		v.writers.Go(func() { v.write(context.WithoutCancel(ctx)) })
	}
	return v
}

// close lets the writers finish what was accepted and waits for them.
func (v *saver) close() {
	v.mu.Lock()
	wasClosed := v.closed
	v.closed = true
	v.mu.Unlock()
	if !wasClosed {
		close(v.queue)
	}
	v.writers.Wait()
}

func (v *saver) submit(p *pendingReport) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.closed {
		return errUnavailable
	}
	size := int64(len(p.body))
	if waiting := v.bytes.Add(size); waiting > maxQueuedBytes && waiting > size { // a single one always fits
		v.bytes.Add(-size)
		return errBusy
	}
	select {
	case v.queue <- p:
		return nil
	default:
		v.bytes.Add(-size)
		return errBusy
	}
}

// write is one writer: it runs until the queue is closed and empty.
func (v *saver) write(ctx context.Context) {
	for {
		batch := v.next()
		if len(batch) == 0 {
			return
		}
		v.save(ctx, batch)
		for _, p := range batch {
			v.bytes.Add(-int64(len(p.body)))
		}
	}
}

// next returns the next batch; none when the queue is closed and empty.
func (v *saver) next() []*pendingReport {
	v.filling.Lock()
	defer v.filling.Unlock()
	first, open := <-v.queue
	if !open {
		return nil
	}
	return v.fill([]*pendingReport{first})
}

// fill adds what waits already, up to the bounds of one transaction. While much arrives, or many reports are under way and few
// of them have come this far, it waits a little for more: transactions cost much the same whether they are small or large.
func (v *saver) fill(batch []*pendingReport) []*pendingReport {
	size, few := len(batch[0].body), 0
	if v.store.counter.isCrowded() {
		few = fewReports
	}
	var patience <-chan time.Time
	for len(batch) < maxBatchReports && size < maxBatchBytes {
		var p *pendingReport
		var open bool
		select {
		case p, open = <-v.queue:
		default:
			if int64(len(batch)) >= v.underWay.Load()/fewOf && len(batch) >= few {
				return batch
			}
			if patience == nil {
				patience = time.After(batchPatience)
			}
			select {
			case p, open = <-v.queue:
			case <-patience:
				return batch
			}
		}
		if !open {
			return batch
		}
		batch = append(batch, p)
		size += len(p.body)
	}
	return batch
}
