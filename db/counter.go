package db

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/time/rate"

	"mishap/crash"
	"mishap/crash/span"
)

// These constants limit how often stored reports are counted, and how many at a time.
const (
	// roundInterval is the time between rounds under load. At 300 reports per second, 250 ms takes a
	// tenth less processor time per report than 100 ms (measured by devtool bench programs).
	roundInterval = 250 * time.Millisecond
	// promptRounds is how many small rounds may run without an interval after a quiet period. Each
	// interval adds one to this allowance.
	promptRounds = 64
	// promptReports is the maximum number of concurrent or uncounted reports at which the answer to a
	// report waits until it is counted.
	promptReports = 16
	// maxRoundReports limits the reports of one round, and thereby how long it holds the lock.
	maxRoundReports = 2048
	// maxUncounted limits the uncounted reports of this instance. Above it, storing waits for
	// counting.
	maxUncounted = 1 << 15
	// roundTimeout limits the duration of one round. After a time-out, the next round counts half as
	// many reports.
	roundTimeout = 20 * time.Second
	// retryInterval is the pause after a failed round.
	retryInterval = time.Second
	// orphanInterval is how often an instance looks for reports that a dead instance left uncounted.
	orphanInterval = 5 * time.Second
	// orphanAge is how long a report must be uncounted before an instance that did not store it counts
	// it.
	orphanAge = 10 * time.Second
	// closeAttempts is how many rounds may fail while the store closes. Another instance then counts
	// the remaining reports.
	closeAttempts = 4
	// maxCountWait limits how long WaitCounted waits.
	maxCountWait = 20 * time.Second
)

// work is a row of the table uncounted: the reports that one transaction has stored.
type work struct {
	id      [16]byte
	reports int
	counted chan struct{} // closed when the reports are counted
	cause   span.Cause    // the span that stored them, if it is traced
}

// counter counts, in rounds, the reports that this instance stores and those that dead instances
// left uncounted.
type counter struct {
	store                   *Store
	stats                   counterStats
	failing, orphansFailing failure
	interval                *rate.Limiter
	large                   atomic.Bool   // the last round counted more than promptReports
	wake                    chan struct{} // buffers one signal
	stop                    context.CancelFunc
	done                    sync.WaitGroup

	mu         sync.Mutex
	uncounted  []*work
	reports    int           // number of reports in uncounted
	maxReports int           // storing waits while reports is above it
	timeout    time.Duration // of one round
	limit      int           // maximum number of reports in the next round
	closing    bool
	room       sync.Cond // signalled when reports falls
}

func newCounter(s *Store) *counter {
	c := &counter{
		store: s, interval: rate.NewLimiter(rate.Every(roundInterval), promptRounds), wake: make(chan struct{}, 1),
		maxReports: maxUncounted, timeout: roundTimeout, limit: maxRoundReports,
	}
	c.room.L = &c.mu
	c.stats = newCounterStats(c)
	return c
}

func (c *counter) start(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	stopping, stop := context.WithCancel(ctx)
	c.stop = stop
	c.done.Go(func() { c.run(ctx, stopping) })
}

// close counts the remaining reports and stops. No reports may be added after the call.
func (c *counter) close() {
	c.stop()
	c.done.Wait()
}

// add queues the reports that a transaction has stored under id for counting. It returns a channel
// that is closed once they are counted. It returns nil if counting may take long: under load, while
// rounds fail, or before the next round may start. Argument storing is the number of reports that
// are being stored.
func (c *counter) add(id [16]byte, reports int, storing int64, cause span.Cause) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, failing := c.failing.get()
	prompt := failing == nil && storing <= promptReports && c.reports <= promptReports && !c.busy()
	w := &work{id, reports, make(chan struct{}), cause}
	c.uncounted = append(c.uncounted, w)
	c.reports += reports
	c.notify()
	if !prompt {
		return nil
	}
	return w.counted
}

// busy reports whether so many reports arrive that rounds wait for their interval.
func (c *counter) busy() bool { return c.large.Load() || c.interval.Tokens() < 1 }

// notify wakes the counter. If it is running a round, it starts another one afterwards.
func (c *counter) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// await blocks while too many reports are uncounted, unless the store is closing.
func (c *counter) await() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.reports > c.maxReports && !c.closing {
		c.room.Wait()
	}
}

// release ends all calls of await because the store is closing.
func (c *counter) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	c.room.Broadcast()
}

// waiting returns the number of uncounted reports of this instance.
func (c *counter) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports
}

