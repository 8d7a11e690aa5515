package counts

import (
	"context"
	"fmt"
	"mishap/crash"
	"mishap/db"

	"github.com/jackc/pgx/v5"
)

const sqlNewestTypes = `
	select problem_type, count(*) from (
		select r.problem_type from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
			select problem_type from reports where bucket_id = m.source order by received desc, id desc limit @look
		) as r limit @look
	) as newest group by problem_type order by count(*) desc, problem_type`

// NewestTypes returns of which problem types the newest reports of a problem are (at most look of each of its buckets), the
// most common first.
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
