package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const sqlVersionsInUse = `
	select release, version, arrived from package_versions where package = @package
	order by version_key desc, release limit 2000`

// VersionsInUse returns the versions of a binary package that counted reports came from, by release, with when the first of
// them arrived: the newest version first, at most 2,000. What is returned is not to be changed.
func (s *Store) VersionsInUse(ctx context.Context, pkg string) ([]crash.VersionKnown, error) {
	versions, err := s.inUse.get(ctx, s, pkg, func() ([]crash.VersionKnown, error) {
		rows, err := s.pool.Query(ctx, sqlVersionsInUse, pgx.NamedArgs{"package": pkg})
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowToStructByPos[crash.VersionKnown])
	})
	if err != nil {
		return nil, fmt.Errorf("versions of %q in use: %w", pkg, known(err))
	}
	return versions, nil
}

const sqlNewestTypes = `
	select problem_type, count(*) from (
		select r.problem_type from (select id from buckets where id in ` + members + `) as m (source) cross join lateral (
			select problem_type from reports where bucket_id = m.source order by received desc, id desc limit @look
		) as r limit @look
	) as newest group by problem_type order by count(*) desc, problem_type`

// NewestTypes returns of which problem types the newest reports of a problem are (at most look of each of its buckets), the
// most common first.
func (s *Store) NewestTypes(ctx context.Context, id crash.BucketID, look int) ([]crash.NameCount, error) {
	rows, err := s.pool.Query(ctx, sqlNewestTypes, pgx.NamedArgs{"bucket": id[:], "look": look})
	if err != nil {
		return nil, fmt.Errorf("types of reports of bucket %s: %w", id, known(err))
	}
	types, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.NameCount])
	if err != nil {
		return nil, fmt.Errorf("types of reports of bucket %s: %w", id, known(err))
	}
	return types, nil
}
