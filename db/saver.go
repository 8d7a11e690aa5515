package db

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// How much may wait, and how much goes into one transaction. A batch ends early when it gets heavy, so that small
// reports do not wait long behind large ones.
const (
	maxQueuedReports = 2048
	maxQueuedBytes   = 64 << 20
	maxBatchReports  = 256
	maxBatchBytes    = 2 << 20
	heavyBody        = 256 << 10              // bytes from which a report goes by the heavy lane
	fewOf            = 4                      // a batch of less than this part of what is under way waits for more
	fewReports       = 16                     // and, while much arrives, one of less than this
	batchPatience    = 3 * time.Millisecond   // for so long at most
	batchLull        = 700 * time.Microsecond // and only while one comes within so long
	usualWriters     = 2                      // more gain nothing: each batch ends in one wait for the disk, and hot rows take turns
	heavyWriters     = 1
)

// saver groups reports into transactions. Heavy ones, which take long to store, have a lane of their own, so that the others
// never wait for them.
type saver struct {
	store      *Store
	usual      *lane
	heavy      *lane
	bytes      atomic.Int64 // of the bodies that wait or are being written
	underWay   atomic.Int64 // reports whose callers wait
	noSpace    atomic.Bool  // the last transaction failed because the database's disk is full
	partitions partitions
	buckets    seenBuckets
	stats      saverStats
	writers    sync.WaitGroup

	mu     sync.RWMutex // held for reading while something is put into a queue
	closed bool
}

func startSaver(ctx context.Context, s *Store) *saver {
	v := &saver{store: s}
	v.buckets.most = maxSeenBuckets
	v.usual, v.heavy = newLane(v), newLane(v)
	v.stats = newSaverStats(v)
	ctx = context.WithoutCancel(ctx)
	for range usualWriters {
		v.writers.Go(func() { v.usual.write(ctx) })
	}
	for range heavyWriters {
		v.writers.Go(func() { v.heavy.write(ctx) })
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
		close(v.usual.queue)
		close(v.heavy.queue)
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
	l := v.usual
	if size >= heavyBody {
		l = v.heavy
	}
	select {
	case l.queue <- p:
		return nil
	default:
		v.bytes.Add(-size)
		return errBusy
	}
}

// waiting is how many reports are queued.
func (v *saver) waiting() int { return len(v.usual.queue) + len(v.heavy.queue) }

// A lane is a queue of reports and who writes them. Each writer takes whatever has queued up while its last transaction ran:
// lone reports are written at once, and the busier it gets the more of them share a commit.
type lane struct {
	saver   *saver
	queue   chan *pendingReport
	filling sync.Mutex // one writer at a time fills its batch, so that they do not share out what would be one
}

func newLane(v *saver) *lane {
	return &lane{saver: v, queue: make(chan *pendingReport, maxQueuedReports)}
}

// write is one writer: it runs until the queue is closed and empty.
func (l *lane) write(ctx context.Context) {
	for {
		batch := l.next()
		if len(batch) == 0 {
			return
		}
		l.saver.save(ctx, batch)
		for _, p := range batch {
			l.saver.bytes.Add(-int64(len(p.body)))
			l.saver.store.bodies.drop(p.body)
		}
	}
}

// next returns the next batch; none when the queue is closed and empty.
func (l *lane) next() []*pendingReport {
	l.filling.Lock()
	defer l.filling.Unlock()
	first, open := <-l.queue
	if !open {
		return nil
	}
	return l.fill([]*pendingReport{first})
}

// fill adds what waits already, up to the bounds of one transaction. While much arrives, or many reports are under way and few
// of them have come this far, it waits a little for more, as long as more come: transactions cost much the same whether they
// are small or large.
func (l *lane) fill(batch []*pendingReport) []*pendingReport {
	size, few := len(batch[0].body), 0
	if l.saver.underWay.Load() > 1 && l.saver.store.counter.isCrowded() {
		few = fewReports
	}
	var wait patience
	defer wait.end()
	for len(batch) < maxBatchReports && size < maxBatchBytes {
		enough := int64(len(batch)) >= l.saver.underWay.Load()/fewOf && len(batch) >= few
		p := l.another(&wait, enough)
		if p == nil {
			return batch
		}
		batch = append(batch, p)
		size += len(p.body)
	}
	return batch
}

// another returns the next report; nil when the queue is closed, or when none is there and none comes, or enough are there.
func (l *lane) another(wait *patience, enough bool) *pendingReport {
	select {
	case p := <-l.queue:
		return p
	default:
	}
	if enough {
		return nil
	}
	select {
	case p := <-l.queue:
		return p
	case <-wait.lull():
		return nil
	}
}

// patience is for how long a batch waits for more.
type patience struct {
	timer *time.Timer
	until time.Time
}

// lull returns a channel that is ready when nobody has come for a while, or it has been waited for long enough.
func (w *patience) lull() <-chan time.Time {
	if w.timer == nil {
		w.until = time.Now().Add(batchPatience)
		w.timer = time.NewTimer(batchLull)
	} else {
		w.timer.Reset(min(batchLull, time.Until(w.until)))
	}
	return w.timer.C
}

func (w *patience) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
