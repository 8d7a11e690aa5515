package counts

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db"
)

// activeMachines is the part of a union that brings, by release and day, how the number of active machines changed.
const activeMachines = `select release, day, 0::bigint as reports, 0::bigint as apart, change::bigint from release_active`

// perMachine ends a statement that has a union u of counts and changes: rows of release, day, reports, some of them, and the
// machines that were active on that day. It is one pass, however many days there are.
const perMachine = `
	select release, day, reports, apart, machines from (
		select release, day, sum(reports)::bigint as reports, sum(apart)::bigint as apart,
			sum(sum(change)) over (partition by release order by day)::bigint as machines
		from u group by release, day
	) as days
	where day between @since and @until and reports > 0 and machines > 0
	order by release, day`

const (
	sqlPackageRates = `
		with u as (
			select release, day, reports, case when problem_type = @apart then reports else 0 end as apart, 0::bigint as change
			from report_days
			where package = @package and day between @since and @until and (@version = '' or version = @version)
				and (@release = '' or release = @release)
			union all ` + activeMachines + `
		) ` + perMachine
	sqlReleaseRates = `
		with u as (
			select release, day, reports, case when problem_type = @apart then reports else 0 end as apart, 0::bigint as change
			from release_days where day between @since and @until and (@release = '' or release = @release)
			union all ` + activeMachines + `
		) ` + perMachine
)

const sqlActive = `select release, day, change from release_active`

// activeChange is how the number of active machines of a release changed on a day.
type activeChange struct {
	day    time.Time
	change int64
}

// ActiveMachines returns how many machines of some releases were active on each UTC day from since to until, both included:
// that reported anything for the release in the 90 days up to the day.
func (s *Store) ActiveMachines(ctx context.Context, releases []crash.Release, since,
	until time.Time) (map[crash.Release][]int64, error) {
	all, err := db.CachedCounts(ctx, s.Store, nil, s.readActive)
	if err != nil {
		return nil, fmt.Errorf("active machines: %w", db.Classify(err))
	}
	active := map[crash.Release][]int64{}
	for _, r := range releases {
		days := make([]int64, max(int(until.Sub(since)/(24*time.Hour))+1, 0))
		for _, c := range all[r] {
			if at := max(int(c.day.Sub(since)/(24*time.Hour)), 0); at < len(days) {
				days[at] += c.change
			}
		}
		for i := 1; i < len(days); i++ {
			days[i] += days[i-1]
		}
		active[r] = days
	}
	return active, nil
}

func (s *Store) readActive(ctx context.Context) (map[crash.Release][]activeChange, error) {
	rows, err := s.Pool.Query(ctx, sqlActive)
	if err != nil {
		return nil, err
	}
	all := map[crash.Release][]activeChange{}
	var release crash.Release
	var c activeChange
	_, err = pgx.ForEachRow(rows, []any{&release, &c.day, &c.change}, func() error {
		all[release] = append(all[release], c)
		return nil
	})
	return all, err
}

// RateFilter chooses reports to count by release and day. It is not a [index.Filter] because its
// package is a binary package only, as in the API that machines know, and because it counts one
// problem type apart.
type RateFilter struct {
	Since, Until time.Time // UTC days, both included
	Release      crash.Release
	Package      string // binary package; empty: all
	Version      string // only with a package
	Apart        string // a problem type that is counted apart
}

// Rates returns how many reports there were on each UTC day by release, beside the machines that were active there, the
// earliest day first. Days without a report or an active machine are left out. What is returned is not to be changed.
func (s *Store) Rates(ctx context.Context, f RateFilter) ([]stats.DayRate, error) {
	f.Since, f.Until = f.Since.UTC().Truncate(24*time.Hour), f.Until.UTC().Truncate(24*time.Hour)
	rates, err := db.CachedCounts(ctx, s.Store, f, func(ctx context.Context) ([]stats.DayRate,
		error) {
		return s.readRates(ctx, f)
	})
	return rates, db.Classify(err)
}

func (s *Store) readRates(ctx context.Context, f RateFilter) ([]stats.DayRate, error) {
	sql := sqlPackageRates
	if f.Package == "" {
		sql = sqlReleaseRates
	}
	return s.dayRates(ctx, sql, pgx.NamedArgs{
		"since": f.Since, "until": f.Until, "release": f.Release, "package": f.Package, "version": f.Version,
		"apart": f.Apart,
	})
}

