package tracker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mishap/crash"
	"mishap/crash/span"
)

// Filer files bugs in the tracker: at most one for each bucket, and it never loses a filed one. Any
// number of Filers, in any number of instances, may work on one database.
//
// docs/filing.md describes the states. In short: Filer stores an intent before it calls the tracker. An
// instance claims the intent, calls the tracker outside any transaction, and records the outcome.
// If the outcome is unknown, a search follows once the tracker can no longer be processing the
// request.
type Filer struct {
	*composer
	*owners

	cfg   Config // of the first tracker; all share its address of mishap, log and clock
	store Store
	log   *slog.Logger

	ctx     context.Context // ends when calls in progress must be cancelled
	giveUp  context.CancelFunc
	closing chan struct{} // closed when no new step may begin

	mu     sync.Mutex
	steps  map[int64]chan struct{}  // steps in progress in this instance, by filing; closed when done
	slots  map[string]chan struct{} // by tracker: one value for each step in progress, at most maxCalls
	probes map[string]*probe        // by tracker
	closed bool

	subscribing bool // startSubscribing is in progress
	running     sync.WaitGroup
}

// probe is the last check of refused credentials, so that a long queue does not repeat it.
type probe struct {
	mu    sync.Mutex
	last  time.Time
	found error
}

// Store stores filings and reads problems. Packages db and db/bugs describe its methods. All may return
// Unavailable.
type Store interface {
	// Of problems.
	Bucket(ctx context.Context, id crash.BucketID) (crash.Bucket, error)
	BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error)
	BucketArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64, err error)
	RepresentativeReport(ctx context.Context, id crash.BucketID) (crash.StoredReport, error)
	BugTemplate(ctx context.Context, tracker, source, problemType string) (crash.BugTemplate, error)
	RoutesFor(ctx context.Context, source string) (crash.Routes, error)
	Upstream(ctx context.Context, id crash.BucketID) (bug int64, f crash.Filing, err error)
	UpdatePolicies(ctx context.Context) (crash.UpdatePolicies, error)
	Judge(ctx context.Context, buckets ...*crash.Bucket) error

	// Of filings. Their times are the database's, one clock for all instances.
	RequestFiling(ctx context.Context, in crash.Intent, seen crash.Filing) (f crash.Filing, stored bool, err error)
	Filing(ctx context.Context, id int64) (crash.Filing, error)
	HastenFiling(ctx context.Context, id int64, person string) (crash.Filing, error)
	GiveUpFiling(ctx context.Context, id int64, person, reason string) (crash.Filing, error)
	NextFiling(ctx context.Context, id int64) (crash.NextFiling, error)
	DueFilings(ctx context.Context, terms map[string]crash.FilingTerms, limit int) ([]int64, error)
	ClaimFiling(ctx context.Context, id int64, own crash.OwnAccount, terms crash.FilingTerms) (crash.FilingClaim, error)
	FinishFiling(ctx context.Context, r crash.FilingResult, terms crash.FilingTerms) (crash.Filing, error)
	PostponeFilings(ctx context.Context, id int64, problem, reason string, delay time.Duration) error
	FallBack(ctx context.Context, filing int64, reason string) error
	Restored(ctx context.Context) (crash.Restored, error)
	FiledBugs(ctx context.Context, since time.Time) ([]int64, error)
	ClaimSubscription(ctx context.Context) (crash.Subscription, error)
	FinishSubscription(ctx context.Context, sub crash.Subscription, a crash.TrackerAnswer, done bool) error
	FilingTotals(ctx context.Context) (crash.FilingTotals, error)

	// Of people's own accounts at the tracker.
	OwnAccount(ctx context.Context, key crash.TrackerKey, user int64) (crash.OwnAccount, error)
	OwnToken(ctx context.Context, key crash.TrackerKey, user int64) (crash.OwnAccount, crash.AccessToken, error)
	SaveOwnToken(ctx context.Context, key crash.TrackerKey, u crash.User, token crash.AccessToken) error
	ConfirmOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User, token, account string) error
	RemoveOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User) error
	PreferOwnAccount(ctx context.Context, key crash.TrackerKey, u crash.User, preferred bool) error
	SaveOwnHealth(ctx context.Context, key crash.TrackerKey, user int64, token string, h crash.TokenHealth) error
}

// maxCalls limits the steps in progress for one tracker, so that one that hangs does not delay others.
const maxCalls = 4

