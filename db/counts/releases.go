package counts

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

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
	rows, err := s.Pool.Query(ctx, sqlReleases, pgx.NamedArgs{"since": s.Now().UTC().AddDate(0, 0, -releaseDays)})
	if err != nil {
		return nil, fmt.Errorf("releases: %w", db.Classify(err))
	}
	all := map[crash.Release]int64{}
	var release crash.Release
	var reports int64
	if _, err := pgx.ForEachRow(rows, []any{&release, &reports},
		func() error { all[release] = reports; return nil }); err != nil {
		return nil, fmt.Errorf("releases: %w", db.Classify(err))
	}
	return all, nil
}

// HasRelease reports whether the release has a counted report.
func (s *Store) HasRelease(ctx context.Context, r crash.Release) (has bool, err error) {
	if err := s.Pool.QueryRow(ctx, sqlHasRelease, pgx.NamedArgs{"release": r}).Scan(&has); err != nil {
		return false, fmt.Errorf("release: %w", db.Classify(err))
	}
	return has, nil
}
