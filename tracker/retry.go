package tracker

import (
	"context"

	"mishap/crash"
)

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
		result, err := f.CreateBug(ctx, bucket.Signature, opts)
		return result.Filing, err
	case crash.FilingQueued, crash.FilingUncertain:
		if filing, err = f.store.HastenFiling(ctx, id, opts.Person); err != nil {
			return filing, err
		}
		f.start(ctx, id)
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

// BugURL returns the address of the page of a bug.
func (f *Filer) BugURL(number int64) string { return f.cfg.bugURL(number) }