// NewFiler returns a Filer. People's own accounts are those of the tracker in cfg. Background tasks call Work and
// StartDue; Close ends it.
func NewFiler(cfg Config, store Store, sites *Sites) *Filer {
	cfg = cfg.WithDefaults()
	f := &Filer{
		composer: &composer{cfg, store, sites}, owners: &owners{cfg, sites, store},
		cfg: cfg, store: store, log: cfg.Log,
		closing: make(chan struct{}),
		steps:   map[int64]chan struct{}{},
		slots:   map[string]chan struct{}{},
		probes:  map[string]*probe{},
	}
	f.ctx, f.giveUp = context.WithCancel(context.Background()) //nolint:forbidigo // outlives requests; Close ends it
	if cfg.Registerer != nil {
		RegisterShared(cfg.Registerer, newFilingMetrics(store, cfg.Now))
	}
	return f
}

// Options say how a bug is filed.
type Options struct {
	Source       string        // source package; empty: the bucket's
	Distribution bool          // file on the distribution when no source package is known
	Person       string        // name of the account that asked
	Wait         time.Duration // how long to wait for the outcome
	Own          int64         // id of the user whose own account files it; 0: the application's
	Draft        *crash.Draft  // the bug as a person edited it and CheckDraft accepted it; nil: that of Propose
	Upstream     bool          // file it in the upstream project's tracker, besides the distribution's bug
}

// Result is the state of a filing when CreateBug returns.
type Result struct {
	crash.Filing
	URL string // page of the bug, when State is FilingFiled
	New bool   // this call stored or renewed the intent; false: an earlier one did, or the bug was linked by hand
}

// CreateBug files one bug for the bucket with this signature, and waits up to opts.Wait for the
// outcome. However often, and in however many instances, it is called, it files one bug. The state
// is FilingFiled, or an open one if the outcome is not known yet. If ctx ends early, the filing
// continues.
//
// It returns NotFound if there is no such bucket, Unprocessable if no bug can be filed for it, and
// Refused with the tracker's message. It returns Unavailable, with RetryAfter, if the tracker
// cannot be reached or rejects our credentials (tracker_credentials). In that case it stores the
// intent and files the bug as soon as possible.
func (f *Filer) CreateBug(ctx context.Context, signature string, opts Options) (Result, error) {
	bucket, err := f.bucket(ctx, crash.BucketIDOf(signature), opts.Upstream)
	if err != nil {
		return Result{}, err
	}
	if bucket.Bug.Number != 0 {
		filing := bucket.Filing
		filing.Bucket, filing.State, filing.Bug = bucket.ID, crash.FilingFiled, bucket.Bug.Number
		return Result{Filing: filing, URL: cmp.Or(f.sites.BugURL(ctx, bucket.Bug.Number), bucket.Bug.URL)}, nil
	}
	filing, isNew := bucket.Filing, false
	if needsIntent(filing) {
		intent, err := f.intent(ctx, bucket, opts)
		if err != nil {
			return Result{}, err
		}
		if filing, isNew, err = f.store.RequestFiling(ctx, intent, bucket.Filing); err != nil {
			return Result{}, err
		}
	}
	if filing, err = f.await(ctx, filing, opts.Wait); err != nil {
		return Result{}, err
	}
	if filing.State == crash.FilingFiled {
		return Result{Filing: filing, URL: f.sites.BugURL(ctx, filing.Bug), New: isNew}, nil
	}
	return Result{Filing: filing, New: isNew}, outcomeError(filing)
}

// bucket returns a problem, with the bug and the filing for its upstream project if that is asked for.
func (f *Filer) bucket(ctx context.Context, id crash.BucketID, upstream bool) (crash.Bucket, error) {
	b, err := f.store.Bucket(ctx, id)
	if err != nil || !upstream {
		return b, err
	}
	b.Bug = crash.Bug{}
	b.Bug.Number, b.Filing, err = f.store.Upstream(ctx, b.ID)
	return b, err
}

// needsIntent reports whether a click starts a filing: there is none, or a person may retry it.
func needsIntent(filing crash.Filing) bool { return filing.ID == 0 || filing.Renewable() }

// outcomeError returns why a filing did not lead to a bug, for people. It is nil while the bug is
// being filed.
func outcomeError(filing crash.Filing) error {
	switch {
	case filing.State == crash.FilingRefused:
		return crash.Errorf(crash.Refused, "tracker_refused", "%s", filing.Reason)
	case filing.State == crash.FilingAbandoned:
		return crash.Errorf(crash.Conflict, "given_up", "This bug was given up: %s", filing.Reason)
	case filing.State == crash.FilingQueued && filing.Problem != "":
		e := crash.Errorf(crash.Unavailable, filing.Problem, "%s", filing.Reason)
		e.RetryAfter = defaultRetryAfter
		return e
	}
	return nil
}

func settled(filing crash.Filing) bool {
	return filing.State == crash.FilingFiled || outcomeError(filing) != nil
}

const (
	firstPoll = 25 * time.Millisecond  // first pause between two readings of a filing
	lastPoll  = 400 * time.Millisecond // the longest one
)

