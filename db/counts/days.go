// Package counts reads stored counts for charts, comparisons and the API. It changes nothing;
// package db counts reports.
package counts

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
)

// Store reads counts. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns a Store for the counts in s.
func New(s *db.Store) *Store { return &Store{s} }

const sqlExpired = `select coalesce((select before from expired_counts), '0001-01-01')`

// From returns the first UTC day whose counts have not expired, or zero if none have. Counts of earlier
// days are unknown: what is stored of them may be incomplete.
func (s *Store) From(ctx context.Context) (time.Time, error) {
	from, err := db.CachedCounts(ctx, s.Store, nil, func(ctx context.Context) (from time.Time, err error) {
		err = s.Pool.QueryRow(ctx, sqlExpired).Scan(&from)
		return from, err
	})
	if err != nil {
		return from, fmt.Errorf("expired counts: %w", db.Classify(err))
	}
	if from.Year() < 2 {
		return time.Time{}, nil
	}
	return from.UTC(), nil
}

// These statements are for days that are older than the index. They read all daily counts, which
// few requests need.
const (
	sqlProblemDays = `
		select d.day, count(distinct b.head) from bucket_days as d join buckets as b on b.id = d.bucket_id
		where d.day between @since and @until and d.reports > 0 group by d.day`
	sqlTracedDays = `
		select d.day, d.release, d.architecture,
			coalesce(sum(d.reports) filter (where not h.provisional), 0)::bigint,
			coalesce(sum(d.reports) filter (where h.provisional), 0)::bigint
		from bucket_days as d join buckets as b on b.id = d.bucket_id join buckets as h on h.id = b.head
		where d.day between @since and @until and h.problem_type = 'Crash' and h.rule = any(@rules)
		group by d.day, d.release, d.architecture order by d.day desc, d.release, d.architecture`
)

// ProblemDays returns how many different problems have reports on each UTC day, from since to until
// inclusive. It omits days without any.
func (s *Store) ProblemDays(ctx context.Context, since, until time.Time) (map[time.Time]int64, error) {
	rows, err := s.Pool.Query(ctx, sqlProblemDays, pgx.NamedArgs{"since": since, "until": until})
	if err != nil {
		return nil, fmt.Errorf("days of problems: %w", db.Classify(err))
	}
	days := map[time.Time]int64{}
	var day time.Time
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&day, &n}, func() error { days[day.UTC()] = n; return nil }); err != nil {
		return nil, fmt.Errorf("days of problems: %w", db.Classify(err))
	}
	return days, nil
}

// TracedDays returns the same as [index.Index.TracedDays], also for days that are older than the
// index.
func (s *Store) TracedDays(ctx context.Context, since, until time.Time, rules []crash.Rule) ([]index.Traced, error) {
	rows, err := s.Pool.Query(ctx, sqlTracedDays, pgx.NamedArgs{"since": since, "until": until, "rules": rules})
	if err != nil {
		return nil, fmt.Errorf("days of traces: %w", db.Classify(err))
	}
	days, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t index.Traced, err error) {
		var day time.Time
		err = row.Scan(&day, &t.Release, &t.Architecture, &t.Named, &t.Failed)
		t.Day = index.DayOf(day)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("days of traces: %w", db.Classify(err))
	}
	return days, nil
}
