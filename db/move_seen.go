package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/dpkg"
)

const (
	sqlSeenRows = `
		select r.bucket_id, r.release, (r.first_seen).seen, (r.first_seen).version,
			(r.last_seen).seen, (r.last_seen).version
		from unnest(@bucket::bytea[], @release::text[]) as k (bucket_id, release)
			join bucket_releases as r on r.bucket_id = k.bucket_id and r.release = k.release`
	sqlVersionsOfSeen = `
		select v.bucket_id, v.release, v.version
		from unnest(@bucket::bytea[], @release::text[]) as k (bucket_id, release)
			join bucket_versions as v on v.bucket_id = k.bucket_id and v.release = k.release`
	sqlDropSeen = `
		delete from bucket_releases as r using unnest(@bucket::bytea[], @release::text[]) as k (bucket_id, release)
		where r.bucket_id = k.bucket_id and r.release = k.release`
	// sqlStoredEnds selects the oldest and the newest of the stored reports.
	sqlStoredEnds = `
		with stored as materialized (
			select release, version,
				case when (occurred at time zone 'UTC')::date = day then occurred else received end as seen
			from reports where bucket_id = @id and counted and release = any(@releases)
		), ends as (
			select release, min(seen) as first, max(seen) as last from stored group by release
		)
		select distinct s.release, s.seen, s.version
		from stored as s join ends as e on e.release = s.release and s.seen in (e.first, e.last)`
	// sqlDayEnds selects the first and the last day. Where retention has deleted old reports, days
	// reach back further than reports, also after they have expired.
	sqlDayEnds = `
		with days as materialized (
			select release, day, version from bucket_days where bucket_id = @id and release = any(@releases)
			union all select release, unnest(array[first_day, last_day]), version from bucket_expired
			where bucket_id = @id and release = any(@releases)
		), ends as materialized (
			select release, min(day) as first, max(day) as last from days group by release
		)
		select distinct d.release, d.day, d.version
		from days as d join ends as e on e.release = d.release and d.day in (e.first, e.last)`
)

