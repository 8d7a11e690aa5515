package problems

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db"
)

const (
	sqlHoursKnown   = `select since from hours_known`
	sqlReleaseHours = `
		select hour, reports, 0::bigint from release_hours
		where release = @release and hour >= @since and hour < @until`
	sqlPackageHours = `
		select hour, sum(reports)::bigint, coalesce(sum(reports) filter (where version = @version), 0)::bigint
		from report_hours
		where package = @package and release = @release and hour >= @since and hour < @until
		group by hour`
)

// Health returns what is known by hour about an update of a package, or about a release if the package is empty. first
// is the first day of the update or release; zero, or too long ago: the days end today.
func (s *Store) Health(
	ctx context.Context, table *crash.ReleaseTable, release crash.Release, pkg, version string, first, now time.Time,
) (stats.Health, error) {
	h := stats.Health{Release: release, Package: pkg, Version: version}
	if err := s.Pool.QueryRow(ctx, sqlHoursKnown).Scan(&h.Known); err != nil {
		return h, db.Wrap(err, "hours of %s", release)
	}
	h.Known = crash.Midnight(h.Known)
	if from := db.HoursFrom(now).AddDate(0, 0, 1); from.After(h.Known) {
		h.Known = from
	}
	h.Since, h.Until = crash.LastDays(now, stats.HealthDays)
	if last := first.AddDate(0, 0, stats.HealthDays-1); !first.IsZero() && (pkg != "" || !last.Before(h.Until)) {
		h.First, h.Since = true, crash.Midnight(first)
		if last.Before(h.Until) {
			h.Until = last
		}
	}
	if h.Since.Before(h.Known) {
		h.Since = h.Known
	}
	if h.Until.Before(h.Since) {
		return h, nil
	}
	// A release has no comparable past before it came out.
	from := h.Known
	if out, _ := table.Life(release); out.After(from) {
		from = out
	}
	begin := h.Since.AddDate(0, 0, -stats.SpikeDays)
	if begin.Before(h.Known) {
		begin = h.Known
	}
	type key struct {
		release             crash.Release
		pkg, version        string
		since, known, until time.Time
	}
	return db.CachedCounts(ctx, s.Store, key{release, pkg, version, h.Since, h.Known, now.Truncate(time.Hour)},
		func(ctx context.Context) (stats.Health, error) {
			err := s.readHours(ctx, &h, begin)
			if err != nil {
				return h, db.Wrap(err, "hours of %s", release)
			}
			h.Spikes = stats.FindSpikes(h.Hours, from, h.Since, now.UTC().Truncate(time.Hour))
			return h, nil
		})
}

func (s *Store) readHours(ctx context.Context, h *stats.Health, begin time.Time) error {
	end := h.Until.AddDate(0, 0, 1)
	h.Hours = stats.Hours{Since: begin, Reports: make([]int64, int(end.Sub(begin)/time.Hour))}
	h.Own = make([]int64, len(h.Hours.Reports))
	sql := sqlPackageHours
	if h.Package == "" {
		sql = sqlReleaseHours
	}
	var hour time.Time
	var reports, own int64
	return db.Each(ctx, s.Pool, sql, pgx.NamedArgs{"release": h.Release, "package": h.Package, "version": h.Version,
		"since": begin, "until": end}, []any{&hour, &reports, &own}, func() {
		i := int(hour.Sub(begin) / time.Hour)
		h.Hours.Reports[i], h.Own[i] = reports, own
	})
}

const (
	// A report counts at most one day after it arrived, so earlier ones are not read.
	sqlCrashedMachines = `
		select @release::text, '', r.day,
			(count(distinct r.system_key) + count(*) filter (where r.system_key is null))::bigint
		from reports as r
		where r.received >= @here and r.counted and r.release = @release and r.day between @since and @until
			and r.problem_type <> all(@uncounted)
		group by r.day`
	// sqlCrashedOfVersions also finds the reports without a problem, by the same index.
	sqlCrashedOfVersions = `
		with own as materialized (
			select id from buckets where package = @package and problem_type <> all(@uncounted)
		), found as (
			select r.* from own as o cross join lateral (
				select release, version, day, system_key from reports
				where bucket_id = o.id and received >= @here and counted and package = @package
					and day between @since and @until offset 0
			) as r
			union all
			select release, version, day, system_key from reports
			where bucket_id is null and received >= @here and counted and package = @package
				and day between @since and @until and problem_type <> all(@uncounted)
		)
		select release, version, day, (count(distinct system_key) + count(*) filter (where system_key is null))::bigint
		from found where release = any(@releases) group by release, version, day`
	sqlPingDays = `
		select release, day, sum(machines)::bigint from ping_days
		where release = any(@releases) and day between @since and @until group by release, day`
	// sqlInstalls selects the newest day with a number, of each release and version.
	sqlInstalls = `
		select release, version, day, machines, source, imported from (
			select release, version, day, sum(machines)::bigint as machines, min(source) as source, max(imported) as imported,
				row_number() over (partition by release, package, version order by day desc) as place
			from installs
			where release = any(@releases) and package in ('', @package) and day <= @until
			group by release, package, version, day
		) as i where place = 1`
)

