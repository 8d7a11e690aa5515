package tracker

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"mishap/crash"
)

const (
	parkTime   = time.Minute      // pause of a filing that waits for credentials; connecting ends it
	maxBackoff = 10 * time.Minute // the longest pause before a filing is tried again
	maxSearch  = 10 * time.Minute // the longest that one search may take, all its calls together
)

func (f *Filer) terms() crash.FilingTerms {
	return crash.FilingTerms{Sending: maxSending, Answer: f.cfg.Timeout, Settle: f.cfg.Settle}
}

func (f *Filer) step(ctx context.Context, id int64) error {
	as, err := f.sender(ctx, id)
	if err != nil {
		return err
	}
	if as.own.User == 0 {
		if err := f.ready(ctx); err != nil {
			return f.park(ctx, id, err)
		}
	}
	started := time.Now() // of the sending, on this machine's steady clock
	claim, err := f.store.ClaimFiling(ctx, id, as.own)
	if err != nil {
		return err
	}
	var result crash.FilingResult
	switch claim.Step {
	case crash.StepCreate:
		number, err := as.client.createBug(ctx, claim.Intent, maxSending-time.Since(started))
		result = f.created(claim, as, number, err)
		result.Pause = f.pauseAfter(as, time.Since(started), err)
	case crash.StepSearch:
		result = f.searchFor(ctx, claim, as)
	case crash.StepNone:
		return nil
	}
	return f.finish(ctx, result)
}

// maxPause is the longest pause between two bugs, as a multiple of the shortest.
const maxPause = 20

// pauseAfter returns how long the queue pauses after a bug was sent. The pause is as long as the
// call took, so that the tracker has half of its time for others. It is much longer if the tracker
// is unavailable, busy, or refuses our credentials. A refusal of a person's own account does not
// delay the bugs of others.
func (f *Filer) pauseAfter(as sender, took time.Duration, err error) time.Duration {
	if e, ok := errors.AsType[*CallError](err); ok {
		switch e.Outcome {
		case OutcomeBusy, OutcomeCredentials:
			if as.own.User == 0 {
				return maxPause * f.cfg.Pause
			}
		case OutcomeNotSent:
			return maxPause * f.cfg.Pause
		case OutcomeDone, OutcomeRefused, OutcomeUnknown:
		}
	}
	return min(max(took, f.cfg.Pause), maxPause*f.cfg.Pause)
}

