// Package bugs stores the links between problems and bugs, the states of the bugs in the tracker,
// mishap's comments on them, and facts of the tracker's package archive.
package bugs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// Store stores bugs and facts of the archive. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns a Store for the bugs in s.
func New(s *db.Store) *Store { return &Store{s} }

const (
	sqlBucketExists = `select true from buckets where id = @bucket for no key update`
	sqlHasBug       = `select exists (select from bucket_bugs where bucket_id in ` + db.Members +
		` and bug_number = @number)`
	sqlForgetUnlink = `delete from unlinked_bugs where bucket_id in ` + db.Members + ` and bug_number = @number`
	sqlUnlinkBug    = `
		with gone as (
			delete from bucket_bugs where bucket_id in ` + db.Members + ` and bug_number = @number
			returning bucket_id, bug_number, how, person, at
		)
		insert into unlinked_bugs (bucket_id, bug_number, how, person, at, unlinked_by, unlinked_at)
		select bucket_id, bug_number, how, person, at, @by, now() from gone
		on conflict (bucket_id, bug_number) do update set
			how = excluded.how, person = excluded.person, at = excluded.at,
			unlinked_by = excluded.unlinked_by, unlinked_at = excluded.unlinked_at
		returning how, person, at`
	sqlRelinkBug = `
		with back as (
			delete from unlinked_bugs where bucket_id in ` + db.Members + ` and bug_number = @number
			returning bucket_id, bug_number, how, person, at
		)
		insert into bucket_bugs (bucket_id, bug_number, how, person, at)
		select bucket_id, bug_number, how, person, at from back
		on conflict do nothing
		returning true`
	// sqlUnfile abandons the filing of an unlinked bug, so that the bug can be filed again.
	sqlUnfile = `
		update filings set state = 'abandoned', bug_number = null, problem = 'unlinked', reason = @reason, updated = now()
		where bucket_id in ` + db.Members + ` and state = 'filed' and bug_number = @number`
	sqlRefile = `
		update filings set state = 'filed', bug_number = @number, problem = '', reason = '', updated = now()
		where bucket_id in ` + db.Members + ` and state = 'abandoned' and problem = 'unlinked' and exists (
			select from bucket_bugs as l where l.bucket_id = filings.bucket_id and l.bug_number = @number and l.how = 'filed')`
)

// LinkBug links a bug of the tracker to a bucket by hand. It returns false if they are linked
// already. It ends an open filing of the bucket with that bug, unless the filing is being sent. It
// returns NotFound for an unknown bucket.
func (s *Store) LinkBug(ctx context.Context, bucket crash.BucketID, bug crash.Bug) (isNew bool, err error) {
	bug.How = crash.Linked
	args := pgx.NamedArgs{"bucket": bucket[:], "number": bug.Number}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		var exists, has bool
		if err := tx.QueryRow(ctx, sqlBucketExists, args).Scan(&exists); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlHasBug, args).Scan(&has); err != nil || has {
			return err
		}
		isNew = true
		if err := s.AddBugLink(ctx, tx, bucket, bug); err != nil {
			return err
		}
		if err := s.SettleByLink(ctx, tx, bucket, bug); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlForgetUnlink, args); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: bug.By, Action: "bug.link", Subject: bucket.String(), After: map[string]any{"bug": bug.Number},
		})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, crash.ErrUnknownBucket
	}
	if err != nil {
		return false, fmt.Errorf("link bug %d to %s: %w", bug.Number, bucket, err)
	}
	return isNew, nil
}

func errNotLinked(number int64) error {
	return crash.Errorf(crash.NotFound, "not_linked", "The bug %d is not linked to this problem (any more).", number)
}

