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

const sqlKnownBugs = `
	select number from unnest(@numbers::bigint[]) as n (number)
	where exists (select from bucket_bugs where bug_number = number) or exists (select from unlinked_bugs where bug_number = number)
		or exists (select from filings where bug_number = number)`

// KnownBugs returns those of the given numbers that some bucket has or had.
func (s *Store) KnownBugs(ctx context.Context, numbers []int64) ([]int64, error) {
	rows, err := s.Pool.Query(ctx, sqlKnownBugs, pgx.NamedArgs{"numbers": numbers})
	if err != nil {
		return nil, fmt.Errorf("known bugs: %w", db.Classify(err))
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("known bugs: %w", db.Classify(err))
	}
	return out, nil
}

var errBeingFiled = crash.Errorf(crash.Conflict, "being_filed", "A bug for this problem is being filed at this "+
	"moment; run this again shortly.")

// ReconcileBug gives a bucket a bug that was found in the tracker and that mishap had filed for it. A filing that is not
// done yet is done with it. Doing it twice changes nothing. It returns Conflict while a bug for the bucket is being sent.
func (s *Store) ReconcileBug(ctx context.Context, bucket crash.BucketID, bug crash.Bug) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var f crash.Filing
		err := scanFiling(tx.QueryRow(ctx, sqlFilingOfBucket, pgx.NamedArgs{"bucket": bucket[:]}), &f)
		switch {
		case errors.Is(err, pgx.ErrNoRows) || f.State == crash.FilingFiled:
			err = s.AddBugLink(ctx, tx, bucket, bug)
		case err != nil:
			return err
		case f.State == crash.FilingSending:
			return errBeingFiled
		default:
			err = s.filed(ctx, tx, &f, bug)
		}
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Action: "bug.reconciled", Subject: bucket.String(), Detail: map[string]any{"bug": bug.Number},
		})
	})
	if err != nil {
		return fmt.Errorf("reconcile bug %d with %s: %w", bug.Number, bucket, err)
	}
	return nil
}

const sqlFiledBugs = `
	select bug_number from bucket_bugs where how = 'filed' and at >= @since
	union
	select bug_number from unlinked_bugs where how = 'filed' and at >= @since`

// FiledBugs lists the numbers of the bugs that were filed for any bucket since a time,
// those included that were unlinked later.
func (s *Store) FiledBugs(ctx context.Context, since time.Time) ([]int64, error) {
	rows, err := s.Pool.Query(ctx, sqlFiledBugs, pgx.NamedArgs{"since": since})
	if err != nil {
		return nil, fmt.Errorf("filed bugs: %w", db.Classify(err))
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("filed bugs: %w", db.Classify(err))
	}
	return numbers, nil
}
