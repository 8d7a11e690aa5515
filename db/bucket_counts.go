package db

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const sqlBucketVersions = `
	select version, release, sum(reports)::bigint from bucket_versions where bucket_id in ` + members + `
	group by version, release, version_key
	order by version_key desc nulls last, version, release`

// BucketVersions returns how often the problem that a bucket is part of was seen by version and release: the newest version
// by dpkg's order first, versions that it cannot order last, the releases of one version in their order. Unknown buckets have
// none.
func (s *Store) BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error) {
	rows, err := s.pool.Query(ctx, sqlBucketVersions, pgx.NamedArgs{"bucket": id[:]})
	if err != nil {
		return nil, fmt.Errorf("versions of bucket %s: %w", id, known(err))
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.VersionCount])
	if err != nil {
		return nil, fmt.Errorf("versions of bucket %s: %w", id, known(err))
	}
	for from := 0; from < len(counts); {
		to := from + 1
		for to < len(counts) && counts[to].Version == counts[from].Version {
			to++
		}
		slices.SortStableFunc(counts[from:to], func(a, b crash.VersionCount) int { return compareReleases(a.Release, b.Release) })
		from = to
	}
	return counts, nil
}

const sqlBucketDays = `
	select day, release, sum(reports)::bigint from bucket_days
	where bucket_id in ` + members + ` and day between @since and @until
	group by day, release order by day`

// BucketDays returns how often the problem that a bucket is part of was seen on each UTC day from since to until, both
// included, by release: earliest day first, the releases of a day in their order. Days without a report are left out.
func (s *Store) BucketDays(ctx context.Context, id crash.BucketID, since, until time.Time) ([]crash.DayCount, error) {
	rows, err := s.pool.Query(ctx, sqlBucketDays, pgx.NamedArgs{"bucket": id[:], "since": since, "until": until})
	if err != nil {
		return nil, fmt.Errorf("days of bucket %s: %w", id, known(err))
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.DayCount])
	if err != nil {
		return nil, fmt.Errorf("days of bucket %s: %w", id, known(err))
	}
	slices.SortStableFunc(counts, func(a, b crash.DayCount) int {
		if c := a.Day.Compare(b.Day); c != 0 {
			return c
		}
		return compareReleases(a.Release, b.Release)
	})
	return counts, nil
}

const (
	sqlReleases = `
		select r.release, coalesce(d.reports, 0) from releases as r left join (
			select release, sum(reports)::bigint as reports from release_days where day >= @since group by release
		) as d on d.release = r.release`
	sqlHasRelease = `select exists (select from releases where release = @release)`
)

// releaseDays is how many days back reports make a release one that lists name.
const releaseDays = 91

// Releases returns what lists name of the releases that counted reports came from, by their reports of the last weeks. The
// table says which names are trusted; a store is asked with one table only.
func (s *Counts) Releases(ctx context.Context, table *crash.ReleaseTable) (crash.ReleaseList, error) {
	list, err := cachedCounts(ctx, s.Store, nil, func(ctx context.Context) (crash.ReleaseList, error) {
		reports, err := s.readReleases(ctx)
		return table.List(reports), err
	})
	return list, known(err)
}

func (s *Counts) readReleases(ctx context.Context) (map[crash.Release]int64, error) {
	rows, err := s.pool.Query(ctx, sqlReleases, pgx.NamedArgs{"since": s.now().UTC().AddDate(0, 0, -releaseDays)})
	if err != nil {
		return nil, fmt.Errorf("releases: %w", known(err))
	}
	all := map[crash.Release]int64{}
	var release crash.Release
	var reports int64
	if _, err := pgx.ForEachRow(rows, []any{&release, &reports}, func() error { all[release] = reports; return nil }); err != nil {
		return nil, fmt.Errorf("releases: %w", known(err))
	}
	return all, nil
}

// HasRelease reports whether a counted report came from the release.
func (s *Counts) HasRelease(ctx context.Context, r crash.Release) (has bool, err error) {
	if err := s.pool.QueryRow(ctx, sqlHasRelease, pgx.NamedArgs{"release": r}).Scan(&has); err != nil {
		return false, fmt.Errorf("release: %w", known(err))
	}
	return has, nil
}

const sqlBucketArchitectures = `
	select architecture, sum(reports)::bigint, sum(proposed)::bigint from bucket_days where bucket_id in ` + members + `
	group by architecture order by 2 desc, architecture limit 20`

// BucketArchitectures returns how often the problem that a bucket is part of was seen by architecture, the most first, and
// how many of all its reports came from the proposed pocket. What is returned is not to be changed.
func (s *Store) BucketArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64, err error) {
	all, err := cachedCounts(ctx, s, id, func(ctx context.Context) (a architectures, err error) {
		a.counts, a.proposed, err = s.readArchitectures(ctx, id)
		return a, err
	})
	return all.counts, all.proposed, known(err)
}

// architectures is how often a problem was seen by architecture.
type architectures struct {
	counts   []crash.NameCount
	proposed int64
}

func (s *Store) readArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64, err error) {
	rows, err := s.pool.Query(ctx, sqlBucketArchitectures, pgx.NamedArgs{"bucket": id[:]})
	if err != nil {
		return nil, 0, fmt.Errorf("architectures of bucket %s: %w", id, known(err))
	}
	var c crash.NameCount
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&c.Name, &c.Reports, &n}, func() error {
		counts = append(counts, c)
		proposed += n
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("architectures of bucket %s: %w", id, known(err))
	}
	return counts, proposed, nil
}
