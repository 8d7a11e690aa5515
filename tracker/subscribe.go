package tracker

import (
	"context"
	"errors"

	"mishap/crash"
)

// subscribe subscribes people to the bugs that were filed for them. Each subscription is tried
// once; the ledger records its outcome.
func (f *Filer) subscribe(ctx context.Context) error {
	for {
		sub, err := f.store.ClaimSubscription(ctx)
		if err != nil || sub.Filing == 0 {
			return err
		}
		answer := crash.TrackerAnswer{Outcome: string(OutcomeDone), Status: 200, Message: sub.Account}
		err = f.client.Subscribe(ctx, sub.Bug, sub.Account)
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
