package db

import (
	"context"
	"sync"
	"time"

	"mishap/crash"
)

// How counting keeps up. A round takes whatever was stored since the last one. While little waits, machines get their
// answer when their report is counted, so that whoever posts and then looks sees it; when more waits, they get it when it
// is on disk, and rounds are spaced, so that each adds up many reports.
const (
	maxAwaited     = 96      // uncounted reports up to which an answer waits for counting
	maxUncounted   = 1 << 15 // in memory; above, nothing more is stored until they are counted
	maxRound       = 1 << 13 // reports that one round counts, about
	busyRound      = 128     // a round of more than this is followed by a rest
	restOfRounds   = 200 * time.Millisecond
	roundPause     = 50 * time.Millisecond // after a round that failed; twice as long after each further one
	maxRoundPause  = 2 * time.Second
	sweepEvery     = 5 * time.Second  // how often it is looked for what a dead unit left uncounted
	abandonedAfter = 10 * time.Second // what waits longer was left by a dead unit, or by one that cannot follow
	closeRounds    = 4                // attempts at counting what is left when the store closes
)

// work is what one transaction has stored and is to be counted.
type work struct {
	id        [16]byte
	sightings []sighting
	counted   chan struct{} // closed when it is
}

// counter counts what this process stores, in rounds, and what dead units left.
type counter struct {
	store    *Store
	stats    counterStats
	wake     chan struct{} // holds one
	stop     chan struct{}
	stopOnce sync.Once
	done     sync.WaitGroup

	mu      sync.Mutex
	pending []*work
	reports int // in pending, with those of the round that is under way
	closing bool
	room    sync.Cond // signalled when reports falls
}

func startCounter(ctx context.Context, s *Store) *counter {
	c := &counter{store: s, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	c.room.L = &c.mu
	c.stats = newCounterStats(c)
	c.done.Go(func() { c.run(context.WithoutCancel(ctx)) })
	return c
}

// close counts what waits and ends the counting. Nothing may be added any more. What cannot be counted now, because the
// database is away, is counted by the next unit that starts.
func (c *counter) close() {
	c.stopOnce.Do(func() { close(c.stop) })
	c.done.Wait()
}

// add hands over what was stored, and returns what is closed when it is counted, or nil when that is not worth waiting for.
func (c *counter) add(w *work) <-chan struct{} {
	c.mu.Lock()
	c.pending = append(c.pending, w)
	c.reports += len(w.sightings)
	waiting := c.reports
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	if waiting > maxAwaited {
		return nil
	}
	return w.counted
}

// await holds a writer back while counting is too far behind.
func (c *counter) await() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.reports > maxUncounted && !c.closing {
		c.room.Wait()
	}
}

// release ends all awaiting: the store closes.
func (c *counter) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	c.room.Broadcast()
}

func (c *counter) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports
}

// take returns what the next round counts.
func (c *counter) take() []*work {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, reports := 0, 0
	for n < len(c.pending) && (n == 0 || reports+len(c.pending[n].sightings) <= maxRound) {
		reports += len(c.pending[n].sightings)
		n++
	}
	return c.pending[:n:n]
}

// finish forgets what take returned.
func (c *counter) finish(taken []*work) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = c.pending[len(taken):]
	for _, w := range taken {
		c.reports -= len(w.sightings)
		close(w.counted)
	}
	if len(c.pending) == 0 {
		c.pending = nil
	}
	c.room.Broadcast()
}

// run is the owner of all rounds of this process.
func (c *counter) run(ctx context.Context) {
	c.sweep(ctx, 0)
	sweep := time.NewTimer(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-c.stop:
			c.drain(ctx)
			return
		case <-sweep.C:
			c.sweep(ctx, abandonedAfter)
			sweep.Reset(sweepEvery)
		case <-c.wake:
			c.countPending(ctx)
		}
	}
}

// countPending counts until nothing waits, or the store closes.
func (c *counter) countPending(ctx context.Context) {
	pause := roundPause
	for taken := c.take(); len(taken) > 0; taken = c.take() {
		began := time.Now()
		n, err := c.round(ctx, taken)
		rest := time.Duration(0)
		switch {
		case err != nil:
			rest = pause
			pause = min(2*pause, maxRoundPause)
		case n > busyRound:
			rest = restOfRounds - time.Since(began)
			pause = roundPause
		}
		if rest > 0 && c.rest(rest) {
			return
		}
	}
}

// rest reports whether the store is closing.
func (c *counter) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return false
	case <-c.stop:
		return true
	}
}

func (c *counter) drain(ctx context.Context) {
	pause := roundPause
	for failed := 0; failed < closeRounds; {
		taken := c.take()
		if len(taken) == 0 {
			return
		}
		if _, err := c.round(ctx, taken); err != nil {
			failed++
			wait(ctx, pause)
			pause *= 2
		}
	}
}

// round counts taken, logs and measures.
func (c *counter) round(ctx context.Context, taken []*work) (reports int, err error) {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	began := time.Now()
	if reports, err = c.store.countWork(ctx, taken); err != nil {
		c.stats.failed.Inc()
		c.store.log.ErrorContext(ctx, "reports not counted yet", "transactions", len(taken), "error", err)
		return 0, err
	}
	c.finish(taken)
	c.stats.round(reports, time.Since(began))
	return reports, nil
}

// sweep counts what waits for so long that whoever stored it cannot be expected to count it.
func (c *counter) sweep(ctx context.Context, waiting time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	began := time.Now()
	n, err := c.store.countLeftOver(ctx, waiting)
	switch {
	case err != nil && !away(err):
		c.store.log.ErrorContext(ctx, "reports of another unit not counted yet", "error", err)
	case n > 0:
		c.stats.round(n, time.Since(began))
		c.store.log.InfoContext(ctx, "counted what another unit had left", "reports", n)
	}
}

// WaitCounted returns when everything that was stored before the call, by whichever unit, is counted.
func (s *Store) WaitCounted(ctx context.Context) error {
	for {
		n, err := s.countLeftOver(ctx, 0)
		if err != nil {
			return crash.Errorf(crash.Unavailable, "not_counted", "The reports could not be counted in time; please try again.").Because(known(err))
		}
		if n == 0 {
			return nil
		}
	}
}
