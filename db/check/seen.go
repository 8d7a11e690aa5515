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
	// Each row with the versions of the oldest and the newest reports, of which there may be several of one time.
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
		), kept as (
			select * from bucket_releases where @everything or bucket_id in (select id from check_buckets)
		)
		select bucket_id, release, (k.first_seen).seen, coalesce((k.first_seen).version, ''),
			(k.last_seen).seen, coalesce((k.last_seen).version, ''),
			coalesce((k.lowest_version).version, ''), coalesce((k.highest_version).version, ''), k.release is not null,
			e.first, coalesce(e.first_versions, '{}'), e.last, coalesce(e.last_versions, '{}'),
			coalesce(c.versions, '{}'), c.release is not null
		from kept as k full join ends as e using (bucket_id, release) full join counted as c using (bucket_id, release)`
	keysOfSeen = `
		select distinct o.version, o.key
		from bucket_releases as r cross join lateral (values
			((r.first_seen).version, (r.first_seen).version_key), ((r.last_seen).version, (r.last_seen).version_key),
			((r.lowest_version).version, (r.lowest_version).key), ((r.highest_version).version, (r.highest_version).key)
		) as o (version, key)
		where (@everything or r.bucket_id in (select id from check_buckets)) and o.key is not null`
)

// keptSeen is a row of bucket_releases beside what the stored reports and the counts by version say.
type keptSeen struct {
	first, last                 crash.Occurrence
	lowest, highest             string
	kept                        bool // there is such a row
	oldest, newest              time.Time
	oldestIn, newestIn, counted []string // versions
	expected                    bool     // there should be such a row
}

// checkSeen compares when, and in which versions, buckets were first and last seen in each release. The order of versions is
// that of this program's own comparison, not of the stored keys.
func (c *checking) checkSeen(ctx context.Context, args pgx.NamedArgs) error {
	rows, err := c.Query(ctx, seenOfReports, args)
	if err != nil {
		return err
	}
	var id crash.BucketID
	var release string
	var k keptSeen
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &release, db.OrZero(&k.first.At), &k.first.Version,
		db.OrZero(&k.last.At), &k.last.Version,
		&k.lowest, &k.highest, &k.kept, db.OrZero(&k.oldest), &k.oldestIn, db.OrZero(&k.newest), &k.newestIn, &k.counted,
		&k.expected}, func() error {
		c.result.Counts += 4
		c.compareSeen(id.String()+" "+release, k)
		return nil
	}); err != nil {
		return err
	}
	if rows, err = c.Query(ctx, keysOfSeen, args); err != nil {
		return err
	}
	return c.compareKeys(rows)
}

func (c *checking) compareSeen(of string, k keptSeen) {
	if k.kept != k.expected {
		c.differ("a release in which a problem was seen", of, is(k.kept), is(k.expected))
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
	// What dropped reports said lies before, or after, what is left.
	early, late := c.dropped && k.first.At.Before(oldest.At), c.dropped && k.last.At.After(newest.At)
	gone := c.dropped && len(k.oldestIn) == 0
	if !gone && !early && !sameOccurrence(k.first, oldest) || !gone && !late && !sameOccurrence(k.last, newest) {
		c.differ("when and in which version a problem was first and last seen in a release", of,
			seenText(k.first)+" – "+seenText(k.last), seenText(oldest)+" – "+seenText(newest))
	}
}

func sameOccurrence(a, b crash.Occurrence) bool { return a.At.Equal(b.At) && a.Version == b.Version }

func seenText(o crash.Occurrence) string { return o.At.UTC().Format(time.RFC3339) + " " + o.Version }

func is(there bool) string {
	if there {
		return "is there"
	}
	return "is not there"
}
