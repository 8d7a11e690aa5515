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
	belowReport   = ` and received <= @received and (received, id) < (@received, @id) order by received desc, id desc`
	sqlBucketList = `
		select ` + reportColumns + ` from (select id from buckets where id in ` + members + `) as m (source) cross join lateral (
			select * from reports
			where bucket_id = m.source and (@version = '' or version = @version) and (@release = '' or release = @release)
				and (@architecture = '' or architecture = @architecture) and (not @complete or complete)` + belowReport + ` limit @limit
		) as r
		order by received desc, id desc limit @limit`
	sqlSystemList   = `select ` + reportColumns + ` from reports where system_key = @system_key and system = @system` + belowReport + ` limit @limit`
	sqlNamelessList = `select ` + reportColumns + ` from reports where system_key is null` + belowReport + ` limit @limit`
	sqlNextOlder    = `
		select r.id from (select id from buckets where id in ` + members + `) as m (source) cross join lateral (
			select id, received from reports where bucket_id = m.source` + belowReport + ` limit 1
		) as r
		order by r.received desc, r.id desc limit 1`
	sqlNextNewer = `
		select r.id from (select id from buckets where id in ` + members + `) as m (source) cross join lateral (
			select id, received from reports where bucket_id = m.source and received >= @received and (received, id) > (@received, @id)
			order by received, id limit 1
		) as r
		order by r.received, r.id limit 1`
)

// BucketReports returns the reports of the problem that a bucket is part of in the order of their arrival, the newest
// first, at most limit, from below the report after on (zero: from the newest). Reports of test machines are among them.
func (s *Store) BucketReports(ctx context.Context, id crash.BucketID, after crash.OopsID, limit int) ([]crash.ReportRow, error) {
	return s.BucketReportsLike(ctx, id, crash.ReportFilter{}, after, limit)
}

// BucketReportsLike is BucketReports for those that a filter lets through.
func (s *Store) BucketReportsLike(ctx context.Context, id crash.BucketID, f crash.ReportFilter, after crash.OopsID, limit int) ([]crash.ReportRow, error) {
	args := newestFirst(after, limit)
	args["bucket"], args["version"], args["release"], args["architecture"] = id[:], f.Version, string(f.Release), f.Architecture
	args["complete"] = f.Complete
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

// ReportNeighbours returns the reports of the problem that a bucket is part of that arrived next after and next before the given one; zero ids where
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