// applySeen updates the rows of bucket_releases after reports have moved. The rows of versions and
// days must be up to date. It reads stored reports only for releases that have lost their oldest or
// newest report.
func (d *deciding) applySeen(ctx context.Context, c *countChange) error {
	touched := slices.SortedFunc(maps.Keys(c.seen), compareBucketReleases)
	args := pgx.NamedArgs{
		"bucket":  column(touched, func(k bucketRelease) []byte { return k.bucket[:] }),
		"release": column(touched, func(k bucketRelease) string { return k.release }),
	}
	rows, err := d.seenRows(ctx, args)
	if err != nil {
		return err
	}
	again := map[crash.BucketID][]string{} // releases that lost their oldest or newest report
	for _, key := range touched {
		change := c.seen[key]
		row := rows[key]
		switch {
		case row == nil:
			rows[key] = &change.came
		case touches(&change.went, row):
			again[key.bucket] = append(again[key.bucket], key.release)
		case !change.came.Empty():
			row.Add(change.came.First)
			row.Add(change.came.Last)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(again), compareIDs) {
		if err := d.recomputeSeen(ctx, id, again[id], rows); err != nil {
			return err
		}
	}
	if err := d.addVersions(ctx, args, rows); err != nil {
		return err
	}
	if _, err := d.Exec(ctx, sqlDropSeen, args); err != nil {
		return err
	}
	touched = slices.DeleteFunc(touched, func(k bucketRelease) bool { return rows[k].Empty() })
	args = seenArgs(column(touched, func(k bucketRelease) *crash.SeenSpan { return rows[k] }), c.keys)
	args["bucket"] = column(touched, func(k bucketRelease) []byte { return k.bucket[:] })
	args["release"] = column(touched, func(k bucketRelease) string { return k.release })
	_, err = d.Exec(ctx, sqlCountSeen, args)
	return err
}

// touches reports whether s contains the oldest or the newest report of a row.
func touches(s, row *crash.SeenSpan) bool {
	return !s.Empty() && (s.First.Compare(row.First) <= 0 || s.Last.Compare(row.Last) >= 0)
}

// seenRows reads rows of bucket_releases, without their lowest and highest versions.
func (d *deciding) seenRows(ctx context.Context, args pgx.NamedArgs) (map[bucketRelease]*crash.SeenSpan, error) {
	found, err := d.Query(ctx, sqlSeenRows, args)
	if err != nil {
		return nil, err
	}
	rows := map[bucketRelease]*crash.SeenSpan{}
	for found.Next() {
		var key bucketRelease
		row := &crash.SeenSpan{}
		if err := found.Scan(ScanTo(key.bucket[:]), &key.release, &row.First.At, &row.First.Version,
			&row.Last.At, &row.Last.Version); err != nil {
			return nil, err
		}
		rows[key] = row
	}
	return rows, found.Err()
}

// addVersions sets the lowest and highest versions of rows from the counts by version. It empties
// rows without counts.
func (d *deciding) addVersions(ctx context.Context, args pgx.NamedArgs, rows map[bucketRelease]*crash.SeenSpan) error {
	found, err := d.Query(ctx, sqlVersionsOfSeen, args)
	if err != nil {
		return err
	}
	counted := map[bucketRelease]bool{}
	for _, row := range rows {
		row.Versions = dpkg.Range{}
	}
	for found.Next() {
		var key bucketRelease
		var version string
		if err := found.Scan(ScanTo(key.bucket[:]), &key.release, &version); err != nil {
			return err
		}
		counted[key] = true
		rows[key].Versions.Add(version)
	}
	for key, row := range rows {
		if !counted[key] {
			*row = crash.SeenSpan{}
		}
	}
	return found.Err()
}

// recomputeSeen sets the rows of some releases of a bucket from the stored reports. If the counts
// reach back or ahead further than the stored reports, it uses the day and the version of the
// counts. It then keeps the time of the old row if that is on the same day.
func (d *deciding) recomputeSeen(
	ctx context.Context, id crash.BucketID, releases []string, rows map[bucketRelease]*crash.SeenSpan,
) error {
	stored, err := d.endsBy(ctx, sqlStoredEnds, id, releases)
	if err != nil {
		return fmt.Errorf("oldest and newest reports: %w", err)
	}
	days, err := d.endsBy(ctx, sqlDayEnds, id, releases)
	if err != nil {
		return fmt.Errorf("first and last days: %w", err)
	}
	for _, release := range releases {
		key := bucketRelease{id, release}
		old, now := *rows[key], stored[release]
		if day, ok := days[release]; ok {
			if now.Empty() || day.First.At.Before(now.First.At.UTC().Truncate(24*time.Hour)) {
				now.First = day.First
				now.First.At = timeOnDay(day.First.At, old.First.At, old.Last.At)
			}
			if now.Last.At.IsZero() || day.Last.At.After(now.Last.At) {
				now.Last = day.Last
				now.Last.At = timeOnDay(day.Last.At, old.Last.At, old.First.At)
			}
		} else {
			now = crash.SeenSpan{}
		}
		*rows[key] = now
	}
	return nil
}

// timeOnDay returns the first of some times that is on the UTC day, or the start of the day.
func timeOnDay(day time.Time, times ...time.Time) time.Time {
	for _, at := range times {
		if at.UTC().Truncate(24 * time.Hour).Equal(day.UTC()) {
			return at
		}
	}
	return day
}

// endsBy runs a query for releases, times and versions. It returns the first and the last
// occurrence in each release.
func (d *deciding) endsBy(
	ctx context.Context, sql string, id crash.BucketID, releases []string,
) (map[string]crash.SeenSpan, error) {
	found, err := d.Query(ctx, sql, pgx.NamedArgs{"id": id[:], "releases": releases})
	if err != nil {
		return nil, err
	}
	ends := map[string]crash.SeenSpan{}
	var release, version string
	var seen time.Time
	_, err = pgx.ForEachRow(found, []any{&release, &seen, &version}, func() error {
		sum := ends[release]
		sum.Add(newOccurrence(seen, version))
		ends[release] = sum
		return nil
	})
	return ends, err
}
