package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// These fragments of SQL read a crash.Bucket from each row of buckets, which is called b. Reports,
// bugs and filings are those of all buckets merged into b. So b must not itself be merged into
// another bucket.
const (
	// BucketColumns are the columns that ScanBucket reads. If a problem has several bugs, they hold
	// the first one in BugOrder. If it has several filings, they hold the one that is most likely to
	// become a bug.
	BucketColumns = `
		b.id, b.signature, b.rule, b.provisional, b.problem_type, b.title, b.name, b.executable,
		b.package, b.source_package,
		w.members, w.reports, w.systems,
		o.seen, coalesce(o.version, ''), coalesce(o.release, ''), n.seen, coalesce(n.version, ''), coalesce(n.release, ''),
		coalesce((w.first_version).version, ''), coalesce((w.first_version).release, ''),
		coalesce((w.last_version).version, ''), coalesce((w.last_version).release, ''),
		coalesce((w.first_release).release, ''), coalesce((w.last_release).release, ''),
		g.number, g.title, g.url, g.how, g.person, g.at, g.state, g.master, g.master_title, g.master_url,
		coalesce(f.id, 0), coalesce(f.state, ''), coalesce(f.bug_number, 0), coalesce(f.person, ''),
		coalesce(f.target, ''),
		coalesce(f.title, ''), coalesce(f.marker, ''), coalesce(f.problem, ''),
		coalesce(f.reason, ''), coalesce(f.attempts, 0),
		f.created, f.updated, f.not_before`
	// BucketJoins joins the tables that BucketColumns needs.
	BucketJoins = `
		cross join lateral (
			select count(*) as members, sum(m.reports)::bigint as reports,
				case when count(*) = 1 then max(m.systems)
				else (
					select count(distinct system) from bucket_systems
					where bucket_id in (select id from buckets where head = b.id)
				) end as systems,
				(array_agg(m.first_version order by m.first_version)
					filter (where m.first_version is not null))[1] as first_version,
				(array_agg(m.last_version order by m.last_version desc)
					filter (where m.last_version is not null))[1] as last_version,
				(array_agg(m.first_release order by m.first_release)
					filter (where m.first_release is not null))[1] as first_release,
				(array_agg(m.last_release order by m.last_release desc)
					filter (where m.last_release is not null))[1] as last_release
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
			select ` + BugColumns + ` from bucket_bugs as l ` + BugJoins + `
			where l.bucket_id in (select id from buckets where head = b.id) order by ` + BugOrder + ` limit 1
		) as g (number, title, url, how, person, at, state, master, master_title, master_url) on true
		left join lateral (
			select * from filings where bucket_id in (select id from buckets where head = b.id)
			order by case when state in ('filing', 'uncertain') then 0 when state = 'queued' then 1
					when state = 'filed' then 2 when unsettled then 3 else 4 end,
				bucket_id = b.id desc, updated desc, id desc limit 1
		) as f on true`

	// Members selects the ids of all buckets of the problem that the bucket @bucket belongs to.
	Members = `(select id from buckets where head = (select head from buckets where id = @bucket))`
)

const sqlBucket = `select ` + BucketColumns + ` from buckets as b ` + BucketJoins +
	` where b.id = (select head from buckets where id = @id)`

// Bucket returns the problem that a bucket belongs to: the bucket itself, or the one it was merged
// into. The result includes everything merged into it, its bug, and its filing without the text and
// tags to be sent. It returns NotFound if there is no such bucket.
func (s *Store) Bucket(ctx context.Context, id crash.BucketID) (crash.Bucket, error) {
	rows, err := s.Pool.Query(ctx, sqlBucket, pgx.NamedArgs{"id": id[:]})
	if err != nil {
		return crash.Bucket{}, fmt.Errorf("bucket %s: %w", id, Classify(err))
	}
	b, err := pgx.CollectExactlyOneRow(rows, ScanBucket)
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.Bucket{}, crash.ErrUnknownBucket
	}
	if err != nil {
		return crash.Bucket{}, fmt.Errorf("bucket %s: %w", id, Classify(err))
	}
	return b, nil
}

// ScanBucket scans a row of BucketColumns.
func ScanBucket(row pgx.CollectableRow) (crash.Bucket, error) {
	var b crash.Bucket
	err := ScanBucketAnd(row, &b)
	return b, err
}

