package problems

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
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
	problems, err := db.List(ctx, s.Pool, sql, pgx.NamedArgs{
		"since": f.Since.Time(), "until": f.Until.Time(), "release": f.Release,
		"packages": strings.Fields(f.Packages + " " + f.Package), "version": f.Version, "architecture": f.PackageArchitecture,
		"with": with, "without": without, "first": first, "limit": limit, "public": f.Public,
	}, func(row pgx.CollectableRow) (p crash.Problem, err error) {
		p.Bucket = &crash.Bucket{}
		err = db.ScanBucketAnd(row, p.Bucket, &p.Count)
		return p, err
	})
	return problems, db.Wrap(err, "common problems")
}

const sqlProblemsByID = `
	select ` + db.BucketColumns + `, i.n from unnest(@ids::bytea[], @counts::bigint[]) with ordinality as i (id, n, place)
	join buckets as b on b.id = i.id ` + db.BucketJoins + ` order by i.place`

// ProblemsByID returns the problems of some counts, in the same order. It omits those that no
// longer exist.
func (s *Store) ProblemsByID(ctx context.Context, counts []crash.ProblemCursor) ([]crash.Problem, error) {
	ids, numbers := make([]crash.BucketID, len(counts)), make([]int64, len(counts))
	for i, c := range counts {
		ids[i], numbers[i] = c.ID, c.Count
	}
	problems, err := db.List(ctx, s.Pool, sqlProblemsByID, pgx.NamedArgs{"ids": ids, "counts": numbers},
		func(row pgx.CollectableRow) (p crash.Problem, err error) {
			p.Bucket = &crash.Bucket{}
			err = db.ScanBucketAnd(row, p.Bucket, &p.Count)
			return p, err
		})
	return problems, db.Wrap(err, "problems by id")
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
	signatures := map[crash.BucketID]string{}
	var id crash.BucketID
	var signature string
	err := db.Each(ctx, s.Pool, sqlSignatures, pgx.NamedArgs{"ids": ids},
		[]any{&id, &signature},
		func() { signatures[id] = signature })
	return signatures, db.Wrap(err, "signatures")
}

const sqlFirstBucket = `
	select b.head from unnest(@ids::bytea[]) with ordinality as i (id, place) join buckets as b on b.id = i.id
	order by i.place limit 1`

// FirstBucket returns the head of the first of some buckets that exists. It returns NotFound if
// none exists.
func (s *Store) FirstBucket(ctx context.Context, ids []crash.BucketID) (crash.BucketID, error) {
	id, err := db.One(ctx, s.Pool, sqlFirstBucket, pgx.NamedArgs{"ids": ids}, pgx.RowTo[crash.BucketID])
	return id, db.WrapOr(err, crash.ErrUnknownBucket, "find bucket")
}

// sqlNewBuckets counts each machine once. A machine that reported a version from several releases
// counts in each of them, so the query subtracts the extra ones. The buckets of a merged problem
// may share machines, so the query then counts distinct machines.
const sqlNewBuckets = `
	with cells as (
		select b.head, v.bucket_id, v.version, v.reports, v.systems
		from buckets as b join bucket_versions as v on v.bucket_id = b.id and v.version in (@new, @previous)
		where b.head in (select head from buckets where source_package = @source) and v.reports > 0
	), heads as (
		select head, count(distinct bucket_id) as members, (array_agg(bucket_id))[1] as member,
			sum(systems)::bigint as at_most, sum(reports)::bigint as reports
		from cells
		group by head having not bool_or(version = @previous)
	), counted as materialized (
		select head, reports, case
				when at_most <= @more_than then at_most
				when members = 1 then at_most - (
					select coalesce(sum(extra), 0) from bucket_travellers where bucket_id = heads.member and version = @new)
				else (select count(distinct s.system) from bucket_systems as s join buckets as m on m.id = s.bucket_id
					where m.head = heads.head and s.version = @new)
			end as systems
		from heads
	)
	select h.id, h.signature, c.reports, c.systems from counted as c join buckets as h on h.id = c.head
	where c.systems > @more_than and not h.provisional and not starts_with(h.signature, 'failed:')
	order by c.systems desc, c.reports desc, h.id`

// NewBuckets returns the problems of a source package that occur in a version on more than moreThan
// machines, and do not occur in the previous version. Those on most machines come first. It omits
// problems whose reports have no function names.
func (s *Store) NewBuckets(ctx context.Context, source, previous, version string,
	moreThan int) ([]stats.NewBucket, error) {
	args := pgx.NamedArgs{"source": source, "previous": previous, "new": version, "more_than": moreThan}
	// PostgreSQL plans the query anew for these values: they decide whether the version or the package
	// is rarer.
	rows, err := s.Pool.Query(ctx, sqlNewBuckets, pgx.QueryExecModeCacheDescribe, args)
	if err != nil {
		return nil, fmt.Errorf("new buckets: %w", db.Classify(err))
	}
	buckets, err := pgx.CollectRows(rows, db.Into(func(b *stats.NewBucket) []any {
		return []any{&b.ID, &b.Signature, &b.Reports, &b.Systems}
	}))
	return buckets, db.Wrap(err, "new buckets")
}

