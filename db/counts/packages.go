package counts

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const sqlNewestTypes = `
	select problem_type, count(*) from (
		select r.problem_type from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
			select problem_type from reports where bucket_id = m.source order by received desc, id desc limit @look
		) as r limit @look
	) as newest group by problem_type order by count(*) desc, problem_type`

// NewestTypes returns the problem types of a problem's newest reports, most frequent first. It
// reads at most look reports of each bucket.
func (s *Store) NewestTypes(ctx context.Context, id crash.BucketID, look int) ([]crash.NameCount, error) {
	rows, err := s.Pool.Query(ctx, sqlNewestTypes, pgx.NamedArgs{"bucket": id[:], "look": look})
	if err != nil {
		return nil, fmt.Errorf("types of reports of bucket %s: %w", id, db.Classify(err))
	}
	types, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.NameCount])
	if err != nil {
		return nil, fmt.Errorf("types of reports of bucket %s: %w", id, db.Classify(err))
	}
	return types, nil
}