// await starts the work on a filing and waits for its outcome, which another instance may record.
func (f *Filer) await(ctx context.Context, filing crash.Filing, wait time.Duration) (crash.Filing, error) {
	if settled(filing) {
		return filing, nil
	}
	done := f.start(ctx, filing.ID)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		select {
		case <-done:
		case <-ctx.Done():
			return filing, nil
		}
		now, err := f.store.Filing(ctx, filing.ID)
		if ctx.Err() != nil {
			return filing, nil // still open
		}
		if err != nil {
			return filing, err
		}
		filing = now
		tooLong := filing.State == crash.FilingUncertain && f.cfg.Now().Add(wait).Before(filing.NotBefore)
		if settled(filing) || tooLong {
			return filing, nil
		}
		if crash.Sleep(ctx, pause) != nil {
			return filing, nil
		}
		if filing.State != crash.FilingSending || f.working(filing.ID) {
			done = f.start(ctx, filing.ID)
		}
	}
}

// start does the next step of a filing in the background and returns a channel that is closed when
// it is done. Concurrent callers share one step. The end of ctx does not end it.
func (f *Filer) start(ctx context.Context, id int64) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if done, ok := f.steps[id]; ok {
		return done
	}
	done := make(chan struct{})
	if f.closed {
		close(done)
		return done
	}
	f.steps[id] = done
	cause := f.cfg.Tracer.CauseOf(ctx)
	f.running.Go(func() { f.run(id, done, cause) }) //nolint:contextcheck // f.ctx outlives ctx
	return done
}

func (f *Filer) run(id int64, done chan struct{}, cause span.Cause) {
	defer func() {
		f.mu.Lock()
		delete(f.steps, id)
		f.mu.Unlock()
		close(done)
	}()
	ctx, step := f.cfg.Tracer.Start(f.ctx, "file bug", cause)
	err := f.inSlot(ctx, id)
	step.End(err)
	if err != nil {
		f.log.ErrorContext(ctx, "a step of a filing failed", "filing", id, "error", err)
	}
}

// inSlot does the next step of a filing once its tracker has fewer steps in progress than maxCalls.
func (f *Filer) inSlot(ctx context.Context, id int64) error {
	filing, err := f.store.Filing(ctx, id)
	if err != nil {
		return err
	}
	f.mu.Lock()
	slots := f.slots[filing.Tracker]
	if slots == nil {
		slots = make(chan struct{}, maxCalls)
		f.slots[filing.Tracker] = slots
	}
	f.mu.Unlock()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return f.step(ctx, id)
	case <-f.closing:
		return nil
	}
}

func (f *Filer) working(id int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.steps[id] != nil
}

// Work does the next step of a filing, if one is due. A job of the queue calls it. If the filing is the
// next to be sent, it first waits for the end of the pause after the previous one. Work returns
// when the step is done or ctx ends. In the second case the step continues, and its outcome is
// still recorded.
func (f *Filer) Work(ctx context.Context, filingID int64) error {
	next, err := f.store.NextFiling(ctx, filingID)
	if err != nil {
		return err
	}
	if next.Filing == filingID {
		pause := time.NewTimer(next.In)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-f.closing:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-f.start(ctx, filingID):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const maxDue = 50

// StartDue starts work on due filings, oldest first, and does not wait for it. It finds filings
// whose job was lost or came too early, and those whose instance died.
func (f *Filer) StartDue(ctx context.Context) error {
	ids, err := f.store.DueFilings(ctx, f.terms(), maxDue)
	for _, id := range ids {
		f.start(ctx, id)
	}
	if err == nil {
		f.startSubscribing()
	}
	return err
}

// Close starts no new step and waits for those in progress until ctx ends. Then it cancels their
// calls, whose outcome a later search finds out.
func (f *Filer) Close(ctx context.Context) {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.closing)
	}
	f.mu.Unlock()
	done := make(chan struct{})
	go func() {
		f.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		f.giveUp()
		<-done
	}
	f.giveUp()
}

// Retry retries a filing and waits up to opts.Wait for its outcome. It makes a waiting filing due at
// once, and restarts one that was refused or abandoned. It does not change a filing that is in
// progress or filed. It returns NotFound for an unknown filing, and the errors of CreateBug.
func (f *Filer) Retry(ctx context.Context, id int64, opts Options) (crash.Filing, error) {
	filing, err := f.store.Filing(ctx, id)
	if err != nil {
		return filing, err
	}
	switch filing.State {
	case crash.FilingRefused, crash.FilingAbandoned:
		bucket, err := f.store.Bucket(ctx, filing.Bucket)
		if err != nil {
			return filing, err
		}
		opts.Upstream = filing.Upstream
		result, err := f.CreateBug(ctx, bucket.Signature, opts)
		return result.Filing, err
	case crash.FilingQueued, crash.FilingUncertain:
		if filing, err = f.store.HastenFiling(ctx, id, opts.Person); err != nil {
			return filing, err
		}
		filing.Problem = "" // the outcome is that of the next step
	case crash.FilingSending, crash.FilingFiled:
		return filing, nil
	}
	if filing, err = f.await(ctx, filing, opts.Wait); err != nil {
		return filing, err
	}
	return filing, outcomeError(filing)
}

