package db

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/dpkg"
)

// These statements delete rows whose count falls to zero. Each group subtracts before it adds, and
// changes rows in the order of their keys. No counting round runs meanwhile.
const (
	sqlSystemsThere = `
		select distinct s.bucket_id, s.system, s.release, s.version
		from (select distinct * from unnest(@bucket::bytea[], @system::bigint[]) as k (bucket_id, system)) as k
			join bucket_systems as s on s.bucket_id = k.bucket_id and s.system = k.system`
	sqlDropSystems = `
		delete from bucket_systems as s
		using unnest(@bucket::bytea[], @system::bigint[], @release::text[], @version::text[], @n::bigint[])
			as c (bucket_id, system, release, version, n)
		where s.bucket_id = c.bucket_id and s.system = c.system and s.release = c.release and s.version = c.version
			and s.reports + c.n <= 0`
	sqlTakeSystems = `
		update bucket_systems as s set reports = s.reports + c.n
		from unnest(@bucket::bytea[], @system::bigint[], @release::text[], @version::text[], @n::bigint[])
			as c (bucket_id, system, release, version, n)
		where c.n < 0 and s.bucket_id = c.bucket_id and s.system = c.system
			and s.release = c.release and s.version = c.version`
	sqlAddSystems = `
		insert into bucket_systems as s (bucket_id, system, release, version, reports)
		select * from unnest(@bucket::bytea[], @system::bigint[], @release::text[], @version::text[], @n::bigint[])
			as c (bucket_id, system, release, version, n) where n > 0
		on conflict (bucket_id, system, release, version) do update set reports = s.reports + excluded.reports`
	sqlDropTravellers = `
		delete from bucket_travellers as t
		using unnest(@bucket::bytea[], @system::bigint[], @version::text[]) as c (bucket_id, system, version)
		where t.bucket_id = c.bucket_id and t.version = c.version and t.system = c.system`
	sqlAddTravellers = `
		insert into bucket_travellers (bucket_id, version, system, extra)
		select s.bucket_id, s.version, s.system, count(*) - 1
		from (
			select distinct *
			from unnest(@bucket::bytea[], @system::bigint[], @version::text[]) as k (bucket_id, system, version)
		) as k join bucket_systems as s on s.bucket_id = k.bucket_id and s.system = k.system and s.version = k.version
		group by s.bucket_id, s.version, s.system having count(*) > 1`

	sqlDropVersions = `
		delete from bucket_versions as v
		using unnest(@bucket::bytea[], @release::text[], @version::text[], @n::bigint[])
			as c (bucket_id, release, version, n)
		where v.bucket_id = c.bucket_id and v.release = c.release and v.version = c.version and v.reports + c.n <= 0`
	sqlTakeVersions = `
		update bucket_versions as v set reports = v.reports + c.n, systems = v.systems + c.systems
		from unnest(@bucket::bytea[], @release::text[], @version::text[], @n::bigint[], @systems::bigint[])
			as c (bucket_id, release, version, n, systems)
		where c.n <= 0 and v.bucket_id = c.bucket_id and v.release = c.release and v.version = c.version`
	sqlAddVersions = `
		insert into bucket_versions as v (bucket_id, release, version, version_key, reports, systems)
		select bucket_id, release, version, version_key, n, systems
		from unnest(@bucket::bytea[], @release::text[], @version::text[], @key::bytea[], @n::bigint[], @systems::bigint[])
			as c (bucket_id, release, version, version_key, n, systems) where n > 0
		on conflict (bucket_id, release, version)
		do update set reports = v.reports + excluded.reports, systems = v.systems + excluded.systems`

	sqlDropDays = `
		delete from bucket_days as d
		using unnest(@bucket::bytea[], @day::date[], @release::text[], @version::text[], @architecture::text[],
				@of::text[], @n::bigint[])
			as c (bucket_id, day, release, version, architecture, package_architecture, n)
		where d.bucket_id = c.bucket_id and d.day = c.day and d.release = c.release and d.version = c.version
			and d.architecture = c.architecture and d.package_architecture = c.package_architecture and d.reports + c.n <= 0`
	sqlTakeDays = `
		update bucket_days as d set reports = d.reports + c.n, proposed = d.proposed + c.proposed, changed = @round
		from unnest(@bucket::bytea[], @day::date[], @release::text[], @version::text[], @architecture::text[],
				@of::text[], @n::bigint[], @proposed::bigint[])
			as c (bucket_id, day, release, version, architecture, package_architecture, n, proposed)
		where c.n <= 0 and d.bucket_id = c.bucket_id and d.day = c.day and d.release = c.release and d.version = c.version
			and d.architecture = c.architecture and d.package_architecture = c.package_architecture`
	sqlAddDays = `
		insert into bucket_days as d (
			bucket_id, day, release, version, architecture, package_architecture, reports, proposed, changed)
		select bucket_id, day, release, version, architecture, package_architecture, n, proposed, @round
		from unnest(@bucket::bytea[], @day::date[], @release::text[], @version::text[], @architecture::text[],
				@of::text[], @n::bigint[], @proposed::bigint[])
			as c (bucket_id, day, release, version, architecture, package_architecture, n, proposed) where n > 0
		on conflict (bucket_id, day, release, version, architecture, package_architecture)
		do update set reports = d.reports + excluded.reports, proposed = d.proposed + excluded.proposed,
			changed = excluded.changed`
)

