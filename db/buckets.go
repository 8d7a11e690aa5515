package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// bucketColumns and bucketJoins make a crash.Bucket of each row of buckets as b; scanBucket reads it. The row should be a
// head: what it says of reports, bugs and filings is about all buckets that were merged into it. A problem may have several
// bugs: bugOrder says which one is shown. Of several filings it is the one that a bug may still come of.
const (
	bucketColumns = `
		b.id, b.signature, b.rule, b.provisional, b.problem_type, b.title, b.name, b.executable, b.package, b.source_package,
		w.members, w.reports, w.systems,
		o.seen, coalesce(o.version, ''), coalesce(o.release, ''), n.seen, coalesce(n.version, ''), coalesce(n.release, ''),
		coalesce((w.first_version).version, ''), coalesce((w.first_version).release, ''),
		coalesce((w.last_version).version, ''), coalesce((w.last_version).release, ''),
		coalesce((w.first_release).release, ''), coalesce((w.last_release).release, ''),
		g.number, g.title, g.url, g.how, g.person, g.at, g.state, g.master, g.master_title, g.master_url,
		coalesce(f.id, 0), coalesce(f.state, ''), coalesce(f.bug_number, 0), coalesce(f.person, ''), coalesce(f.target, ''),
		coalesce(f.title, ''), coalesce(f.marker, ''), coalesce(f.problem, ''),
		coalesce(f.reason, ''), coalesce(f.attempts, 0),
		f.created, f.updated, f.not_before`
	bucketJoins = `
		cross join lateral (
			select count(*) as members, sum(m.reports)::bigint as reports,
				case when count(*) = 1 then max(m.systems)
					else (select count(distinct system) from bucket_systems where bucket_id in (select id from buckets where head = b.id)) end as systems,
				(array_agg(m.first_version order by m.first_version) filter (where m.first_version is not null))[1] as first_version,
				(array_agg(m.last_version order by m.last_version desc) filter (where m.last_version is not null))[1] as last_version,
				(array_agg(m.first_release order by m.first_release) filter (where m.first_release is not null))[1] as first_release,
				(array_agg(m.last_release order by m.last_release desc) filter (where m.last_release is not null))[1] as last_release
			from buckets as m where m.head = b.id
		) as w
		left join lateral (
			select (r.first_seen).seen, (r.first_seen).version, r.release
			from buckets as m join bucket_releases as r on r.bucket_id = m.id where m.head = b.id
			order by r.first_seen, r.release limit 1
		) as o on true
		left join lateral (
			select (r.last_seen).seen, (r.last_seen).version, r.release
			from buckets as m join bucket_releases as r on r.bucket_id = m.id where m.head = b.id
			order by r.last_seen desc, r.release desc limit 1
		) as n on true
		left join lateral (
			select ` + bugColumns + ` from bucket_bugs as l ` + bugJoins + `
			where l.bucket_id in (select id from buckets where head = b.id) order by ` + bugOrder + ` limit 1
		) as g (number, title, url, how, person, at, state, master, master_title, master_url) on true
		left join lateral (
			select * from filings where bucket_id in (select id from buckets where head = b.id)
			order by case when state in ('filing', 'uncertain') then 0 when state = 'queued' then 1
					when state = 'filed' then 2 when unsettled then 3 else 4 end,
				bucket_id = b.id desc, updated desc, id desc limit 1
		) as f on true`

	// members are all buckets of the problem that @bucket is part of.
	members = `(select id from buckets where head = (select head from buckets where id = @bucket))`
)

const sqlBucket = `select ` + bucketColumns + ` from buckets as b ` + bucketJoins + ` where b.id = (select head from buckets where id = @id)`

// Bucket returns the problem that the bucket with this id is part of: the bucket itself, or the one that it was merged into,
// which then has another id; with all that was merged into it. It has its bug and where the filing of one stands (all but the text and the tags that
// are sent). It returns NotFound when there is none.
func (s *Store) Bucket(ctx context.Context, id crash.BucketID) (crash.Bucket, error) {
	rows, err := s.pool.Query(ctx, sqlBucket, pgx.NamedArgs{"id": id[:]})
	if err != nil {
		return crash.Bucket{}, fmt.Errorf("bucket %s: %w", id, classify(err))
	}
	b, err := pgx.CollectExactlyOneRow(rows, scanBucket)
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.Bucket{}, crash.ErrUnknownBucket
	}
	if err != nil {
		return crash.Bucket{}, fmt.Errorf("bucket %s: %w", id, classify(err))
	}
	return b, nil
}

func scanBucket(row pgx.CollectableRow) (crash.Bucket, error) {
	var b crash.Bucket
	err := scanBucketAnd(row, &b)
	return b, err
}

// scanBucketAnd reads bucketColumns into b and the columns that follow them into more.
func scanBucketAnd(row pgx.CollectableRow, b *crash.Bucket, more ...any) error {
	var bug bugScan
	columns := []any{
		into(b.ID[:]), &b.Signature, &b.Rule, &b.Provisional, &b.ProblemType, &b.Title, &b.Name, &b.Executable, &b.Package, &b.SourcePackage,
		&b.Members, &b.Reports, &b.Systems,
		orZero(&b.FirstSeen), &b.FirstSeenVersion, &b.FirstSeenRelease, orZero(&b.LastSeen), &b.LastSeenVersion, &b.LastSeenRelease,
		&b.LowestVersion, &b.LowestVersionRelease, &b.HighestVersion, &b.HighestVersionRelease, &b.LowestRelease, &b.HighestRelease,
	}
	columns = append(columns, bug.columns()...)
	columns = append(columns,
		&b.Filing.ID, &b.Filing.State, &b.Filing.Bug, &b.Filing.Person, &b.Filing.Target,
		&b.Filing.Title, &b.Filing.Marker, &b.Filing.Problem, &b.Filing.Reason, &b.Filing.Attempts,
		orZero(&b.Filing.Created), orZero(&b.Filing.Updated), orZero(&b.Filing.NotBefore),
	)
	err := row.Scan(append(columns, more...)...)
	b.Bug = bug.bug()
	if b.Filing.ID != 0 {
		b.Filing.Bucket = b.ID
	}
	return err
}
