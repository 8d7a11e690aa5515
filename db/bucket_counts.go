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
		return nil, fmt.Errorf("versions of bucket %s: %w", id, classify(err))
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.VersionCount])
	if err != nil {
		return nil, fmt.Errorf("versions of bucket %s: %w", id, classify(err))
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
		return nil, fmt.Errorf("days of bucket %s: %w", id, classify(err))
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.DayCount])
	if err != nil {
		return nil, fmt.Errorf("days of bucket %s: %w", id, classify(err))
	}
	slices.SortStableFunc(counts, func(a, b crash.DayCount) int {
		if c := a.Day.Compare(b.Day); c != 0 {
			return c
		}
		return compareReleases(a.Release, b.Release)
	})
	return counts, nil
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
	return all.counts, all.proposed, classify(err)
}

// architectures is how often a problem was seen by architecture.
type architectures struct {
	counts   []crash.NameCount
	proposed int64
}

func (s *Store) readArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64, err error) {
	rows, err := s.pool.Query(ctx, sqlBucketArchitectures, pgx.NamedArgs{"bucket": id[:]})
	if err != nil {
		return nil, 0, fmt.Errorf("architectures of bucket %s: %w", id, classify(err))
	}
	var c crash.NameCount
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&c.Name, &c.Reports, &n}, func() error {
		counts = append(counts, c)
		proposed += n
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("architectures of bucket %s: %w", id, classify(err))
	}
	return counts, proposed, nil
}
