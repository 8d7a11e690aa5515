package db

import (
	"bytes"
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	sqlCellsOfBucket  = `select release, version, version_key from bucket_versions where bucket_id = @id`
	sqlCountsOfBucket = `
		update buckets set reports = reports + @n, systems = systems + @systems,
			first_version = case when @has_version then row(@first_key::bytea, @first_release_key::text, @first_version::text, @first_version_release::text)::version_seen end,
			last_version = case when @has_version then row(@last_key::bytea, @last_release_key::text, @last_version::text, @last_version_release::text)::version_seen end,
			first_release = case when @has_release then row(@low_key::text, @low_release::text)::release_seen end,
			last_release = case when @has_release then row(@high_key::text, @high_release::text)::release_seen end,
			changed = @round, shrunk = case when @shrinks then @round else shrunk end
		where id = @id`
)

// applyBucket changes the row of a bucket after the rows of its versions and days were changed.
func (d *deciding) applyBucket(ctx context.Context, c *countChange, id crash.BucketID, systems int64) error {
	args := pgx.NamedArgs{"id": id[:], "n": c.buckets[id], "systems": systems, "round": d.round, "shrinks": c.shrinks[id]}
	if err := d.endsOf(ctx, args); err != nil {
		return err
	}
	_, err := d.Exec(ctx, sqlCountsOfBucket, args)
	return err
}

// endsOf sets the first and the last version and release, as versions say that there are.
func (d *deciding) endsOf(ctx context.Context, args pgx.NamedArgs) error {
	rows, err := d.Query(ctx, sqlCellsOfBucket, args)
	if err != nil {
		return err
	}
	for _, name := range []string{"first_key", "last_key", "first_release_key", "last_release_key", "first_version", "last_version",
		"first_version_release", "last_version_release", "low_key", "low_release", "high_key", "high_release"} {
		args[name] = nil
	}
	type place struct {
		key                          []byte
		releaseKey, version, release string
	}
	compare := func(a, b place) int {
		return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.releaseKey, b.releaseKey), cmp.Compare(a.version, b.version), cmp.Compare(a.release, b.release))
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
		args["first_key"], args["first_release_key"], args["first_version"], args["first_version_release"] = first.key, first.releaseKey, first.version, first.release
		args["last_key"], args["last_release_key"], args["last_version"], args["last_version_release"] = last.key, last.releaseKey, last.version, last.release
	}
	if args["has_release"] = low != nil; low != nil {
		args["low_key"], args["low_release"], args["high_key"], args["high_release"] = low.releaseKey, low.release, high.releaseKey, high.release
	}
	return nil
}

// widen makes low and high the extremes of low, high and at.
func widen[T any](low, high **T, at T, compare func(*T) int) {
	if *low == nil || compare(*low) < 0 {
		*low = &at
	}
	if *high == nil || compare(*high) > 0 {
		*high = &at
	}
}