func (s *Store) dayRates(ctx context.Context, sql string, args pgx.NamedArgs) ([]stats.DayRate, error) {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("rates by day: %w", db.Classify(err))
	}
	rates, err := pgx.CollectRows(rows, pgx.RowToStructByPos[stats.DayRate])
	if err != nil {
		return nil, fmt.Errorf("rates by day: %w", db.Classify(err))
	}
	return rates, nil
}

const sqlVersionDays = `
	select day, new, new_proposed, old, old_proposed, sum(change) over (order by day)::bigint as machines from (
		select day, sum(new)::bigint as new, sum(new_proposed)::bigint as new_proposed,
			sum(old)::bigint as old, sum(old_proposed)::bigint as old_proposed, sum(change)::bigint as change
		from (
			select day,
				case when version = @new then reports else 0 end as new,
				case when version = @new and proposed then reports else 0 end as new_proposed,
				case when version = @old then reports else 0 end as old,
				case when version = @old and proposed then reports else 0 end as old_proposed, 0::bigint as change
			from report_days
			where package = @package and release = @release and version in (@new, @old) and problem_type = 'Crash'
			union all
			select day, 0, 0, 0, 0, change from release_active where release = @release
		) as u group by day
	) as days order by day`

// VersionDays returns, by UTC day, the earliest first, how many crashes two versions of a binary package had in a release
// and how many machines were active there. Days on which nothing changed are left out: their machines are those of the
// day before.
func (s *Store) VersionDays(ctx context.Context, release crash.Release, pkg, old, new string) ([]stats.VersionDay,
	error) {
	args := pgx.NamedArgs{"release": release, "package": pkg, "old": old, "new": new}
	rows, err := s.Pool.Query(ctx, sqlVersionDays, args)
	if err != nil {
		return nil, fmt.Errorf("days of versions: %w", db.Classify(err))
	}
	days, err := pgx.CollectRows(rows, pgx.RowToStructByPos[stats.VersionDay])
	if err != nil {
		return nil, fmt.Errorf("days of versions: %w", db.Classify(err))
	}
	return days, nil
}

const sqlReleaseDays = `
	select day, release, sum(reports)::bigint from release_days where day between @since and @until
	group by day, release order by day desc`

// ReleaseDays returns how many reports there were on each UTC day from since to until by release, the latest day first.
func (s *Store) ReleaseDays(ctx context.Context, since, until time.Time) ([]crash.DayCount, error) {
	rows, err := s.Pool.Query(ctx, sqlReleaseDays, pgx.NamedArgs{"since": since, "until": until})
	if err != nil {
		return nil, fmt.Errorf("days of releases: %w", db.Classify(err))
	}
	days, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.DayCount])
	if err != nil {
		return nil, fmt.Errorf("days of releases: %w", db.Classify(err))
	}
	return days, nil
}

const sqlVersionSpans = `
	select release, version, min(day), max(day), sum(reports)::bigint from report_days
	where package = @package and day between @since and @until and version <> '' group by release, version`

// VersionSpans returns how often each version of a binary package was reported from each release on the UTC days from since
// to until, and between which of them; in no order.
func (s *Store) VersionSpans(ctx context.Context, pkg string, since, until time.Time) ([]stats.VersionSpan, error) {
	rows, err := s.Pool.Query(ctx, sqlVersionSpans, pgx.NamedArgs{"package": pkg, "since": since, "until": until})
	if err != nil {
		return nil, fmt.Errorf("versions of a package: %w", db.Classify(err))
	}
	spans, err := pgx.CollectRows(rows, pgx.RowToStructByPos[stats.VersionSpan])
	if err != nil {
		return nil, fmt.Errorf("versions of a package: %w", db.Classify(err))
	}
	return spans, nil
}

const sqlPackageDays = `
	select day, release, sum(reports)::bigint from report_days
	where package = @package and day between @since and @until group by day, release order by day`

// PackageDays returns how often a binary package was reported on each UTC day from since to until by release, the earliest
// day first. Days without a report are left out.
func (s *Store) PackageDays(ctx context.Context, pkg string, since, until time.Time) ([]crash.DayCount, error) {
	rows, err := s.Pool.Query(ctx, sqlPackageDays, pgx.NamedArgs{"package": pkg, "since": since, "until": until})
	if err != nil {
		return nil, fmt.Errorf("days of a package: %w", db.Classify(err))
	}
	days, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.DayCount])
	if err != nil {
		return nil, fmt.Errorf("days of a package: %w", db.Classify(err))
	}
	return days, nil
}