// run counts in rounds until stopping ends. ctx never ends, so that a running round is finished.
func (c *counter) run(ctx, stopping context.Context) {
	c.countOrphans(ctx, stopping, 0)
	orphans := time.NewTicker(orphanInterval)
	defer orphans.Stop()
	for {
		select {
		case <-stopping.Done():
			for failed := 0; c.waiting() > 0 && failed < closeAttempts; {
				if c.countOwn(ctx) != nil {
					failed++
				}
			}
			return
		case <-orphans.C:
			c.countOrphans(ctx, stopping, orphanAge)
		case <-c.wake:
			if c.interval.Wait(stopping) != nil {
				continue
			}
			if err := c.countOwn(ctx); err != nil {
				_ = crash.Sleep(stopping, retryInterval)
			} else if c.large.Load() {
				_ = crash.Sleep(stopping, roundInterval)
			}
			if c.waiting() > 0 {
				c.notify()
			}
		}
	}
}

// countOwn runs one round on the oldest work of this instance. Another instance may have counted
// some of it; the round skips that.
func (c *counter) countOwn(ctx context.Context) error {
	c.mu.Lock()
	var ids [][16]byte
	var causes []span.Cause
	sum := 0
	for _, w := range c.uncounted {
		if sum += w.reports; sum > c.limit && len(ids) > 0 {
			break
		}
		ids = append(ids, w.id)
		if c.store.tracer != nil {
			causes = append(causes, w.cause)
		}
	}
	c.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	r, err := c.round(ctx, workOf(ids), causes...)
	c.failing.result(err)
	if err != nil {
		c.store.Log.ErrorContext(ctx, "reports not counted yet", "reports", r.reports, "error", err)
		return err
	}
	c.large.Store(r.reports > promptReports)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.room.Broadcast()
	for _, w := range c.uncounted[:len(ids)] {
		if c.reports -= w.reports; r.remaining > 0 { // the round counted only a part of one row
			w.reports = r.remaining
			c.reports += r.remaining
			return nil
		}
		close(w.counted)
	}
	c.uncounted = c.uncounted[len(ids):]
	return nil
}

// countOrphans counts reports that have been uncounted for longer than age: the instance that
// stored them is dead or too slow.
func (c *counter) countOrphans(ctx, stopping context.Context, age time.Duration) {
	for stopping.Err() == nil {
		r, err := c.round(ctx, workOlderThan(age))
		c.orphansFailing.result(err)
		if err != nil && !isUnavailable(err) {
			c.store.Log.ErrorContext(ctx, "reports of another instance not counted yet", "error", err)
		}
		if err != nil || r.reports == 0 {
			return
		}
		c.store.Log.InfoContext(ctx, "counted reports of another instance", "reports", r.reports)
	}
}

// round runs one round with a time-out. If it fails, and its size may be the reason, round halves
// the limit for the next one. So a slow round is repeated in smaller parts, and a report that
// cannot be counted is isolated in the end. Each success raises the limit by an eighth. causes are the
// spans that stored the reports.
func (c *counter) round(ctx context.Context, which workChoice, causes ...span.Cause) (roundResult, error) {
	c.mu.Lock()
	timeout, limit := c.timeout, c.limit
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	ctx, step := c.store.tracer.Start(ctx, "count reports", causes...)
	r, err := c.store.countRound(ctx, which, limit)
	step.Count(span.Reports, r.reports)
	step.End(err)
	if err == nil && r.reports > 0 {
		c.stats.round(r.reports, time.Since(began))
	} else if err != nil {
		c.stats.failed.Inc()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.limit = min(c.limit+c.limit/8+1, maxRoundReports)
	case r.reports > 0 && (timedOut(err) || !isUnavailable(err)):
		c.limit = max(1, r.reports/2)
	}
	return r, err
}

// timedOut reports whether the database took too long.
func timedOut(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == queryCanceled
	}
	return errors.Is(err, context.DeadlineExceeded)
}

const sqlAnyUncounted = `select exists (select from uncounted where stored <= clock_timestamp() - @age::interval)`

// WaitCounted waits until all reports stored before the call, by any instance, are counted. It
// returns Unavailable if that takes longer than 20 seconds or the database is unavailable.
func (s *Store) WaitCounted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxCountWait)
	defer cancel()
	began := time.Now()
	for {
		var left bool
		err := s.Pool.QueryRow(ctx, sqlAnyUncounted, workOlderThan(time.Since(began)).args).Scan(&left)
		if err == nil && !left {
			return nil
		}
		if err == nil {
			_, err = s.counter.round(ctx, workOlderThan(time.Since(began)))
		}
		if err != nil {
			return crash.Errorf(crash.Unavailable, "not_counted", "The reports could not be counted in time; please "+
				"try again.").Because(Classify(err))
		}
		s.counter.failing.result(nil)
		s.counter.orphansFailing.result(nil)
	}
}
