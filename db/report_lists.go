package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// The first condition on received looks superfluous, but it is what leaves partitions out.
const (
	belowReport     = ` and received <= @received and (received, id) < (@received, @id) order by received desc, id desc`
	sqlBucketList   = `select ` + reportColumns + ` from reports where bucket_id = @bucket` + belowReport + ` limit @limit`
	sqlSystemList   = `select ` + reportColumns + ` from reports where system_key = @system_key and system = @system` + belowReport + ` limit @limit`
	sqlNamelessList = `select ` + reportColumns + ` from reports where system_key is null` + belowReport + ` limit @limit`
	sqlNextOlder    = `select id from reports where bucket_id = @bucket` + belowReport + ` limit 1`
	sqlNextNewer    = `select id from reports where bucket_id = @bucket and received >= @received and (received, id) > (@received, @id)
		order by received, id limit 1`
)

// BucketReports returns the reports of a bucket in the order of their arrival, the newest first, at most limit, from
// below the report after on (zero: from the newest). Reports of test machines are among them.
func (s *Store) BucketReports(ctx context.Context, id crash.BucketID, after crash.OopsID, limit int) ([]crash.ReportRow, error) {
	args := newestFirst(after, limit)
	args["bucket"] = id[:]
	rows, err := s.reportList(ctx, sqlBucketList, args)
	if err != nil {
		return nil, fmt.Errorf("reports of bucket %s: %w", id, known(err))
	}
	return rows, nil
}

// SystemReports returns the reports of a machine, as BucketReports does those of a bucket.
func (s *Store) SystemReports(ctx context.Context, system crash.SystemID, after crash.OopsID, limit int) ([]crash.ReportRow, error) {
	args := newestFirst(after, limit)
	sql := sqlNamelessList
	if key := systemKey(system); key != nil {
		sql, args["system"], args["system_key"] = sqlSystemList, string(system), *key
	}
	rows, err := s.reportList(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("reports of a machine: %w", known(err))
	}
	return rows, nil
}

func (s *Store) reportList(ctx context.Context, sql string, args pgx.NamedArgs) ([]crash.ReportRow, error) {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanReport)
}

// ReportNeighbours returns the reports of a bucket that arrived next after and next before the given one; zero ids where
// there is none.
func (s *Store) ReportNeighbours(ctx context.Context, bucket crash.BucketID, id crash.OopsID) (newer, older crash.OopsID, err error) {
	args := reportArgs(id)
	args["bucket"] = bucket[:]
	var b pgx.Batch
	for _, side := range []struct {
		sql string
		id  *crash.OopsID
	}{{sqlNextNewer, &newer}, {sqlNextOlder, &older}} {
		b.Queue(side.sql, args).QueryRow(func(row pgx.Row) error {
			if err := row.Scan((*[16]byte)(side.id)); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return nil
		})
	}
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return newer, older, fmt.Errorf("neighbours of report %s: %w", id, known(err))
	}
	return newer, older, nil
}
