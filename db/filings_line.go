package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// Bugs are sent one at a time over all units, in the order in which they were asked for. A filing that waits for later, or
// for a search, does not stand in line. Whose turn it is is decided under a lock that ends before the tracker is called: the
// row in state "filing" is what keeps the others waiting.
const (
	sqlLockWriter = `select from filing_writer for update`
	sqlMyTurn     = `
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
			select array_agg(id) || f.bucket_id as ids from buckets where head = (select head from buckets where id = f.bucket_id)
		) as whole
		where f.id = @id`
	sqlEndWriting = `update filing_writer set ended = clock_timestamp(), rest = @rest::interval`
	sqlNextTurn   = `
		select f.id, case when f.created > w.ended then interval '0' else greatest(w.ended + w.rest - clock_timestamp(), interval '0') end
		from filing_writer as w, lateral (
			select id, created from filings where state = 'queued' and unit is null and not_before <= clock_timestamp()
			order by created, id limit 1) as f
		where not exists (select from filings where state = 'filing')`
)

// turn is what a queued filing is to do that would be sent next.
type turn struct {
	linked int64 // the problem has got this bug meanwhile, by hand or by a merge: nothing is to be sent; 0: none
	cedes  bool  // the problem was merged with another one, whose filing is before this one: a bug of it is for both
	mine   bool  // it may be sent now
}

// myTurn finds out what a queued filing is to do; the caller's transaction then holds the lock. What counts is the whole that
// its bucket is part of by now.
func (s *Store) myTurn(ctx context.Context, tx pgx.Tx, id int64) (turn, error) {
	var t turn
	if _, err := tx.Exec(ctx, sqlLockWriter); err != nil {
		return t, fmt.Errorf("lock the line: %w", err)
	}
	if err := tx.QueryRow(ctx, sqlMyTurn, pgx.NamedArgs{"id": id}).Scan(&t.linked, &t.cedes, &t.mine); err != nil {
		return t, fmt.Errorf("turn of filing %d: %w", id, err)
	}
	return t, nil
}

const sqlCedeFiling = `
	update filings set state = 'abandoned', problem = 'merged', reason = @reason, updated = now() where id = @id
	returning ` + filingColumns

// cede ends a filing in favour of that of another bucket of the same problem.
func (s *Store) cede(ctx context.Context, tx pgx.Tx, f *crash.Filing) error {
	return scanFiling(tx.QueryRow(ctx, sqlCedeFiling, pgx.NamedArgs{
		"id": f.ID, "reason": "This problem was merged with another one, for which a bug is being created already.",
	}), f)
}

// endWriting lets the next in line come after a rest.
func (s *Store) endWriting(ctx context.Context, tx pgx.Tx, rest time.Duration) error {
	if _, err := tx.Exec(ctx, sqlEndWriting, pgx.NamedArgs{"rest": max(rest, 0)}); err != nil {
		return fmt.Errorf("end of writing: %w", err)
	}
	return nil
}

// NextTurn says which filing is sent next, and when. Its Filing is 0 when none waits, or while one is being sent: then
// whoever sends it asks again.
func (s *Store) NextTurn(ctx context.Context) (crash.FilingTurn, error) {
	var t crash.FilingTurn
	err := s.pool.QueryRow(ctx, sqlNextTurn).Scan(&t.Filing, &t.In)
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.FilingTurn{}, nil
	}
	if err != nil {
		return t, fmt.Errorf("next turn: %w", known(err))
	}
	return t, nil
}

const sqlParkFilings = `
	update filings set problem = @problem, reason = @reason, updated = now(), not_before = now() + @delay::interval
	where id in (
		select id from filings where state in ('queued', 'uncertain') and unit is null and not_before <= now()
		for update skip locked)`

// ParkFilings puts off all filings that are due, for a reason that has nothing to do with any of them.
func (s *Store) ParkFilings(ctx context.Context, problem, reason string, delay time.Duration) error {
	_, err := s.pool.Exec(ctx, sqlParkFilings, pgx.NamedArgs{"problem": problem, "reason": reason, "delay": delay})
	if err != nil {
		return fmt.Errorf("park filings: %w", known(err))
	}
	return nil
}
