package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// Daily counts expire by whole months. Sums of them stay in bucket_expired, so that the totals of
// problems can still be verified. Counts of a held problem stay, and those of a problem with a stored
// report of an expired day. A problem without any other day expires as a whole, unless people have
// worked on it.

const (
	sqlBefore  = `select coalesce((select before from expired_counts), '0001-01-01')`
	sqlAdvance = `
		insert into expired_counts (before, at) values (@before, @at)
		on conflict (single) do update set before = excluded.before, at = excluded.at`
	// sqlBaseline makes the number of active machines on the first day that stays a change of that day.
	sqlBaseline = `
		with gone as (delete from release_active where day < @before returning release, change)
		insert into release_active as a (release, day, change)
		select release, @before, sum(change)::bigint from gone group by release
		on conflict (release, day) do update set change = a.change + excluded.change`
	sqlEndSpans = `
		delete from release_systems where ctid = any(array(
			select ctid from release_systems where until_day < @before limit @most))`
	sqlShortenSpans = `
		update release_systems set from_day = @before where ctid = any(array(
			select ctid from release_systems where from_day < @before and until_day >= @before limit @most))`
	sqlDropPackageDays = `
		delete from report_days where ctid = any(array(select ctid from report_days where day < @before limit @most))`
	sqlDropReleaseDays = `
		delete from release_days where ctid = any(array(select ctid from release_days where day < @before limit @most))`

	sqlRound          = `select round from counting`
	sqlExpiredBuckets = `select distinct bucket_id from bucket_days where day < @before`
	// sqlNeeded selects buckets with a stored report of an expired day, whose count such a report needs to
	// be moved or erased.
	sqlNeeded = `
		select distinct bucket_id from reports where day < @before and counted and bucket_id = any(@ids::bytea[])`
	// sqlCollapse leaves out buckets that have changed since sqlNeeded: they may have got such reports.
	sqlCollapse = `
		with gone as (
			delete from bucket_days as d
			where bucket_id = any(@ids::bytea[]) and day < @before and bucket_id not in (` + db.HeldBuckets + `)
				and not exists (
					select from bucket_days as c where c.bucket_id = d.bucket_id and c.day < @before and c.changed > @round)
			returning *
		)
		insert into bucket_expired as e
		select bucket_id, release, version, architecture, package_architecture, sum(reports)::bigint,
			sum(proposed)::bigint, min(day), max(day)
		from gone group by bucket_id, release, version, architecture, package_architecture
		on conflict (bucket_id, release, version, architecture, package_architecture) do update set
			reports = e.reports + excluded.reports, proposed = e.proposed + excluded.proposed,
			first_day = least(e.first_day, excluded.first_day), last_day = greatest(e.last_day, excluded.last_day)`
	sqlLockHolds = `lock table holds in share mode`

	// endedBuckets selects the problems of which all counts by day have expired.
	endedBuckets = `
		from buckets as b
		where b.reports > 0 and b.head = b.id and exists (select from bucket_expired as e where e.bucket_id = b.id)
			and not exists (select from bucket_days as d where d.bucket_id = b.id)
			and not exists (select from reports as r where r.bucket_id = b.id)
			and not exists (select from buckets as m where m.head = b.id and m.id <> b.id)
			and b.id not in (` + db.HeldBuckets + `) and b.id not in (` + db.PeoplesWork + `)`
	sqlEnded      = `select b.id ` + endedBuckets + ` limit @most`
	sqlStillEnded = `select b.id ` + endedBuckets + ` and b.id = any(@ids::bytea[]) order by b.id`
	sqlForget     = `
		with days as (delete from bucket_expired where bucket_id = any(@ids::bytea[])),
			versions as (delete from bucket_versions where bucket_id = any(@ids::bytea[])),
			releases as (delete from bucket_releases where bucket_id = any(@ids::bytea[])),
			travellers as (delete from bucket_travellers where bucket_id = any(@ids::bytea[]))
		delete from bucket_systems where bucket_id = any(@ids::bytea[])`
)

const (
	countRows    = 20_000 // rows that one statement deletes
	countBuckets = 200    // buckets whose days one transaction removes
	endBuckets   = 1000   // problems that one transaction removes
)

// ExpiredCounts is what ExpireCounts has done.
type ExpiredCounts struct {
	Before   time.Time // first day whose counts have stayed; zero: nothing has expired yet
	Advanced bool      // further days have expired than before
	Problems int64     // problems that were removed
}