// ScanBucketAnd scans a row of BucketColumns into b, and the columns after them into more.
func ScanBucketAnd(row pgx.CollectableRow, b *crash.Bucket, more ...any) error {
	var bug BugScan
	columns := []any{
		ScanTo(b.ID[:]), &b.Signature, &b.Rule, &b.Provisional, &b.ProblemType, &b.Title, &b.Name, &b.Executable, &b.Package,
		&b.SourcePackage,
		&b.Members, &b.Reports, &b.Systems,
		OrZero(&b.FirstSeen), &b.FirstSeenVersion, &b.FirstSeenRelease, OrZero(&b.LastSeen), &b.LastSeenVersion,
		&b.LastSeenRelease,
		&b.LowestVersion, &b.LowestVersionRelease, &b.HighestVersion, &b.HighestVersionRelease, &b.LowestRelease,
		&b.HighestRelease,
	}
	columns = append(columns, bug.Columns()...)
	columns = append(columns,
		&b.Filing.ID, &b.Filing.State, &b.Filing.Bug, &b.Filing.Person, &b.Filing.Target,
		&b.Filing.Title, &b.Filing.Marker, &b.Filing.Problem, &b.Filing.Reason, &b.Filing.Attempts,
		OrZero(&b.Filing.Created), OrZero(&b.Filing.Updated), OrZero(&b.Filing.NotBefore),
	)
	err := row.Scan(append(columns, more...)...)
	b.Bug = bug.Bug()
	if b.Filing.ID != 0 {
		b.Filing.Bucket = b.ID
	}
	return err
}

const sqlBucketVersions = `
	select version, release, sum(reports)::bigint from bucket_versions where bucket_id in ` + Members + `
	group by version, release, version_key
	order by version_key desc nulls last, version, release`

// BucketVersions returns how many reports a bucket's problem has for each version and release. It
// sorts by version, newest first, in dpkg's order; versions that dpkg rejects come last. Releases
// of the same version are sorted by age. The result is empty for an unknown bucket.
func (s *Store) BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error) {
	rows, err := s.Pool.Query(ctx, sqlBucketVersions, pgx.NamedArgs{"bucket": id[:]})
	if err != nil {
		return nil, fmt.Errorf("versions of bucket %s: %w", id, Classify(err))
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.VersionCount])
	if err != nil {
		return nil, fmt.Errorf("versions of bucket %s: %w", id, Classify(err))
	}
	for from := 0; from < len(counts); {
		to := from + 1
		for to < len(counts) && counts[to].Version == counts[from].Version {
			to++
		}
		slices.SortStableFunc(counts[from:to], func(a, b crash.VersionCount) int {
			return CompareReleases(a.Release, b.Release)
		})
		from = to
	}
	return counts, nil
}

const sqlBucketDays = `
	select day, release, sum(reports)::bigint from bucket_days
	where bucket_id in ` + Members + ` and day between @since and @until
	group by day, release order by day`

// BucketDays returns how many reports a bucket's problem has for each UTC day and release, from
// since to until inclusive. It sorts by day, then by the age of the release. Days without reports
// are omitted.
func (s *Store) BucketDays(ctx context.Context, id crash.BucketID, since, until time.Time) ([]crash.DayCount, error) {
	rows, err := s.Pool.Query(ctx, sqlBucketDays, pgx.NamedArgs{"bucket": id[:], "since": since, "until": until})
	if err != nil {
		return nil, fmt.Errorf("days of bucket %s: %w", id, Classify(err))
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.DayCount])
	if err != nil {
		return nil, fmt.Errorf("days of bucket %s: %w", id, Classify(err))
	}
	slices.SortStableFunc(counts, func(a, b crash.DayCount) int {
		if c := a.Day.Compare(b.Day); c != 0 {
			return c
		}
		return CompareReleases(a.Release, b.Release)
	})
	return counts, nil
}

const sqlBucketArchitectures = `
	select architecture, sum(reports)::bigint, sum(proposed)::bigint from (
		select architecture, reports, proposed from bucket_days where bucket_id in ` + Members + `
		union all select architecture, reports, proposed from bucket_expired where bucket_id in ` + Members + `
	) as d
	group by architecture order by 2 desc, architecture limit 20`

// BucketArchitectures returns how many reports a bucket's problem has for each architecture, most
// frequent first. It also returns how many of them came from the proposed pocket. The caller must
// not modify the result, which is cached.
func (s *Store) BucketArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64,
	err error) {
	all, err := CachedCounts(ctx, s, id, func(ctx context.Context) (a architectures, err error) {
		a.counts, a.proposed, err = s.readArchitectures(ctx, id)
		return a, err
	})
	return all.counts, all.proposed, Classify(err)
}

// architectures holds the results of BucketArchitectures.
type architectures struct {
	counts   []crash.NameCount
	proposed int64
}

func (s *Store) readArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64,
	err error) {
	rows, err := s.Pool.Query(ctx, sqlBucketArchitectures, pgx.NamedArgs{"bucket": id[:]})
	if err != nil {
		return nil, 0, fmt.Errorf("architectures of bucket %s: %w", id, Classify(err))
	}
	var c crash.NameCount
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&c.Name, &c.Reports, &n}, func() error {
		counts = append(counts, c)
		proposed += n
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("architectures of bucket %s: %w", id, Classify(err))
	}
	return counts, proposed, nil
}
