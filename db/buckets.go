package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// bucketColumns and bucketJoins make a crash.Bucket of each row of buckets as b; scanBucket reads it. A bucket may have
// several bugs: that which was filed from here comes first, then the one that was linked last.
const (
	bucketColumns = `
		b.id, b.signature, b.rule, b.provisional, b.problem_type, b.title, b.executable, b.package, b.source_package,
		b.reports, b.systems, b.first_seen, b.last_seen,
		coalesce((b.first_version).version, ''), coalesce((b.first_version).release, ''),
		coalesce((b.last_version).version, ''), coalesce((b.last_version).release, ''),
		coalesce((b.first_release).release, ''), coalesce((b.last_release).release, ''),
		coalesce(g.number, 0), coalesce(g.title, ''), coalesce(g.url, ''), coalesce(g.how, ''), coalesce(g.person, ''), g.at,
		coalesce(f.id, 0), coalesce(f.state, ''), coalesce(f.bug_number, 0), coalesce(f.person, ''), coalesce(f.target, ''),
		coalesce(f.title, ''), coalesce(f.marker, ''), coalesce(f.problem, ''),
		coalesce(f.reason, ''), coalesce(f.attempts, 0),
		f.created, f.updated, f.not_before`
	bucketJoins = `
		left join lateral (
			select number, title, url, how, person, at from bucket_bugs join bugs on number = bug_number
			where bucket_id = b.id order by how, at desc, number desc limit 1
		) as g on true
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
	err := row.Scan(append([]any{
		into(b.ID[:]), &b.Signature, &b.Rule, &b.Provisional, &b.ProblemType, &b.Title, &b.Executable, &b.Package, &b.SourcePackage,
		&b.Reports, &b.Systems, orZero(&b.FirstSeen), orZero(&b.LastSeen),
		&b.FirstVersion, &b.FirstVersionRel, &b.LastVersion, &b.LastVerRel, &b.FirstRelease, &b.LastRelease,
		&b.Bug.Number, &b.Bug.Title, &b.Bug.URL, &b.Bug.How, &b.Bug.By, orZero(&b.Bug.At),
		&b.Filing.ID, &b.Filing.State, &b.Filing.Bug, &b.Filing.Person, &b.Filing.Target,
		&b.Filing.Title, &b.Filing.Marker, &b.Filing.Problem, &b.Filing.Reason, &b.Filing.Attempts,
		orZero(&b.Filing.Created), orZero(&b.Filing.Updated), orZero(&b.Filing.NotBefore),
	}, more...)...)
	if b.Filing.ID != 0 {
		b.Filing.Bucket = b.ID
	}
	return err
}
