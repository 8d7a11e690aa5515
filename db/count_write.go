package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	// sqlCountMachines counts a machine as new to a cell if it has no row there, and as new to the
	// bucket if it has no row in any cell. All parts of the statement see the same snapshot, and the
	// counting lock excludes other writers.
	sqlCountMachines = `
		with input as materialized (
			select i.*, s.known, s.visited, s.releases
			from unnest(@bucket::bytea[], @system::bigint[], @release::text[], @version::text[], @n::bigint[])
				as i (bucket_id, system, release, version, n)
				cross join lateral (
					select count(*) > 0 as visited,
						coalesce(bool_or(s.release = i.release and s.version = i.version), false) as known,
						count(*) filter (where s.version = i.version) as releases
					from bucket_systems as s where s.bucket_id = i.bucket_id and s.system = i.system
				) as s
		), again as (
			update bucket_systems as s set reports = s.reports + i.n from input as i
			where i.known and s.bucket_id = i.bucket_id and s.system = i.system
				and s.release = i.release and s.version = i.version
		), fresh as (
			insert into bucket_systems (bucket_id, system, release, version, reports)
			select bucket_id, system, release, version, n from input where not known
		), travelled as (
			insert into bucket_travellers (bucket_id, version, system, extra)
			select bucket_id, version, system, count(*) + max(releases) - 1 from input where not known
			group by bucket_id, version, system having count(*) + max(releases) > 1
			on conflict (bucket_id, version, system) do update set extra = excluded.extra
		)
		select bucket_id, release, version, count(*) from input where not known group by bucket_id, release, version
		union all
		select bucket_id, null, null, count(distinct system) from input where not visited group by bucket_id`
	sqlCountBuckets = `
		update buckets as b set
			problem_type   = case when t.reports = 0 then b.problem_type else t.problem_type end,
			title          = case when t.reports = 0 or t.title = '' then b.title else t.title end,
			executable     = case when t.reports = 0 or t.executable = '' then b.executable else t.executable end,
			package        = case when t.reports = 0 or t.package = '' then b.package else t.package end,
			source_package = case when t.reports = 0 or t.source_package = '' then b.source_package else t.source_package end,
			reports        = b.reports + t.reports,
			systems        = b.systems + t.systems,
			first_version  = case when low_key is null then b.first_version else
				least(b.first_version, row(low_key, low_release_key, low_version, low_version_release)::version_seen) end,
			last_version   = case when top_key is null then b.last_version else
				greatest(b.last_version, row(top_key, top_release_key, top_version, top_version_release)::version_seen) end,
			first_release  = case when low_release = '' then b.first_release else
				least(b.first_release, row(low_seen_key, low_release)::release_seen) end,
			last_release   = case when top_release = '' then b.last_release else
				greatest(b.last_release, row(top_seen_key, top_release)::release_seen) end,
			changed        = @round
		from unnest(
			@id::bytea[], @problem_type::text[], @title::text[],
			@executable::text[], @package::text[], @source_package::text[], @reports::bigint[], @systems::bigint[],
			@low_key::bytea[], @low_release_key::text[], @low_version::text[], @low_version_release::text[],
			@top_key::bytea[], @top_release_key::text[], @top_version::text[], @top_version_release::text[],
			@low_seen_key::text[], @low_release::text[], @top_seen_key::text[], @top_release::text[]
		) as t (
			id, problem_type, title, executable, package, source_package, reports, systems,
			low_key, low_release_key, low_version, low_version_release,
			top_key, top_release_key, top_version, top_version_release, low_seen_key, low_release, top_seen_key, top_release)
		where b.id = t.id`
	sqlCountVersions = `
		insert into bucket_versions as v (bucket_id, release, version, version_key, reports, systems)
		select * from unnest(
			@bucket::bytea[], @release::text[], @version::text[], @key::bytea[], @n::bigint[], @systems::bigint[])
		on conflict (bucket_id, release, version)
		do update set reports = v.reports + excluded.reports, systems = v.systems + excluded.systems`
	sqlCountDays = `
		insert into bucket_days as d (
			bucket_id, day, release, version, architecture, package_architecture, reports, proposed, changed)
		select t.*, @round from unnest(@bucket::bytea[], @day::date[], @release::text[], @version::text[],
			@architecture::text[], @of::text[], @n::bigint[], @proposed::bigint[]) as t
		on conflict (bucket_id, day, release, version, architecture, package_architecture)
		do update set reports = d.reports + excluded.reports, proposed = d.proposed + excluded.proposed,
			changed = excluded.changed`
	sqlCountPackages = `
		insert into report_days as d (package, day, release, version, architecture, problem_type, proposed, reports)
		select * from unnest(@package::text[], @day::date[], @release::text[], @version::text[], @architecture::text[],
			@problem_type::text[], @proposed::boolean[], @n::bigint[])
		on conflict (package, day, release, version, architecture, problem_type, proposed)
		do update set reports = d.reports + excluded.reports`
	sqlCountReleases = `
		insert into release_days as d (day, release, architecture, problem_type, proposed, reports)
		select * from unnest(@day::date[], @release::text[], @architecture::text[], @problem_type::text[],
			@proposed::boolean[], @n::bigint[])
		on conflict (day, release, architecture, problem_type, proposed) do update set reports = d.reports + excluded.reports`
	// sqlAddPackageVersions writes nothing for known versions, which most are.
	sqlAddPackageVersions = `
		with added as (
			insert into package_versions as v (package, release, version, version_key, arrived, first_day)
			select package, release, version, version_key, arrived, first_day
			from unnest(@package::text[], @release::text[], @version::text[], @key::bytea[], @arrived::timestamptz[],
					@first_day::date[])
				as t (package, release, version, version_key, arrived, first_day)
			where not exists (
				select from package_versions as v
				where v.package = t.package and v.release = t.release and v.version = t.version
					and v.arrived <= t.arrived and v.first_day <= t.first_day)
			on conflict (package, release, version) do update
			set arrived = least(v.arrived, excluded.arrived), first_day = least(v.first_day, excluded.first_day)
			returning 1
		)
		update counting set versions_changed = round where exists (select from added)`
	sqlAddReleases = `
		insert into releases (release)
		select distinct release from unnest(@release::text[]) as release where release <> ''
		on conflict do nothing`
)