// GiveUp ends a filing that has not led to a bug, with a reason for other people. It returns
// Conflict if the filing is being sent or is final, NotFound if it is unknown, and Unprocessable
// without a reason.
func (f *Filer) GiveUp(ctx context.Context, id int64, person, reason string) (crash.Filing, error) {
	if _, err := f.store.Filing(ctx, id); err != nil {
		return crash.Filing{}, err
	}
	if reason = Clean(reason, maxWords); reason == "" {
		return crash.Filing{}, crash.Errorf(crash.Unprocessable, "no_reason",
			"Enter a reason for giving up; others will read it.")
	}
	return f.store.GiveUpFiling(ctx, id, person, reason)
}

// BugURL returns the address of the page of a bug, or an empty text if its tracker is not in the configuration.
func (f *Filer) BugURL(ctx context.Context, number int64) string { return f.sites.BugURL(ctx, number) }

// Sites returns the places where bugs are filed.
func (f *Filer) Sites() *Sites { return f.sites }

type sender struct {
	site    *Site
	tracker Tracker
	own     crash.OwnAccount // a person's own account; zero: the application's account
}

// sender returns the account that does the next step of a filing. A queued bug is sent with the
// person's own account if they chose that. If the account cannot be used, the application's account
// takes over for good. An unknown outcome is searched for with the account that sent the bug, if it
// still works.
func (f *Filer) sender(ctx context.Context, id int64) (sender, error) {
	filing, err := f.store.Filing(ctx, id)
	if err != nil {
		return sender{}, err
	}
	site, err := f.sites.At(ctx, filing.Tracker, filing.Project)
	if err != nil {
		return sender{}, err
	}
	application := sender{site: site, tracker: site.Tracker}
	user := filing.Own
	if filing.State == crash.FilingUncertain {
		user = filing.SentBy
	}
	if user == 0 {
		return application, nil
	}
	own, token, err := f.store.OwnToken(ctx, site.Key(), user)
	if err != nil {
		return application, err
	}
	why := own.Unusable()
	switch {
	case filing.State == crash.FilingUncertain && own.Account != filing.SentAs:
		return application, nil
	case why == "":
		return sender{site, ownTracker(site, f.store, own, token), own}, nil
	case filing.State == crash.FilingQueued:
		return application, f.store.FallBack(ctx, id, why)
	}
	return application, nil
}

type owners struct {
	cfg      Config
	trackers *Sites
	store    Store
}

// ownTracker returns the tracker of a site with a person's own account.
func ownTracker(site *Site, store Store, own crash.OwnAccount, token crash.AccessToken) Tracker {
	return site.Tracker.As(&Credentials{
		cfg: site.Config, store: ownCredentials{site.Creds.store, store, own}, log: site.Log,
		configured: token, offered: true,
	})
}

// ownCredentials stores the health of the token of a person's own account. The rest is the
// application's, such as its accounts, whose bugs a search includes.
type ownCredentials struct {
	CredentialStore
	store Store
	own   crash.OwnAccount
}

func (s ownCredentials) TokenHealth(context.Context, crash.TrackerKey, string) (crash.TokenHealth, error) {
	return s.own.TokenHealth, nil
}

func (s ownCredentials) SaveTokenHealth(
	ctx context.Context, key crash.TrackerKey, token string, h crash.TokenHealth,
) error {
	return s.store.SaveOwnHealth(ctx, key, s.own.User, token, h)
}

