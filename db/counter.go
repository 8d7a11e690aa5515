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
	store    *Store
	stats    counterStats
	wake     chan struct{} // holds one
	hurry    chan struct{} // holds one: somebody began to wait for what is uncounted, so that rests end
	hurried  atomic.Int32  // how many wait for that, so that none begin
	stop     chan struct{}
	stopOnce sync.Once
	done     sync.WaitGroup

	mu      sync.Mutex
	pending []*work
	reports int  // in pending, with those of the round that is under way
	most    int  // reports above which nothing more is stored
	resting bool // rounds are spaced at the moment
	crowded bool // the round under way, or the last one, is of many reports
	closing bool
	room    sync.Cond // signalled when reports falls
}

func newCounter(s *Store) *counter {
	c := &counter{store: s, most: maxUncounted, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), stop: make(chan struct{})}
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

// take returns what the next round counts. No answer waits for a round of many reports.
func (c *counter) take() []*work {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, reports := 0, 0
	for n < len(c.pending) && (n == 0 || reports+len(c.pending[n].sightings) <= maxRound) {
		reports += len(c.pending[n].sightings)
		n++
	}
	c.crowded = reports > busyRound
	taken := c.pending[:n:n]
	if c.crowded {
		for _, w := range taken {
			w.release()
		}
	}
	return taken
}

// isCrowded reports whether so much arrives that reports had better wait a little for each other.
func (c *counter) isCrowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crowded
}

// finish forgets what take returned.
func (c *counter) finish(taken []*work) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = c.pending[len(taken):]
	for _, w := range taken {
		c.reports -= len(w.sightings)
		w.release()
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
	for taken := c.take(); len(taken) > 0; taken = c.take() {
		began := time.Now()
		n, err := c.round(ctx, taken)
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
