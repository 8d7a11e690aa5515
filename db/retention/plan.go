package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash/privacy"
	"mishap/db"
)

// CountLimit is the number above which Plan stops counting.
const CountLimit = 1_000_000

const (
	// sqlCountOfType counts reports of a type or, if except is set, of all types but these.
	sqlCountOfType = `
		select count(*) from (
			select from reports where received < @until and (problem_type = any(@types::text[])) <> @except::boolean limit @limit
		) as r`
	sqlCountDays = `
		select count(*) from (select from bucket_days where day < @before limit @limit) as d`
	sqlCountBetween = `
		select count(*) from (
			select from reports where received >= @from and received < @until limit @limit
		) as r`
	// sqlExpired is the arrival up to which private fields were removed.
	sqlExpired = `
		select coalesce(max(received), '0001-01-01') from privacy_runs where kind = 'expire' and fields = @fields`
	sqlCountAudit = `
		select count(*) from (select from audit_events where at < @until and action <> 'user.remove' limit @limit) as e`
	// sqlStored uses the estimates of PostgreSQL for tables with many rows.
	sqlStored = `
		select greatest((select count(*) from (select from reports limit @limit) as r), (
				select coalesce(sum(c.reltuples), 0)::bigint
				from pg_inherits as i join pg_class as c on c.oid = i.inhrelid where i.inhparent = 'reports'::regclass)),
			greatest((select count(*) from (select from audit_events limit @limit) as e),
				(select reltuples::bigint from pg_class where oid = 'audit_events'::regclass)),
			greatest((select count(*) from (select from buckets where reports > 0 limit @limit) as b),
				(select reltuples::bigint from pg_class where oid = 'buckets'::regclass and reltuples > @limit)),
			greatest((select count(*) from (select from bucket_days limit @limit) as d),
				(select reltuples::bigint from pg_class where oid = 'bucket_days'::regclass))`
	sqlHeldReports = `
		select coalesce(sum(reports), 0)::bigint from buckets where id in (` + db.HeldBuckets + `)`
)

// Due is the number of reports of which something will be removed within a week.
type Due struct {
	Reports []int64 // whole reports, for each of Keep.Limits
	Private int64   // reports whose private fields are removed
	Audit   int64   // records of the audit log
	Days    int64   // daily counts of problems
	Held    int64   // counted reports of held problems, of which nothing is removed

	Stored, AuditStored, Problems, DaysStored int64 // approximate numbers of what is stored
}

// Due returns how much retention will remove until a time. It counts at most a million reports of each
// kind, and includes those of held problems.
func (s *Store) Due(ctx context.Context, until time.Time, keep privacy.Periods) (d Due, err error) {
	privateDays, auditDays := keep.PrivateDays, keep.AuditDays
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if d.Reports, err = dueReports(ctx, tx, until, keep.Reports); err != nil {
			return err
		}
		if keep.CountsYears > 0 {
			if err := tx.QueryRow(ctx, sqlCountDays, pgx.NamedArgs{"before": CountsFrom(until, keep.CountsYears),
				"limit": CountLimit}).Scan(&d.Days); err != nil {
				return err
			}
		}
		if privateDays > 0 {
			var from time.Time
			if err := tx.QueryRow(ctx, sqlExpired, pgx.NamedArgs{"fields": s.table.Hash()}).Scan(&from); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, sqlCountBetween, pgx.NamedArgs{"from": from.Add(time.Millisecond),
				"until": until.AddDate(0, 0, -privateDays), "limit": CountLimit}).Scan(&d.Private); err != nil {
				return err
			}
		}
		if auditDays > 0 {
			if err := tx.QueryRow(ctx, sqlCountAudit, pgx.NamedArgs{"until": until.AddDate(0, 0, -auditDays),
				"limit": CountLimit}).Scan(&d.Audit); err != nil {
				return err
			}
		}
		if err := tx.QueryRow(ctx, sqlStored, pgx.NamedArgs{"limit": CountLimit}).Scan(&d.Stored, &d.AuditStored,
			&d.Problems, &d.DaysStored); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlHeldReports).Scan(&d.Held)
	})
	if err != nil {
		return d, fmt.Errorf("what retention will remove: %w", err)
	}
	return d, nil
}

// dueReports returns, for each limit, how many reports arrived in months that will have ended that long
// ago.
func dueReports(ctx context.Context, tx pgx.Tx, until time.Time, keep privacy.Keep) ([]int64, error) {
	limits := keep.Limits()
	due := make([]int64, len(limits))
	var listed []string
	for _, l := range limits[1:] {
		listed = append(listed, l.Type)
	}
	for i, l := range limits {
		if l.Days == 0 {
			continue
		}
		end := until.AddDate(0, 0, -l.Days).UTC()
		args := pgx.NamedArgs{"until": time.Date(end.Year(), end.Month(), 1, 0, 0, 0, 0, time.UTC), "except": i == 0,
			"types": append([]string{}, listed...), "limit": CountLimit}
		if i > 0 {
			args["types"] = []string{l.Type}
		}
		if err := tx.QueryRow(ctx, sqlCountOfType, args).Scan(&due[i]); err != nil {
			return nil, err
		}
	}
	return due, nil
}