// rejectsAccount reports whether the tracker refused because of the access token or its account, and
// did nothing: the token is invalid, its level is too low, or the account is suspended.
func (e *CallError) rejectsAccount() bool {
	return e.Outcome == OutcomeCredentials ||
		e.Outcome == OutcomeRefused && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// OwnAccount returns a person's connection to their own account of the tracker, or the zero value if
// there is none.
func (o *owners) OwnAccount(ctx context.Context, user int64) (crash.OwnAccount, error) {
	return o.store.OwnAccount(ctx, o.cfg.Key(), user)
}

// ConnectOwnAccount stores the access token of a person's own account, and checks it. If the check
// fails, the token stays, and CheckOwnAccount may be called again. The errors are those of Check.
func (o *owners) ConnectOwnAccount(ctx context.Context, u crash.User, token crash.AccessToken) (string, error) {
	if err := o.store.SaveOwnToken(ctx, o.cfg.Key(), u, token); err != nil {
		return "", err
	}
	return o.CheckOwnAccount(ctx, u)
}

// CheckOwnAccount reads the name of a person's own account from the tracker, after which bugs can be
// filed with it. It returns Conflict if the person has not connected one, and the errors of Check.
func (o *owners) CheckOwnAccount(ctx context.Context, u crash.User) (string, error) {
	own, token, err := o.store.OwnToken(ctx, o.cfg.Key(), u.ID)
	if err != nil {
		return "", err
	}
	if token.IsZero() {
		return "", crash.Errorf(crash.Conflict, "not_connected",
			"There is no usable access token for your own account. Connect it again.")
	}
	site, err := o.trackers.At(ctx, o.cfg.Name, "")
	if err != nil {
		return "", err
	}
	account, err := ownTracker(site, o.store, own, token).Me(ctx)
	if e, ok := errors.AsType[*CallError](err); ok {
		if e.rejectsAccount() {
			return "", crash.Errorf(crash.Refused, "own_rejected",
				"The tracker no longer accepts the access token of your own account (%s). Connect it again.", e.Text).Because(e)
		}
		return "", Explain(e)
	}
	if err != nil {
		return "", err
	}
	return account, o.store.ConfirmOwnAccount(ctx, o.cfg.Key(), u, token.Token, account)
}

// DisconnectOwnAccount deletes the access token of a person's own account. Bugs that wait for it are
// filed with the application's account.
func (o *owners) DisconnectOwnAccount(ctx context.Context, u crash.User) error {
	return o.store.RemoveOwnAccount(ctx, o.cfg.Key(), u)
}

// PreferOwnAccount sets whether a person's bugs are filed with their own account unless they choose
// otherwise.
func (o *owners) PreferOwnAccount(ctx context.Context, u crash.User, preferred bool) error {
	return o.store.PreferOwnAccount(ctx, o.cfg.Key(), u, preferred)
}

// TokensURL returns the address at which people revoke the access tokens of an account.
func (o *owners) TokensURL(account string) string {
	return o.cfg.URL + "/~" + account + "/+oauth-tokens"
}

const (
	parkTime   = time.Minute      // pause of a filing that waits for credentials; connecting ends it
	maxBackoff = 10 * time.Minute // the longest pause before a filing is tried again
	maxSearch  = 10 * time.Minute // the longest that one search may take, all its calls together
)

// terms returns the terms of all trackers.
func (f *Filer) terms() map[string]crash.FilingTerms {
	all := map[string]crash.FilingTerms{}
	for _, m := range f.sites.Members() {
		all[m.Name] = m.terms()
	}
	return all
}

func (c Config) terms() crash.FilingTerms {
	return crash.FilingTerms{
		Sending: MaxSending, Answer: c.Timeout, Settle: c.Settle, PerMinute: c.PerMinute, PerDay: c.PerDay,
	}
}

func (f *Filer) step(ctx context.Context, id int64) error {
	as, err := f.sender(ctx, id)
	if crash.KindOf(err) == crash.Unavailable {
		return f.park(ctx, id, err)
	}
	if err != nil {
		return err
	}
	if as.own.User == 0 {
		if err := f.ready(ctx, as.site); err != nil {
			return f.park(ctx, id, err)
		}
	}
	started := time.Now() // of the sending, on this machine's steady clock
	claim, err := f.store.ClaimFiling(ctx, id, as.own, as.site.terms())
	if err != nil {
		return err
	}
	var result crash.FilingResult
	switch claim.Step {
	case crash.StepCreate:
		number, err := as.create(ctx, claim.Intent, MaxSending-time.Since(started))
		result = f.created(claim, as, number, err)
		result.Pause, result.Stop = as.pauseAfter(time.Since(started), err)
	case crash.StepSearch:
		result = f.searchFor(ctx, claim, as)
	case crash.StepNone:
		return nil
	}
	return f.finish(ctx, result, as.site)
}

// create sends a bug. It refuses one that has to be private in a tracker without private bugs, as the bug of a problem
// that was embargoed after somebody pressed Create.
func (as sender) create(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	if in.InformationType.Private() && as.site.Kind.Private == "" {
		return 0, &CallError{Operation: "create", Outcome: OutcomeRefused, Text: "everyone sees bugs in " +
			as.site.Title + ", and this one has to be private"}
	}
	return as.tracker.Create(ctx, in, sendBy)
}

// maxPause is the longest pause between two bugs, as a multiple of the shortest.
const maxPause = 20

// maxStop is the longest time for which a tracker gets no bug because it asked for that.
const maxStop = 6 * time.Hour

// pauseAfter returns how long the queue pauses after a bug was sent, and for how long nothing at all may be sent
// because the tracker asked for it. The pause is as long as the call took, so that the tracker has half of its time for
// others. It is much longer if the tracker is unavailable, busy, or refuses our credentials. A refusal of a person's
// own account does not delay the bugs of others.
func (as sender) pauseAfter(took time.Duration, err error) (pause, stop time.Duration) {
	shortest := as.site.Pause
	if e, ok := errors.AsType[*CallError](err); ok {
		switch e.Outcome {
		case OutcomeBusy:
			if as.own.User == 0 {
				return maxPause * shortest, min(e.RetryAfter, maxStop)
			}
		case OutcomeCredentials:
			if as.own.User == 0 {
				return maxPause * shortest, 0
			}
		case OutcomeNotSent:
			return maxPause * shortest, 0
		case OutcomeDone, OutcomeRefused, OutcomeUnknown:
		}
	}
	return min(max(took, shortest), maxPause*shortest), 0
}

// searchFor searches for the bug of a claimed filing and returns the result. If the tracker rejects
// the person's own account, the application's account searches.
func (f *Filer) searchFor(ctx context.Context, claim crash.FilingClaim, as sender) crash.FilingResult {
	number, err := f.search(ctx, claim, as)
	if e, ok := errors.AsType[*CallError](err); ok && as.own.User != 0 && e.rejectsAccount() {
		as = sender{site: as.site, tracker: as.site.Tracker}
		if err = f.ready(ctx, as.site); err == nil {
			number, err = f.search(ctx, claim, as)
		}
	}
	return f.searched(claim, as, number, err)
}

// search returns the number of the bug of a claimed filing, or 0 if it is certainly not in the
// tracker. It skips bugs that were filed for other buckets since then.
func (f *Filer) search(ctx context.Context, claim crash.FilingClaim, as sender) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, maxSearch)
	defer cancel()
	others, err := f.store.FiledBugs(ctx, claim.SentFrom.Add(-SearchMargin))
	if err != nil {
		return 0, err
	}
	return as.tracker.FindBug(ctx, claim.Intent, claim.SentFrom, others, claim.Senders...)
}

