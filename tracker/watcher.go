package tracker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"mishap/crash"
)

// WatchStore is what a Watcher needs remembered. All methods may return Unavailable.
type WatchStore interface {
	// TakeTurn asks for the turn to call the tracker; one unit has it at a time, until end is called or the unit dies.
	TakeTurn(ctx context.Context) (end func(), ok bool, err error)
	// DueBugs lists bugs that it is time to read, longest waiting first.
	DueBugs(ctx context.Context, limit int) ([]int64, error)
	// SaveBugReading keeps a reading, and when to read again. The bug that it repeats is followed from then on.
	SaveBugReading(ctx context.Context, r crash.BugReading, masterURL string, again time.Duration) error
	// FailBugReading notes why a bug could not be read; the pause before the next try doubles with each failure.
	FailBugReading(ctx context.Context, number int64, why string, again time.Duration) error
	// ChangesUntil is up to where the tracker was asked what changed; zero: never.
	ChangesUntil(ctx context.Context) (time.Time, error)
	// SaveChanges has those of the bugs read soon that are followed, and notes up to where the tracker was asked.
	SaveChanges(ctx context.Context, numbers []int64, until time.Time) error
	// BugTotals counts the bugs that are followed.
	BugTotals(ctx context.Context) (crash.BugTotals, error)
	CommentStore
}

// WatchOptions say how politely the tracker is read. The zero value is what a real one can bear.
type WatchOptions struct {
	Pause   time.Duration // between two calls; 0: 300 ms; negative: none
	Changes time.Duration // between two questions what changed; 0: 1 min
	Again   time.Duration // after which a bug is read again without a reason; 0: 6 h
	Retry   time.Duration // before a bug that could not be read is tried again, doubled each time; 0: 1 min
	Silent  bool          // never comment, whatever the administrators have switched on
}

// Watcher keeps up with what becomes of bugs in the tracker: it reads those that are new here, that somebody looks at, that
// the tracker says have changed, and all of them now and then. Any number of units may run one; one reads at a time.
type Watcher struct {
	cfg    Config
	store  WatchStore
	client *Client
	opts   WatchOptions
	log    *slog.Logger

	asked  time.Time // when this unit asked last what changed
	rest   time.Time // nothing is called before
	paused int       // how often in a row it had to rest
}

// NewWatcher returns a Watcher. Its Round is to be called again and again.
func NewWatcher(cfg Config, store WatchStore, client *Client, o WatchOptions) *Watcher {
	cfg = cfg.withDefaults()
	for value, standard := range map[*time.Duration]time.Duration{
		&o.Pause: 300 * time.Millisecond, &o.Changes: time.Minute, &o.Again: 6 * time.Hour, &o.Retry: time.Minute,
	} {
		if *value == 0 {
			*value = standard
		}
	}
	w := &Watcher{cfg: cfg, store: store, client: client, opts: o, log: cfg.Log}
	if cfg.Registerer != nil {
		registered[*watchMetrics](cfg.Registerer, newWatchMetrics(store, cfg.Now))
	}
	return w
}

// wait pauses; false when ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const (
	roundLimit = 50 // bugs in one round
	maxTrouble = 3  // failures in a row after which the tracker is left alone for a while
	// clockMargin is by how much a question for changes reaches back: the tracker's clock is not ours.
	clockMargin = 2 * time.Minute
	firstRest   = 5 * time.Second
	longestRest = 10 * time.Minute
	hiddenAgain = time.Hour
)

// Round does once what is due, unless another unit is at it or the tracker is being left alone. It must not run twice at
// the same time in one Watcher.
func (w *Watcher) Round(ctx context.Context) error {
	if w.cfg.Now().Before(w.rest) {
		return nil
	}
	if token, err := w.client.creds.Current(ctx); err != nil || token.IsZero() {
		if crash.KindOf(err) == crash.Unavailable {
			return nil // not connected: said elsewhere
		}
		return err
	}
	end, ok, err := w.store.TakeTurn(ctx)
	if err != nil || !ok {
		return err
	}
	defer end()
	err = w.round(ctx)
	if e, ok := errors.AsType[*CallError](err); ok {
		w.leaveAlone(ctx, e)
		return nil
	}
	if err == nil {
		w.paused = 0
	}
	return err
}

