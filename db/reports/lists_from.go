package reports

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// As in lists.go, the first condition on received lets PostgreSQL skip partitions.
const (
	fromReport    = ` and received >= @received and (received, id) >= (@received, @id) order by received, id limit @limit`
	sqlBucketFrom = `
		select r.id from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
			select received, id from reports where bucket_id = m.source` + fromReport + `
		) as r
		order by r.received, r.id limit @limit`
	sqlSystemFrom   = `select id from reports where system_key = @system_key and system = @system` + fromReport
	sqlNamelessFrom = `select id from reports where system_key is null` + fromReport
)

// BucketReportsFrom returns the ids of up to limit reports of a bucket's problem, in the order of
// arrival. It starts with the report from.
func (s *Store) BucketReportsFrom(ctx context.Context, id crash.BucketID, from crash.OopsID, limit int) ([]crash.OopsID,
	error) {
	args := db.ReportArgs(from)
	args["bucket"], args["limit"] = id[:], limit
	ids, err := s.reportIDs(ctx, sqlBucketFrom, args)
	if err != nil {
		return nil, fmt.Errorf("reports of bucket %s: %w", id, db.Classify(err))
	}
	return ids, nil
}

// SystemReportsFrom returns the ids of a machine's reports in the same way as BucketReportsFrom.
func (s *Store) SystemReportsFrom(ctx context.Context, system crash.SystemID, from crash.OopsID,
	limit int) ([]crash.OopsID, error) {
	args := db.ReportArgs(from)
	args["limit"] = limit
	sql := sqlNamelessFrom
	if key := db.SystemKey(system); key != nil {
		sql, args["system"], args["system_key"] = sqlSystemFrom, string(system), *key
	}
	ids, err := s.reportIDs(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("reports of a machine: %w", db.Classify(err))
	}
	return ids, nil
}

func (s *Store) reportIDs(ctx context.Context, sql string, args pgx.NamedArgs) ([]crash.OopsID, error) {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (id crash.OopsID, err error) {
		err = row.Scan((*[16]byte)(&id))
		return id, err
	})
}