const sqlExpired = `select coalesce((select before from expired_counts), '0001-01-01')`

// From returns the first UTC day whose counts have not expired, or zero if none have. Counts of earlier
// days are unknown: what is stored of them may be incomplete.
func (s *Store) From(ctx context.Context) (time.Time, error) {
	from, err := db.CachedCounts(ctx, s.Store, nil, func(ctx context.Context) (from time.Time, err error) {
		err = s.Pool.QueryRow(ctx, sqlExpired).Scan(&from)
		return from, err
	})
	if err != nil {
		return from, fmt.Errorf("expired counts: %w", db.Classify(err))
	}
	if from.Year() < 2 {
		return time.Time{}, nil
	}
	return from.UTC(), nil
}

// These statements are for days that are older than the index. They read all daily counts, which
// few requests need.
const (
	sqlProblemDays = `
		select d.day, count(distinct b.head) from bucket_days as d join buckets as b on b.id = d.bucket_id
		where d.day between @since and @until and d.reports > 0 group by d.day`
	sqlTracedDays = `
		select d.day, d.release, d.architecture,
			coalesce(sum(d.reports) filter (where not h.provisional), 0)::bigint,
			coalesce(sum(d.reports) filter (where h.provisional), 0)::bigint
		from bucket_days as d join buckets as b on b.id = d.bucket_id join buckets as h on h.id = b.head
		where d.day between @since and @until and h.problem_type = 'Crash' and h.rule = any(@rules)
		group by d.day, d.release, d.architecture order by d.day desc, d.release, d.architecture`
)

// ProblemDays returns how many different problems have reports on each UTC day, from since to until
// inclusive. It omits days without any.
func (s *Store) ProblemDays(ctx context.Context, since, until time.Time) (map[time.Time]int64, error) {
	days := map[time.Time]int64{}
	var day time.Time
	var n int64
	err := db.Each(ctx, s.Pool, sqlProblemDays, pgx.NamedArgs{"since": since, "until": until}, []any{&day, &n},
		func() { days[day.UTC()] = n })
	return days, db.Wrap(err, "days of problems")
}

// TracedDays returns the same as [index.Index.TracedDays], also for days that are older than the
// index.
func (s *Store) TracedDays(
	ctx context.Context, since, until time.Time, rules []crash.GroupingRule,
) ([]index.Traced, error) {
	days, err := db.List(ctx, s.Pool, sqlTracedDays, pgx.NamedArgs{"since": since, "until": until, "rules": rules},
		func(row pgx.CollectableRow) (t index.Traced, err error) {
			var day time.Time
			err = row.Scan(&day, &t.Release, &t.Architecture, &t.Named, &t.Failed)
			t.Day = index.DayOf(day)
			return t, err
		})
	return days, db.Wrap(err, "days of traces")
}

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
// day, for each version and release of a bucket's problem. It sorts by version, newest
// first, see [crash.CompareVersions].
func (s *Store) BucketVersionSpans(ctx context.Context, id crash.BucketID) ([]stats.BucketVersion, error) {
	spans, err := db.List(ctx, s.Pool, sqlBucketVersionSpans, pgx.NamedArgs{"bucket": id[:]},
		db.Into(func(v *stats.BucketVersion) []any {
			return []any{&v.Version, &v.Release, &v.Reports, &v.Systems, db.OrZero(&v.First), db.OrZero(&v.Last)}
		}))
	return spans, db.Wrap(err, "versions of bucket %s", id)
}

const sqlNewestTypes = `
	select problem_type, count(*) from (
		select r.problem_type from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
			select problem_type from reports where bucket_id = m.source and received >= @here
			order by received desc, id desc limit @look
		) as r limit @look
	) as newest group by problem_type order by count(*) desc, problem_type`

// NewestTypes returns the problem types of a problem's newest reports, most frequent first. It
// reads at most look reports of each bucket, and those in archives only if there is none here.
func (s *Store) NewestTypes(ctx context.Context, id crash.BucketID, look int) ([]crash.NameCount, error) {
	types, err := db.Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) ([]crash.NameCount, bool, error) {
		types, err := db.List(ctx, s.Pool, sqlNewestTypes, pgx.NamedArgs{"bucket": id[:], "look": look, "here": since},
			pgx.RowToStructByPos[crash.NameCount])
		return types, len(types) > 0, err
	})
	return types, db.Wrap(err, "types of reports of bucket %s", id)
}