// MachineNumbers returns what is known about the numbers of machines of releases in the last days before that of now,
// and about those that sent reports of each version of a package, or any reports if it is empty. Without any number
// it does not count those.
func (s *Store) MachineNumbers(
	ctx context.Context, releases []crash.Release, pkg string, now time.Time,
) (stats.MachineNumbers, error) {
	m := stats.MachineNumbers{Package: pkg, Until: crash.Midnight(now).AddDate(0, 0, -1)}
	m.Since = m.Until.AddDate(0, 0, 1-stats.CrashFreeDays)
	args := pgx.NamedArgs{"releases": releases, "package": pkg, "since": m.Since, "until": m.Until,
		"uncounted": stats.GateUncounted()}
	var err error
	if m.Pings, err = s.pingDays(ctx, args); err != nil {
		return m, db.Wrap(err, "pings of releases")
	}
	if m.Installs, err = s.installed(ctx, args); err != nil {
		return m, db.Wrap(err, "installs of releases")
	}
	if len(m.Pings) == 0 && len(m.Installs) == 0 {
		return m, nil
	}
	type key struct {
		releases, pkg string
		since         time.Time
	}
	m.Crashed, err = db.CachedCounts(ctx, s.Store, key{fmt.Sprint(releases), pkg, m.Since},
		func(ctx context.Context) (map[stats.CrashedKey]map[time.Time]int64, error) {
			return s.crashedMachines(ctx, releases, args)
		})
	return m, db.Wrap(db.Classify(err), "machines with a crash")
}

func (s *Store) crashedMachines(
	ctx context.Context, releases []crash.Release, args pgx.NamedArgs,
) (map[stats.CrashedKey]map[time.Time]int64, error) {
	type row struct {
		stats.CrashedKey
		day      time.Time
		machines int64
	}
	crashed := map[stats.CrashedKey]map[time.Time]int64{}
	read := func(sql string) error {
		since, _ := args["since"].(time.Time)
		rows, err := db.Since(ctx, s.Handle, since.AddDate(0, 0, -1), func(ctx context.Context, here time.Time) (
			[]row, error) {
			args["here"] = here
			return db.List(ctx, s.Pool, sql, args, db.Into(func(r *row) []any {
				return []any{&r.Release, &r.Version, &r.day, &r.machines}
			}))
		})
		for _, r := range rows {
			if crashed[r.CrashedKey] == nil {
				crashed[r.CrashedKey] = map[time.Time]int64{}
			}
			crashed[r.CrashedKey][crash.Midnight(r.day)] = r.machines
		}
		return err
	}
	if args["package"] != "" {
		return crashed, read(sqlCrashedOfVersions)
	}
	for _, release := range releases {
		args["release"] = release
		if err := read(sqlCrashedMachines); err != nil {
			return nil, err
		}
	}
	return crashed, nil
}

func (s *Store) pingDays(ctx context.Context, args pgx.NamedArgs) (map[crash.Release]map[time.Time]int64, error) {
	pings := map[crash.Release]map[time.Time]int64{}
	var release crash.Release
	var day time.Time
	var machines int64
	err := db.Each(ctx, s.Pool, sqlPingDays, args, []any{&release, &day, &machines}, func() {
		if pings[release] == nil {
			pings[release] = map[time.Time]int64{}
		}
		pings[release][crash.Midnight(day)] = machines
	})
	return pings, err
}

func (s *Store) installed(ctx context.Context, args pgx.NamedArgs) (map[stats.CrashedKey]stats.Installed, error) {
	all := map[stats.CrashedKey]stats.Installed{}
	var k stats.CrashedKey
	var i stats.Installed
	err := db.Each(ctx, s.Pool, sqlInstalls, args, []any{&k.Release, &k.Version, &i.Day, &i.Machines, &i.Source,
		&i.Imported}, func() {
		i.Day, i.Imported = crash.Midnight(i.Day), i.Imported.UTC()
		all[k] = i
	})
	return all, err
}
