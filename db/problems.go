package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// A list of problems adds up what was counted by bucket and day, once for its rows and its totals. Without a package the
// table that is ordered by day serves; with one, the few buckets of the package are looked at one by one.
const (
	problemCounts = `
		select bucket_id, sum(reports)::bigint as n from bucket_days
		where day between @since and @until and (@release = '' or release = @release)
		group by bucket_id`
	packageProblemCounts = `
		select d.bucket_id, sum(d.reports)::bigint as n from buckets as p join bucket_days as d on d.bucket_id = p.id
		where (p.package = @package or p.source_package = @package)
			and d.day between @since and @until and (@release = '' or d.release = @release)
		group by d.bucket_id`
	problemRows = `
		), page as (
			select bucket_id, n from counted
			where not @continued or n < @count or (n = @count and bucket_id > @id)
			order by n desc, bucket_id limit @limit
		), totals as (
			select count(*) as problems, sum(n)::bigint as reports from counted
		)
		select ` + bucketColumns + `, page.n, totals.problems, totals.reports
		from page cross join totals join buckets as b on b.id = page.bucket_id` + bucketJoins + `
		order by page.n desc, b.id`
)

const (
	sqlProblems        = `with counted as materialized (` + problemCounts + problemRows
	sqlPackageProblems = `with counted as materialized (` + packageProblemCounts + problemRows
)

// Problems returns the buckets that were seen in the chosen days, the most frequent first, at most filter.Limit, from
// below filter.After on; and the totals of the whole list, which are zero when nothing stands below filter.After.
func (s *Store) Problems(ctx context.Context, filter crash.ProblemFilter) ([]crash.Problem, crash.ProblemTotals, error) {
	sql := sqlProblems
	if filter.Package != "" {
		sql = sqlPackageProblems
	}
	args := pgx.NamedArgs{
		"since": filter.Since, "until": filter.Until, "release": string(filter.Release), "package": filter.Package,
		"limit": filter.Limit, "continued": false, "count": int64(0), "id": []byte{},
	}
	if after := filter.After; after != nil {
		args["continued"], args["count"], args["id"] = true, after.Count, after.ID[:]
	}
	var totals crash.ProblemTotals
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, totals, fmt.Errorf("problems: %w", known(err))
	}
	problems, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p crash.Problem, err error) {
		err = scanBucketAnd(row, &p.Bucket, &p.Count, &totals.Problems, &totals.Reports)
		return p, err
	})
	if err != nil {
		return nil, totals, fmt.Errorf("problems: %w", known(err))
	}
	return problems, totals, nil
}
