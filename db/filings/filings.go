// Package filings stores the filings of bugs from the click to the outcome, their ledger, the
// access token of the tracker, and the templates of bug texts. It does not call the tracker.
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

// Store stores filings. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns a Store for the filings in s.
func New(s *db.Store) *Store { return &Store{s} }

// filingColumns are the columns that scanFiling reads.
const filingColumns = `id, bucket_id, state, person, target, title, description, tags, marker,
	edited, information_type, subscribe, coalesce(bug_number, 0), problem, reason, attempts, created, updated, not_before,
	own_user, sent_user, sent_as, fallback`

func scanFiling(row pgx.Row, f *crash.Filing, more ...any) error {
	return row.Scan(append([]any{
		&f.ID, db.ScanTo(f.Bucket[:]), &f.State, &f.Person, &f.Target, &f.Title, &f.Description, &f.Tags, &f.Marker,
		&f.Edited, &f.InformationType, &f.Subscribe, &f.Bug,
		&f.Problem, &f.Reason, &f.Attempts, &f.Created, &f.Updated, &f.NotBefore,
		&f.Own, &f.SentBy, &f.SentAs, &f.Fallback,
	}, more...)...)
}

const sqlFiling = `select ` + filingColumns + ` from filings where id = @id`

// Filing returns a filing. It returns NotFound if there is none with this id.
func (s *Store) Filing(ctx context.Context, id int64) (crash.Filing, error) {
	var f crash.Filing
	err := scanFiling(s.Pool.QueryRow(ctx, sqlFiling, pgx.NamedArgs{"id": id}), &f)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, errUnknownFiling
	}
	if err != nil {
		return f, fmt.Errorf("filing %d: %w", id, db.Classify(err))
	}
	return f, nil
}

var errUnknownFiling = crash.Errorf(crash.NotFound, "unknown_filing", "There is no such filing.")

// jobHead delays the job of a new filing, because the instance that handles the click works on the
// filing at once, without the job.
const jobHead = 5 * time.Second

const (
	sqlInsertFiling = `
		insert into filings (bucket_id, state, person, target, title, description, tags, marker, edited, information_type,
			subscribe, own_user, created, updated, not_before)
		values (@bucket, 'queued', @person, @target, @title, @description, @tags, @marker, @edited, @information,
			@subscribe, @own, now(), now(), now())
		on conflict (bucket_id) do nothing
		returning ` + filingColumns
	sqlSeenFiling     = `select ` + filingColumns + ` from filings where id = @seen for update`
	sqlFilingOfBucket = `select ` + filingColumns + ` from filings where bucket_id = @bucket for update`
	sqlRenewFiling    = `
		update filings set
			state = 'queued', person = @person, target = @target, title = @title, description = @description, tags = @tags,
			marker = @marker, edited = @edited, information_type = @information, subscribe = @subscribe,
			own_user = @own, fallback = '',
			problem = '', reason = '', created = now(), updated = now(), not_before = now()
		where id = @id
		returning ` + filingColumns
)

// RequestFiling stores an intent to file a bug, and queues the job that works on it. A bucket has
// at most one filing. If there is one already, RequestFiling returns it with stored false. But if
// that filing was refused or abandoned, or waits for a retry, RequestFiling renews it with the new
// intent and returns stored true. It does so only if the filing has not changed since the caller
// read it as seen, so that concurrent clicks cause only one attempt. The filing seen may belong to
// another bucket of the same problem.
func (s *Store) RequestFiling(
	ctx context.Context, in crash.Intent, seen crash.Filing,
) (f crash.Filing, stored bool, err error) {
	args := pgx.NamedArgs{
		"bucket": in.Bucket[:], "person": in.Person, "target": in.Target, "title": in.Title, "description": in.Description,
		"tags": tagList(in.Tags), "marker": in.Marker, "edited": in.Edited, "information": string(in.InformationType),
		"subscribe": in.Subscribe, "own": in.Own, "seen": seen.ID,
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		stored = true
		err := pgx.ErrNoRows
		existing := sqlSeenFiling
		if seen.ID == 0 {
			err, existing = scanFiling(tx.QueryRow(ctx, sqlInsertFiling, args), &f), sqlFilingOfBucket
		}
		if errors.Is(err, pgx.ErrNoRows) {
			if err := scanFiling(tx.QueryRow(ctx, existing, args), &f); err != nil {
				return err
			}
			if stored = f.ID == seen.ID && f.Updated.Equal(seen.Updated) && f.Renewable(); !stored {
				return nil
			}
			args["id"] = f.ID
			err = s.renewFiling(ctx, tx, args, &f)
		}
		if err != nil {
			return err
		}
		if err := s.AddFilingJob(ctx, tx, f.ID, jobHead); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: in.Person, Action: "bug.create", Subject: in.Bucket.String(),
			After: map[string]any{"filing": f.ID, "target": in.Target, "own_account": in.Own != 0},
		})
	})
	if err != nil {
		return f, false, fmt.Errorf("request the filing of %s: %w", in.Bucket, err)
	}
	return f, stored, nil
}

func tagList(tags []string) []string {
	if tags == nil {
		return []string{}
	}
	return tags
}

const sqlFilingTotals = `
	select state, count(*), min(created) filter (where state in ('queued', 'filing', 'uncertain')),
		count(*) filter (where state in ('queued', 'uncertain') and problem = 'tracker_credentials')
	from filings group by state`

const sqlOwnTotals = `select count(*), count(*) filter (where broken) from own_tracker_accounts`

// FilingTotals returns the number of filings in each state, how many wait for a token, and when the
// oldest open one was requested.
func (s *Store) FilingTotals(ctx context.Context) (crash.FilingTotals, error) {
	totals := crash.FilingTotals{States: map[crash.FilingState]int64{}}
	rows, err := s.Pool.Query(ctx, sqlFilingTotals)
	if err != nil {
		return totals, fmt.Errorf("count filings: %w", db.Classify(err))
	}
	var state crash.FilingState
	var count, parked int64
	var oldest time.Time
	_, err = pgx.ForEachRow(rows, []any{&state, &count, db.OrZero(&oldest), &parked}, func() error {
		totals.States[state] = count
		totals.Parked += parked
		if !oldest.IsZero() && (totals.Oldest.IsZero() || oldest.Before(totals.Oldest)) {
			totals.Oldest = oldest
		}
		return nil
	})
	if err != nil {
		return totals, fmt.Errorf("count filings: %w", db.Classify(err))
	}
	if err := s.Pool.QueryRow(ctx, sqlOwnTotals).Scan(&totals.OwnAccounts, &totals.OwnBroken); err != nil {
		return totals, fmt.Errorf("count own accounts: %w", db.Classify(err))
	}
	return totals, nil
}
