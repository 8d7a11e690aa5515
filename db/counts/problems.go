package counts

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
)

// These fragments look up the buckets of some packages one by one. For all packages they read all
// daily counts of the period.
const (
	commonDays = `
		d.day between @since and @until and (@release = '' or d.release = @release)
			and (@version = '' or d.version = @version)
			and (@architecture = '' or d.package_architecture = @architecture)`
	commonRows = `
		), heads as (
			select m.head, sum(counted.n)::bigint as n from counted join buckets as m on m.id = counted.bucket_id
			group by m.head
		), page as (
			select h.head, h.n from heads as h join buckets as b on b.id = h.head
			where case b.package when '' then @without::boolean else @with::boolean end and (@first = '' or @first = (
				select (r.lowest_version).version from buckets as m join bucket_releases as r on r.bucket_id = m.id
				where m.head = h.head and r.lowest_version is not null and (@release = '' or r.release = @release)
				order by r.lowest_version limit 1))
			order by h.n desc, case when @public then '' else b.signature end collate "C", h.head limit @limit
		)
		select ` + db.BucketColumns + `, page.n from page join buckets as b on b.id = page.head` + db.BucketJoins + `
		order by page.n desc, b.signature collate "C"`
	sqlCommonProblems = `
		with counted as materialized (
			select d.bucket_id, sum(d.reports)::bigint as n from bucket_days as d
			where ` + commonDays + `
			group by d.bucket_id` + commonRows
	sqlCommonOfPackages = `
		with counted as materialized (
			select d.bucket_id, sum(d.reports)::bigint as n from buckets as p join bucket_days as d on d.bucket_id = p.id
			where (p.package = any(@packages) or p.source_package = any(@packages)) and ` + commonDays + `
			group by d.bucket_id` + commonRows
)

// CommonProblems returns the limit most frequent problems of days that are older than the index.
// with and without select problems with and without a package. Problems with the same count are
// sorted by signature; with Public, which of them the list ends with does not depend on that.
//
// CommonProblems supports the fields of the filter for days, Release, Version and
// PackageArchitecture, either Package or Packages, New with a version, and Public. It returns an
// error for others.
func (s *Store) CommonProblems(
	ctx context.Context, f index.Filter, with, without bool, limit int,
) ([]crash.Problem, error) {
	supported := index.Filter{
		Since: f.Since, Until: f.Until, Release: f.Release, Version: f.Version, PackageArchitecture: f.PackageArchitecture,
		ByPackages: f.ByPackages, Packages: f.Packages, New: f.New && f.Version != "", Public: f.Public,
	}
	if !f.ByPackages {
		supported.Package = f.Package
	}
	if f != supported {
		return nil, fmt.Errorf("common problems of days long ago cannot be chosen by all of %+v", f)
	}
	sql, first := sqlCommonProblems, ""
	if f.ByPackages || f.Package != "" {
		sql = sqlCommonOfPackages
	}
	if f.New {
		first = f.Version
	}
	rows, err := s.Pool.Query(ctx, sql, pgx.NamedArgs{
		"since": f.Since.Time(), "until": f.Until.Time(), "release": f.Release,
		"packages": strings.Fields(f.Packages + " " + f.Package), "version": f.Version, "architecture": f.PackageArchitecture,
		"with": with, "without": without, "first": first, "limit": limit, "public": f.Public,
	})
	if err != nil {
		return nil, fmt.Errorf("common problems: %w", db.Classify(err))
	}
	problems, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p crash.Problem, err error) {
		p.Bucket = &crash.Bucket{}
		err = db.ScanBucketAnd(row, p.Bucket, &p.Count)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("common problems: %w", db.Classify(err))
	}
	return problems, nil
}

const sqlProblemsByID = `
	select ` + db.BucketColumns + `, i.n from unnest(@ids::bytea[], @counts::bigint[]) with ordinality as i (id, n, place)
	join buckets as b on b.id = i.id ` + db.BucketJoins + ` order by i.place`

// ProblemsByID returns the problems of some counts, in the same order. It omits those that no
// longer exist.
func (s *Store) ProblemsByID(ctx context.Context, counts []crash.ProblemCursor) ([]crash.Problem, error) {
	ids, numbers := make([][]byte, len(counts)), make([]int64, len(counts))
	for i := range counts {
		ids[i], numbers[i] = counts[i].ID[:], counts[i].Count
	}
	rows, err := s.Pool.Query(ctx, sqlProblemsByID, pgx.NamedArgs{"ids": ids, "counts": numbers})
	if err != nil {
		return nil, fmt.Errorf("problems by id: %w", db.Classify(err))
	}
	problems, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p crash.Problem, err error) {
		p.Bucket = &crash.Bucket{}
		err = db.ScanBucketAnd(row, p.Bucket, &p.Count)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("problems by id: %w", db.Classify(err))
	}
	return problems, nil
}

const sqlSignatures = `select id, signature from buckets where id = any(@ids)`

// WholeSignatures returns the complete signatures of those rows whose signature the index
// truncates.
func (s *Store) WholeSignatures(ctx context.Context, of []index.Row) (map[crash.BucketID]string, error) {
	var ids []crash.BucketID
	for _, r := range of {
		if len(r.Signature) >= index.MaxSignature {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.Pool.Query(ctx, sqlSignatures, pgx.NamedArgs{"ids": db.IDBytes(ids)})
	if err != nil {
		return nil, fmt.Errorf("signatures: %w", db.Classify(err))
	}
	signatures := map[crash.BucketID]string{}
	var id crash.BucketID
	var signature string
	if _, err := pgx.ForEachRow(rows, []any{db.ScanTo(id[:]), &signature},
		func() error { signatures[id] = signature; return nil }); err != nil {
		return nil, fmt.Errorf("signatures: %w", db.Classify(err))
	}
	return signatures, nil
}
