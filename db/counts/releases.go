package counts

import (
	"context"
	"fmt"
	"mishap/crash"
	"mishap/db"

	"github.com/jackc/pgx/v5"
)

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

// HasRelease reports whether a counted report came from the release.
func (s *Store) HasRelease(ctx context.Context, r crash.Release) (has bool, err error) {
	if err := s.Pool.QueryRow(ctx, sqlHasRelease, pgx.NamedArgs{"release": r}).Scan(&has); err != nil {
		return false, fmt.Errorf("release: %w", db.Classify(err))
	}
	return has, nil
}