// round returns a CallError when the tracker should be left alone.
func (w *Watcher) round(ctx context.Context) error {
	if err := w.changes(ctx); err != nil {
		return err
	}
	numbers, err := w.store.DueBugs(ctx, roundLimit)
	if err != nil {
		return err
	}
	trouble := 0
	for _, number := range numbers {
		err := w.read(ctx, number)
		e, failed := errors.AsType[*CallError](err)
		switch {
		case err != nil && !failed:
			return err
		case !failed:
			trouble = 0
		case leave(e):
			return e
		default:
			if trouble++; trouble == maxTrouble {
				return e
			}
		}
		if !wait(ctx, w.opts.Pause) {
			return ctx.Err()
		}
	}
	return w.speak(ctx)
}

// leave reports whether a failure says something about the tracker and not about one bug.
func leave(e *CallError) bool {
	return e.Outcome == OutcomeNotSent || e.Outcome == OutcomeBusy || e.Outcome == OutcomeCredentials || e.Status == http.StatusServiceUnavailable
}

// leaveAlone makes no calls for a while, which grows with each failure in a row; as long as the tracker asked, if it did.
func (w *Watcher) leaveAlone(ctx context.Context, e *CallError) {
	pause := min(firstRest<<min(w.paused, 10), longestRest)
	if e.Outcome == OutcomeCredentials {
		pause = parkFor
	}
	w.paused++
	w.rest = w.cfg.Now().Add(jitter(max(pause, min(e.RetryAfter, longestRest))))
	w.log.WarnContext(ctx, "the tracker is left alone for a while", "until", w.rest, "operation", e.Operation, "outcome", string(e.Outcome), "status", e.Status, "words", e.Words)
}

// changes asks which of our bugs changed since it was last asked, and has them read.
func (w *Watcher) changes(ctx context.Context) error {
	now := w.cfg.Now()
	if !w.asked.IsZero() && now.Sub(w.asked) < w.opts.Changes {
		return nil
	}
	until, err := w.store.ChangesUntil(ctx)
	if err != nil {
		return err
	}
	if now.Sub(until) < w.opts.Changes { // another unit asked
		return nil
	}
	var numbers []int64
	if !until.IsZero() { // before the first question everything is due anyway
		if numbers, err = w.client.Changed(ctx, until.Add(-clockMargin)); err != nil {
			if answered(err) != http.StatusNotFound && answered(err) != http.StatusBadRequest {
				return err
			}
			w.log.WarnContext(ctx, "the tracker cannot say which bugs changed", "error", err) // single readings go on
		}
	}
	w.asked = now
	return w.store.SaveChanges(ctx, numbers, now)
}

// read reads one bug. A failure that says something about this bug is noted with it.
func (w *Watcher) read(ctx context.Context, number int64) error {
	reading, err := w.client.ReadState(ctx, number)
	if e, ok := errors.AsType[*CallError](err); ok {
		if leave(e) {
			return e
		}
		if err := w.store.FailBugReading(ctx, number, e.Words, jitter(w.opts.Retry)); err != nil {
			return err
		}
		return e
	}
	if err != nil {
		return err
	}
	var master string
	if reading.DuplicateOf != 0 {
		master = w.cfg.bugURL(reading.DuplicateOf)
	}
	again := w.opts.Again
	if reading.Hidden {
		again = min(again, hiddenAgain) // a front end in trouble says the same
	}
	return w.store.SaveBugReading(ctx, reading, master, again*3/4+rand.N(again/2+1)) //nolint:gosec // spreading, not secrecy
}
