package watch

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// BugStore stores the states of bugs. Packages db and db/bugs describe its methods. All may return
// Unavailable.
type BugStore interface {
	LockBugs(ctx context.Context) (unlock func(), ok bool, err error)
	DueBugs(ctx context.Context, limit int) ([]int64, error)
	SaveBugReading(ctx context.Context, r crash.BugReading, masterURL string, again time.Duration) error
	FailBugReading(ctx context.Context, number int64, why string, again time.Duration) error
	ChangesUntil(ctx context.Context) (time.Time, error)
	SaveChanges(ctx context.Context, numbers []int64, until time.Time) error
	BugTotals(ctx context.Context) (crash.BugTotals, error)
	StopState(ctx context.Context) (crash.NotificationStop, error)

	// Of comments and sections that mishap writes by itself.
	BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error)
	UpdatePolicies(ctx context.Context) (crash.UpdatePolicies, error)
	UncommentedRegressions(ctx context.Context) ([]crash.Bucket, error)
	NamedBugs(ctx context.Context) ([]crash.NamedBug, error)
	RepresentativeReport(ctx context.Context, id crash.BucketID) (crash.StoredReport, error)
	QuietBugs(ctx context.Context) ([]crash.QuietBug, error)
	BucketsOfBug(ctx context.Context, number int64) ([]crash.Bucket, error)
	Judge(ctx context.Context, buckets ...*crash.Bucket) error
	PackageReported(ctx context.Context, pkg string, after time.Time) (bool, error)
	BeginComment(ctx context.Context, number int64, kind crash.UpdateKind, about string, bucket crash.BucketID) (bool,
		error)
	EndComment(ctx context.Context, number int64, kind crash.UpdateKind, about, outcome, words string) error
	DueSections(ctx context.Context) ([]crash.DueSection, error)
	Sections(ctx context.Context, numbers []int64) ([]crash.BugSection, error)
	AddSection(ctx context.Context, b crash.BugSection, again time.Duration) error
	DelaySection(ctx context.Context, b crash.BugSection, problem string, again time.Duration) error
	BeginSection(ctx context.Context, b crash.BugSection, hash string, facts crash.SectionFacts,
		again time.Duration) (attempt int64, ok bool, err error)
	SectionWritten(ctx context.Context, b crash.BugSection, hash string, facts crash.SectionFacts,
		again time.Duration) error
	CancelSection(ctx context.Context, b crash.BugSection, problem string, again time.Duration) error
	StopSection(ctx context.Context, b crash.BugSection, why crash.SectionStop) error
}

// BugOptions throttle reading the tracker. The zero value suits a real one.
type BugOptions struct {
	Pause   time.Duration // between two calls; 0: 300 ms; negative: none
	Changes time.Duration // between two queries for changes; 0: 1 min
	Again   time.Duration // after which an unchanged bug is read again; 0: 6 h
	Retry   time.Duration // before a bug that could not be read is tried again, doubled each time; 0: 1 min
	Quiet   time.Duration // between two searches for bugs that are no longer reported; 0: 10 min
	Section time.Duration // between two updates of the section of a bug; 0: 24 h
	Silent  bool          // write nothing, whatever administrators have switched on
}

// BugReader reads the states of bugs from the tracker. It soon reads bugs that are new, have
// changed, or are being viewed, and regularly reads all others. Every instance may run one, but
// only one reads at a time.
type BugReader struct {
	cfg    tracker.Config
	store  BugStore
	client *tracker.Client
	opts   BugOptions
	log    *slog.Logger

	asked  time.Time // when this instance last queried changes
	pauses pauses

	quietAsked time.Time                    // when this instance last searched for bugs that are no longer reported
	unread     map[PendingComment]time.Time // when a comment was last tried on a bug that could not be read
}

// NewBugReader returns a BugReader. A background task calls its Round.
func NewBugReader(cfg tracker.Config, store BugStore, client *tracker.Client, o BugOptions) *BugReader {
	cfg = cfg.WithDefaults()
	for value, standard := range map[*time.Duration]time.Duration{
		&o.Pause: 300 * time.Millisecond, &o.Changes: time.Minute, &o.Again: 6 * time.Hour, &o.Retry: time.Minute,
		&o.Quiet: 10 * time.Minute, &o.Section: 24 * time.Hour,
	} {
		if *value == 0 {
			*value = standard
		}
	}
	w := &BugReader{cfg: cfg, store: store, client: client, opts: o, log: cfg.Log,
		unread: map[PendingComment]time.Time{}}
	if cfg.Registerer != nil {
		tracker.RegisterShared(cfg.Registerer, newMetrics(store, cfg.Now))
	}
	return w
}

const (
	roundLimit  = 50 // bugs in one round
	maxFailures = 3  // failures in a row after which all calls pause
	// clockMargin is the overlap of two queries for changes, since clocks differ.
	clockMargin  = 2 * time.Minute
	firstPause   = 5 * time.Second
	longestPause = 10 * time.Minute
	hiddenAgain  = time.Hour
	// credentialsPause is the pause while the tracker refuses the access token.
	credentialsPause = time.Minute
)

// Round reads the bugs that are due, unless another instance does or calls are paused. It must not
// run concurrently in one BugReader.
func (w *BugReader) Round(ctx context.Context) error {
	if w.cfg.Now().Before(w.pauses.resume) {
		return nil
	}
	if ok, err := w.client.HasToken(ctx); err != nil || !ok { // pages show a missing token
		return err
	}
	unlock, ok, err := w.store.LockBugs(ctx)
	if err != nil || !ok {
		return err
	}
	defer unlock()
	err = w.round(ctx)
	if e, ok := errors.AsType[*tracker.CallError](err); ok {
		w.pauses.begin(ctx, w.cfg, "calls to the tracker pause", e)
		return nil
	}
	if err == nil {
		w.pauses.row = 0
	}
	return err
}

