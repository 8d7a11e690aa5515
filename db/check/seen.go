package check

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/db"
)

const (
	// seenOfReports selects rows of bucket_releases beside the times and versions of their oldest and
	// newest reports. Several versions can have a report of the same time.
	seenOfReports = `
		with spans as materialized (
			select bucket_id, release, min(seen) as first, max(seen) as last from check_reports
			where counted and bucket_id is not null and (@everything or bucket_id in (select id from check_buckets))
			group by bucket_id, release
		), ends as (
			select s.bucket_id, s.release, s.first, s.last,
				array_agg(distinct r.version) filter (where r.seen = s.first) as first_versions,
				array_agg(distinct r.version) filter (where r.seen = s.last) as last_versions
			from spans as s join check_reports as r
				on r.bucket_id = s.bucket_id and r.release = s.release and r.counted and r.seen in (s.first, s.last)
			group by s.bucket_id, s.release, s.first, s.last
		), counted as (
			select bucket_id, release, array_agg(distinct version) as versions from bucket_versions
			where @everything or bucket_id in (select id from check_buckets) group by bucket_id, release
		), stored as (
			select * from bucket_releases where @everything or bucket_id in (select id from check_buckets)
		)
		select bucket_id, release, (s.first_seen).seen, coalesce((s.first_seen).version, ''),
			(s.last_seen).seen, coalesce((s.last_seen).version, ''),
			coalesce((s.lowest_version).version, ''), coalesce((s.highest_version).version, ''), s.release is not null,
			e.first, coalesce(e.first_versions, '{}'), e.last, coalesce(e.last_versions, '{}'),
			coalesce(c.versions, '{}'), c.release is not null
		from stored as s full join ends as e using (bucket_id, release) full join counted as c using (bucket_id, release)`
	keysOfSeen = `
		select distinct o.version, o.key
		from bucket_releases as r cross join lateral (values
			((r.first_seen).version, (r.first_seen).version_key), ((r.last_seen).version, (r.last_seen).version_key),
			((r.lowest_version).version, (r.lowest_version).key), ((r.highest_version).version, (r.highest_version).key)
		) as o (version, key)
		where (@everything or r.bucket_id in (select id from check_buckets)) and o.key is not null`
)

// storedSeen is a row of bucket_releases, with the values expected from the stored reports and from
// the counts by version.
type storedSeen struct {
	first, last                 crash.Occurrence
	lowest, highest             string
	exists                      bool // the row exists
	oldest, newest              time.Time
	oldestIn, newestIn, counted []string // versions
	expected                    bool     // the row should exist
}

// checkSeen checks when, and in which versions, buckets first and last occurred in each release. It
// compares versions in Go, and checks the sort keys separately.
func (c *checking) checkSeen(ctx context.Context, args pgx.NamedArgs) error {
	rows, err := c.Query(ctx, seenOfReports, args)
	if err != nil {
		return err
	}
	var id crash.BucketID
	var release string
	var row storedSeen
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &release, db.OrZero(&row.first.At), &row.first.Version,
		db.OrZero(&row.last.At), &row.last.Version, &row.lowest, &row.highest, &row.exists, db.OrZero(&row.oldest),
		&row.oldestIn, db.OrZero(&row.newest), &row.newestIn, &row.counted, &row.expected}, func() error {
		c.result.Counts += 4
		c.compareSeen(id.String()+" "+release, row)
		return nil
	}); err != nil {
		return err
	}
	if rows, err = c.Query(ctx, keysOfSeen, args); err != nil {
		return err
	}
	return c.compareKeys(rows)
}

func (c *checking) compareSeen(of string, k storedSeen) {
	if k.exists != k.expected {
		c.differ("a release in which a problem was seen", of, is(k.exists), is(k.expected))
		return
	}
	counted := rangeOf(k.counted)
	if dpkg.Compare(k.lowest, counted.Lowest) != 0 || dpkg.Compare(k.highest, counted.Highest) != 0 {
		c.differ("lowest and highest version of a problem in a release", of,
			k.lowest+" – "+k.highest, counted.Lowest+" – "+counted.Highest)
	}
	oldest, newest := crash.Occurrence{At: k.oldest}, crash.Occurrence{At: k.newest}
	if len(k.oldestIn) > 0 {
		oldest.Version = slices.MinFunc(k.oldestIn, dpkg.Order)
	}
	if len(k.newestIn) > 0 {
		newest.Version = slices.MaxFunc(k.newestIn, dpkg.Order)
	}
	// A dropped report may have come before or after the stored ones.
	early, late := c.dropped && k.first.At.Before(oldest.At), c.dropped && k.last.At.After(newest.At)
	gone := c.dropped && len(k.oldestIn) == 0
	if !gone && !early && !sameOccurrence(k.first, oldest) || !gone && !late && !sameOccurrence(k.last, newest) {
		c.differ("when and in which version a problem was first and last seen in a release", of,
			seenText(k.first)+" – "+seenText(k.last), seenText(oldest)+" – "+seenText(newest))
	}
}

func sameOccurrence(a, b crash.Occurrence) bool { return a.At.Equal(b.At) && a.Version == b.Version }

func seenText(o crash.Occurrence) string { return o.At.UTC().Format(time.RFC3339) + " " + o.Version }

func is(exists bool) string {
	if exists {
		return "is there"
	}
	return "is not there"
}
