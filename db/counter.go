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
)

// How often stored reports are counted, and how many by one round.
const (
	// roundInterval is the time between rounds under load. At half load, 250 ms costs a tenth less processor time per report
	// than 100 ms (devtool bench).
	roundInterval = 250 * time.Millisecond
	// promptRounds is how many rounds of few reports may start at once after a quiet time. Each interval saves up one more.
	promptRounds = 64
	// promptReports is up to how many reports, being stored or uncounted, an answer waits until its report is counted.
	promptReports = 16
	// maxRoundReports bounds the reports that one round counts, and so how long it holds the lock.
	maxRoundReports = 2048
	// maxUncounted bounds the uncounted reports of this instance. Above it, nothing more is stored until some are counted.
	maxUncounted = 1 << 15
	// roundTimeout bounds one round. After a time-out, the next one counts half as many reports.
	roundTimeout = 20 * time.Second
	// retryInterval is the time between a round that failed and the next one.
	retryInterval = time.Second
	// orphanInterval is how often an instance looks for reports that a dead instance left uncounted.
	orphanInterval = 5 * time.Second
	// orphanAge is how long a report stays uncounted before other instances than the one that stored it count it.
	orphanAge = 10 * time.Second
	// closeAttempts is how many rounds may fail while the store closes. The next instance counts what is left.
	closeAttempts = 4
	// maxCountWait bounds how long WaitCounted waits.
	maxCountWait = 20 * time.Second
)

// work is what one transaction has stored and is to be counted: a row of the table uncounted.
type work struct {
	id      [16]byte
	reports int
	counted chan struct{} // closed when they are counted
}

// counter counts what this instance stores, in rounds, and what dead instances left uncounted.
type counter struct {
	store                   *Store
	stats                   counterStats
	failing, orphansFailing failure
	interval                *rate.Limiter
	large                   atomic.Bool   // the last round counted more than promptReports
	wake                    chan struct{} // holds one signal
	stopping                context.Context
	stop                    context.CancelFunc
	done                    sync.WaitGroup

	mu        sync.Mutex
	uncounted []*work
	reports   int           // in uncounted
	most      int           // reports above which nothing more is stored
	timeout   time.Duration // of one round
	limit     int           // reports that the next round counts at most
	closing   bool
	room      sync.Cond // signalled when reports falls
}

func newCounter(s *Store) *counter {
	c := &counter{
		store: s, interval: rate.NewLimiter(rate.Every(roundInterval), promptRounds), wake: make(chan struct{}, 1),
		most: maxUncounted, timeout: roundTimeout, limit: maxRoundReports,
	}
	c.room.L = &c.mu
	c.stats = newCounterStats(c)
	return c
}

func (c *counter) start(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	c.stopping, c.stop = context.WithCancel(ctx)
	c.done.Go(func() { c.run(ctx) })
}

// close counts what is left and ends the counting. Nothing may be added any more.
func (c *counter) close() {
	c.stop()
	c.done.Wait()
}

// add has a round count what a transaction stored under id. It returns a channel that is closed when that is done, or nil
// when that may take a while: under load, while rounds fail, and while the next round waits for its interval.
func (c *counter) add(id [16]byte, reports int, underWay int64) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, failing := c.failing.get()
	prompt := failing == nil && underWay <= promptReports && c.reports <= promptReports && !c.busy()
	w := &work{id, reports, make(chan struct{})}
	c.uncounted = append(c.uncounted, w)
	c.reports += reports
	c.notify()
	if !prompt {
		return nil
	}
	return w.counted
}

// busy reports whether rounds wait for their interval: many reports arrive.
func (c *counter) busy() bool { return c.large.Load() || c.interval.Tokens() < 1 }

// notify wakes the counter now, or as soon as it waits again.
func (c *counter) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// await blocks a writer while too many reports are uncounted, unless the store is closing.
func (c *counter) await() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.reports > c.most && !c.closing {
		c.room.Wait()
	}
}

// release ends all calls of await: the store is closing.
func (c *counter) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	c.room.Broadcast()
}

// waiting returns how many reports of this instance are uncounted.
func (c *counter) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports
}

// run runs the rounds of this instance until the store closes.
func (c *counter) run(ctx context.Context) {
	c.countOrphans(ctx, 0)
	orphans := time.NewTicker(orphanInterval)
	defer orphans.Stop()
	for {
		select {
		case <-c.stopping.Done():
			for failed := 0; c.waiting() > 0 && failed < closeAttempts; {
				if c.countOwn(ctx) != nil {
					failed++
				}
			}
			return
		case <-orphans.C:
			c.countOrphans(ctx, orphanAge)
		case <-c.wake:
			if c.interval.Wait(c.stopping) != nil {
				continue
			}
			if err := c.countOwn(ctx); err != nil {
				_ = crash.Sleep(c.stopping, retryInterval)
			} else if c.large.Load() {
				_ = crash.Sleep(c.stopping, roundInterval)
			}
			if c.waiting() > 0 {
				c.notify()
			}
		}
	}
}

// countOwn runs one round on what this instance stored first. What is no longer there was counted by somebody else.
func (c *counter) countOwn(ctx context.Context) error {
	c.mu.Lock()
	var ids [][16]byte
	sum := 0
	for _, w := range c.uncounted {
		if sum += w.reports; sum > c.limit && len(ids) > 0 {
			break
		}
		ids = append(ids, w.id)
	}
	c.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	r, err := c.round(ctx, workOf(ids))
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
		if c.reports -= w.reports; r.rest > 0 { // a part of a single transaction's reports
			w.reports = r.rest
			c.reports += r.rest
			return nil
		}
		close(w.counted)
	}
	c.uncounted = c.uncounted[len(ids):]
	return nil
}

// countOrphans counts what has been stored for so long that whoever stored it is dead, or cannot keep up.
func (c *counter) countOrphans(ctx context.Context, age time.Duration) {
	for c.stopping.Err() == nil {
		r, err := c.round(ctx, workOlderThan(age))
		c.orphansFailing.result(err)
		if err != nil && !away(err) {
			c.store.Log.ErrorContext(ctx, "reports of another instance not counted yet", "error", err)
		}
		if err != nil || r.reports == 0 {
			return
		}
		c.store.Log.InfoContext(ctx, "counted what another instance left", "reports", r.reports)
	}
}

// round runs one round with a time-out. After a failure that may be due to its size the limit is half of it, down to one: so
// a round that takes too long gets through in parts, and a report that cannot be counted stands alone in the end. Each
// round that succeeds raises the limit by an eighth.
func (c *counter) round(ctx context.Context, which workChoice) (roundResult, error) {
	c.mu.Lock()
	timeout, limit := c.timeout, c.limit
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	r, err := c.store.countRound(ctx, which, limit)
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
	case r.reports > 0 && (timedOut(err) || !away(err)):
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

// WaitCounted returns when everything that any instance stored before the call is counted. It returns Unavailable when
// that takes too long or the database is unavailable.
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
