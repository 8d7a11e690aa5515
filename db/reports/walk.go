package reports

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
)

// As in lists.go, the first condition on received lets PostgreSQL skip partitions.
const (
	aboveReport  = ` and received >= @received and (received, id) > (@received, @id) order by received, id`
	sqlNextOlder = `
		select r.id from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
			select id, received from (
				select * from reports where bucket_id = m.source` + belowReport + ` limit @look
			) as looked where ` + likeThat + ` order by received desc, id desc limit 1
		) as r
		order by r.received desc, r.id desc limit 1`
	sqlNextNewer = `
		select r.id from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
			select id, received from (
				select * from reports where bucket_id = m.source` + aboveReport + ` limit @look
			) as looked where ` + likeThat + ` order by received, id limit 1
		) as r
		order by r.received, r.id limit 1`
	sqlOlderOfSystem = `select id from reports where system_key = @system_key and system = @system` + belowReport +
		` limit 1`
	sqlNewerOfSystem = `select id from reports where system_key = @system_key and system = @system` + aboveReport +
		` limit 1`
	sqlOlderWithoutName = `select id from reports where system_key is null` + belowReport + ` limit 1`
	sqlNewerWithoutName = `select id from reports where system_key is null` + aboveReport + ` limit 1`
)

// ReportNeighbours returns the reports that arrived directly after and before a report, among those
// of a bucket's problem that match a filter (see BucketReportsLike). It returns zero ids if there
// are none among a limited number of reports.
func (s *Store) ReportNeighbours(
	ctx context.Context, bucket crash.BucketID, f index.Filter, id crash.OopsID,
) (newer, older crash.OopsID, err error) {
	args, err := likeArgs(db.ReportArgs(id), bucket, f)
	if err != nil {
		return newer, older, err
	}
	if newer, older, err = s.neighbours(ctx, sqlNextNewer, sqlNextOlder, args); err != nil {
		return newer, older, fmt.Errorf("neighbours of report %s: %w", id, db.Classify(err))
	}
	return newer, older, nil
}

// SystemNeighbours returns the same as ReportNeighbours, among the reports of a machine.
func (s *Store) SystemNeighbours(ctx context.Context, system crash.SystemID, id crash.OopsID) (newer,
	older crash.OopsID, err error) {
	args, above, below := db.ReportArgs(id), sqlNewerWithoutName, sqlOlderWithoutName
	if key := db.SystemKey(system); key != nil {
		above, below, args["system"], args["system_key"] = sqlNewerOfSystem, sqlOlderOfSystem, string(system), *key
	}
	if newer, older, err = s.neighbours(ctx, above, below, args); err != nil {
		return newer, older, fmt.Errorf("neighbours of report %s at its machine: %w", id, db.Classify(err))
	}
	return newer, older, nil
}

// EndReports returns the newest and the oldest report of a problem that match a filter, or zero ids
// if none does.
func (s *Store) EndReports(
	ctx context.Context, bucket crash.BucketID, f index.Filter,
) (newest, oldest crash.OopsID, err error) {
	args, err := likeArgs(db.NewestFirst(crash.OopsID{}, 1), bucket, f)
	if err != nil {
		return newest, oldest, err
	}
	if _, newest, err = s.neighbours(ctx, "", sqlNextOlder, args); err == nil {
		args["received"] = crash.OopsID{}.Received()
		oldest, _, err = s.neighbours(ctx, sqlNextNewer, "", args)
	}
	if err != nil {
		return newest, oldest, fmt.Errorf("ends of the reports of bucket %s: %w", bucket, db.Classify(err))
	}
	return newest, oldest, nil
}

func (s *Store) neighbours(ctx context.Context, above, below string, args pgx.NamedArgs) (newer, older crash.OopsID,
	err error) {
	var b pgx.Batch
	for _, side := range []struct {
		sql string
		id  *crash.OopsID
	}{{above, &newer}, {below, &older}} {
		if side.sql == "" {
			continue
		}
		b.Queue(side.sql, args).QueryRow(func(row pgx.Row) error {
			if err := row.Scan((*[16]byte)(side.id)); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return nil
		})
	}
	err = s.Pool.SendBatch(ctx, &b).Close()
	return newer, older, err
}
