// Package watch reads changes from the tracker, and writes to bugs by itself. A [BugReader] reads the
// states of bugs. If administrators have switched that on, it comments on bugs whose problem came
// back, went quiet or got function names, and updates a section in their descriptions. An
// [ArchiveReader] reads facts about the archive of the distribution. Package tracker makes the calls
// and files bugs. This package contains neither pages nor SQL.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/tracker"
	"mishap/tracker/launchpad"
)

// BugStore stores the states of bugs. Packages db and db/bugs describe its methods. All may return
// Unavailable.
type BugStore interface {
	LockBugs(ctx context.Context) (unlock func(), ok bool, err error)
	DueBugs(ctx context.Context, place, limit int) ([]int64, error)
	SaveBugReading(ctx context.Context, r crash.BugReading, masterURL string, again time.Duration) error
	FailBugReading(ctx context.Context, number int64, why string, again time.Duration) error
	ChangesUntil(ctx context.Context, place int) (time.Time, error)
	SaveChanges(ctx context.Context, place int, numbers []int64, until time.Time) error
	BugTotals(ctx context.Context) (crash.BugTotals, error)
	StopState(ctx context.Context) (crash.NotificationStop, error)

	// Of comments and sections that mishap writes by itself.
	BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error)
	UpdatePolicies(ctx context.Context) (crash.UpdatePolicies, error)
	UncommentedRegressions(ctx context.Context) ([]crash.Bucket, error)
	NamedBugs(ctx context.Context) ([]crash.NamedBug, error)
	RepresentativeReport(ctx context.Context, id crash.BucketID) (crash.StoredReport, error)
	ForwardedBugs(ctx context.Context) ([]crash.ForwardedBug, error)
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

// BugReader reads the states of bugs from the trackers. It soon reads bugs that are new, have
// changed, or are being viewed, and regularly reads all others. Every instance may run one, but
// only one reads at a time.
type BugReader struct {
	cfg   tracker.Config // of the first tracker
	store BugStore
	sites *tracker.Sites
	opts  BugOptions
	log   *slog.Logger

	asked    map[int]time.Time    // when any instance last queried changes, by place
	trackers map[string]*watching // by name

	quietAsked time.Time                    // when this instance last searched for bugs that are no longer reported
	unread     map[PendingComment]time.Time // when a comment was last tried on a bug that could not be read
}

// NewBugReader returns a BugReader. A background task calls its Round.
func NewBugReader(cfg tracker.Config, store BugStore, sites *tracker.Sites, o BugOptions) *BugReader {
	cfg = cfg.WithDefaults()
	for value, standard := range map[*time.Duration]time.Duration{
		&o.Pause: 300 * time.Millisecond, &o.Changes: time.Minute, &o.Again: 6 * time.Hour, &o.Retry: time.Minute,
		&o.Quiet: 10 * time.Minute, &o.Section: 24 * time.Hour,
	} {
		if *value == 0 {
			*value = standard
		}
	}
	w := &BugReader{cfg: cfg, store: store, sites: sites, opts: o, log: cfg.Log,
		asked: map[int]time.Time{}, trackers: map[string]*watching{}, unread: map[PendingComment]time.Time{}}
	for _, m := range sites.Members() {
		w.trackers[m.Name] = &watching{}
	}
	if cfg.Registerer != nil {
		tracker.RegisterShared(cfg.Registerer, newMetrics(store, cfg.Now))
	}
	return w
}

const (
	roundLimit  = 50 // bugs of one tracker in one round
	maxFailures = 3  // failures in a row after which all calls to a tracker pause
	// maxQueries is the number of queries for changes that a tracker gets in the time BugOptions.Changes. If it has more
	// places, each is queried less often.
	maxQueries = 10
	// clockMargin is the overlap of two queries for changes, since clocks differ.
	clockMargin  = 2 * time.Minute
	firstPause   = 5 * time.Second
	longestPause = 10 * time.Minute
	hiddenAgain  = time.Hour
	// credentialsPause is the pause while the tracker refuses the access token.
	credentialsPause = time.Minute
)

// watching is what a BugReader knows about a tracker.
type watching struct {
	pauses
	places int // where bugs are

	// These are about the present round.
	read     int  // bugs
	failures int  // in a row
	failed   bool // the rest of the round leaves the tracker alone

	window  time.Time // when the time began in which queries is limited
	queries int       // for changes
}

// Round reads the bugs that are due, unless another instance does, and of each tracker unless calls to it are paused.
// A tracker that fails is left alone for the rest of the round, so that one that hangs delays the others by at most
// maxFailures time-outs. It must not run concurrently in one BugReader.
func (w *BugReader) Round(ctx context.Context) error {
	for _, t := range w.trackers {
		t.places, t.read, t.failures, t.failed = 0, 0, 0, false
	}
	sites, err := w.ready(ctx)
	if err != nil || len(sites) == 0 {
		return err
	}
	unlock, ok, err := w.store.LockBugs(ctx)
	if err != nil || !ok {
		return err
	}
	defer unlock()
	for _, site := range sites {
		if !w.paused(site) {
			if err := w.failing(ctx, site, w.round(ctx, site)); err != nil {
				return err
			}
		}
	}
	if err := w.update(ctx); err != nil {
		return err
	}
	for _, site := range sites {
		if !w.paused(site) {
			w.trackers[site.Name].row = 0
		}
	}
	return nil
}