// ready returns nil if filings for a site can be worked on, else the *crash.Error to show: the database was
// restored, or there are no credentials. It first tests refused credentials with a harmless call.
func (f *Filer) ready(ctx context.Context, site *Site) error {
	restored, err := f.store.Restored(ctx)
	if err != nil {
		return err
	}
	if !restored.At.IsZero() {
		return restored.Problem()
	}
	if _, err := site.Creds.Current(ctx); err != nil {
		return err
	}
	if !site.Creds.dead(ctx) {
		return nil
	}
	f.mu.Lock()
	p := f.probes[site.Name]
	if p == nil {
		p = &probe{}
		f.probes[site.Name] = p
	}
	f.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil && f.cfg.Now().Sub(p.last) < parkTime/2 && site.Creds.dead(ctx) {
		return p.found
	}
	_, err = site.Check(ctx)
	p.last, p.found = f.cfg.Now(), err
	return err
}

// park postpones a filing, and all others that need the application's account, for a reason that
// applies to all of them.
func (f *Filer) park(ctx context.Context, id int64, why error) error {
	e, ok := errors.AsType[*crash.Error](why)
	if !ok || e.Code == "" {
		return why
	}
	return f.store.PostponeFilings(ctx, id, e.Code, e.Message, Jitter(parkTime))
}

func (f *Filer) created(claim crash.FilingClaim, as sender, number int64, err error) crash.FilingResult {
	result := crash.FilingResult{Claim: claim, State: crash.FilingFiled, Bug: as.bug(claim, number), Own: as.own}
	if err == nil {
		result.Answer = crash.TrackerAnswer{Outcome: string(OutcomeDone), Status: 201}
		return result
	}
	result.Bug = crash.Bug{}
	e, ok := errors.AsType[*CallError](err)
	if !ok { // no call was made: no token or no database
		result.State, result.Delay = crash.FilingQueued, f.backoff(claim)
		result.Problem, result.Reason = problemOf(err)
		result.Answer = crash.TrackerAnswer{Outcome: string(OutcomeNotSent), Message: result.Reason}
		return result
	}
	e.By = as.site.called()
	result.Answer = ledgerAnswer(e)
	result.Problem, result.Reason = problemOf(Explain(e))
	if as.own.User != 0 && e.rejectsAccount() { // nothing was filed, so the application's account can
		result.State, result.Problem, result.Reason = crash.FilingQueued, "", ""
		result.Fallback = "The tracker rejected ~" + as.own.Account + " (" + e.Text + ")."
		return result
	}
	switch e.Outcome {
	case OutcomeRefused:
		result.State = crash.FilingRefused
		if as.site.Name != crash.FirstTracker {
			result.Reason += " The bug was for " + Clean(claim.Target, 200) +
				"; an administrator can send it elsewhere at /admin/routes."
		}
	case OutcomeNotSent:
		result.State, result.Delay = crash.FilingQueued, f.backoff(claim)
	case OutcomeBusy:
		result.State, result.Delay = crash.FilingQueued, max(e.RetryAfter, f.backoff(claim))
	case OutcomeCredentials:
		result.State, result.Delay = crash.FilingQueued, Jitter(parkTime)
	default:
		result.State = crash.FilingUncertain
		result.Reason = "Nobody knows yet whether the tracker filed the bug (" + e.Text +
			"). It is searched for before anything is sent again."
	}
	return result
}