// UnlinkBug removes the link between a bug and a bucket's problem. RelinkBug undoes this. It
// returns NotFound if they are not linked.
func (s *Store) UnlinkBug(ctx context.Context, bucket crash.BucketID, number int64, person string) error {
	args := pgx.NamedArgs{
		"bucket": bucket[:], "number": number, "by": person,
		"reason": fmt.Sprintf("The bug %d, which was filed for this problem, was unlinked from it by %s.", number, person),
	}
	return s.changeLink(ctx, "unlink", bucket, number, func(tx pgx.Tx) error {
		var how, by string
		var at time.Time
		if err := tx.QueryRow(ctx, sqlUnlinkBug, args).Scan(&how, &by, &at); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlUnfile, args); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: person, Action: "bug.unlink", Subject: bucket.String(),
			Before: map[string]any{"bug": number, "how": how, "person": by, "at": at},
		})
	})
}

// RelinkBug restores a removed link, with the person who made it and its time. It returns NotFound
// if there is none.
func (s *Store) RelinkBug(ctx context.Context, bucket crash.BucketID, number int64, person string) error {
	args := pgx.NamedArgs{"bucket": bucket[:], "number": number}
	return s.changeLink(ctx, "relink", bucket, number, func(tx pgx.Tx) error {
		var back bool
		if err := tx.QueryRow(ctx, sqlRelinkBug, args).Scan(&back); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlRefile, args); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: person, Action: "bug.relink", Subject: bucket.String(), After: map[string]any{"bug": number},
		})
	})
}

func (s *Store) changeLink(ctx context.Context, what string, bucket crash.BucketID, number int64,
	change func(pgx.Tx) error) error {
	err := s.InTx(ctx, change)
	if errors.Is(err, pgx.ErrNoRows) {
		return errNotLinked(number)
	}
	if err != nil {
		return fmt.Errorf("%s bug %d of %s: %w", what, number, bucket, err)
	}
	return nil
}

// maxBucketsOfBug limits how many buckets of a bug are listed.
const maxBucketsOfBug = 1000

const sqlBucketsOfBug = `
	select ` + db.BucketColumns + ` from (
			select m.head from bucket_bugs join buckets as m on m.id = bucket_id where bug_number = @number
			union
			select m.head from bucket_bugs join buckets as m on m.id = bucket_id join bug_states on number = bug_number
			where duplicate_of = @number
		) as l join buckets as b on b.id = l.head` + db.BucketJoins + `
	order by w.reports desc, b.id limit @limit`

// BucketsOfBug returns the problems that are linked to a bug or to a duplicate of it, most frequent
// first. It returns NotFound if there are none.
func (s *Store) BucketsOfBug(ctx context.Context, number int64) ([]crash.Bucket, error) {
	rows, err := s.Pool.Query(ctx, sqlBucketsOfBug, pgx.NamedArgs{"number": number, "limit": maxBucketsOfBug})
	if err != nil {
		return nil, fmt.Errorf("buckets of bug %d: %w", number, db.Classify(err))
	}
	buckets, err := pgx.CollectRows(rows, db.ScanBucket)
	if err != nil {
		return nil, fmt.Errorf("buckets of bug %d: %w", number, db.Classify(err))
	}
	if len(buckets) == 0 {
		return nil, crash.Errorf(crash.NotFound, "unknown_bug", "No problem here has the bug %d.", number)
	}
	return buckets, nil
}

const sqlSignaturesOfBug = `
	select signature from bucket_bugs join buckets on id = bucket_id where bug_number = @number
	order by signature limit nullif(@limit::int, 0)`

// SignaturesOfBug returns the signatures of up to limit buckets that are linked to a bug, or of all
// if limit is 0.
func (s *Store) SignaturesOfBug(ctx context.Context, number int64, limit int) ([]string, error) {
	rows, err := s.Pool.Query(ctx, sqlSignaturesOfBug, pgx.NamedArgs{"number": number, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("signatures of bug %d: %w", number, db.Classify(err))
	}
	signatures, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("signatures of bug %d: %w", number, db.Classify(err))
	}
	return signatures, nil
}
