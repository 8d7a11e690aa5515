package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// A list of problems adds up what was counted by bucket and day. Without a package the table that is ordered by day
// serves; with one, the few buckets of the package are looked at one by one.
const (
	problemCounts = `(
		select bucket_id, sum(reports)::bigint as n from bucket_day_totals
		where day between @since and @until and (@release = '' or release = @release)
		group by bucket_id)`
	packageProblemCounts = `(
		select d.bucket_id, sum(d.reports)::bigint as n from buckets as p join bucket_days as d on d.bucket_id = p.id
		where (p.package = @package or p.source_package = @package)
			and d.day between @since and @until and (@release = '' or d.release = @release)
		group by d.bucket_id)`
	problemRows = ` as counted
			where not @continued or n < @count or (n = @count and bucket_id > @id)
			order by n desc, bucket_id limit @limit
		) as page join buckets as b on b.id = page.bucket_id` + bucketJoins + `
		order by page.n desc, b.id`
)

const (
	sqlProblems        = `select ` + bucketColumns + `, page.n from (select * from ` + problemCounts + problemRows
	sqlPackageProblems = `select ` + bucketColumns + `, page.n from (select * from ` + packageProblemCounts + problemRows
)

// Problems returns the buckets that were seen in the chosen days, the most frequent first, at most filter.Limit, from
// below filter.After on.
func (s *Store) Problems(ctx context.Context, filter crash.ProblemFilter) ([]crash.Problem, error) {
	sql, args := sqlProblems, problemArgs(filter)
	if filter.Package != "" {
		sql = sqlPackageProblems
	}
	args["limit"] = filter.Limit
	args["continued"], args["count"], args["id"] = false, int64(0), []byte{}
	if after := filter.After; after != nil {
		args["continued"], args["count"], args["id"] = true, after.Count, after.ID[:]
	}
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("problems: %w", known(err))
	}
	problems, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p crash.Problem, err error) {
		err = scanBucketAnd(row, &p.Bucket, &p.Count)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("problems: %w", known(err))
	}
	return problems, nil
}

const (
	sqlProblemTotals        = `select count(*), coalesce(sum(n), 0)::bigint from ` + problemCounts + ` as counted`
	sqlPackageProblemTotals = `select count(*), coalesce(sum(n), 0)::bigint from ` + packageProblemCounts + ` as counted`
)

// ProblemTotals adds up the whole list that filter chooses; its Limit and After do not matter.
func (s *Store) ProblemTotals(ctx context.Context, filter crash.ProblemFilter) (crash.ProblemTotals, error) {
	sql := sqlProblemTotals
	if filter.Package != "" {
		sql = sqlPackageProblemTotals
	}
	var t crash.ProblemTotals
	if err := s.pool.QueryRow(ctx, sql, problemArgs(filter)).Scan(&t.Problems, &t.Reports); err != nil {
		return t, fmt.Errorf("problem totals: %w", known(err))
	}
	return t, nil
}

func problemArgs(filter crash.ProblemFilter) pgx.NamedArgs {
	return pgx.NamedArgs{
		"since": filter.Since, "until": filter.Until, "release": string(filter.Release), "package": filter.Package,
	}
}
