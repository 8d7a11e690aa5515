// Package check counts stored reports again and compares the result with the stored counts.
package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// A check counts the stored reports again in SQL, independently of the rounds, and compares the
// results. It reads one snapshot and omits reports that are not counted yet, so it can run at any
// time.
//
// If retention has dropped reports, their counts stay, and can no longer be counted again. A count
// must then be at least as large as that of the remaining reports. It must be equal on days for
// which no report was dropped. These days start with the second day after the last dropped month,
// because a report counts at most one day after its arrival.
//
// If daily counts have expired, totals by day are compared from the first day that has not. The days of a
// problem and the sums of those that have expired must give its counts by version, whatever was dropped.

const (
	sqlUncounted = `select coalesce(array_agg(r), '{}') from uncounted, unnest(reports) as r`
	sqlDropped   = `select max(month) from dropped_months`
	sqlExpired   = `select coalesce((select before from expired_counts), '0001-01-01')`
	sqlCheckDays = `
		select day from (select day from release_days union select day from report_days) as d
		order by md5(day::text || @seed::bigint::text) limit @limit`
)

// A check first copies the data into temporary tables. These exist only during a check, so TestSQL
// cannot prepare the statements that use them; TestCheck runs all of these statements.
const (
	makeCheckTables = `
		create temporary table check_buckets (id bytea primary key) on commit drop;
		create temporary table check_reports (
			id uuid not null, day date not null, counted boolean not null, system_key bigint, bucket_id bytea,
			package text not null, version text not null, release text not null, architecture text not null,
			package_architecture text not null, problem_type text not null,
			proposed boolean not null, seen timestamptz not null
		) on commit drop`
	chooseBuckets = `
		insert into check_buckets
		select id from buckets where @everything or id in (
			select id from buckets order by md5(encode(id, 'hex') || @seed::bigint::text) limit @buckets)`
	// copyReports copies the reports of the chosen buckets, and all reports of the chosen days.
	copyReports = `
		insert into check_reports
		select id, day, counted, system_key, bucket_id, package, version, release, architecture,
			package_architecture, problem_type, proposed,
			case when (occurred at time zone 'UTC')::date = day then occurred else received end
		from reports
		where (@everything or bucket_id in (select id from check_buckets) or day = any(@days::date[]))
			and not id = any(@uncounted::uuid[])`
	analyseCheckTables = `analyze check_buckets, check_reports`
	checkSizes         = `select (select count(*) from check_buckets), (select count(*) from check_reports)`
)

// Steps is the number of times that Run calls step.
const Steps = 15

// Run counts stored reports again, and returns where the stored counts differ. It calls step after
// each of its Steps, to show the progress. It changes nothing.
func Run(ctx context.Context, s *db.Store, scope crash.CheckScope, step func()) (crash.CheckResult, error) {
	var result crash.CheckResult
	tx, err := s.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return result, fmt.Errorf("check: %w", db.Classify(err))
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // a check only reads
	c := &checking{Tx: tx, scope: scope, result: &result}
	for _, do := range c.steps() {
		if err := do(ctx); err != nil {
			return result, fmt.Errorf("check: %w", db.Classify(err))
		}
		step()
	}
	return result, nil
}

// checking is a running check.
type checking struct {
	pgx.Tx
	scope   crash.CheckScope
	result  *crash.CheckResult
	days    []time.Time
	dropped bool
	before  time.Time // first day whose counts have not expired
	exact   time.Time // first day whose counts must be equal, if reports were dropped
}

func (c *checking) steps() []func(context.Context) error {
	steps := []func(context.Context) error{c.prepare, c.checkEnds}
	for _, k := range comparisons {
		steps = append(steps, func(ctx context.Context) error { return c.compare(ctx, k) })
	}
	return steps
}

// prepare chooses what to check, and copies it into the temporary tables.
func (c *checking) prepare(ctx context.Context) error {
	if _, err := c.Exec(ctx, db.NoTimeLimit); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, makeCheckTables); err != nil {
		return err
	}
	var uncounted [][16]byte
	if err := c.QueryRow(ctx, sqlUncounted).Scan(&uncounted); err != nil {
		return err
	}
	if err := c.QueryRow(ctx, sqlExpired).Scan(&c.before); err != nil {
		return err
	}
	if c.before.Year() > 1 {
		c.result.Expired = c.before.Format(time.DateOnly)
	}
	var month *time.Time
	if err := c.QueryRow(ctx, sqlDropped).Scan(&month); err != nil {
		return err
	}
	if month != nil {
		c.dropped, c.exact, c.result.Dropped = true, month.AddDate(0, 1, 1), month.Format("2006-01")
	}
	seed := c.scope.Seed
	if seed == 0 {
		seed = rand.Int64() //nolint:gosec // the choice of buckets is no secret
	}
	everything := c.scope.Buckets == 0
	rows, err := c.Query(ctx, sqlCheckDays, pgx.NamedArgs{"seed": seed, "limit": max(1, c.scope.Buckets/10)})
	if err != nil {
		return err
	}
	if c.days, err = pgx.CollectRows(rows, pgx.RowTo[time.Time]); err != nil {
		return err
	}
	args := pgx.NamedArgs{"everything": everything, "seed": seed, "buckets": c.scope.Buckets, "days": c.days,
		"uncounted": uncounted}
	for _, sql := range []string{chooseBuckets, copyReports, analyseCheckTables} {
		if _, err := c.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return c.QueryRow(ctx, checkSizes).Scan(&c.result.Buckets, &c.result.Reports)
}

// compare runs one comparison. Its query returns the name of a count, the stored and the recounted
// value, and the numbers of compared and of different counts.
func (c *checking) compare(ctx context.Context, k comparison) error {
	rows, err := c.Query(ctx, k.sql, pgx.NamedArgs{
		"everything": c.scope.Buckets == 0, "days": c.days, "dropped": c.dropped, "exact": c.exactDay(),
		"most": max(c.scope.Most, 1), "before": c.before,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", k.count, err)
	}
	d := crash.Difference{Count: k.count}
	var stored, recounted *string
	var looked, differ int64
	var of *string
	if _, err := pgx.ForEachRow(rows, []any{&of, &stored, &recounted, &looked, &differ}, func() error {
		if of != nil {
			d.Of, d.Stored, d.Recounted = *of, orEmpty(stored), orEmpty(recounted)
			c.result.Differences = append(c.result.Differences, d)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("%s: %w", k.count, err)
	}
	c.result.Counts += looked
	c.result.Found += differ
	return nil
}

// exactDay returns the first day on which stored counts must equal the recounted ones.
func (c *checking) exactDay() time.Time {
	if !c.dropped {
		return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return c.exact
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
