package db

import (
	"context"
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
func (s *Handle) linkBug(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, bug crash.Bug) error {
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

const sqlFiledBugs = `
	select bug_number from bucket_bugs where how = 'filed' and at >= @since
	union
	select bug_number from unlinked_bugs where how = 'filed' and at >= @since`

// FiledBugs lists the numbers of the bugs that were filed for any bucket since a time,
// those included that were unlinked later.
func (s *Filings) FiledBugs(ctx context.Context, since time.Time) ([]int64, error) {
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
