package db

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// How counting keeps up. A round takes whatever was stored since the last one. While little arrives, each report is counted
// at once, and machines get their answer when it is, so that whoever posts and then looks sees it. When more arrives, rounds
// are spaced, so that each adds up many reports, and machines get their answer when their report is on disk.
const (
	maxAwaited     = 16                     // reports under way up to which an answer waits for counting
	maxUncounted   = 1 << 15                // in memory; above, nothing more is stored until they are counted
	maxRound       = 1 << 13                // reports that one round counts, about
	promptRounds   = 64                     // rounds that may follow each other at once, when there were few before
	roundSpace     = 100 * time.Millisecond // between rounds, beyond these; for each one may again be prompt
	busyRound      = 64                     // a round of more than this is followed by a longer rest
	busyRoundSpace = 250 * time.Millisecond // from its beginning
	fullRound      = 512                    // and one of more than this by a still longer one: reports share more of what they touch
	fullRoundSpace = 800 * time.Millisecond
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
	answer    chan struct{} // closed when no answer should wait any more: it is counted, or that takes a while
	answered  bool
}

func newWork(id [16]byte, reports int) *work {
	return &work{id: id, sightings: make([]sighting, 0, reports), counted: make(chan struct{}), answer: make(chan struct{})}
}

// release lets answers go.
func (w *work) release() {
	if !w.answered {
		w.answered = true
		close(w.answer)
	}
}

// counter counts what this process stores, in rounds, and what dead units left.
type counter struct {
	store                 *Store
	stats                 counterStats
	size                  *roundSize // of rounds of what this process stores
	leftSize              *roundSize // of rounds of what others left
	failing, sweepFailing failure
	wake                  chan struct{} // holds one
	hurry                 chan struct{} // holds one: somebody began to wait for what is uncounted, so that rests end
	hurried               atomic.Int32  // how many wait for that, so that none begin
	stop                  chan struct{}
	stopOnce              sync.Once
	done                  sync.WaitGroup

	mu      sync.Mutex
	pending []*work
	reports int           // in pending, with those of the round that is under way
	most    int           // reports above which nothing more is stored
	timeout time.Duration // of one round
	resting bool          // rounds are spaced at the moment
	crowded bool          // the round under way, or the last one, is of many reports
	closing bool
	room    sync.Cond // signalled when reports falls
}

func newCounter(s *Store) *counter {
	c := &counter{store: s, timeout: saveTimeout, size: newRoundSize(maxRound), leftSize: newRoundSize(maxRound), most: maxUncounted, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), stop: make(chan struct{})}
	c.room.L = &c.mu
	c.stats = newCounterStats(c)
	return c
}

func (c *counter) start(ctx context.Context) {
	c.done.Go(func() { c.run(context.WithoutCancel(ctx)) })
}

// close counts what waits and ends the counting. Nothing may be added any more. What cannot be counted now, because the
// database is away, is counted by the next unit that starts.
func (c *counter) close() {
	c.stopOnce.Do(func() { close(c.stop) })
	c.done.Wait()
}

// add hands over what was stored. underWay is for how many reports somebody waits: when these are many, no answer waits for
// counting.
func (c *counter) add(w *work, underWay int64) {
	c.mu.Lock()
	c.pending = append(c.pending, w)
	c.reports += len(w.sightings)
	if c.resting || c.crowded || underWay > maxAwaited {
		w.release()
	}
	c.mu.Unlock()
	poke(c.wake)
}

// poke wakes whoever listens, now or when they next do.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// await holds a writer back while counting is too far behind.
func (c *counter) await() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.reports > c.most && !c.closing {
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

// take returns what the next round counts: some work, of which it counts so many reports. That is all of it, unless the
// first transaction alone stored more than a round may count now. No answer waits for a round of many reports.
func (c *counter) take() (taken []*work, reports int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, limit := 0, c.size.get()
	for n < len(c.pending) && (n == 0 || reports+len(c.pending[n].sightings) <= limit) {
		reports += len(c.pending[n].sightings)
		n++
	}
	if n == 1 {
		reports = min(reports, limit)
	}
	c.crowded = reports > busyRound
	taken = c.pending[:n:n]
	if c.crowded {
		for _, w := range taken {
			w.release()
		}
	}
	return taken, reports
}

func (c *counter) roundTimeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeout
}

