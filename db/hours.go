package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
)

// hourDays is the number of UTC days, with today, of which reports are counted by hour: two weeks of an update that
// is four weeks old, and the four weeks before.
const hourDays = 70

// HoursFrom returns the first UTC day of which reports are counted by hour.
func HoursFrom(now time.Time) time.Time { return crash.Midnight(now).AddDate(0, 0, 1-hourDays) }

// hourArgs returns the arguments for rows of report_hours and of release_hours.
func (t totals) hourArgs() (packages, releases pgx.NamedArgs) {
	hours := func(keys []releaseHour) pgx.NamedArgs {
		return pgx.NamedArgs{
			"release": column(keys, func(k releaseHour) string { return k.release }),
			"hour":    column(keys, func(k releaseHour) time.Time { return k.hour }),
		}
	}
	p, r := keysOf(t.hours), keysOf(t.releaseHours)
	packages, releases = hours(column(p, func(k packageHour) releaseHour { return k.releaseHour })), hours(r)
	packages["package"] = column(p, func(k packageHour) string { return k.pkg })
	packages["version"] = column(p, func(k packageHour) string { return k.version })
	packages["n"] = column(p, func(k packageHour) int64 { return t.hours[k] })
	releases["n"] = column(r, func(k releaseHour) int64 { return t.releaseHours[k] })
	return packages, releases
}

const (
	sqlDropOldHours        = `delete from report_hours where hour < @before`
	sqlDropOldReleaseHours = `delete from release_hours where hour < @before`
)

// DropOldHours deletes the counts by hour of days that no page shows. Rounds no longer write such days.
func (s *Store) DropOldHours(ctx context.Context) error {
	before := pgx.NamedArgs{"before": HoursFrom(s.Now())}
	return Wrap(s.InTx(ctx, func(tx pgx.Tx) error {
		return Exec(ctx, tx, before, NoTimeLimit, sqlDropOldHours, sqlDropOldReleaseHours)
	}), "drop old counts by hour")
}

const (
	// hoursToCheck is the first day whose counts by hour can be counted again.
	hoursToCheck = `
		greatest((select hours_since from counting), @from::date,
			(select (max(month) + interval '1 month 1 day')::date from dropped_months))`
	recountedHours = `
		select package, release, date_trunc('hour',
			case when (occurred at time zone 'UTC')::date = day then occurred else received end, 'UTC') as hour, version,
			day, count(*)::bigint as reports
		from reports
		where received >= @here and counted and day >= ` + hoursToCheck + `
			and id not in (select unnest(u.reports) from uncounted as u)`
	// sqlWrongHours selects the days with a wrong count.
	sqlWrongHours = `
		select distinct coalesce(r.day, (h.hour at time zone 'UTC')::date)
		from (
			select * from report_hours where hour >= (` + hoursToCheck + `)::timestamp at time zone 'UTC'
		) as h full join (` + recountedHours + ` group by 1, 2, 3, 4, 5) as r using (package, release, hour, version)
		where h.reports is distinct from r.reports`
	sqlClearHours = `
		delete from report_hours where (hour at time zone 'UTC')::date = any(@days::date[])`
	sqlCorrectHours = `
		insert into report_hours (package, release, hour, version, reports)
		select package, release, hour, version, reports from (` + recountedHours + ` and day = any(@days::date[])
			group by 1, 2, 3, 4, 5) as r`
	sqlClearReleaseHours = `
		delete from release_hours as r using (
			select release, hour, sum(h.reports)::bigint as sum, n.reports
			from report_hours as h full join release_hours as n using (release, hour)
			group by release, hour, n.reports
		) as s
		where s.release = r.release and s.hour = r.hour and s.sum is distinct from r.reports`
	sqlCorrectReleaseHours = `
		insert into release_hours (release, hour, reports)
		select release, hour, sum(reports)::bigint from report_hours group by release, hour
		on conflict do nothing`
)

// RepairHours corrects the counts by hour, and returns the number of days with a wrong count. It looks for them
// without the lock on counting, which it holds only while it counts their reports again.
func (s *Store) RepairHours(ctx context.Context) (wrong int, err error) {
	from := HoursFrom(s.Now()).AddDate(0, 0, 1)
	args := pgx.NamedArgs{"from": from, "here": from.AddDate(0, 0, -1)}
	var days []time.Time
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, NoTimeLimit); err != nil {
			return err
		}
		days, err = List(ctx, tx, sqlWrongHours, args, pgx.RowTo[time.Time])
		return err
	})
	if err != nil {
		return 0, Wrap(err, "wrong counts by hour")
	}
	args["days"] = days
	err = s.inRound(ctx, func(tx pgx.Tx, _ stamp) error {
		if err := Exec(ctx, tx, args, NoTimeLimit, sqlClearHours, sqlCorrectHours, sqlClearReleaseHours,
			sqlCorrectReleaseHours); err != nil || len(days) == 0 {
			return err
		}
		return s.Audit(ctx, tx, AuditEvent{Action: audit.CommandOther, Subject: "mishap check --repair",
			Detail: map[string]any{"days_with_wrong_hours": len(days)}})
	})
	return len(days), Wrap(err, "repair counts by hour")
}