// searchFor searches for the bug of a claimed filing and returns the result. If the tracker rejects
// the person's own account, the application's account searches.
func (f *Filer) searchFor(ctx context.Context, claim crash.FilingClaim, as sender) crash.FilingResult {
	number, err := f.search(ctx, claim, as)
	if e, ok := errors.AsType[*CallError](err); ok && as.own.User != 0 && e.rejectsAccount() {
		as = sender{client: f.client}
		if err = f.ready(ctx); err == nil {
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
	others, err := f.store.FiledBugs(ctx, claim.SentFrom.Add(-searchMargin))
	if err != nil {
		return 0, err
	}
	return as.client.FindBug(ctx, claim.Intent, claim.SentFrom, others, claim.Senders...)
}

// prober caches the last check of credentials that the tracker refuses, so that a long queue does
// not repeat it.
type prober struct {
	mu    sync.Mutex
	last  time.Time
	found error
}

// ready returns nil if filings can be worked on, else the *crash.Error to show: the database was
// restored, or there are no credentials. It first tests refused credentials with a harmless call.
func (f *Filer) ready(ctx context.Context) error {
	restored, err := f.store.Restored(ctx)
	if err != nil {
		return err
	}
	if !restored.At.IsZero() {
		return restored.Problem()
	}
	if _, err := f.client.creds.Current(ctx); err != nil {
		return err
	}
	if !f.client.creds.dead(ctx) {
		return nil
	}
	f.probes.mu.Lock()
	defer f.probes.mu.Unlock()
	if f.probes.found != nil && f.cfg.Now().Sub(f.probes.last) < parkTime/2 && f.client.creds.dead(ctx) {
		return f.probes.found
	}
	_, f.probes.found = f.client.Check(ctx)
	f.probes.last = f.cfg.Now()
	return f.probes.found
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
	result := crash.FilingResult{Claim: claim, State: crash.FilingFiled, Bug: f.bug(claim, number), Own: as.own}
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
	result.Answer = ledgerAnswer(e)
	result.Problem, result.Reason = problemOf(sentence(e))
	if as.own.User != 0 && e.rejectsAccount() { // nothing was filed, so the application's account can
		result.State, result.Problem, result.Reason = crash.FilingQueued, "", ""
		result.Fallback = "The tracker rejected ~" + as.own.Account + " (" + e.Text + ")."
		return result
	}
	switch e.Outcome {
	case OutcomeRefused:
		result.State = crash.FilingRefused
	case OutcomeNotSent:
		result.State, result.Delay = crash.FilingQueued, f.backoff(claim)
	case OutcomeBusy:
		result.State, result.Delay = crash.FilingQueued, max(e.RetryAfter, f.backoff(claim))
	case OutcomeCredentials:
		result.State, result.Delay = crash.FilingQueued, Jitter(parkTime)
	default:
		result.State = crash.FilingUncertain
		result.Reason = "It is not known whether the tracker filed the bug (" + e.Text +
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
			result.Answer = ledgerAnswer(e)
			result.Problem, result.Reason = problemOf(sentence(e))
		}
		if result.Answer.Outcome == "" {
			result.Answer = crash.TrackerAnswer{Outcome: string(OutcomeUnknown), Message: result.Reason}
		}
	case number != 0:
		result.State, result.Bug = crash.FilingFiled, f.bug(claim, number)
		result.Answer = crash.TrackerAnswer{Outcome: "found", Status: 200}
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
		result.Reason = "It is not known whether the private bug was filed: " +
			"the tracker may not show it to mishap's account. " +
			"Look for it in the tracker and link it, or try again when it is not there."
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

func (f *Filer) bug(claim crash.FilingClaim, number int64) crash.Bug {
	title := claim.Title
	if claim.InformationType.Private() {
		title = ""
	}
	return crash.Bug{Number: number, Title: title, URL: f.cfg.bugURL(number), How: crash.Filed, By: claim.Person}
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
func (f *Filer) finish(ctx context.Context, result crash.FilingResult) error {
	ctx = context.WithoutCancel(ctx)
	var err error
	for pause := 50 * time.Millisecond; pause < 30*time.Second; pause *= 2 {
		var filing crash.Filing
		if filing, err = f.record(ctx, result); err == nil {
			f.logOutcome(ctx, filing, result)
			if filing.State == crash.FilingFiled && filing.Subscribe {
				f.startSubscribing()
			}
			return nil
		}
		if crash.Sleep(f.ctx, pause) != nil {
			return err
		}
	}
	return err
}

func (f *Filer) record(ctx context.Context, result crash.FilingResult) (crash.Filing, error) {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	return f.store.FinishFiling(ctx, result, f.terms())
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
		if err := f.saveSubscription(ctx, sub, answer, err == nil); err != nil {
			return err
		}
	}
}

// subscribePerson subscribes a person with their own account if it works and sees the bug, else with
// the application's account.
func (f *Filer) subscribePerson(ctx context.Context, sub *crash.Subscription) error {
	own, token, err := f.store.OwnToken(ctx, f.cfg.Key(), sub.User)
	if err == nil && own.Unusable() == "" && own.Account == sub.Account && !sub.Private {
		sub.As = own.Account
		err = f.as(own, token).Subscribe(ctx, sub.Bug, sub.Account)
		if e, ok := errors.AsType[*CallError](err); !ok || !e.rejectsAccount() {
			return err
		}
		sub.As = ""
	}
	return f.client.Subscribe(ctx, sub.Bug, sub.Account)
}

func (f *Filer) saveSubscription(ctx context.Context, sub crash.Subscription, a crash.TrackerAnswer, done bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	return f.store.FinishSubscription(ctx, sub, a, done)
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