// apply writes a change of counts to the database.
func (d *deciding) apply(ctx context.Context, c *countChange) error {
	machines, cells, err := d.applySystems(ctx, c)
	if err != nil {
		return fmt.Errorf("move machines: %w", err)
	}
	if err := d.applyVersions(ctx, c, cells); err != nil {
		return fmt.Errorf("move versions: %w", err)
	}
	if err := d.applyDays(ctx, c); err != nil {
		return fmt.Errorf("move days: %w", err)
	}
	if err := d.applySeen(ctx, c); err != nil {
		return fmt.Errorf("move first and last seen: %w", err)
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.buckets), compareIDs) {
		if err := d.applyBucket(ctx, c, id, machines[id]); err != nil {
			return fmt.Errorf("move counts of %s: %w", id, err)
		}
	}
	return nil
}

func compareIDs(a, b crash.BucketID) int { return slices.Compare(a[:], b[:]) }

// applySystems updates the counts by machine. It returns by how much the number of distinct
// machines changes, for each bucket and for each cell.
func (d *deciding) applySystems(ctx context.Context, c *countChange) (map[crash.BucketID]int64, map[cell]int64, error) {
	machines, cells := map[crash.BucketID]int64{}, map[cell]int64{}
	keys := slices.SortedFunc(maps.Keys(c.systems), func(a, b systemCell) int {
		return cmp.Or(slices.Compare(a.bucket[:], b.bucket[:]), cmp.Compare(a.system, b.system), compareCells(a.cell, b.cell))
	})
	args := pgx.NamedArgs{
		"bucket":  column(keys, func(k systemCell) []byte { return k.bucket[:] }),
		"system":  column(keys, func(k systemCell) int64 { return k.system }),
		"release": column(keys, func(k systemCell) string { return k.release }),
		"version": column(keys, func(k systemCell) string { return k.version }),
		"n":       column(keys, func(k systemCell) int64 { return c.systems[k] }),
	}
	// Count the cells and buckets of each machine before and after the change. A machine is in a
	// bucket if it is in any of its cells.
	for _, sign := range []int64{-1, 1} {
		rows, err := d.Query(ctx, sqlSystemsThere, args)
		if err != nil {
			return nil, nil, err
		}
		in := map[systemCell]bool{}
		var at systemCell
		if _, err := pgx.ForEachRow(rows, []any{ScanTo(at.bucket[:]), &at.system, &at.release, &at.version}, func() error {
			cells[at.cell] += sign
			if whole := (systemCell{cell{bucket: at.bucket}, at.system}); !in[whole] {
				in[whole] = true
				machines[at.bucket] += sign
			}
			return nil
		}); err != nil {
			return nil, nil, err
		}
		if sign > 0 {
			break
		}
		for _, sql := range []string{sqlDropSystems, sqlTakeSystems, sqlAddSystems, sqlDropTravellers, sqlAddTravellers} {
			if _, err := d.Exec(ctx, sql, args); err != nil {
				return nil, nil, err
			}
		}
	}
	return machines, cells, nil
}

func column[K, V any](keys []K, value func(K) V) []V {
	values := make([]V, len(keys))
	for i, k := range keys {
		values[i] = value(k)
	}
	return values
}

