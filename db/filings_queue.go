package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// All instances together send one bug at a time, in the order in which they were asked for. A
// filing that waits for a retry or a search is not in the queue. The lock on filing_writer is
// released before the tracker is called. Meanwhile the row in state "filing" makes the others wait.
const (
	sqlLockWriter = `select from filing_writer for update`
	sqlMaySend    = `
		select
			coalesce((select min(bug_number) from bucket_bugs where bucket_id = any(whole.ids)), 0),
			exists (
				select from filings as o
				where o.bucket_id = any(whole.ids) and o.id <> f.id
					and (o.state in ('filing', 'uncertain') or o.state = 'queued' and (o.created, o.id) < (f.created, f.id))),
			not exists (select from filings where state = 'filing')
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
	sqlEndSending = `update filing_writer set ended = clock_timestamp(), rest = @rest::interval`
	sqlNextFiling = `
		select f.id, case when f.created > w.ended then interval '0'
			else greatest(w.ended + w.rest - clock_timestamp(), interval '0') end
		from filing_writer as w, lateral (
			select id, created from filings where state = 'queued' and unit is null and not_before <= clock_timestamp()
			order by created, id limit 1) as f
		where not exists (select from filings where state = 'filing')`
)

// sending is what is to become of a queued filing.
type sending struct {
	linked  int64 // bug that the problem has got meanwhile, by hand or by a merge, so that nothing is sent; 0: none
	cedes   bool  // the problem was merged with another one whose filing is older; its bug is for both
	allowed bool  // it may be sent now
}

// maySend finds out what is to become of a queued filing. The caller's transaction then holds the
// lock on sending. The answer counts all buckets of the problem, as it is merged now.
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

// cede ends a filing in favour of one for another bucket of the same problem.
func (s *Store) cede(ctx context.Context, tx pgx.Tx, f *crash.Filing) error {
	return scanFiling(tx.QueryRow(ctx, sqlCedeFiling, pgx.NamedArgs{
		"id": f.ID, "reason": "This problem was merged with another one, for which a bug is being created already.",
	}), f)
}

// endSending starts the pause after a bug was sent. It takes the lock on sending.
func (s *Store) endSending(ctx context.Context, tx pgx.Tx, pause time.Duration) error {
	if _, err := tx.Exec(ctx, sqlEndSending, pgx.NamedArgs{"rest": max(pause, 0)}); err != nil {
		return fmt.Errorf("end of sending: %w", err)
	}
	return nil
}

// queueNext adds a job for the filing that is sent next, if there is one.
func (s *Store) queueNext(ctx context.Context, tx pgx.Tx) error {
	next, err := nextFiling(tx.QueryRow(ctx, sqlNextFiling))
	if err != nil || next.Filing == 0 {
		return err
	}
	return s.addFilingJob(ctx, tx, next.Filing, 0)
}

// NextFiling returns which filing is sent next, and in how long. Its Filing is 0 when none waits,
// or while one is being sent.
func (s *Store) NextFiling(ctx context.Context) (crash.NextFiling, error) {
	return nextFiling(s.pool.QueryRow(ctx, sqlNextFiling))
}

func nextFiling(row pgx.Row) (next crash.NextFiling, err error) {
	if err = row.Scan(&next.Filing, &next.In); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return next, fmt.Errorf("next filing: %w", known(err))
	}
	return next, nil
}

const sqlParkFilings = `
	update filings set problem = @problem, reason = @reason, updated = now(), not_before = now() + @delay::interval
	where id in (
		select id from filings where state in ('queued', 'uncertain') and unit is null and not_before <= now()
		for update skip locked)`

// ParkFilings postpones all filings that are due, for a reason that concerns none of them in
// particular.
func (s *Store) ParkFilings(ctx context.Context, problem, reason string, delay time.Duration) error {
	_, err := s.pool.Exec(ctx, sqlParkFilings, pgx.NamedArgs{"problem": problem, "reason": reason, "delay": delay})
	if err != nil {
		return fmt.Errorf("park filings: %w", known(err))
	}
	return nil
}
