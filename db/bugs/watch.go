package bugs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
)

const (
	sqlChangesUntil     = `select changes_until from bug_watch`
	sqlSaveChangesUntil = `update bug_watch set changes_until = @until`
	sqlChangedBugs      = `update bug_states set next_read = now() where number = any(@numbers) and failures = 0`
)

// ChangesUntil returns up to which time the tracker's changes were read, or the zero time if they
// never were.
func (s *Store) ChangesUntil(ctx context.Context) (until time.Time, err error) {
	if err := s.Pool.QueryRow(ctx, sqlChangesUntil).Scan(db.OrZero(&until)); err != nil {
		return until, fmt.Errorf("changes in the tracker: %w", db.Classify(err))
	}
	return until, nil
}

// SaveChanges schedules those of the bugs that are linked here to be read, and stores up to which
// time the tracker's changes were read.
func (s *Store) SaveChanges(ctx context.Context, numbers []int64, until time.Time) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlChangedBugs, pgx.NamedArgs{"numbers": listOf(numbers)}); err != nil {
			return fmt.Errorf("changed bugs: %w", err)
		}
		if _, err := tx.Exec(ctx, sqlSaveChangesUntil, pgx.NamedArgs{"until": until}); err != nil {
			return fmt.Errorf("changes in the tracker: %w", err)
		}
		return nil
	})
}

// sqlClosedBugs selects the problems whose bug is closed, with the versions that mishap has
// commented on.
const sqlClosedBugs = `
	select ` + db.BucketColumns + `, array(
			select c.version from bug_comments as c
			where c.kind = 'again' and c.bug_number = coalesce((g.state ->> 'duplicate_of')::bigint, g.number))
	from buckets as b ` + db.BucketJoins + `
	where b.id in (
			select lb.head
			from bucket_bugs as l join buckets as lb on lb.id = l.bucket_id join bug_states as st on st.number = l.bug_number
				left join bug_states as m on m.number = st.duplicate_of
			where coalesce(m.closed, st.closed))
	order by b.id`

// UncommentedRegressions returns the problems that are regressions in a version that mishap has not
// commented on in the tracker yet. The problems include their status.
func (s *Store) UncommentedRegressions(ctx context.Context) ([]crash.Bucket, error) {
	ctx = reader.AsVisitor(ctx) // mishap writes nothing about embargoed problems to bugs
	rows, err := s.Pool.Query(ctx, sqlClosedBugs)
	if err != nil {
		return nil, fmt.Errorf("regressions: %w", db.Classify(err))
	}
	type closed struct {
		crash.Bucket
		commented []string
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c closed, err error) {
		err = db.ScanBucketAnd(row, &c.Bucket, &c.commented)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("regressions: %w", db.Classify(err))
	}
	buckets := make([]*crash.Bucket, len(all))
	for i := range all {
		buckets[i] = &all[i].Bucket
	}
	if err := s.Judge(ctx, buckets...); err != nil {
		return nil, fmt.Errorf("regressions: %w", err)
	}
	var out []crash.Bucket
	for _, c := range all {
		if _, version, again := c.Status.Regressed(); again && !slices.Contains(c.commented, version) {
			out = append(out, c.Bucket)
		}
	}
	return out, nil
}

const sqlBugTotals = `
	select count(*), count(*) filter (where next_read <= now()), count(*) filter (where failures > 0), min(read)
	from bug_states`

// BugTotals returns how many bugs are read regularly, overdue or failing, for the metrics.
func (s *Store) BugTotals(ctx context.Context) (t crash.BugTotals, err error) {
	err = s.Pool.QueryRow(ctx, sqlBugTotals).Scan(&t.Followed, &t.Due, &t.Failing, db.OrZero(&t.Oldest))
	if err != nil {
		return t, fmt.Errorf("count bugs: %w", db.Classify(err))
	}
	return t, nil
}