func (w *BugReader) round(ctx context.Context) error {
	if err := w.changes(ctx); err != nil {
		return err
	}
	numbers, err := w.store.DueBugs(ctx, roundLimit)
	if err != nil {
		return err
	}
	failures := 0
	for _, number := range numbers {
		err := w.read(ctx, number)
		e, failed := errors.AsType[*tracker.CallError](err)
		switch {
		case err != nil && !failed:
			return err
		case !failed:
			failures = 0
		case unavailable(e):
			return e
		default:
			if failures++; failures == maxFailures {
				return e
			}
		}
		if crash.Sleep(ctx, w.opts.Pause) != nil {
			return ctx.Err()
		}
	}
	return w.update(ctx)
}

// update writes to bugs what administrators have switched on for their source packages. It writes
// nothing to bugs that may have been updated after the backup from which the database was restored.
func (w *BugReader) update(ctx context.Context) error {
	if w.opts.Silent {
		return nil
	}
	if stop, err := w.store.StopState(ctx); err != nil || !stop.Restored.IsZero() {
		return err
	}
	policies, err := w.store.UpdatePolicies(ctx)
	if err != nil {
		return err
	}
	if err := w.comment(ctx, policies); err != nil {
		return err
	}
	return w.sections(ctx, policies)
}

// unavailable reports whether a failure concerns the tracker and not one bug.
func unavailable(e *tracker.CallError) bool {
	return e.Outcome == tracker.OutcomeNotSent || e.Outcome == tracker.OutcomeBusy ||
		e.Outcome == tracker.OutcomeCredentials || e.Status == http.StatusServiceUnavailable
}

// pauses stop calls for a time that doubles with each failure in a row. It is at least as long as the
// tracker asks for.
type pauses struct {
	resume time.Time // no calls before this time
	row    int       // pauses in a row
}

func (p *pauses) begin(ctx context.Context, cfg tracker.Config, what string, e *tracker.CallError) {
	d := min(firstPause<<min(p.row, 10), longestPause)
	if e.Outcome == tracker.OutcomeCredentials {
		d = credentialsPause
	}
	p.row++
	p.resume = cfg.Now().Add(tracker.Jitter(max(d, min(e.RetryAfter, longestPause))))
	cfg.Log.WarnContext(ctx, what, "until", p.resume,
		"operation", e.Operation, "outcome", string(e.Outcome), "status", e.Status, "answer", e.Text)
}

func (w *BugReader) changes(ctx context.Context) error {
	now := w.cfg.Now()
	if !w.asked.IsZero() && now.Sub(w.asked) < w.opts.Changes {
		return nil
	}
	until, err := w.store.ChangesUntil(ctx)
	if err != nil {
		return err
	}
	if now.Sub(until) < w.opts.Changes { // another instance asked
		return nil
	}
	var numbers []int64
	if !until.IsZero() { // before the first query all bugs are due anyway
		if numbers, err = w.client.Changed(ctx, until.Add(-clockMargin)); err != nil {
			if tracker.AnswerStatus(err) != http.StatusNotFound && tracker.AnswerStatus(err) != http.StatusBadRequest {
				return err
			}
			w.log.WarnContext(ctx, "the tracker cannot say which bugs changed", "error", err) // single readings go on
		}
	}
	w.asked = now
	return w.store.SaveChanges(ctx, numbers, now)
}

func (w *BugReader) read(ctx context.Context, number int64) error {
	reading, err := w.client.ReadState(ctx, number)
	if e, ok := errors.AsType[*tracker.CallError](err); ok {
		if unavailable(e) {
			return e
		}
		if err := w.store.FailBugReading(ctx, number, e.Text, tracker.Jitter(w.opts.Retry)); err != nil {
			return err
		}
		return e
	}
	if err != nil {
		return err
	}
	var master string
	if reading.DuplicateOf != 0 {
		master = w.client.BugURL(reading.DuplicateOf)
	}
	again := w.opts.Again
	if reading.Hidden {
		again = min(again, hiddenAgain) // an overloaded front end answers the same
	}
	if err := w.store.SaveBugReading(ctx, reading, master, tracker.Jitter(again)); err != nil {
		return err
	}
	return w.checkSection(ctx, reading)
}

// ArchiveStore stores facts about the archive, as package db/bugs describes. All methods may return
// Unavailable.
type ArchiveStore interface {
	LockArchive(ctx context.Context) (unlock func(), ok bool, err error)
	DueArchiveFacts(ctx context.Context, limit int) ([]crash.ArchiveWant, error)
	SaveArchiveFact(ctx context.Context, f crash.ArchiveFact, again time.Duration) error
	FailArchiveFact(ctx context.Context, w crash.ArchiveWant, why string, again time.Duration) error
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
	pauses pauses
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
	return &ArchiveReader{cfg: cfg, store: store, client: client, opts: o}
}

// Round asks for the facts that are due, unless another instance does or calls are paused. It must
// not run concurrently in one ArchiveReader.
func (a *ArchiveReader) Round(ctx context.Context) error {
	if a.cfg.Now().Before(a.pauses.resume) {
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
				a.pauses.begin(ctx, a.cfg, "calls for archive facts pause", e)
				return nil
			}
		}
		if crash.Sleep(ctx, a.opts.Pause) != nil {
			return ctx.Err()
		}
	}
	a.pauses.row = 0
	return nil
}

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