func (f *Filer) searched(claim crash.FilingClaim, as sender, number int64, err error) crash.FilingResult {
	result := crash.FilingResult{Claim: claim}
	switch {
	case err != nil:
		result.State, result.Delay = crash.FilingUncertain, f.backoff(claim)
		result.Problem, result.Reason = problemOf(err)
		if e, ok := errors.AsType[*CallError](err); ok {
			e.By = as.site.called()
			result.Answer = ledgerAnswer(e)
			result.Problem, result.Reason = problemOf(Explain(e))
		}
		if result.Answer.Outcome == "" {
			result.Answer = crash.TrackerAnswer{Outcome: string(OutcomeUnknown), Message: result.Reason}
		}
	case number != 0:
		result.State, result.Bug = crash.FilingFiled, as.bug(claim, number)
		result.Answer = crash.TrackerAnswer{Outcome: "found", Status: 200}
	case as.site.Kind.Late > 0 && f.cfg.Now().Before(claim.SentLast.Add(as.site.Kind.Late)):
		result.State, result.Delay = crash.FilingUncertain, f.backoff(claim)
		result.Problem = "tracker_pending"
		result.Reason = as.site.Title + " does not show the bug yet. It was accepted, and gets its number later. " +
			"mishap looks for it again and again."
		result.Answer = crash.TrackerAnswer{Outcome: "not there", Status: 200}
	case as.site.Kind.Late > 0 && claim.Created.Before(claim.SentLast.Add(as.site.Kind.Late)): // nobody has decided since
		result.State, result.Problem, result.Unsettled = crash.FilingRefused, "unknown_outcome", true
		result.Reason = as.site.Title + " accepted the bug more than " + strconv.Itoa(int(as.site.Kind.Late.Hours())) +
			" hours ago, but does not show it. Look for it there and link it, or try again to send it once more."
		result.Answer = crash.TrackerAnswer{Outcome: "not there", Status: 200}
	case claim.InformationType.Private() && claim.SentAs != "" && as.own.User == 0:
		// Only the account that sent the bug would see it. Its owner can connect it again, and a retry
		// searches first.
		result.State, result.Problem, result.Unsettled = crash.FilingRefused, "private_unknown", true
		result.Reason = "It is not known whether the private bug was filed: it was sent as ~" + claim.SentAs +
			", whose connection no longer works, and the tracker may not show it to mishap's account. Connect ~" +
			claim.SentAs + " again, or look for the bug in the tracker and link it."
		result.Answer = crash.TrackerAnswer{Outcome: "not shown", Status: 200}
	case claim.InformationType.Private():
		// The bug may exist but be hidden from our account. A person can find out. Sending it again could
		// file it twice.
		result.State, result.Problem = crash.FilingRefused, "private_unknown"
		result.Reason = "The private bug may have been filed, but the tracker may not show it to mishap's account. " +
			"Look for it and link it, or try again if it is not there."
		result.Answer = crash.TrackerAnswer{Outcome: "not shown", Status: 200}
	default:
		result.State = crash.FilingQueued
		if claim.Attempts > 1 {
			result.Delay = f.backoff(claim)
		}
		result.Answer = crash.TrackerAnswer{Outcome: "not there", Status: 200}
	}
	return result
}

func (as sender) bug(claim crash.FilingClaim, number int64) crash.Bug {
	title := claim.Title
	if claim.InformationType.Private() {
		title = ""
	}
	return crash.Bug{Number: number, Title: title, URL: as.tracker.BugURL(number), How: crash.Filed, By: claim.Person}
}

func ledgerAnswer(e *CallError) crash.TrackerAnswer {
	return crash.TrackerAnswer{Outcome: string(e.Outcome), Status: e.Status, RequestID: e.RequestID, Message: e.Text}
}

func problemOf(err error) (code, reason string) {
	if e, ok := errors.AsType[*crash.Error](err); ok && e.Code != "" {
		return e.Code, e.Message
	}
	return "internal", "Something went wrong here; it is tried again."
}