// ready returns the sites whose trackers can be called.
func (w *BugReader) ready(ctx context.Context) ([]*tracker.Site, error) {
	all, err := w.sites.All(ctx)
	if err != nil {
		return nil, err
	}
	var ready []*tracker.Site
	for _, site := range all {
		if w.paused(site) {
			continue
		}
		ok, err := site.Creds.Connected(ctx)
		if err != nil {
			return nil, err
		}
		if ok { // pages show a missing token
			w.trackers[site.Name].places++
			ready = append(ready, site)
		}
	}
	return ready, nil
}

func (w *BugReader) paused(site *tracker.Site) bool {
	t := w.trackers[site.Name]
	return t.failed || w.cfg.Now().Before(t.resume)
}

// failing pauses calls to a tracker after an error of it, and returns any other error.
func (w *BugReader) failing(ctx context.Context, site *tracker.Site, err error) error {
	if e, ok := errors.AsType[*tracker.CallError](err); ok {
		t := w.trackers[site.Name]
		t.failed = true
		t.begin(ctx, w.cfg, "calls to tracker "+site.Name+" pause", e)
		return nil
	}
	return err
}

// site returns the site of a bug that can be called now, or nil.
func (w *BugReader) site(ctx context.Context, number int64) (*tracker.Site, error) {
	site, err := w.sites.Of(ctx, number)
	if crash.KindOf(err) == crash.Unavailable {
		return nil, nil //nolint:nilnil // not in the configuration: no call is possible
	}
	if err != nil || w.paused(site) {
		return nil, err
	}
	ok, err := site.Creds.Connected(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return site, nil
}

func (w *BugReader) round(ctx context.Context, site *tracker.Site) error {
	if err := w.changes(ctx, site); err != nil {
		return err
	}
	t := w.trackers[site.Name]
	numbers, err := w.store.DueBugs(ctx, site.Place(), roundLimit-t.read)
	if err != nil {
		return err
	}
	t.read += len(numbers)
	for _, number := range numbers {
		_, err := w.read(ctx, site, number)
		e, failed := errors.AsType[*tracker.CallError](err)
		switch {
		case err != nil && !failed:
			return err
		case !failed:
			t.failures = 0
		case unavailable(e):
			return e
		default:
			if t.failures++; t.failures == maxFailures {
				return e
			}
		}
		if crash.Sleep(ctx, w.opts.Pause) != nil {
			return ctx.Err()
		}
	}
	return nil
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

func (w *BugReader) changes(ctx context.Context, site *tracker.Site) error {
	t, now, asked := w.trackers[site.Name], w.cfg.Now(), w.asked[site.Place()]
	interval := w.opts.Changes * time.Duration((t.places+maxQueries-1)/maxQueries)
	if now.Sub(t.window) >= w.opts.Changes {
		t.window, t.queries = now, 0
	}
	if now.Sub(asked) < interval || t.queries == maxQueries {
		return nil
	}
	until, err := w.store.ChangesUntil(ctx, site.Place())
	if err != nil {
		return err
	}
	w.asked[site.Place()] = now
	if now.Sub(until) < interval { // another instance asked
		w.asked[site.Place()] = until
		return nil
	}
	var numbers []int64
	if !until.IsZero() { // before the first query all bugs are due anyway
		t.queries++
		if numbers, err = site.Tracker.Changed(ctx, until.Add(-clockMargin)); err != nil {
			if tracker.AnswerStatus(err) != http.StatusNotFound && tracker.AnswerStatus(err) != http.StatusBadRequest {
				return err
			}
			w.log.WarnContext(ctx, "the tracker cannot say which bugs changed", "error", err) // single readings go on
		}
	}
	return w.store.SaveChanges(ctx, site.Place(), numbers, now)
}

// read reads the state of a bug and stores it.
func (w *BugReader) read(ctx context.Context, site *tracker.Site, number int64) (crash.BugReading, error) {
	reading, err := site.Tracker.ReadState(ctx, number)
	if e, ok := errors.AsType[*tracker.CallError](err); ok {
		if unavailable(e) {
			return reading, e
		}
		if err := w.store.FailBugReading(ctx, number, e.Text, tracker.Jitter(w.opts.Retry)); err != nil {
			return reading, err
		}
		return reading, e
	}
	if err != nil {
		return reading, err
	}
	var master string
	if reading.DuplicateOf != 0 {
		master = site.Tracker.BugURL(reading.DuplicateOf)
	}
	again := w.opts.Again
	if reading.Hidden {
		again = min(again, hiddenAgain) // an overloaded front end answers the same
	}
	if err := w.store.SaveBugReading(ctx, reading, master, tracker.Jitter(again)); err != nil {
		return reading, err
	}
	return reading, w.checkSection(ctx, reading)
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
	client *launchpad.Client
	opts   ArchiveOptions
	pauses pauses
}

// NewArchiveReader returns an ArchiveReader. A background task calls its Round.
func NewArchiveReader(
	cfg tracker.Config, store ArchiveStore, client *launchpad.Client, o ArchiveOptions,
) *ArchiveReader {
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

const maxComments = 5

type comment struct {
	PendingComment
	bucket  crash.Bucket
	other   int64  // bug that the comment is about (UpdateForwarded)
	address string // of its page
	text    func(context.Context) (string, error)
}

const (
	againIntro = "This problem is seen again in a version that should have the fix: "
	quietIntro = "No report of this problem has arrived"
)

// is reports whether a message of the bug is this comment, whichever numbers it quotes.
func (c comment) is(text string) bool {
	switch c.Kind {
	case crash.UpdateAgain:
		rest, found := strings.CutPrefix(text, againIntro)
		words := strings.Fields(rest) // package, version, …
		return found && len(words) > 1 && strings.TrimSuffix(words[1], ",") == tracker.Clean(c.About, 128)
	case crash.UpdateNames:
		return strings.HasPrefix(text, tracker.NamesIntro)
	case crash.UpdateQuiet:
		return strings.HasPrefix(text, quietIntro) && strings.Contains(text, " The last one was on "+c.About)
	case crash.UpdateForwarded:
		return names(text, c.address)
	case crash.UpdateSection: // it is no comment
	}
	return false
}

// names reports whether a text contains an address, and not only one that begins with it.
func names(text, address string) bool {
	for {
		_, rest, found := strings.Cut(text, address)
		if !found {
			return false
		}
		if rest == "" || rest[0] < '0' || rest[0] > '9' {
			return true
		}
		text = rest
	}
}

// PendingComment is a comment that the next round sends, unless the bug has it.
type PendingComment struct {
	Bug    int64
	Kind   crash.UpdateKind
	About  string // version (UpdateAgain), UTC day of the last report (UpdateQuiet) or other bug (UpdateForwarded)
	Exists bool   // the bug has it
}

// PendingComments returns the comments that are due, and whether the bugs have them. They do if the
// database was restored from a backup that is older than the comments.
func (w *BugReader) PendingComments(ctx context.Context) ([]PendingComment, error) {
	if w.opts.Silent {
		return nil, nil
	}
	policies, err := w.store.UpdatePolicies(ctx)
	if err != nil {
		return nil, err
	}
	due, err := w.dueComments(ctx, policies)
	if err != nil {
		return nil, err
	}
	var pending []PendingComment
	for _, c := range due {
		site, err := w.sites.Of(ctx, c.Bug)
		if err != nil {
			return nil, err
		}
		if c.Exists, err = site.Tracker.HasComment(ctx, c.Bug, c.is); err != nil {
			return nil, err
		}
		pending = append(pending, c.PendingComment)
		if crash.Sleep(ctx, w.opts.Pause) != nil {
			return nil, ctx.Err()
		}
	}
	return pending, nil
}

// comment sends the comments that are due. The distribution's bug and the upstream one of a problem get the address of
// each other, once. Other comments are sent if they are switched on for the source package: on fixed bugs whose problem
// is seen again, once for each version; on bugs that were filed before the functions of their problem had names, once;
// and on bugs that are no longer reported, once for each quiet period. It records each comment before it is sent, so
// that none is sent twice. Comments on bugs that could not be read come last, so that they do not block others.
func (w *BugReader) comment(ctx context.Context, policies crash.UpdatePolicies) error {
	due, err := w.dueComments(ctx, policies)
	if err != nil {
		return err
	}
	slices.SortStableFunc(due, func(a, b comment) int {
		return w.unread[a.PendingComment].Compare(w.unread[b.PendingComment])
	})
	sent := 0
	for _, c := range due {
		if sent == maxComments {
			w.quietAsked = time.Time{} // the rest is due in the next round
			return nil
		}
		site, err := w.site(ctx, c.Bug)
		if err != nil {
			return err
		}
		if site == nil {
			continue
		}
		text, err := c.text(ctx)
		if err != nil {
			return err
		}
		first, err := w.store.BeginComment(ctx, c.Bug, c.Kind, c.About, c.bucket.ID)
		if err != nil {
			return err
		}
		if !first { // another bucket of the same bug
			continue
		}
		sent++
		if err := w.failing(ctx, site, w.sendComment(ctx, site, c, text)); err != nil {
			return err
		}
		if crash.Sleep(ctx, w.opts.Pause) != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (w *BugReader) dueComments(ctx context.Context, policies crash.UpdatePolicies) ([]comment, error) {
	due, err := w.forwardedComments(ctx)
	if err != nil {
		return nil, err
	}
	news, err := w.newsComments(ctx, policies)
	if err != nil {
		return nil, err
	}
	quiet, err := w.quietComments(ctx, policies)
	return slices.Concat(due, news, quiet), err
}

// forwardedComments returns the comments by which the distribution's bug and the upstream project's name each other. No
// policy applies, since a person has filed or linked the upstream bug.
func (w *BugReader) forwardedComments(ctx context.Context) ([]comment, error) {
	pairs, err := w.store.ForwardedBugs(ctx)
	if err != nil {
		return nil, err
	}
	var due []comment
	for _, pair := range pairs {
		distribution, upstream := w.sites.BugURL(ctx, pair.Distribution), w.sites.BugURL(ctx, pair.Upstream)
		if distribution == "" || upstream == "" { // not in the configuration
			continue
		}
		add := func(number, other int64, address, intro string) {
			about := PendingComment{Bug: number, Kind: crash.UpdateForwarded, About: strconv.FormatInt(other, 10)}
			due = append(due, comment{PendingComment: about, bucket: crash.Bucket{ID: pair.Bucket}, other: other,
				address: address, text: func(context.Context) (string, error) {
					return intro + address + "\n\nThis message is sent once by mishap, which collects crash reports.", nil
				}})
		}
		if !pair.Named {
			add(pair.Distribution, pair.Upstream, upstream, "Forwarded upstream: ")
		}
		if !pair.NamedBack {
			add(pair.Upstream, pair.Distribution, distribution, "Downstream bug: ")
		}
	}
	return due, nil
}

func (w *BugReader) newsComments(ctx context.Context, policies crash.UpdatePolicies) ([]comment, error) {
	if !policies.Any(func(r crash.UpdatePolicy) bool { return r.Again }) {
		return nil, nil
	}
	regressions, err := w.store.UncommentedRegressions(ctx)
	if err != nil {
		return nil, err
	}
	var due []comment
	for _, b := range regressions {
		if !policies.For(b.SourcePackage).Again {
			continue
		}
		_, version, _ := b.Status.Regressed()
		about := PendingComment{Bug: b.Bug.Counts(), Kind: crash.UpdateAgain, About: version}
		due = append(due, comment{PendingComment: about, bucket: b,
			text: func(ctx context.Context) (string, error) { return w.commentText(ctx, b, version) }})
	}
	named, err := w.store.NamedBugs(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range named {
		if !policies.For(n.Bucket.SourcePackage).Again {
			continue
		}
		about := PendingComment{Bug: n.Number, Kind: crash.UpdateNames}
		due = append(due, comment{PendingComment: about, bucket: n.Bucket, text: func(ctx context.Context) (string, error) {
			report, err := w.store.RepresentativeReport(ctx, n.Bucket.ID)
			if err != nil && !errors.Is(err, crash.NotFound) {
				return "", err
			}
			return tracker.NamesComment(n.Bucket, report, w.cfg.Privacy, w.cfg.BaseURL+n.Bucket.ID.Path()), nil
		}})
	}
	return due, nil
}

// sendComment sends a comment, unless the bug has it: the database may have been restored from a
// backup that is older than the comment.
func (w *BugReader) sendComment(ctx context.Context, site *tracker.Site, c comment, text string) error {
	exists, known, err := w.has(ctx, site, c)
	delete(w.unread, c.PendingComment)
	switch {
	case err == nil && !known:
		w.unread[c.PendingComment] = w.cfg.Now() // unless its state says the same by now
		return w.store.EndComment(ctx, c.Bug, c.Kind, c.About, "", "")
	case err == nil && exists:
		return w.store.EndComment(ctx, c.Bug, c.Kind, c.About, "sent", "")
	}
	if e, ok := errors.AsType[*tracker.CallError](err); err != nil && (!ok || e.Outcome != tracker.OutcomeRefused) {
		saveErr := w.store.EndComment(context.WithoutCancel(ctx), c.Bug, c.Kind, c.About, "", "")
		if ok && !unavailable(e) {
			w.unread[c.PendingComment] = w.cfg.Now() // a later round tries again
			return saveErr
		}
		return errors.Join(err, saveErr)
	}
	err = w.send(ctx, site, c, text)
	outcome, words := "sent", ""
	e, failed := errors.AsType[*tracker.CallError](err)
	switch {
	case err == nil:
		w.log.InfoContext(ctx, "commented on a bug", "about", string(c.Kind), "bug", c.Bug, "bucket", c.bucket.ID.String())
	case !failed:
		outcome = "" // no credentials: nothing was sent
	case e.Outcome == tracker.OutcomeRefused:
		outcome, words = "refused", e.Text
	case e.Outcome == tracker.OutcomeUnknown:
		outcome, words = "unknown", e.Text
	default:
		outcome = ""
	}
	saveErr := w.store.EndComment(context.WithoutCancel(ctx), c.Bug, c.Kind, c.About, outcome, words)
	if failed && unavailable(e) {
		return errors.Join(e, saveErr)
	}
	return saveErr
}

// has reports whether a bug has a comment. The address of another bug may also be in its description, and must not be
// sent unless both bugs are public; then known is false.
func (w *BugReader) has(ctx context.Context, site *tracker.Site, c comment) (exists, known bool, err error) {
	if c.Kind == crash.UpdateForwarded {
		if _, ok, err := w.publicBug(ctx, c.other); err != nil || !ok {
			return false, false, err
		}
		r, ok, err := w.publicBug(ctx, c.Bug)
		if err != nil || !ok || names(r.Description, c.address) {
			return true, ok, err
		}
	}
	exists, err = site.Tracker.HasComment(ctx, c.Bug, c.is)
	return exists, true, err
}

// publicBug reads a bug. It returns false if the bug is not public, or cannot be read at present.
func (w *BugReader) publicBug(ctx context.Context, number int64) (r crash.BugReading, ok bool, err error) {
	site, err := w.site(ctx, number)
	if err != nil || site == nil {
		return r, false, err
	}
	r, err = w.read(ctx, site, number)
	if e, failed := errors.AsType[*tracker.CallError](err); failed && !unavailable(e) {
		return r, false, nil
	}
	return r, err == nil && !r.Private && !r.Hidden && r.DuplicateOf == 0, w.failing(ctx, site, err)
}

// send sends a comment. It marks the bug as forwarded instead, where the tracker can do that.
func (w *BugReader) send(ctx context.Context, site *tracker.Site, c comment, text string) error {
	if c.Kind == crash.UpdateForwarded {
		err := site.Forward(ctx, c.Bug, c.address)
		if e, ok := errors.AsType[*tracker.CallError](err); !ok || e.Outcome != tracker.OutcomeRefused {
			return err
		}
	}
	return site.Tracker.Comment(ctx, c.Bug, text)
}

// commentText returns the comment about a version that has the fix. It quotes only versions from
// reports.
func (w *BugReader) commentText(ctx context.Context, b crash.Bucket, version string) (string, error) {
	cells, err := w.store.BucketVersions(ctx, b.ID)
	if err != nil {
		return "", err
	}
	again := map[crash.Release]bool{} // releases in which the version has the fix
	for _, r := range b.Status.Releases {
		again[r.Release] = r.Word == crash.StateRegression
	}
	status := b.Status.Text()
	for _, r := range b.Status.Releases {
		if r.Word == crash.StateRegression {
			status += " " + string(r.Release) + ": " + r.Text() + "."
		}
	}
	var reports int64
	cells = slices.DeleteFunc(cells, func(c crash.VersionCount) bool { return c.Version != version || !again[c.Release] })
	for _, c := range cells {
		reports += c.Reports
	}
	var releases []string
	for _, r := range tracker.ReleasesOf(cells).Ascending() {
		releases = append(releases, tracker.Clean(string(r), 60))
	}
	where := ""
	if len(releases) > 0 {
		where = " (" + strings.Join(releases, ", ") + ")"
	}
	return fmt.Sprintf(againIntro+
		"%s %s%s, %d %s so far.\n\n%s\n\nCounts, versions and stacks: %s\n\n"+
		"This message is sent once for each version by mishap, which collects crash reports.",
		tracker.Clean(b.Package, 128), tracker.Clean(version, 128), where,
		reports, crash.Plural(reports, "report", "reports"),
		tracker.Clean(status, 1000), w.cfg.BaseURL+b.ID.Path()), nil
}

// inUseDays is the number of days in which a package must have been reported, with whatever problem,
// to count as still in use.
const inUseDays = 28

// quietComments returns the comments on open bugs that no supported release has reported for weeks,
// although their package is still reported. It returns none if it was called recently.
func (w *BugReader) quietComments(ctx context.Context, policies crash.UpdatePolicies) ([]comment, error) {
	now := w.cfg.Now()
	if !policies.Any(func(r crash.UpdatePolicy) bool { return r.Quiet }) || now.Sub(w.quietAsked) < w.opts.Quiet {
		return nil, nil
	}
	w.quietAsked = now
	today := crash.Midnight(now)
	quiet, err := w.store.QuietBugs(ctx)
	if err != nil {
		return nil, err
	}
	var due []comment
	for _, q := range quiet {
		row, last := policies.For(q.SourcePackage), q.LastSupported(today)
		if !row.Quiet || last.IsZero() || q.Commented.After(last) ||
			today.Sub(crash.Midnight(last)) < time.Duration(row.QuietWeeks)*7*24*time.Hour {
			continue
		}
		buckets, err := w.judgedBucketsOf(ctx, q.Number)
		if err != nil {
			return nil, err
		}
		used, err := w.inUse(ctx, buckets, last, today)
		if err != nil {
			return nil, err
		}
		if used {
			about := PendingComment{Bug: q.Number, Kind: crash.UpdateQuiet, About: last.UTC().Format(time.DateOnly)}
			due = append(due, comment{PendingComment: about, bucket: buckets[0],
				text: func(context.Context) (string, error) { return w.quietText(q, buckets, today), nil }})
		}
	}
	return due, nil
}

// judgedBucketsOf returns the problems of a bug with their status, most frequent first. There are
// none if the bug has just been unlinked.
func (w *BugReader) judgedBucketsOf(ctx context.Context, number int64) ([]crash.Bucket, error) {
	buckets, err := w.store.BucketsOfBug(ctx, number)
	if errors.Is(err, crash.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	each := make([]*crash.Bucket, len(buckets))
	for i := range buckets {
		each[i] = &buckets[i]
	}
	return buckets, w.store.Judge(ctx, each...)
}

// inUse reports whether the package of a problem was reported since the problem's last report, and
// recently.
func (w *BugReader) inUse(ctx context.Context, buckets []crash.Bucket, last, today time.Time) (bool, error) {
	after := today.AddDate(0, 0, -inUseDays)
	if last.After(after) {
		after = last
	}
	for _, b := range buckets {
		if b.Package == "" {
			continue
		}
		if used, err := w.store.PackageReported(ctx, b.Package, after); err != nil || used {
			return used, err
		}
	}
	return false, nil
}

// quietText returns the comment on a bug that is no longer reported. It quotes only releases and
// versions.
func (w *BugReader) quietText(q crash.QuietBug, buckets []crash.Bucket, today time.Time) string {
	last := q.LastSupported(today)
	newest := buckets[0]
	for _, b := range buckets {
		if b.LastSeen.After(newest.LastSeen) {
			newest = b
		}
	}
	from := ""
	if newest.LastSeen.After(last) {
		from = " from a supported release"
	}
	text := fmt.Sprintf(quietIntro+"%s for %d weeks. The last one was on %s", from,
		int(today.Sub(crash.Midnight(last)).Hours()/24/7), last.UTC().Format(time.DateOnly))
	if from == "" && newest.LastSeenVersion != "" {
		text += fmt.Sprintf(" (version %s", tracker.Clean(newest.LastSeenVersion, 128))
		if newest.LastSeenRelease != "" {
			text += ", " + tracker.Clean(string(newest.LastSeenRelease), 60)
		}
		text += ")"
	}
	text += ". Other problems of the package are still reported.\n"
	for _, b := range buckets[:min(len(buckets), maxQuietProblems)] {
		var lines []string
		for _, r := range b.Status.Releases {
			if !r.Ended {
				lines = append(lines, tracker.Clean(string(r.Release), 60)+": "+tracker.Clean(r.Verdict(), 400))
			}
		}
		if len(lines) > 0 {
			text += "\n" + strings.Join(lines, "\n") + "\n"
		}
		text += "\nCounts, versions and stacks: " + w.cfg.BaseURL + b.ID.Path() + "\n"
	}
	return text + "\nThis message is sent once, until the problem is reported again, by mishap, " +
		"which collects crash reports."
}

const maxQuietProblems = 5

const (
	maxSections   = 3  // changes of descriptions in one round, each of which mails the subscribers of the bug
	maxConsidered = 50 // sections that are considered in one round
	// considerAgain is the time after which a section without news, or with a bug that may not be
	// changed at present, is considered again.
	considerAgain = 6 * time.Hour
	maxConflicts  = 3 // times that someone else may change a bug between reading and writing
)

const (
	noRoom       = "The description has no room for the section: the tracker accepts at most 50,000 characters."
	outcomeDoubt = "It is not known whether the tracker changed the description. It is read again soon."
	manyChanges  = "The bug changed each time before mishap could update it. It is tried again soon."
)

func (w *BugReader) sections(ctx context.Context, policies crash.UpdatePolicies) error {
	if !policies.Any(func(r crash.UpdatePolicy) bool { return r.Section }) {
		return nil
	}
	due, err := w.store.DueSections(ctx)
	if err != nil {
		return err
	}
	due = slices.DeleteFunc(due, func(d crash.DueSection) bool { return !policies.For(d.SourcePackage).Section })
	sent := 0
	for _, d := range due[:min(len(due), maxConsidered)] {
		site, err := w.site(ctx, d.Number)
		if err != nil || site == nil || site.Editor == nil {
			return err
		}
		called, err := w.section(ctx, site.Editor, d)
		if err := w.failing(ctx, site, err); err != nil {
			return err
		}
		if !called {
			continue
		}
		if sent++; sent == maxSections {
			return nil
		}
		if crash.Sleep(ctx, w.opts.Pause) != nil {
			return ctx.Err()
		}
	}
	return nil
}

// section updates the section of one bug if there is news, or if it must settle an unknown outcome.
// For a bug that was closed, any change of the facts is news: nobody updates the section afterwards.
// called says whether it called the tracker.
func (w *BugReader) section(
	ctx context.Context, editor tracker.Editor, due crash.DueSection,
) (called bool, err error) {
	number := due.Number
	compose, err := w.composeSection(ctx, number)
	if err != nil || compose == nil {
		return false, err
	}
	b, ok, err := w.readSection(ctx, number)
	if err != nil || !ok {
		return false, err
	}
	facts := compose(0).Facts
	if !b.Known {
		b.Known = true
		for _, found := range tracker.SectionsIn(b.Filed) {
			b.Hashes, b.Facts, b.Written = []string{found.Hash}, facts, b.FiledAt
		}
		again := time.Duration(0)
		if len(b.Hashes) > 0 { // the bug was filed with it
			again = w.nextSection()
		}
		if err := w.store.AddSection(ctx, b, again); err != nil || len(b.Hashes) > 0 {
			return false, err
		}
	}
	unsettled := b.Pending != crash.SectionFacts{}
	news := facts.Worth(b.Facts) || due.Closed && facts != b.Facts
	if !unsettled && !b.Replace && !b.Written.IsZero() && !news {
		return false, w.store.DelaySection(ctx, b, "", tracker.Jitter(considerAgain))
	}
	for range maxConflicts {
		again, err := w.writeSection(ctx, editor, b, compose)
		if err != nil || !again {
			return true, err
		}
		if b, ok, err = w.readSection(ctx, number); err != nil || !ok {
			return true, err
		}
	}
	return true, w.store.DelaySection(ctx, b, manyChanges, tracker.Jitter(w.opts.Retry))
}

func (w *BugReader) readSection(ctx context.Context, number int64) (b crash.BugSection, ok bool, err error) {
	all, err := w.store.Sections(ctx, []int64{number})
	if err != nil || len(all) == 0 {
		return b, false, err
	}
	return all[0], all[0].Stopped == crash.SectionActive, nil
}

// composeSection returns a function that composes the section of a bug with a number of rows, or nil
// if the bug has no problem any more.
func (w *BugReader) composeSection(ctx context.Context, number int64) (func(rows int) tracker.Section, error) {
	buckets, err := w.judgedBucketsOf(ctx, number)
	if err != nil || len(buckets) == 0 {
		return nil, err
	}
	problems := make([]tracker.SectionProblem, len(buckets))
	for i, b := range buckets {
		problems[i] = tracker.SectionProblem{Bucket: b, Marker: w.cfg.BaseURL + b.ID.Path()}
		if problems[i].Versions, err = w.store.BucketVersions(ctx, b.ID); err != nil {
			return nil, err
		}
	}
	today := w.cfg.Now()
	return func(rows int) tracker.Section { return tracker.ComposeSection(problems, today, rows) }, nil
}

// writeSection reads the description of a bug, and replaces the section in it. It stops if someone
// else has changed the section. Everything outside the section stays as it is: the tracker accepts the
// new description only if the bug has not changed since it was read. again is true if it has.
func (w *BugReader) writeSection(ctx context.Context, editor tracker.Editor, b crash.BugSection,
	compose func(rows int) tracker.Section) (again bool, err error) {
	before, version, err := editor.Description(ctx, b.Number)
	if err != nil {
		return false, w.sectionUnread(ctx, b, err)
	}
	if before == "" { // private or a duplicate: the next reading of its state will tell
		return false, w.store.DelaySection(ctx, b, "", tracker.Jitter(considerAgain))
	}
	found, has := ownSection(b, before)
	if stop := whyStopped(b, before, has); stop != crash.SectionActive {
		return false, w.stopSection(ctx, b, stop)
	}
	unsettled := b.Pending != crash.SectionFacts{}
	if has && unsettled && found.Hash == b.Hashes[len(b.Hashes)-1] { // it was written after all
		return false, w.store.SectionWritten(ctx, b, found.Hash, b.Pending, w.nextSection())
	}
	section, description, fits := tracker.FitSection(compose, func(s tracker.Section) string {
		if has {
			return before[:found.Begin] + s.Text + before[found.End:]
		}
		return tracker.AppendSection(before, s.Text)
	})
	switch {
	case !fits:
		return false, w.store.DelaySection(ctx, b, noRoom, w.nextSection())
	case has && found.Hash == section.Hash():
		return false, w.store.SectionWritten(ctx, b, found.Hash, section.Facts, w.nextSection())
	}
	attempt, ok, err := w.store.BeginSection(ctx, b, section.Hash(), section.Facts, tracker.Jitter(w.opts.Retry))
	if err != nil || !ok {
		return false, err
	}
	b.Attempt = attempt
	err = editor.ChangeDescription(ctx, b.Number, version, description)
	return w.endSection(context.WithoutCancel(ctx), b, section, err)
}

// ownSection returns the section that mishap wrote. If a person asked for the section again, it
// returns the last one in the description, whoever wrote it.
func ownSection(b crash.BugSection, description string) (tracker.FoundSection, bool) {
	all := tracker.SectionsIn(description)
	for _, found := range slices.Backward(all) {
		if slices.Contains(b.Hashes, found.Hash) {
			return found, true
		}
	}
	if b.Replace && len(all) > 0 {
		return all[len(all)-1], true
	}
	return tracker.FoundSection{}, false
}

// whyStopped returns why mishap must not change a description, which has a section of its own or not.
func whyStopped(b crash.BugSection, description string, has bool) crash.SectionStop {
	switch {
	case has || b.Replace:
		return crash.SectionActive
	case len(b.Hashes) == 0 && tracker.HasSectionLine(description):
		return crash.SectionForeign
	case tracker.HasSectionLine(description):
		return crash.SectionChanged
	case !b.Written.IsZero():
		return crash.SectionRemoved
	}
	return crash.SectionActive // never written
}

// nextSection returns the time until a section may be updated again. It is never shorter than
// BugOptions.Section.
func (w *BugReader) nextSection() time.Duration {
	return w.opts.Section + tracker.Jitter(w.opts.Section/12)
}

func (w *BugReader) checkSection(ctx context.Context, r crash.BugReading) error {
	if w.opts.Silent || r.Description == "" {
		return nil
	}
	b, ok, err := w.readSection(ctx, r.Number)
	if err != nil || !ok || len(b.Hashes) == 0 || !b.Known {
		return err
	}
	_, has := ownSection(b, r.Description)
	return w.stopSection(ctx, b, whyStopped(b, r.Description, has))
}

func (w *BugReader) stopSection(ctx context.Context, b crash.BugSection, why crash.SectionStop) error {
	if why == crash.SectionActive {
		return nil
	}
	w.log.InfoContext(ctx, "the section of a bug is not mishap's any more", "bug", b.Number, "why", string(why))
	return w.store.StopSection(ctx, b, why)
}

func (w *BugReader) sectionUnread(ctx context.Context, b crash.BugSection, err error) error {
	e, failed := errors.AsType[*tracker.CallError](err)
	switch {
	case !failed:
		return err
	case unavailable(e):
		return e
	case e.Status == http.StatusNotFound || e.Status == http.StatusGone:
		return w.store.DelaySection(ctx, b, "", tracker.Jitter(considerAgain))
	}
	return w.store.DelaySection(ctx, b, e.Text, tracker.Jitter(w.opts.Retry))
}

// endSection records the outcome of sending a description. again is true if someone else had changed
// the bug.
func (w *BugReader) endSection(ctx context.Context, b crash.BugSection, section tracker.Section,
	err error) (again bool, _ error) {
	e, failed := errors.AsType[*tracker.CallError](err)
	switch {
	case err == nil:
		w.log.InfoContext(ctx, "updated the section of a bug", "bug", b.Number)
		return false, w.store.SectionWritten(ctx, b, section.Hash(), section.Facts, w.nextSection())
	case !failed: // no credentials: nothing was sent
		return false, errors.Join(err, w.store.CancelSection(ctx, b, "", tracker.Jitter(w.opts.Retry)))
	case e.Status == http.StatusPreconditionFailed:
		return true, w.store.CancelSection(ctx, b, "", 0)
	case e.Outcome == tracker.OutcomeRefused:
		w.log.WarnContext(ctx, "the tracker refused to change a description", "bug", b.Number, "answer", e.Text)
		return false, w.store.CancelSection(ctx, b, e.Text, w.nextSection())
	case e.Outcome == tracker.OutcomeUnknown:
		err := w.store.DelaySection(ctx, b, outcomeDoubt, tracker.Jitter(w.opts.Retry))
		if unavailable(e) {
			return false, errors.Join(e, err)
		}
		return false, err
	}
	return false, errors.Join(e, w.store.CancelSection(ctx, b, "", tracker.Jitter(w.opts.Retry)))
}

func newMetrics(store BugStore, now func() time.Time) *tracker.StoredMetrics {
	bugs := prometheus.NewDesc("mishap_bugs",
		"Bugs read from the tracker: all, those due, and those that cannot be read.", []string{"which"}, nil)
	age := prometheus.NewDesc("mishap_bugs_oldest_state_seconds",
		"Age of the oldest reading of a bug; 0 if there is none.", nil, nil)
	read := func(ctx context.Context, send func(*prometheus.Desc, float64, ...string)) error {
		totals, err := store.BugTotals(ctx)
		if err != nil {
			return err
		}
		send(bugs, float64(totals.Followed), "followed")
		send(bugs, float64(totals.Due), "due")
		send(bugs, float64(totals.Failing), "failing")
		send(age, tracker.SecondsSince(totals.Oldest, now()))
		return nil
	}
	return &tracker.StoredMetrics{Gauges: []*prometheus.Desc{bugs, age}, Read: read}
}