// isCrowded reports whether so much arrives that reports had better wait a little for each other.
func (c *counter) isCrowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crowded
}

// finish forgets what take returned. With part, only so many reports of the one transaction that was taken were counted.
func (c *counter) finish(taken []*work, part int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.room.Broadcast()
	if part > 0 {
		taken[0].sightings = taken[0].sightings[part:]
		c.reports -= part
		return
	}
	c.pending = c.pending[len(taken):]
	for _, w := range taken {
		c.reports -= len(w.sightings)
		w.release()
		close(w.counted)
	}
	if len(c.pending) == 0 {
		c.pending = nil
	}
}

// run is the owner of all rounds of this process.
func (c *counter) run(ctx context.Context) {
	c.sweep(ctx, 0)
	space := newSpacing(time.Now())
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
			c.countPending(ctx, space)
		}
	}
}

// countPending counts until nothing waits, or the store closes.
func (c *counter) countPending(ctx context.Context, space *spacing) {
	pause := roundPause
	for {
		taken, reports := c.take()
		if len(taken) == 0 {
			return
		}
		began := time.Now()
		n, err := c.round(ctx, taken, reports)
		rest := space.after(n, began, time.Now())
		if err != nil {
			rest = pause
			pause = min(2*pause, maxRoundPause)
		} else {
			pause = roundPause
		}
		if rest > 0 && c.rest(rest) {
			return
		}
	}
}

// spacing says how long to rest between rounds.
type spacing struct {
	credit time.Duration // saved up: each round costs roundSpace
	last   time.Time
}

func newSpacing(now time.Time) *spacing {
	return &spacing{credit: promptRounds * roundSpace, last: now}
}

// after is the rest after a round of n reports.
func (s *spacing) after(n int, began, ended time.Time) time.Duration {
	s.credit = min(s.credit+ended.Sub(s.last), promptRounds*roundSpace) - roundSpace
	s.last = ended
	switch {
	case n > fullRound:
		return fullRoundSpace - ended.Sub(began)
	case n > busyRound:
		return busyRoundSpace - ended.Sub(began)
	case s.credit < 0:
		return -s.credit
	}
	return 0
}

// rest reports whether the store is closing. It ends early when somebody waits for what is uncounted.
func (c *counter) rest(d time.Duration) bool {
	c.setResting(true)
	defer c.setResting(false)
	return c.pause(d)
}

// pause is the waiting of rest; a round waits so between its pieces too.
func (c *counter) pause(d time.Duration) (closing bool) {
	if c.hurried.Load() > 0 {
		return c.stopping()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.hurry:
	case <-c.stop:
	}
	return c.stopping()
}

func (c *counter) setResting(resting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting = resting
	for _, w := range c.pending {
		w.release()
	}
}

func (c *counter) drain(ctx context.Context) {
	pause := roundPause
	for failed := 0; failed < closeRounds; {
		taken, reports := c.take()
		if len(taken) == 0 {
			return
		}
		if _, err := c.round(ctx, taken, reports); err != nil {
			failed++
			wait(ctx, pause)
			pause *= 2
		}
	}
}

// round counts so many reports of taken, logs and measures.
func (c *counter) round(ctx context.Context, taken []*work, reports int) (counted int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.roundTimeout())
	defer cancel()
	began := time.Now()
	counted, part, err := c.store.countWork(ctx, taken, reports)
	c.failing.result(err)
	c.size.result(reports, err)
	if err != nil {
		c.stats.failed.Inc()
		c.store.log.ErrorContext(ctx, "reports not counted yet", "transactions", len(taken), "reports", reports, "next", c.size.get(), "error", err)
		return 0, err
	}
	c.finish(taken, part)
	c.stats.round(counted, time.Since(began))
	return counted, nil
}
