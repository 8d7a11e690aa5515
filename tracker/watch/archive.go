package watch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// ArchiveStore stores facts about the archive. All methods may return Unavailable.
type ArchiveStore interface {
	// LockArchive acquires the lock on reading the archive. One instance holds it at a time, until
	// it calls unlock or dies.
	LockArchive(ctx context.Context) (unlock func(), ok bool, err error)
	// DueArchiveFacts lists the facts that are due, those never asked for first.
	DueArchiveFacts(ctx context.Context, limit int) ([]crash.ArchiveWant, error)
	// SaveArchiveFact stores a fact, and after how long to ask again.
	SaveArchiveFact(ctx context.Context, f crash.ArchiveFact, again time.Duration) error
	// FailArchiveFact records why there was no answer. The pause before the next try doubles with
	// each failure.
	FailArchiveFact(ctx context.Context, w crash.ArchiveWant, why string, again time.Duration) error
	// DropArchiveFacts deletes facts that no page has needed for a long time.
	DropArchiveFacts(ctx context.Context) error
}

// ArchiveOptions throttle reading the archive. The zero value suits a real tracker.
type ArchiveOptions struct {
	Pause time.Duration // between two calls; 0: 500 ms; negative: none
	Retry time.Duration // before what failed is tried again, doubled each time; 0: 1 min
}

// archiveAge is how long a fact is fresh: first if the object exists, second if it does not.
var archiveAge = map[crash.ArchiveKind][2]time.Duration{
	crash.ArchiveSource:  {6 * time.Hour, 24 * time.Hour},
	crash.ArchiveBinary:  {6 * time.Hour, 24 * time.Hour},
	crash.ArchiveVersion: {7 * 24 * time.Hour, time.Hour}, // once published, a version stays in the history
	crash.ArchiveSet:     {24 * time.Hour, 24 * time.Hour},
	crash.ArchivePerson:  {24 * time.Hour, 24 * time.Hour},
}

// ArchiveReader reads facts about the archive of the distribution: requested ones first, then stale
// ones. Every instance may run one, but only one reads at a time.
type ArchiveReader struct {
	cfg    tracker.Config
	store  ArchiveStore
	client *tracker.Client
	opts   ArchiveOptions
	log    *slog.Logger
	resume time.Time // no calls before this time
	paused int       // pauses in a row
}

// NewArchiveReader returns an ArchiveReader. A background task calls its Round.
func NewArchiveReader(cfg tracker.Config, store ArchiveStore, client *tracker.Client, o ArchiveOptions) *ArchiveReader {
	cfg = cfg.WithDefaults()
	for value, standard := range map[*time.Duration]time.Duration{
		&o.Pause: 500 * time.Millisecond, &o.Retry: time.Minute,
	} {
		if *value == 0 {
			*value = standard
		}
	}
	return &ArchiveReader{cfg: cfg, store: store, client: client, opts: o, log: cfg.Log}
}

// Round asks for the facts that are due, unless another instance does or calls are paused. It must
// not run concurrently in one ArchiveReader.
func (a *ArchiveReader) Round(ctx context.Context) error {
	if a.cfg.Now().Before(a.resume) {
		return nil
	}
	unlock, ok, err := a.store.LockArchive(ctx)
	if err != nil || !ok {
		return err
	}
	defer unlock()
	wants, err := a.store.DueArchiveFacts(ctx, roundLimit)
	if err != nil {
		return err
	}
	if len(wants) > 0 {
		if err := a.store.DropArchiveFacts(ctx); err != nil {
			return err
		}
	}
	failures := 0
	for _, w := range wants {
		e, err := a.read(ctx, w)
		switch {
		case err != nil:
			return err
		case e == nil:
			failures = 0
		default:
			if failures++; unavailable(e) || failures == maxFailures {
				a.pause(ctx, e)
				return nil
			}
		}
		if crash.Sleep(ctx, a.opts.Pause) != nil {
			return ctx.Err()
		}
	}
	a.paused = 0
	return nil
}

// read asks for one fact. It records a failed call and returns it as the CallError.
func (a *ArchiveReader) read(ctx context.Context, w crash.ArchiveWant) (*tracker.CallError, error) {
	fact, err := a.client.ReadArchive(ctx, w)
	if e, ok := errors.AsType[*tracker.CallError](err); ok {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return e, a.store.FailArchiveFact(ctx, w, e.Text, tracker.Jitter(a.opts.Retry))
	}
	if err != nil {
		return nil, err
	}
	again := archiveAge[w.Kind][0]
	if !fact.Exists {
		again = archiveAge[w.Kind][1]
	}
	return nil, a.store.SaveArchiveFact(ctx, fact, tracker.Jitter(again))
}

// pause stops calls for a time that doubles with each failure in a row. It is at least as long as
// the tracker asks for.
func (a *ArchiveReader) pause(ctx context.Context, e *tracker.CallError) {
	d := min(firstPause<<min(a.paused, 10), longestPause)
	a.paused++
	a.resume = a.cfg.Now().Add(tracker.Jitter(max(d, min(e.RetryAfter, longestPause))))
	a.log.WarnContext(ctx, "calls for archive facts pause", "until", a.resume,
		"operation", e.Operation, "outcome", string(e.Outcome), "status", e.Status, "answer", e.Text)
}
