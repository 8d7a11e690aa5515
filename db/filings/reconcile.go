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
	where exists (select from bucket_bugs where bug_number = number)
		or exists (select from unlinked_bugs where bug_number = number)
		or exists (select from filings where bug_number = number)`

// KnownBugs returns those of the numbers whose bugs are or were linked to a bucket.
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

// ReconcileBug links a bucket to a bug that mishap has filed for it, and that was found in the
// tracker. It ends an open filing of the bucket with that bug. Calling it again changes nothing. It
// returns Conflict while a bug for the bucket is being sent.
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
			Action: "bug.reconciled", Subject: bucket.String(), After: map[string]any{"bug": bug.Number},
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

// FiledBugs returns the numbers of the bugs that were filed since a time, including those that were
// unlinked later.
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
