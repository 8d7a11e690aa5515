package counts

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db"
)

const sqlBucketVersionSpans = `
	with days as (
		select release, version, min(first) as first, max(last) as last from (
			select release, version, day as first, day as last from bucket_days
			where bucket_id in ` + db.Members + ` and reports > 0
			union all select release, version, first_day, last_day from bucket_expired where bucket_id in ` + db.Members + `
		) as d group by release, version
	)
	select v.version, v.release, sum(v.reports)::bigint,
		case count(*) when 1 then max(v.systems) else (
			select count(distinct s.system) from bucket_systems as s
			where s.bucket_id in ` + db.Members + ` and s.release = v.release and s.version = v.version
		) end::bigint, d.first::timestamp at time zone 'UTC', d.last::timestamp at time zone 'UTC'
	from bucket_versions as v left join days as d on d.release = v.release and d.version = v.version
	where v.bucket_id in ` + db.Members + ` and v.reports > 0
	group by v.version, v.release, v.version_key, d.first, d.last
	order by v.version_key desc nulls last, v.version, v.release`

// BucketVersionSpans returns the number of reports and distinct machines, and the first and last
// day, for each version and release of a bucket's problem. It sorts by version in dpkg's order,
// newest first.
func (s *Store) BucketVersionSpans(ctx context.Context, id crash.BucketID) ([]stats.BucketVersion, error) {
	rows, err := s.Pool.Query(ctx, sqlBucketVersionSpans, pgx.NamedArgs{"bucket": id[:]})
	if err != nil {
		return nil, fmt.Errorf("versions of bucket %s: %w", id, db.Classify(err))
	}
	spans, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v stats.BucketVersion, err error) {
		err = row.Scan(&v.Version, &v.Release, &v.Reports, &v.Systems, db.OrZero(&v.First), db.OrZero(&v.Last))
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("versions of bucket %s: %w", id, db.Classify(err))
	}
	return spans, nil
}
