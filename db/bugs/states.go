package bugs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// sqlBucketBugs selects only the oldest link if several buckets of a problem are linked to the same
// bug.
const sqlBucketBugs = `
	select ` + db.BugColumns + ` from (
		select distinct on (bug_number) * from bucket_bugs where bucket_id in ` + db.Members +
	` order by bug_number, at, bucket_id
	) as l ` + db.BugJoins + ` order by ` + db.BugOrder

// BucketBugs returns all bugs of a bucket's problem. The first one determines the status, and lists
// show it.
func (s *Store) BucketBugs(ctx context.Context, id crash.BucketID) ([]crash.Bug, error) {
	rows, err := s.Pool.Query(ctx, sqlBucketBugs, pgx.NamedArgs{"bucket": id[:]})
	if err != nil {
		return nil, fmt.Errorf("bugs of bucket %s: %w", id, db.Classify(err))
	}
	bugs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (crash.Bug, error) {
		var b db.BugScan
		err := row.Scan(b.Columns()...)
		return b.Bug(), err
	})
	if err != nil {
		return nil, fmt.Errorf("bugs of bucket %s: %w", id, db.Classify(err))
	}
	if err := s.addUpdates(ctx, bugs); err != nil {
		return nil, fmt.Errorf("bugs of bucket %s: %w", id, err)
	}
	return bugs, nil
}

const sqlDueBugs = `select number from bug_states where next_read <= now() order by next_read, number limit @limit`

// DueBugs returns the numbers of up to limit bugs that should be read from the tracker now, longest
// overdue first.
func (s *Store) DueBugs(ctx context.Context, limit int) ([]int64, error) {
	return s.numbers(ctx, "due bugs", sqlDueBugs, pgx.NamedArgs{"limit": limit})
}

func (s *Store) numbers(ctx context.Context, what, sql string, args pgx.NamedArgs) ([]int64, error) {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, db.Classify(err))
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, db.Classify(err))
	}
	return numbers, nil
}

const (
	sqlKnowBug = `
		insert into bugs (number, title, url) values (@number, '', @url) on conflict (number) do nothing`
	sqlSaveState = `
		update bug_states set information_type = @type, private = @private, hidden = @hidden,
			duplicate_of = nullif(@duplicate::bigint, 0), closed = @closed, tasks = @tasks, fixes = @fixes,
			read = now(), next_read = now() + @again::interval, failures = 0, failure = ''
		where number = @number`
	sqlSaveBugTitle = `update bugs set title = @title where number = @number and title <> @title`
)

// SaveBugReading stores the state of a bug that the tracker has returned. It schedules the next
// reading after the time again. If the bug is a duplicate, mishap reads its master from now on,
// too; masterURL is the page of the master.
func (s *Store) SaveBugReading(ctx context.Context, r crash.BugReading, masterURL string, again time.Duration) error {
	title := r.Title
	if r.Private || r.Hidden {
		title = ""
	}
	args := pgx.NamedArgs{
		"number": r.Number, "type": r.InformationType, "private": r.Private, "hidden": r.Hidden, "duplicate": r.DuplicateOf,
		"closed": r.Closed(), "tasks": listOf(r.Tasks), "fixes": listOf(r.Fixes), "again": again, "title": title,
	}
	return s.InTx(ctx, func(tx pgx.Tx) error {
		if r.DuplicateOf != 0 {
			master := pgx.NamedArgs{"number": r.DuplicateOf, "url": masterURL}
			for _, sql := range []string{sqlKnowBug, db.SQLWatchBug} {
				if _, err := tx.Exec(ctx, sql, master); err != nil {
					return fmt.Errorf("bug %d: %w", r.DuplicateOf, err)
				}
			}
		}
		for _, sql := range []string{sqlSaveState, sqlSaveBugTitle} {
			if _, err := tx.Exec(ctx, sql, args); err != nil {
				return fmt.Errorf("state of bug %d: %w", r.Number, err)
			}
		}
		return nil
	})
}

// listOf returns list, or an empty list for nil, so that its JSON is never null.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

const sqlFailState = `
	update bug_states set failures = failures + 1, failure = @failure,
		next_read = now() + least(@again::interval * power(2, least(failures, 9)), interval '6 hours')
	where number = @number`

// FailBugReading records that a bug could not be read, and why. The time until the next attempt
// starts with again and doubles with each failure in a row.
func (s *Store) FailBugReading(ctx context.Context, number int64, why string, again time.Duration) error {
	_, err := s.Pool.Exec(ctx, sqlFailState, pgx.NamedArgs{"number": number, "failure": why, "again": again})
	if err != nil {
		return fmt.Errorf("state of bug %d: %w", number, db.Classify(err))
	}
	return nil
}

const sqlReadBugsNow = `update bug_states set next_read = now() where number = any(@numbers)`

// ReadBugsNow schedules bugs to be read at once because someone asks for it, even those whose last
// reading failed.
func (s *Store) ReadBugsNow(ctx context.Context, numbers []int64) error {
	if _, err := s.Pool.Exec(ctx, sqlReadBugsNow, pgx.NamedArgs{"numbers": numbers}); err != nil {
		return fmt.Errorf("read bugs now: %w", db.Classify(err))
	}
	return nil
}

const sqlRefreshBugs = `
	update bug_states set next_read = now()
	where number = any(@numbers) and next_read > now() and failures = 0
		and (read is null or read < now() - @older::interval)`

// RefreshBugs schedules bugs to be read soon if their state is older than a duration, because
// someone looks at them. It leaves bugs whose last reading failed to their own schedule.
func (s *Store) RefreshBugs(ctx context.Context, numbers []int64, older time.Duration) error {
	if _, err := s.Pool.Exec(ctx, sqlRefreshBugs, pgx.NamedArgs{"numbers": numbers, "older": older}); err != nil {
		return fmt.Errorf("read bugs soon: %w", db.Classify(err))
	}
	return nil
}

const sqlStatesOf = `select to_jsonb(st) from bug_states as st where st.number = any(@numbers) and st.read is not null`

// BugStates returns the stored states of bugs, in no particular order. It omits bugs that were
// never read.
func (s *Store) BugStates(ctx context.Context, numbers []int64) ([]crash.BugState, error) {
	rows, err := s.Pool.Query(ctx, sqlStatesOf, pgx.NamedArgs{"numbers": numbers})
	if err != nil {
		return nil, fmt.Errorf("states of bugs: %w", db.Classify(err))
	}
	states, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (crash.BugState, error) {
		var st *db.StoredState
		if err := row.Scan(&st); err != nil {
			return crash.BugState{}, err
		}
		return st.State(st.Number, ""), nil
	})
	if err != nil {
		return nil, fmt.Errorf("states of bugs: %w", db.Classify(err))
	}
	return states, nil
}