// countMachines counts the reports of each machine. It returns how many machines are new to each
// bucket and to each cell.
func (c *roundSum) countMachines(ctx context.Context, tx pgx.Tx) (buckets map[crash.BucketID]int64,
	cells map[cell]int64, err error) {
	buckets, cells = map[crash.BucketID]int64{}, map[cell]int64{}
	if len(c.machines) == 0 {
		return buckets, cells, nil
	}
	keys := keysOf(c.machines)
	rows, err := tx.Query(ctx, sqlCountMachines, pgx.NamedArgs{
		"bucket":  column(keys, func(k systemCell) []byte { return k.bucket[:] }),
		"system":  column(keys, func(k systemCell) int64 { return k.system }),
		"release": column(keys, func(k systemCell) string { return k.release }),
		"version": column(keys, func(k systemCell) string { return k.version }),
		"n":       column(keys, func(k systemCell) int64 { return c.machines[k] }),
	})
	if err != nil {
		return nil, nil, err
	}
	var bucket crash.BucketID
	var release, version *string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{ScanTo(bucket[:]), &release, &version, &n}, func() error {
		if release == nil {
			buckets[bucket] += n
		} else {
			cells[cell{bucket, *release, *version}] += n
		}
		return nil
	})
	return buckets, cells, err
}

