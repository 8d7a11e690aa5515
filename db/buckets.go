package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// bucketColumns and bucketJoins make a crash.Bucket of each row of buckets as b; scanBucket reads it. A bucket may have
// several bugs: bugOrder says which one is shown.
const (
	bucketColumns = `
		b.id, b.signature, b.rule, b.provisional, b.problem_type, b.title, b.executable, b.package, b.source_package,
		b.reports, b.systems, b.first_seen, b.last_seen,
		coalesce((b.first_version).version, ''), coalesce((b.first_version).release, ''),
		coalesce((b.last_version).version, ''), coalesce((b.last_version).release, ''),
		coalesce((b.first_release).release, ''), coalesce((b.last_release).release, ''),
		g.number, g.title, g.url, g.how, g.person, g.at, g.state, g.master, g.master_title, g.master_url, k.known,
		coalesce(f.id, 0), coalesce(f.state, ''), coalesce(f.bug_number, 0), coalesce(f.person, ''), coalesce(f.target, ''),
		coalesce(f.title, ''), coalesce(f.marker, ''), coalesce(f.problem, ''),
		coalesce(f.reason, ''), coalesce(f.attempts, 0),
		f.created, f.updated, f.not_before`
	bucketJoins = `
		left join lateral (
			select ` + bugColumns + ` from bucket_bugs as l ` + bugJoins + `
			where l.bucket_id = b.id order by ` + bugOrder + ` limit 1
		) as g (number, title, url, how, person, at, state, master, master_title, master_url) on true
		left join lateral (
			select jsonb_agg(jsonb_build_object('Version', version, 'Arrived', arrived) order by version_key desc) as known
			from (
				select version, version_key, arrived from package_versions
				where package = b.package and release = (b.last_version).release
				order by version_key desc limit 100
			) as v
			where g.number is not null
		) as k on true
		left join filings as f on f.bucket_id = b.id`
)

const sqlBucket = `select ` + bucketColumns + ` from buckets as b ` + bucketJoins + ` where b.id = @id`

// Bucket returns the bucket with this id, its bug and where the filing of one stands (all but the text and the tags that
// are sent). It returns NotFound when there is none.
func (s *Store) Bucket(ctx context.Context, id crash.BucketID) (crash.Bucket, error) {
	rows, err := s.pool.Query(ctx, sqlBucket, pgx.NamedArgs{"id": id[:]})
	if err != nil {
		return crash.Bucket{}, fmt.Errorf("bucket %s: %w", id, known(err))
	}
	b, err := pgx.CollectExactlyOneRow(rows, scanBucket)
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.Bucket{}, crash.ErrUnknownBucket
	}
	if err != nil {
		return crash.Bucket{}, fmt.Errorf("bucket %s: %w", id, known(err))
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
		into(b.ID[:]), &b.Signature, &b.Rule, &b.Provisional, &b.ProblemType, &b.Title, &b.Executable, &b.Package, &b.SourcePackage,
		&b.Reports, &b.Systems, orZero(&b.FirstSeen), orZero(&b.LastSeen),
		&b.FirstVersion, &b.FirstVersionRel, &b.LastVersion, &b.LastVerRel, &b.FirstRelease, &b.LastRelease,
	}
	columns = append(columns, bug.columns()...)
	columns = append(columns,
		&b.Known,
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
