package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	sqlInsertBug  = `insert into bugs (number, title, url) values (@number, @title, @url) on conflict (number) do nothing`
	sqlInsertLink = `
		insert into bucket_bugs (bucket_id, bug_number, how, person, at) values (@bucket, @number, @how, @person, now())
		on conflict (bucket_id, bug_number) do nothing`
)

// linkBug gives a bucket a bug. One that it has already stays as it is.
func (s *Store) linkBug(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
	args := pgx.NamedArgs{
		"number": bug.Number, "title": bug.Title, "url": bug.URL,
		"bucket": bucket[:], "how": string(bug.How), "person": bug.By,
	}
	if _, err := tx.Exec(ctx, sqlInsertBug, args); err != nil {
		return fmt.Errorf("bug %d: %w", bug.Number, err)
	}
	if _, err := tx.Exec(ctx, sqlWatchBug, args); err != nil {
		return fmt.Errorf("watch bug %d: %w", bug.Number, err)
	}
	if _, err := tx.Exec(ctx, sqlInsertLink, args); err != nil {
		return fmt.Errorf("link bug %d to %s: %w", bug.Number, bucket, err)
	}
	return nil
}

const sqlBucketOfBug = `
	select bucket_id from bucket_bugs where bug_number = @number order by how, at desc, bucket_id limit 1`

// BucketOfBug returns the bucket of a bug: that which it was filed for, else the one that it was linked to last. It returns
// NotFound when no bucket has the bug.
func (s *Store) BucketOfBug(ctx context.Context, number int64) (crash.BucketID, error) {
	var id crash.BucketID
	err := s.pool.QueryRow(ctx, sqlBucketOfBug, pgx.NamedArgs{"number": number}).Scan(into(id[:]))
	if errors.Is(err, pgx.ErrNoRows) {
		return id, crash.Errorf(crash.NotFound, "unknown_bug", "No problem here has the bug %d.", number)
	}
	if err != nil {
		return id, fmt.Errorf("bucket of bug %d: %w", number, known(err))
	}
	return id, nil
}

const sqlFiledBugs = `
	select bug_number from bucket_bugs where how = 'filed' and at >= @since
	union
	select bug_number from unlinked_bugs where how = 'filed' and at >= @since`

// FiledBugs lists the numbers of the bugs that were filed for any bucket since a time,
// those included that were unlinked later.
func (s *Store) FiledBugs(ctx context.Context, since time.Time) ([]int64, error) {
	rows, err := s.pool.Query(ctx, sqlFiledBugs, pgx.NamedArgs{"since": since})
	if err != nil {
		return nil, fmt.Errorf("filed bugs: %w", known(err))
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("filed bugs: %w", known(err))
	}
	return numbers, nil
}
