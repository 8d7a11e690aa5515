package filings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlFinishAttempt = `
		update filing_attempts
		set ended = now(), outcome = @outcome, status = @status, request_id = @request, words = @words,
			account = case when @account = '' then account else @account end
		where id = @entry`
	sqlFiledFiling = `
		update filings set state = 'filed', bug_number = @bug, unit = null, problem = '', reason = '', updated = now(),
			unsettled = false, subscription = case
				when subscribe and sent_as = '' and exists (
					select from users where name = filings.person and tracker_name <> '') then 'due'
				else '' end
		where id = @id
		returning ` + filingColumns
	sqlMoveFiling = `
		update filings set state = @state, unit = null, problem = @problem, reason = @reason, updated = now(),
			unsettled = @refusedunsettled and exists (select from users where id = sent_user),
			own_user = case when @fallback = '' then own_user else 0 end,
			fallback = case when @fallback = '' then fallback else @fallback end,
			settles = case when @unsettled then least(now(), claimed + @sending::interval) + @settle::interval else settles end,
			not_before = case when @unsettled then least(now(), claimed + @sending::interval) + @settle::interval
				else now() + @delay::interval end
		where id = @id
		returning ` + filingColumns + `, not_before - now()`
)

// FinishFiling records the outcome of a claimed step and returns the filing. A filed bug always
// counts, however late mishap learns of it. Any other outcome counts only if the filing still waits
// for this step. If the filing has another bug already, FinishFiling returns that one; the tracker
// then has two bugs.
func (s *Store) FinishFiling(ctx context.Context, r crash.FilingResult, terms crash.FilingTerms) (crash.Filing, error) {
	var f crash.Filing
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var taken, due bool
		var sentFrom time.Time
		row := tx.QueryRow(ctx, sqlLockFiling, pgx.NamedArgs{"id": r.Claim.ID})
		if err := scanFiling(row, &f, &taken, &due, db.OrZero(&sentFrom)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlFinishAttempt, pgx.NamedArgs{
			"entry": r.Claim.Entry, "outcome": r.Answer.Outcome, "status": r.Answer.Status,
			"request": r.Answer.RequestID, "words": r.Answer.Message, "account": r.Own.Account,
		})
		sent := r.Claim.Step == crash.StepCreate
		if err == nil && sent {
			err = s.endSending(ctx, tx, r.Pause)
		}
		if err == nil && r.Fallback != "" {
			err = s.breakOwnAccount(ctx, tx, r)
		}
		switch {
		case err != nil:
		case r.State == crash.FilingFiled:
			err = s.filed(ctx, tx, &f, r.Bug)
		case awaits(f, r):
			err = s.move(ctx, tx, &f, r, terms)
		}
		if err == nil && sent {
			err = s.queueNext(ctx, tx)
		}
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return f, errUnknownFiling
	}
	if err != nil {
		return f, fmt.Errorf("finish filing %d: %w", r.Claim.ID, err)
	}
	return f, nil
}

// awaits reports whether the filing still waits for the outcome of this step.
func awaits(f crash.Filing, r crash.FilingResult) bool {
	if f.Attempts != r.Claim.Attempts {
		return false
	}
	switch r.Claim.Step {
	case crash.StepCreate: // another instance may have wrongly assumed that this one is dead
		return f.State == crash.FilingSending || f.State == crash.FilingUncertain && r.State != crash.FilingUncertain
	case crash.StepSearch:
		return f.State == crash.FilingUncertain
	case crash.StepNone:
	}
	return false
}

// filed links the bug to the bucket, unless the filing has a bug already.
func (s *Store) filed(ctx context.Context, tx pgx.Tx, f *crash.Filing, bug crash.Bug) error {
	if f.State == crash.FilingFiled {
		return nil
	}
	if err := s.AddBugLink(ctx, tx, f.Bucket, bug); err != nil {
		return err
	}
	if err := scanFiling(tx.QueryRow(ctx, sqlFiledFiling, pgx.NamedArgs{"id": f.ID, "bug": bug.Number}), f); err != nil {
		return err
	}
	return s.Audit(ctx, tx, db.AuditEvent{
		Action: "bug.filed", Subject: f.Bucket.String(), After: map[string]any{"bug": bug.Number},
		Detail: map[string]any{"filing": f.ID},
	})
}

func (s *Store) move(
	ctx context.Context, tx pgx.Tx, f *crash.Filing, r crash.FilingResult, terms crash.FilingTerms,
) error {
	var wait time.Duration
	err := scanFiling(tx.QueryRow(ctx, sqlMoveFiling, pgx.NamedArgs{
		"id": f.ID, "state": string(r.State), "problem": r.Problem, "reason": r.Reason,
		"unsettled": r.State == crash.FilingUncertain && r.Claim.Step == crash.StepCreate,
		"sending":   terms.Sending, "settle": terms.Settle, "delay": r.Delay, "fallback": r.Fallback,
		"refusedunsettled": r.State == crash.FilingRefused && r.Unsettled,
	}), f, &wait)
	if err == nil && r.Fallback != "" {
		err = s.auditFallback(ctx, tx, *f)
	}
	if err != nil || r.State == crash.FilingRefused {
		return err
	}
	return s.AddFilingJob(ctx, tx, f.ID, max(wait, 0))
}

const (
	sqlEndSending = `update filing_writer set ended = clock_timestamp(), rest = @rest::interval`
	sqlNextFiling = `
		select f.id, case when f.created > w.ended then interval '0'
			else greatest(w.ended + w.rest - clock_timestamp(), interval '0') end
		from filing_writer as w, lateral (
			select id, created from filings where state = 'queued' and unit is null and not_before <= clock_timestamp()
			order by created, id limit 1) as f
		where not exists (select from filings where state = 'filing')`
)

// endSending starts the pause after a bug was sent. tx holds the lock on sending afterwards.
func (s *Store) endSending(ctx context.Context, tx pgx.Tx, pause time.Duration) error {
	if _, err := tx.Exec(ctx, sqlEndSending, pgx.NamedArgs{"rest": max(pause, 0)}); err != nil {
		return fmt.Errorf("end of sending: %w", err)
	}
	return nil
}

// queueNext queues a job for the filing that is sent next, if there is one.
func (s *Store) queueNext(ctx context.Context, tx pgx.Tx) error {
	next, err := nextFiling(tx.QueryRow(ctx, sqlNextFiling))
	if err != nil || next.Filing == 0 {
		return err
	}
	return s.AddFilingJob(ctx, tx, next.Filing, 0)
}

// NextFiling returns which filing is sent next, and the time until then. Its Filing is 0 if none
// waits or one is being sent.
func (s *Store) NextFiling(ctx context.Context) (crash.NextFiling, error) {
	return nextFiling(s.Pool.QueryRow(ctx, sqlNextFiling))
}

func nextFiling(row pgx.Row) (next crash.NextFiling, err error) {
	if err = row.Scan(&next.Filing, &next.In); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return next, fmt.Errorf("next filing: %w", db.Classify(err))
	}
	return next, nil
}
