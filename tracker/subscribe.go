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
		err = f.client.as(own, token, f.store).Subscribe(ctx, sub.Bug, sub.Account)
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