const (
	sqlReleases = `
		select r.release, coalesce(d.reports, 0) from releases as r left join (
			select release, sum(reports)::bigint as reports from release_days where day >= @since group by release
		) as d on d.release = r.release`
	sqlHasRelease = `select exists (select from releases where release = @release)`
)

// releaseDays is the number of days within which a release must have a report to appear in lists.
const releaseDays = 91

// Releases returns the releases with counted reports, for lists, with the number of reports in the
// last 91 days. The table defines which names are trusted. The result is cached, so all callers
// must pass the same table.
func (s *Store) Releases(ctx context.Context, table *crash.ReleaseTable) (crash.ReleaseList, error) {
	list, err := db.CachedCounts(ctx, s.Store, nil, func(ctx context.Context) (crash.ReleaseList, error) {
		reports, err := s.readReleases(ctx)
		return table.List(reports), err
	})
	return list, db.Classify(err)
}

func (s *Store) readReleases(ctx context.Context) (map[crash.Release]int64, error) {
	all := map[crash.Release]int64{}
	var release crash.Release
	var reports int64
	err := db.Each(ctx, s.Pool, sqlReleases, pgx.NamedArgs{"since": s.Now().UTC().AddDate(0, 0, -releaseDays)},
		[]any{&release, &reports},
		func() { all[release] = reports })
	return all, db.Wrap(err, "releases")
}

// HasRelease reports whether the release has a counted report.
func (s *Store) HasRelease(ctx context.Context, r crash.Release) (has bool, err error) {
	err = s.Pool.QueryRow(ctx, sqlHasRelease, pgx.NamedArgs{"release": r}).Scan(&has)
	return has, db.Wrap(err, "release")
}

// A facet reads the newest reports in full of a problem, and the newest of each of some other problems of
// its package. Both are found by the index reports_in_full, so the work does not grow with the number of
// stored reports.
const (
	facetHere   = 300
	facetOthers = 30 // problems
	facetOfEach = 10 // reports of each of these
	facetTime   = 5 * time.Second
)

const (
	sqlFacetHere = `
		select ` + db.ReportColumns + `, body from (
			select r.* from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
				select * from reports where bucket_id = m.source and received >= @here and body is not null
				order by received desc, id desc limit @limit
			) as r
			order by r.received desc, r.id desc limit @limit
		) as newest`
	sqlFacetThere = `
		select r.* from (
			select id from buckets
			where package = @package and head <> (select head from buckets where id = @bucket) and reports > 0
			order by reports desc, id limit @others
		) as m (source) cross join lateral (
			select ` + db.ReportColumns + `, body from reports
			where bucket_id = m.source and received >= @here and body is not null
			order by received desc, id desc limit @limit
		) as r`
)

// FacetReport is a report with its values of a field.
type FacetReport struct {
	crash.ReportRow
	Values []string // empty: it does not have the field
}

// Has reports whether the report has a value of the field. An empty one stands for none.
func (r FacetReport) Has(value string) bool {
	return slices.Contains(r.Values, value) || value == "" && len(r.Values) == 0
}

// Facet counts the values of a field in the newest reports of a problem and in others of its
// package. It also returns these reports of the problem, newest first. It looks in archives only if
// the problem has no report here. It takes at most five seconds, and returns Unavailable if that is
// not enough.
func (s *Store) Facet(ctx context.Context, b crash.Bucket, field stats.FacetField) (
	f stats.Facet, reports []FacetReport, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, facetTime)
	defer cancel()
	args := pgx.NamedArgs{"bucket": b.ID[:], "package": b.Package, "others": facetOthers}
	sides, err := db.Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) (of [2][]FacetReport, _ bool,
		err error) {
		args["limit"], args["here"] = facetHere, since
		if of[0], err = s.facetReports(ctx, sqlFacetHere, args, field); err == nil && b.Package != "" {
			args["limit"] = facetOfEach
			of[1], err = s.facetReports(ctx, sqlFacetThere, args, field)
		}
		return of, len(of[0]) > 0, err
	})
	if err != nil {
		return f, nil, fmt.Errorf("values of %s in %s: %w", field, b.ID, db.Classify(err))
	}
	return stats.NewFacet(field, valuesOf(sides[0]), valuesOf(sides[1])), sides[0], nil
}

func valuesOf(reports []FacetReport) [][]string {
	values := make([][]string, len(reports))
	for i, r := range reports {
		values[i] = r.Values
	}
	return values
}

func (s *Store) facetReports(
	ctx context.Context, sql string, args pgx.NamedArgs, field stats.FacetField,
) ([]FacetReport, error) {
	return db.List(ctx, s.Pool, sql, args, func(row pgx.CollectableRow) (r FacetReport, err error) {
		var body []byte
		if r.ReportRow, body, err = db.ScanReportBody(row); err != nil {
			return r, err
		}
		err = s.ReadBody(ctx, body, func(f crash.Fields) { r.Values = field.ValuesIn(r.Summary, f) })
		return r, err
	})
}
