package tracker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mishap/crash"
)

// ArchiveStore is what an Archivist needs remembered. All methods may return Unavailable.
type ArchiveStore interface {
	// TakeArchiveTurn asks for the turn to read the archive; one unit has it at a time, until end is called or it dies.
	TakeArchiveTurn(ctx context.Context) (end func(), ok bool, err error)
	// DueArchiveFacts lists what it is time to ask, what was never asked before first.
	DueArchiveFacts(ctx context.Context, limit int) ([]crash.ArchiveWant, error)
	// SaveArchiveFact keeps an answer, and after how long to ask again.
	SaveArchiveFact(ctx context.Context, f crash.ArchiveFact, again time.Duration) error
	// FailArchiveFact notes why there was no answer; the pause before the next try doubles with each failure.
	FailArchiveFact(ctx context.Context, w crash.ArchiveWant, why string, again time.Duration) error
	// DropArchiveFacts forgets what nobody has wanted to know for long.
	DropArchiveFacts(ctx context.Context) error
}

// ArchiveOptions say how politely the archive is read. The zero value is what a real tracker can bear.
type ArchiveOptions struct {
	Pause time.Duration // between two calls; 0: 500 ms; negative: none
	Retry time.Duration // before what failed is tried again, doubled each time; 0: 1 min
}

// archiveAge is how long what the tracker said is believed, and how long that there is no such thing.
var archiveAge = map[crash.ArchiveKind][2]time.Duration{
	crash.ArchiveSource:  {6 * time.Hour, 24 * time.Hour},
	crash.ArchiveBinary:  {6 * time.Hour, 24 * time.Hour},
	crash.ArchiveVersion: {7 * 24 * time.Hour, time.Hour}, // a version appears, and then stays in the history
	crash.ArchiveSet:     {24 * time.Hour, 24 * time.Hour},
	crash.ArchivePerson:  {24 * time.Hour, 24 * time.Hour},
}

// Archivist keeps what is known of the distribution's archive fresh: it asks the tracker what somebody wanted to know, and
// again when the answer is old. Any number of units may run one; one reads at a time.
type Archivist struct {
	cfg    Config
	store  ArchiveStore
	client *Client
	opts   ArchiveOptions
	log    *slog.Logger
	rest   time.Time // nothing is called before
	paused int       // how often in a row it had to rest
}

// NewArchivist returns an Archivist. Its Round is to be called again and again.
func NewArchivist(cfg Config, store ArchiveStore, client *Client, o ArchiveOptions) *Archivist {
	cfg = cfg.withDefaults()
	for value, standard := range map[*time.Duration]time.Duration{
		&o.Pause: 500 * time.Millisecond, &o.Retry: time.Minute,
	} {
		if *value == 0 {
			*value = standard
		}
	}
	return &Archivist{cfg: cfg, store: store, client: client, opts: o, log: cfg.Log}
}

// Round does once what is due, unless another unit is at it or the tracker is being left alone. It must not run twice at
// the same time in one Archivist.
func (a *Archivist) Round(ctx context.Context) error {
	if a.cfg.Now().Before(a.rest) {
		return nil
	}
	end, ok, err := a.store.TakeArchiveTurn(ctx)
	if err != nil || !ok {
		return err
	}
	defer end()
	wants, err := a.store.DueArchiveFacts(ctx, roundLimit)
	if err != nil {
		return err
	}
	if len(wants) > 0 {
		if err := a.store.DropArchiveFacts(ctx); err != nil {
			return err
		}
	}
	trouble := 0
	for _, w := range wants {
		e, err := a.read(ctx, w)
		switch {
		case err != nil:
			return err
		case e == nil:
			trouble = 0
		default:
			if trouble++; leave(e) || trouble == maxTrouble {
				a.leaveAlone(ctx, e)
				return nil
			}
		}
		if !wait(ctx, a.opts.Pause) {
			return ctx.Err()
		}
	}
	a.paused = 0
	return nil
}

// read asks one thing. The CallError is why there was no answer; it is noted.
func (a *Archivist) read(ctx context.Context, w crash.ArchiveWant) (*CallError, error) {
	fact, err := a.client.ReadArchive(ctx, w)
	if e, ok := errors.AsType[*CallError](err); ok {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return e, a.store.FailArchiveFact(ctx, w, e.Words, jitter(a.opts.Retry))
	}
	if err != nil {
		return nil, err
	}
	again := archiveAge[w.Kind][0]
	if !fact.Exists {
		again = archiveAge[w.Kind][1]
	}
	return nil, a.store.SaveArchiveFact(ctx, fact, jitter(again))
}

// leaveAlone makes no calls for a while, which grows with each failure in a row; as long as the tracker asked, if it did.
func (a *Archivist) leaveAlone(ctx context.Context, e *CallError) {
	pause := min(firstRest<<min(a.paused, 10), longestRest)
	a.paused++
	a.rest = a.cfg.Now().Add(jitter(max(pause, min(e.RetryAfter, longestRest))))
	a.log.WarnContext(ctx, "the archive is left alone for a while", "until", a.rest, "operation", e.Operation, "outcome", string(e.Outcome), "status", e.Status, "words", e.Words)
}