// finish records an outcome and retries if that fails. The number of a bug matters more than a
// quick answer. If all attempts fail, the filing becomes uncertain later, and a search finds the
// bug.
func (f *Filer) finish(ctx context.Context, result crash.FilingResult, site *Site) error {
	ctx = context.WithoutCancel(ctx)
	var err error
	for pause := 50 * time.Millisecond; pause < 30*time.Second; pause *= 2 {
		var filing crash.Filing
		if filing, err = f.record(ctx, result, site); err == nil {
			f.logOutcome(ctx, filing, result)
			if filing.State == crash.FilingFiled && filing.Subscribe {
				f.startSubscribing()
			}
			return nil
		}
		if crash.Sleep(f.ctx, pause) != nil { //nolint:contextcheck // until the filer stops
			return err
		}
	}
	return err
}

func (f *Filer) record(ctx context.Context, result crash.FilingResult, site *Site) (crash.Filing, error) {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	return f.store.FinishFiling(ctx, result, site.terms())
}

// logOutcome logs the outcome of a step with the tracker's cleaned words, and nothing of the
// report.
func (f *Filer) logOutcome(ctx context.Context, filing crash.Filing, result crash.FilingResult) {
	log := f.log.With("filing", filing.ID, "bucket", filing.Bucket.String(), "state", string(filing.State),
		"step", string(result.Claim.Step), "outcome", result.Answer.Outcome)
	switch {
	case result.State == crash.FilingFiled && filing.Bug != result.Bug.Number:
		log.ErrorContext(ctx, "a second bug was filed for a bucket", "bug", filing.Bug, "second", result.Bug.Number)
	case result.State == crash.FilingFiled:
		log.InfoContext(ctx, "bug filed", "bug", filing.Bug)
	case result.Problem != "":
		log.WarnContext(ctx, "bug not filed yet",
			"status", result.Answer.Status, "answer", result.Answer.Message, "request", result.Answer.RequestID)
	default:
		log.InfoContext(ctx, "the tracker does not have the bug; it is sent again")
	}
}

// backoff returns the pause before a retry: half the age of the filing, within bounds, with jitter.
// So pauses grow, and the filings of a queue are not all due at once.
func (f *Filer) backoff(claim crash.FilingClaim) time.Duration {
	age := claim.Updated.Sub(claim.Created)
	return Jitter(min(max(age/2, f.cfg.Backoff), maxBackoff))
}

// Jitter returns a random duration between 75 and 125 % of d.
func Jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1) //nolint:gosec // need not be secret
}

// subscribe subscribes people to the bugs that were filed for them. Each subscription is tried
// once; the ledger records its outcome.
func (f *Filer) subscribe(ctx context.Context) error {
	for {
		sub, err := f.store.ClaimSubscription(ctx)
		if err != nil || sub.Filing == 0 {
			return err
		}
		answer := crash.TrackerAnswer{Outcome: string(OutcomeDone), Status: 200, Message: sub.Account}
		err = f.subscribePerson(ctx, &sub)
		if err != nil {
			answer = crash.TrackerAnswer{Outcome: string(OutcomeNotSent), Message: err.Error()}
			if e, ok := errors.AsType[*CallError](err); ok {
				answer = ledgerAnswer(e)
			}
			f.log.WarnContext(ctx, "not subscribed", "filing", sub.Filing, "bug", sub.Bug,
				"outcome", answer.Outcome, "status", answer.Status)
		}
		saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		err = f.store.FinishSubscription(saving, sub, answer, err == nil)
		cancel()
		if err != nil {
			return err
		}
	}
}

// subscribePerson subscribes a person with their own account if it works and sees the bug, else with
// the application's account.
func (f *Filer) subscribePerson(ctx context.Context, sub *crash.Subscription) error {
	site, err := f.sites.Of(ctx, sub.Bug)
	if err != nil {
		return err
	}
	own, token, err := f.store.OwnToken(ctx, site.Key(), sub.User)
	if err == nil && own.Unusable() == "" && own.Account == sub.Account && !sub.Private {
		sub.As = own.Account
		err = ownTracker(site, f.store, own, token).Subscribe(ctx, sub.Bug, sub.Account)
		if e, ok := errors.AsType[*CallError](err); !ok || !e.rejectsAccount() {
			return err
		}
		sub.As = ""
	}
	return site.Tracker.Subscribe(ctx, sub.Bug, sub.Account)
}

// startSubscribing runs subscribe in the background, at most once at a time.
func (f *Filer) startSubscribing() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.subscribing {
		return
	}
	f.subscribing = true
	f.running.Go(func() {
		defer func() {
			f.mu.Lock()
			f.subscribing = false
			f.mu.Unlock()
		}()
		if err := f.subscribe(f.ctx); err != nil {
			f.log.WarnContext(f.ctx, "subscriptions failed", "error", err)
		}
	})
}