func (d *deciding) applyVersions(ctx context.Context, c *countChange, systems map[cell]int64) error {
	keys := slices.SortedFunc(maps.Keys(c.versions), compareCells)
	args := pgx.NamedArgs{
		"bucket":  column(keys, func(k cell) []byte { return k.bucket[:] }),
		"release": column(keys, func(k cell) string { return k.release }),
		"version": column(keys, func(k cell) string { return k.version }),
		"n":       column(keys, func(k cell) int64 { return c.versions[k] }),
		"systems": column(keys, func(k cell) int64 { return systems[k] }),
		"key": column(keys, func(k cell) []byte {
			if !dpkg.Valid(k.version) {
				return nil
			}
			return dpkg.Key(k.version)
		}),
	}
	for _, sql := range []string{sqlDropVersions, sqlTakeVersions, sqlAddVersions} {
		if _, err := d.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return nil
}

func (d *deciding) applyDays(ctx context.Context, c *countChange) error {
	keys := slices.SortedFunc(maps.Keys(c.days), func(a, b dayCell) int {
		return cmp.Or(slices.Compare(a.bucket[:], b.bucket[:]), a.day.Compare(b.day), compareCells(a.cell, b.cell),
			cmp.Compare(a.architecture, b.architecture), cmp.Compare(a.of, b.of))
	})
	args := pgx.NamedArgs{
		"bucket":       column(keys, func(k dayCell) []byte { return k.bucket[:] }),
		"day":          column(keys, func(k dayCell) time.Time { return k.day }),
		"release":      column(keys, func(k dayCell) string { return k.release }),
		"version":      column(keys, func(k dayCell) string { return k.version }),
		"architecture": column(keys, func(k dayCell) string { return k.architecture }),
		"of":           column(keys, func(k dayCell) string { return k.of }),
		"n":            column(keys, func(k dayCell) int64 { return c.days[k].reports }),
		"proposed":     column(keys, func(k dayCell) int64 { return c.days[k].proposed }),
		"round":        d.round,
	}
	for _, sql := range []string{sqlDropDays, sqlTakeDays, sqlAddDays} {
		if _, err := d.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return nil
}

const (
	sqlCellsOfBucket  = `select release, version, version_key from bucket_versions where bucket_id = @id`
	sqlCountsOfBucket = `
		update buckets set reports = reports + @n, systems = systems + @systems,
			first_version = case when @has_version then
				row(@first_key::bytea, @first_release_key::text, @first_version::text, @first_version_release::text)::version_seen
			end,
			last_version = case when @has_version then
				row(@last_key::bytea, @last_release_key::text, @last_version::text, @last_version_release::text)::version_seen
			end,
			first_release = case when @has_release then row(@low_key::text, @low_release::text)::release_seen end,
			last_release = case when @has_release then row(@high_key::text, @high_release::text)::release_seen end,
			changed = @round, shrunk = case when @shrinks then @round else shrunk end
		where id = @id`
)

// applyBucket updates the row of a bucket. The rows of its versions and days must be up to date.
func (d *deciding) applyBucket(ctx context.Context, c *countChange, id crash.BucketID, systems int64) error {
	args := pgx.NamedArgs{"id": id[:], "n": c.buckets[id], "systems": systems, "round": d.round, "shrinks": c.shrinks[id]}
	if err := d.addRangeArgs(ctx, args); err != nil {
		return err
	}
	_, err := d.Exec(ctx, sqlCountsOfBucket, args)
	return err
}

// addRangeArgs adds the first and the last version and release of the bucket @id to args. It reads
// them from the rows of its versions.
func (d *deciding) addRangeArgs(ctx context.Context, args pgx.NamedArgs) error {
	rows, err := d.Query(ctx, sqlCellsOfBucket, args)
	if err != nil {
		return err
	}
	for _, name := range []string{"first_key", "last_key", "first_release_key", "last_release_key", "first_version",
		"last_version", "first_version_release", "last_version_release", "low_key", "low_release", "high_key",
		"high_release"} {
		args[name] = nil
	}
	type place struct {
		key                          []byte
		releaseKey, version, release string
	}
	compare := func(a, b place) int {
		return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.releaseKey, b.releaseKey), cmp.Compare(a.version, b.version),
			cmp.Compare(a.release, b.release))
	}
	var first, last, low, high *place
	var p place
	if _, err := pgx.ForEachRow(rows, []any{&p.release, &p.version, &p.key}, func() error {
		at := p
		at.key = bytes.Clone(p.key)
		at.releaseKey = crash.Release(p.release).Key()
		if at.key != nil {
			widen(&first, &last, at, func(p *place) int { return compare(at, *p) })
		}
		if release := (place{releaseKey: at.releaseKey, release: at.release}); at.release != "" {
			widen(&low, &high, release, func(p *place) int { return compare(release, *p) })
		}
		return nil
	}); err != nil {
		return err
	}
	if args["has_version"] = first != nil; first != nil {
		args["first_key"], args["first_release_key"], args["first_version"], args["first_version_release"] = first.key,
			first.releaseKey, first.version, first.release
		args["last_key"], args["last_release_key"], args["last_version"], args["last_version_release"] = last.key,
			last.releaseKey, last.version, last.release
	}
	if args["has_release"] = low != nil; low != nil {
		args["low_key"], args["low_release"], args["high_key"], args["high_release"] = low.releaseKey, low.release,
			high.releaseKey, high.release
	}
	return nil
}

// widen replaces low and high by at if at is lower or higher.
func widen[T any](low, high **T, at T, compare func(*T) int) {
	if *low == nil || compare(*low) < 0 {
		*low = &at
	}
	if *high == nil || compare(*high) > 0 {
		*high = &at
	}
}
