package tracker

import (
	"context"
	"time"

	"mishap/crash"
)

// Retry has a filing tried again now and waits up to wait for an outcome: one that waits becomes due, one that was refused
// or given up is asked for again. What is under way or filed comes back as it is. It returns NotFound for an unknown filing,
// and what CreateBug returns.
func (f *Filer) Retry(ctx context.Context, id int64, person string, wait time.Duration) (crash.Filing, error) {
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
		result, err := f.CreateBug(ctx, bucket.Signature, Options{Person: person, Wait: wait})
		return result.Filing, err
	case crash.FilingQueued, crash.FilingUncertain:
		if filing, err = f.store.HastenFiling(ctx, id, person); err != nil {
			return filing, err
		}
		f.start(id)
	case crash.FilingSending, crash.FilingFiled:
		return filing, nil
	}
	if filing, err = f.await(ctx, filing, wait); err != nil {
		return filing, err
	}
	return filing, outcomeError(filing)
}

// GiveUp ends a filing that has not led to a bug, for a reason that others will read. It returns Conflict when it is being
// sent or is final, NotFound for an unknown filing, and Unprocessable without a reason.
func (f *Filer) GiveUp(ctx context.Context, id int64, person, reason string) (crash.Filing, error) {
	if _, err := f.store.Filing(ctx, id); err != nil {
		return crash.Filing{}, err
	}
	if reason = Clean(reason, maxWords); reason == "" {
		return crash.Filing{}, crash.Errorf(crash.Unprocessable, "no_reason", "Say why it is given up; others will read it.")
	}
	return f.store.GiveUpFiling(ctx, id, person, reason)
}

// BugURL is the page of a bug for people.
func (f *Filer) BugURL(number int64) string { return f.cfg.bugURL(number) }