// CountsFrom returns the first day whose counts stay for a number of years: the month that is that many
// years old stays until its last day is.
func CountsFrom(now time.Time, years int) time.Time {
	at := now.UTC().AddDate(-years, 0, 0)
	return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// ExpireCounts removes daily counts that are older than keepYears years, unless it is 0, and counts
// that an earlier hold has kept. It pauses after each step for as long as the step took. It can be
// interrupted at any time: the next call continues. It does nothing while another instance does this.
func (s *Store) ExpireCounts(ctx context.Context, keepYears int) (e ExpiredCounts, err error) {
	unlock, ok, err := s.LockExpiry(ctx)
	if err != nil || !ok {
		return e, err
	}
	defer unlock()
	if e, err = s.expireCounts(ctx, keepYears); err != nil {
		return e, fmt.Errorf("expire counts: %w", db.Classify(err))
	}
	return e, nil
}

// DropOldCounts calls ExpireCounts, and logs what it has done.
func (s *Store) DropOldCounts(ctx context.Context, keepYears int) error {
	e, err := s.ExpireCounts(ctx, keepYears)
	if e.Problems > 0 || e.Advanced {
		s.Log.InfoContext(ctx, "daily counts expired; totals stay", "before", e.Before.Format(time.DateOnly),
			"problems_removed", e.Problems, "counts_keep_years", keepYears)
	}
	return err
}

func (s *Store) expireCounts(ctx context.Context, keepYears int) (e ExpiredCounts, err error) {
	if err := s.Pool.QueryRow(ctx, sqlBefore).Scan(&e.Before); err != nil {
		return e, err
	}
	e.Before = e.Before.UTC()
	if from := CountsFrom(s.Now(), keepYears); keepYears > 0 && from.After(e.Before) {
		if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, sqlAdvance, pgx.NamedArgs{"before": from, "at": s.Now()})
			return err
		}); err != nil {
			return e, err
		}
		e.Before, e.Advanced = from, true
	}
	if e.Before.Year() < 2 {
		e.Before = time.Time{}
		return e, nil
	}
	args := pgx.NamedArgs{"before": e.Before, "most": countRows}
	if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlBaseline, args)
		return err
	}); err != nil {
		return e, err
	}
	for _, sql := range []string{sqlEndSpans, sqlShortenSpans, sqlDropPackageDays, sqlDropReleaseDays} {
		if err := s.inSteps(ctx, sql, args); err != nil {
			return e, err
		}
	}
	if err := s.expireDays(ctx, e.Before); err != nil {
		return e, err
	}
	e.Problems, err = s.endProblems(ctx)
	return e, err
}

// changeCounts runs do while nothing else changes counts, without a time limit, and then pauses for as
// long as that took.
func (s *Store) changeCounts(ctx context.Context, do func(tx pgx.Tx) error) error {
	began := time.Now()
	if err := db.NewDecisions(s.Store).InRound(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.NoTimeLimit); err != nil {
			return err
		}
		return do(tx)
	}); err != nil {
		return err
	}
	return crash.Sleep(ctx, time.Since(began))
}

// inSteps repeats a statement until it changes fewer rows than it may.
func (s *Store) inSteps(ctx context.Context, sql string, args pgx.NamedArgs) error {
	for changed := int64(countRows); changed == countRows; {
		if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql, args)
			changed = tag.RowsAffected()
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// expireDays removes the daily counts of problems before a day, and adds them up in bucket_expired.
func (s *Store) expireDays(ctx context.Context, before time.Time) error {
	ids, round, err := s.bucketsToExpire(ctx, before)
	if err != nil {
		return err
	}
	for len(ids) > 0 {
		n := min(len(ids), countBuckets)
		args := pgx.NamedArgs{"before": before, "ids": ids[:n], "round": round}
		if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqlLockHolds); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, sqlCollapse, args)
			return err
		}); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// bucketsToExpire returns the buckets with daily counts before a day that no stored report needs, and the
// round up to which that is known.
func (s *Store) bucketsToExpire(ctx context.Context, before time.Time) (ids [][]byte, round int64, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.NoTimeLimit); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlRound).Scan(&round); err != nil {
			return err
		}
		args := pgx.NamedArgs{"before": before}
		rows, err := tx.Query(ctx, sqlExpiredBuckets, args)
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if err != nil || len(all) == 0 {
			return err
		}
		args["ids"] = all
		if rows, err = tx.Query(ctx, sqlNeeded, args); err != nil {
			return err
		}
		needed := map[crash.BucketID]bool{}
		var id []byte
		if _, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			needed[crash.BucketID(id)] = true
			return nil
		}); err != nil {
			return err
		}
		for _, id := range all {
			if !needed[crash.BucketID(id)] {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, round, err
}

// endProblems removes problems of which all days have expired.
func (s *Store) endProblems(ctx context.Context) (ended int64, err error) {
	for found := endBuckets; found == endBuckets; {
		if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqlLockHolds); err != nil {
				return err
			}
			rows, err := tx.Query(ctx, sqlEnded, pgx.NamedArgs{"most": endBuckets})
			if err != nil {
				return err
			}
			ids, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
			if found = len(ids); err != nil || found == 0 {
				return err
			}
			args := pgx.NamedArgs{"ids": ids}
			n, err := db.ForgetProblems(ctx, tx, sqlStillEnded, args, sqlForget, "All counts of this problem have expired.")
			ended += n
			return err
		}); err != nil {
			return ended, err
		}
	}
	return ended, nil
}
