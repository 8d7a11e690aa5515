package db

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// Rows are written in the order of their keys, so that neighbours in an index are written one after the other.
const (
	// A machine is new to a cell when it has no row there, and new to the bucket when it has none at all. The parts of one
	// statement all see the table as it was, and nobody else writes to it meanwhile: rounds take turns.
	sqlCountMachines = `
		with input as materialized (
			select i.*, s.known, s.visited, s.releases
			from unnest(@bucket::bytea[], @system::bigint[], @release::text[], @version::text[], @n::bigint[])
				as i (bucket_id, system, release, version, n)
				cross join lateral (
					select count(*) > 0 as visited, coalesce(bool_or(s.release = i.release and s.version = i.version), false) as known,
						count(*) filter (where s.version = i.version) as releases
					from bucket_systems as s where s.bucket_id = i.bucket_id and s.system = i.system
				) as s
		), again as (
			update bucket_systems as s set reports = s.reports + i.n from input as i
			where i.known and s.bucket_id = i.bucket_id and s.system = i.system and s.release = i.release and s.version = i.version
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
			first_release  = case when low_release = '' then b.first_release else least(b.first_release, row(low_seen_key, low_release)::release_seen) end,
			last_release   = case when top_release = '' then b.last_release else greatest(b.last_release, row(top_seen_key, top_release)::release_seen) end,
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
		select * from unnest(@bucket::bytea[], @release::text[], @version::text[], @key::bytea[], @n::bigint[], @systems::bigint[])
		on conflict (bucket_id, release, version)
		do update set reports = v.reports + excluded.reports, systems = v.systems + excluded.systems`
	sqlCountDays = `
		insert into bucket_days as d (bucket_id, day, release, version, architecture, package_architecture, reports, proposed, changed)
		select t.*, @round from unnest(@bucket::bytea[], @day::date[], @release::text[], @version::text[], @architecture::text[],
			@of::text[], @n::bigint[], @proposed::bigint[]) as t
		on conflict (bucket_id, day, release, version, architecture, package_architecture)
		do update set reports = d.reports + excluded.reports, proposed = d.proposed + excluded.proposed, changed = excluded.changed`
	sqlCountReports = `
		insert into report_days as d (package, day, release, version, architecture, problem_type, proposed, reports)
		select * from unnest(@package::text[], @day::date[], @release::text[], @version::text[], @architecture::text[],
			@problem_type::text[], @proposed::boolean[], @n::bigint[])
		on conflict (package, day, release, version, architecture, problem_type, proposed)
		do update set reports = d.reports + excluded.reports`
	sqlCountReleases = `
		insert into release_days as d (day, release, architecture, problem_type, proposed, reports)
		select * from unnest(@day::date[], @release::text[], @architecture::text[], @problem_type::text[], @proposed::boolean[], @n::bigint[])
		on conflict (day, release, architecture, problem_type, proposed) do update set reports = d.reports + excluded.reports`
	// Most versions are known, and then nothing is written.
	sqlCountPackages = `
		insert into package_versions as v (package, release, version, version_key, arrived, first_day)
		select package, release, version, version_key, arrived, first_day
		from unnest(@package::text[], @release::text[], @version::text[], @key::bytea[], @arrived::timestamptz[], @first_day::date[])
			as t (package, release, version, version_key, arrived, first_day)
		where not exists (
			select from package_versions as v
			where v.package = t.package and v.release = t.release and v.version = t.version
				and v.arrived <= t.arrived and v.first_day <= t.first_day)
		on conflict (package, release, version) do update
		set arrived = least(v.arrived, excluded.arrived), first_day = least(v.first_day, excluded.first_day)`
	sqlSeeReleases = `insert into releases (release) select unnest(@release::text[]) on conflict do nothing`
)

// writeRound adds what a round has summed up to the counts. Its transaction holds the lock on counting. It returns the spans
// in which the round's machines are active, to be remembered after the commit.
func writeRound(ctx context.Context, tx pgx.Tx, p *pace, round int64, c *roundSum) (spans machineSpans, err error) {
	machines, cells, err := c.countMachines(ctx, tx, p)
	if err != nil {
		return nil, fmt.Errorf("count machines: %w", err)
	}
	spans, activity, err := c.activity(ctx, tx, p)
	if err != nil {
		return nil, fmt.Errorf("count active machines: %w", err)
	}
	all := append([]iter.Seq[statement]{
		c.countBuckets(round, machines), c.countSeen(), c.countVersions(cells), c.countDays(round), c.countReports(), c.countReleases(), c.seeReleases(),
		c.countPackages(),
	}, activity...)
	if err := p.send(ctx, tx, all); err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	return spans, nil
}

// countMachines returns how many machines are new to buckets and to their cells.
func (c *roundSum) countMachines(ctx context.Context, tx pgx.Tx, p *pace) (map[crash.BucketID]int64, map[versionCell]int64, error) {
	buckets, cells := map[crash.BucketID]int64{}, map[versionCell]int64{}
	keys := slices.SortedFunc(maps.Keys(c.machines), func(a, b machineCell) int {
		return cmp.Or(bytes.Compare(a.bucket[:], b.bucket[:]), cmp.Compare(a.system, b.system), compareVersionCells(a.versionCell, b.versionCell))
	})
	for keys := range piecesOfMachines(keys) {
		if err := c.countPiece(ctx, tx, keys, buckets, cells); err != nil {
			return nil, nil, err
		}
		p.rest()
	}
	return buckets, cells, nil
}

// countPiece is countMachines for some cells of machines; it adds to buckets and cells.
func (c *roundSum) countPiece(ctx context.Context, tx pgx.Tx, keys []machineCell, buckets map[crash.BucketID]int64, cells map[versionCell]int64) error {
	rows, err := tx.Query(ctx, sqlCountMachines, pgx.NamedArgs{
		"bucket":  column(keys, func(k machineCell) []byte { return k.bucket[:] }),
		"system":  column(keys, func(k machineCell) int64 { return k.system }),
		"release": column(keys, func(k machineCell) string { return k.release }),
		"version": column(keys, func(k machineCell) string { return k.version }),
		"n":       column(keys, func(k machineCell) int64 { return c.machines[k] }),
	})
	if err != nil {
		return err
	}
	var bucket crash.BucketID
	var release, version *string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{into(bucket[:]), &release, &version, &n}, func() error {
		if release == nil {
			buckets[bucket] += n
		} else {
			cells[versionCell{bucket, *release, *version}] += n
		}
		return nil
	})
	return err
}