// write queues the statements that write all other counts, one for each table.
func (c *roundSum) write(b *pgx.Batch, round int64, newToBucket map[crash.BucketID]int64, newToCell map[cell]int64) {
	if len(c.buckets) > 0 {
		b.Queue(sqlCountBuckets, c.bucketArgs(round, newToBucket))
	}
	if seen := keysOf(c.seen); len(seen) > 0 {
		args := seenArgs(column(seen, func(k bucketRelease) *crash.SeenSpan { return c.seen[k] }), c.keys)
		args["bucket"] = column(seen, func(k bucketRelease) []byte { return k.bucket[:] })
		args["release"] = column(seen, func(k bucketRelease) string { return k.release })
		b.Queue(sqlCountSeen, args)
	}
	if versions := keysOf(c.versions); len(versions) > 0 {
		b.Queue(sqlCountVersions, pgx.NamedArgs{
			"bucket":  column(versions, func(k cell) []byte { return k.bucket[:] }),
			"release": column(versions, func(k cell) string { return k.release }),
			"version": column(versions, func(k cell) string { return k.version }),
			"key":     column(versions, func(k cell) []byte { return c.keys.ofVersion(k.version) }),
			"n":       column(versions, func(k cell) int64 { return c.versions[k] }),
			"systems": column(versions, func(k cell) int64 { return newToCell[k] }),
		})
	}
	if days := keysOf(c.days); len(days) > 0 {
		b.Queue(sqlCountDays, pgx.NamedArgs{
			"round":        round,
			"bucket":       column(days, func(k dayCell) []byte { return k.bucket[:] }),
			"day":          column(days, func(k dayCell) time.Time { return k.day }),
			"release":      column(days, func(k dayCell) string { return k.release }),
			"version":      column(days, func(k dayCell) string { return k.version }),
			"architecture": column(days, func(k dayCell) string { return k.architecture }),
			"of":           column(days, func(k dayCell) string { return k.of }),
			"n":            column(days, func(k dayCell) int64 { return c.days[k].reports }),
			"proposed":     column(days, func(k dayCell) int64 { return c.days[k].proposed }),
		})
	}
	if len(c.releases) == 0 { // all reports are from test machines
		return
	}
	packages := keysOf(c.packages)
	b.Queue(sqlCountPackages, pgx.NamedArgs{
		"package":      column(packages, func(k packageDay) string { return k.pkg }),
		"day":          column(packages, func(k packageDay) time.Time { return k.day }),
		"release":      column(packages, func(k packageDay) string { return k.release }),
		"version":      column(packages, func(k packageDay) string { return k.version }),
		"architecture": column(packages, func(k packageDay) string { return k.architecture }),
		"problem_type": column(packages, func(k packageDay) string { return k.problemType }),
		"proposed":     column(packages, func(k packageDay) bool { return k.proposed }),
		"n":            column(packages, func(k packageDay) int64 { return c.packages[k] }),
	})
	releases := keysOf(c.releases)
	b.Queue(sqlCountReleases, pgx.NamedArgs{
		"day":          column(releases, func(k releaseDay) time.Time { return k.day }),
		"release":      column(releases, func(k releaseDay) string { return k.release }),
		"architecture": column(releases, func(k releaseDay) string { return k.architecture }),
		"problem_type": column(releases, func(k releaseDay) string { return k.problemType }),
		"proposed":     column(releases, func(k releaseDay) bool { return k.proposed }),
		"n":            column(releases, func(k releaseDay) int64 { return c.releases[k] }),
	})
	b.Queue(sqlAddReleases, pgx.NamedArgs{"release": column(releases, func(k releaseDay) string { return k.release })})
	inUse := keysOf(c.inUse)
	b.Queue(sqlAddPackageVersions, pgx.NamedArgs{
		"package":   column(inUse, func(k packageVersion) string { return k.pkg }),
		"release":   column(inUse, func(k packageVersion) string { return k.release }),
		"version":   column(inUse, func(k packageVersion) string { return k.version }),
		"key":       column(inUse, func(k packageVersion) []byte { return c.keys.ofVersion(k.version) }),
		"arrived":   column(inUse, func(k packageVersion) time.Time { return c.inUse[k].arrived }),
		"first_day": column(inUse, func(k packageVersion) time.Time { return c.inUse[k].firstDay }),
	})
}

func (c *roundSum) bucketArgs(round int64, newToBucket map[crash.BucketID]int64) pgx.NamedArgs {
	ids := keysOf(c.buckets)
	rows := column(ids, func(id crash.BucketID) *bucketSum { return c.buckets[id] })
	text := func(value func(*bucketSum) string) []string { return column(rows, value) }
	return pgx.NamedArgs{
		"round":               round,
		"id":                  IDBytes(ids),
		"problem_type":        text(func(s *bucketSum) string { return s.newest.ProblemType }),
		"title":               text(func(s *bucketSum) string { return s.newest.Title }),
		"executable":          text(func(s *bucketSum) string { return s.newest.Executable }),
		"package":             text(func(s *bucketSum) string { return s.newest.Package }),
		"source_package":      text(func(s *bucketSum) string { return s.newest.SourcePackage }),
		"reports":             column(rows, func(s *bucketSum) int64 { return s.reports }),
		"systems":             column(ids, func(id crash.BucketID) int64 { return newToBucket[id] }),
		"low_key":             column(rows, func(s *bucketSum) []byte { return s.lowVersion.key }),
		"low_release_key":     text(func(s *bucketSum) string { return s.lowVersion.releaseKey }),
		"low_version":         text(func(s *bucketSum) string { return s.lowVersion.version }),
		"low_version_release": text(func(s *bucketSum) string { return s.lowVersion.release }),
		"top_key":             column(rows, func(s *bucketSum) []byte { return s.topVersion.key }),
		"top_release_key":     text(func(s *bucketSum) string { return s.topVersion.releaseKey }),
		"top_version":         text(func(s *bucketSum) string { return s.topVersion.version }),
		"top_version_release": text(func(s *bucketSum) string { return s.topVersion.release }),
		"low_seen_key":        text(func(s *bucketSum) string { return s.lowRelease.key }),
		"low_release":         text(func(s *bucketSum) string { return s.lowRelease.release }),
		"top_seen_key":        text(func(s *bucketSum) string { return s.topRelease.key }),
		"top_release":         text(func(s *bucketSum) string { return s.topRelease.release }),
	}
}
