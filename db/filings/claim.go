package filings

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
)

const (
	// embargoed reports whether the problem of a filing is embargoed; its bug is then private, whatever
	// the person chose, and nobody is subscribed publicly.
	embargoed = `exists (
		select from buckets as b join buckets as o on o.head = b.head
			join embargoes as e on e.bucket_id = o.id and e.lifted_at is null
		where b.id = filings.bucket_id)`
	sqlLockFiling = `
		select ` + filingColumns + `, unit is not null, not_before <= now(), sent_from
		from filings where id = @id for update`
	sqlClaimCreate = `
		update filings set state = 'filing', unit = @instance, claimed = now(), attempts = attempts + 1,
			sent_from = coalesce(sent_from, now()), sent_user = @user, sent_as = @account, problem = '', reason = '',
			updated = now(),
			information_type = case when ` + embargoed + ` then 'Private Security' else information_type end,
			subscribe = subscribe and not ` + embargoed + `
		where id = @id
		returning ` + filingColumns + `, sent_from`
	sqlClaimSearch = `
		update filings set unit = @instance, claimed = now(), updated = now()
		where id = @id
		returning ` + filingColumns + `, sent_from`
	sqlInsertAttempt = `
		insert into filing_attempts (filing_id, action, unit, started, account)
		values (@id, @action, @instance, now(), @account)
		returning id, array(select distinct account from filing_attempts
			where filing_id = @id and action = 'create' and account <> '' order by account)`
)

// ClaimFiling claims the next step of a filing for this instance, which does it with a person's own
// account or, if own is zero, with that of the application. The step is StepNone if the filing is
// not due, is to be sent with another account, another instance works on it, or other filings come
// first. ClaimFiling returns NotFound for an unknown filing.
func (s *Store) ClaimFiling(ctx context.Context, id int64, own crash.OwnAccount) (crash.FilingClaim, error) {
	ctx = reader.Everything(ctx) // the caller knows the filing, and all filings wait for each other
	instance, err := s.InstanceNumber(ctx)
	if err != nil {
		return crash.FilingClaim{}, err
	}
	var claim crash.FilingClaim
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		var taken, due bool
		row := tx.QueryRow(ctx, sqlLockFiling, pgx.NamedArgs{"id": id})
		if err := scanFiling(row, &claim.Filing, &taken, &due, db.OrZero(&claim.SentFrom)); err != nil {
			return err
		}
		claim.Step = nextStep(claim.State)
		if taken || !due || claim.Step == crash.StepCreate && claim.Own != own.User {
			claim.Step = crash.StepNone
		}
		if claim.Step == crash.StepCreate {
			next, err := s.maySend(ctx, tx, id)
			if err != nil {
				return err
			}
			if next.linked != 0 || next.cedes || !next.allowed {
				claim.Step = crash.StepNone
			}
			if next.linked != 0 {
				return s.filed(ctx, tx, &claim.Filing, crash.Bug{Number: next.linked, How: crash.Linked})
			}
			if next.cedes {
				return s.cede(ctx, tx, &claim.Filing)
			}
		}
		sql := sqlClaimCreate
		switch claim.Step {
		case crash.StepNone:
			return nil
		case crash.StepSearch:
			sql = sqlClaimSearch
		case crash.StepCreate:
		}
		args := pgx.NamedArgs{
			"id": id, "instance": instance, "action": string(claim.Step), "user": own.User, "account": own.Account,
		}
		if err := scanFiling(tx.QueryRow(ctx, sql, args), &claim.Filing, db.OrZero(&claim.SentFrom)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlInsertAttempt, args).Scan(&claim.Entry, &claim.Senders)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return claim, errUnknownFiling
	}
	if err != nil {
		return claim, fmt.Errorf("claim filing %d: %w", id, err)
	}
	return claim, nil
}

// nextStep returns the step that a filing in a state needs.
func nextStep(state crash.FilingState) crash.FilingStep {
	switch state {
	case crash.FilingQueued:
		return crash.StepCreate
	case crash.FilingUncertain:
		return crash.StepSearch
	case crash.FilingSending, crash.FilingFiled, crash.FilingRefused, crash.FilingAbandoned:
	}
	return crash.StepNone
}

// All instances together send one bug at a time, in the order of the requests. A filing that waits
// for a retry or a search is not in this queue. The lock on filing_writer is released before the
// tracker is called. While a filing has the state "filing", the others wait. All wait in a restored
// database, until FinishRestore.
const (
	sqlLockWriter = `select from filing_writer for update`
	sqlMaySend    = `
		select
			coalesce((select min(bug_number) from bucket_bugs where bucket_id = any(whole.ids)),
				(select min(bug_number) from lost_bugs where bucket_id = any(whole.ids)), 0),
			exists (
				select from filings as o
				where o.bucket_id = any(whole.ids) and o.id <> f.id
					and (o.state in ('filing', 'uncertain') or o.state = 'queued' and (o.created, o.id) < (f.created, f.id))),
			w.restored is null and not exists (select from filings where state = 'filing')
			and not exists (
				select from filings as o
				where o.state = 'queued' and o.unit is null and o.not_before <= clock_timestamp()
					and (o.created, o.id) < (f.created, f.id))
			and (f.created > w.ended or clock_timestamp() >= w.ended + w.rest)
		from filings as f, filing_writer as w, lateral (
			select array_agg(id) || f.bucket_id as ids from buckets
			where head = (select head from buckets where id = f.bucket_id)
		) as whole
		where f.id = @id`
)

// sending is the decision about a queued filing.
type sending struct {
	linked  int64 // bug that the problem has already, so that nothing is sent; 0 if none
	cedes   bool  // the problem was merged with one that has an older filing, whose bug stands for both
	allowed bool  // the filing can be sent now
}

// maySend decides about a queued filing. It considers all buckets that are part of the problem now.
// tx holds the lock on sending afterwards.
func (s *Store) maySend(ctx context.Context, tx pgx.Tx, id int64) (sending, error) {
	var next sending
	if _, err := tx.Exec(ctx, sqlLockWriter); err != nil {
		return next, fmt.Errorf("lock the queue of filings: %w", err)
	}
	row := tx.QueryRow(ctx, sqlMaySend, pgx.NamedArgs{"id": id})
	if err := row.Scan(&next.linked, &next.cedes, &next.allowed); err != nil {
		return next, fmt.Errorf("place of filing %d in the queue: %w", id, err)
	}
	return next, nil
}

const sqlCedeFiling = `
	update filings set state = 'abandoned', problem = 'merged', reason = @reason, updated = now() where id = @id
	returning ` + filingColumns

// cede abandons a filing in favour of one for another bucket of the same problem.
func (s *Store) cede(ctx context.Context, tx pgx.Tx, f *crash.Filing) error {
	return scanFiling(tx.QueryRow(ctx, sqlCedeFiling, pgx.NamedArgs{
		"id": f.ID, "reason": "This problem was merged with another one, for which a bug is being created already.",
	}), f)
}
