// Package reports lists the stored reports of a problem or a machine, and stores which machines were
// asked for a core. Single reports are read and stored by package db.
package reports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
)

// Store reads lists of reports. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns the reports in a store.
func New(s *db.Store) *Store { return &Store{s} }

// The first condition on received looks superfluous, but it is what leaves partitions out.
const (
	belowReport   = ` and received <= @received and (received, id) < (@received, @id) order by received desc, id desc`
	sqlBucketList = `
		select ` + db.ReportColumns + ` from (select id from buckets where id in ` + db.Members +
		`) as m (source) cross join lateral (
			select * from (
				select * from reports where bucket_id = m.source` + belowReport + ` limit @look
			) as looked where ` + likeThat + ` order by received desc, id desc limit @limit
		) as r
		order by received desc, id desc limit @limit`
	sqlLookedTo = `
		select r.received, r.id from (select id from buckets where id in ` + db.Members +
		`) as m (source) cross join lateral (
			select received, id from reports where bucket_id = m.source` + belowReport + ` offset @look - 1 limit 1
		) as r
		order by received desc, id desc limit 1`

	// likeThat is what a index.Filter asks of a report.
	likeThat = `(@version = '' or version = @version) and (@release = '' or release = @release)
		and (@architecture = '' or architecture = @architecture)
		and (@of = '' or package_architecture = @of) and (not @complete or complete) and day between @since and @until`
	sqlSystemList = `select ` + db.ReportColumns + ` from reports where system_key = @system_key and system = @system` +
		belowReport + ` limit @limit`
	sqlNamelessList = `select ` + db.ReportColumns + ` from reports where system_key is null` + belowReport +
		` limit @limit`
)

// BucketReports returns the reports of the problem that a bucket is part of in the order of their arrival, the newest
// first, at most limit, from below the report after on (zero: from the newest). Reports of test machines are among them.
func (s *Store) BucketReports(ctx context.Context, id crash.BucketID, after crash.OopsID, limit int) ([]crash.ReportRow,
	error) {
	rows, _, err := s.BucketReportsLike(ctx, id, index.Filter{}, after, limit)
	return rows, err
}

// reportsLooked is how many reports of a problem are looked at, at once, for those that a filter lets through: a filter may
// let none through, and a problem may have millions.
const reportsLooked = 20_000

// BucketReportsLike is BucketReports for those that a filter lets through, of which it supports
// what chooses reports (see [index.Filter.OfReports]); it refuses more. It looks at a bounded
// number of reports; when that was not all, and fewer than limit were found, further is where to go
// on (as after), else zero.
func (s *Store) BucketReportsLike(
	ctx context.Context, id crash.BucketID, f index.Filter, after crash.OopsID, limit int,
) (rows []crash.ReportRow, further crash.OopsID, err error) {
	args, err := likeArgs(db.NewestFirst(after, limit), id, f)
	if err != nil {
		return nil, further, err
	}
	if rows, err = s.reportList(ctx, sqlBucketList, args); err != nil {
		return nil, further, fmt.Errorf("reports of bucket %s: %w", id, db.Classify(err))
	}
	if len(rows) >= limit || f == (index.Filter{}) {
		return rows, further, nil
	}
	var received time.Time
	err = s.Pool.QueryRow(ctx, sqlLookedTo, args).Scan(&received, (*[16]byte)(&further))
	if errors.Is(err, pgx.ErrNoRows) {
		return rows, further, nil
	}
	if err != nil {
		return nil, further, fmt.Errorf("reports of bucket %s: %w", id, db.Classify(err))
	}
	// What is older was looked at in some of the problem's buckets only.
	rows = slices.DeleteFunc(rows, func(r crash.ReportRow) bool { return bytes.Compare(r.ID[:], further[:]) < 0 })
	return rows, further, nil
}

// likeArgs adds what likeThat reads. It refuses a filter that asks for more. A filter without a
// last day has no end.
func likeArgs(args pgx.NamedArgs, id crash.BucketID, f index.Filter) (pgx.NamedArgs, error) {
	if f != f.OfReports() {
		return nil, fmt.Errorf("reports cannot be chosen by all of %+v", f)
	}
	args["bucket"], args["version"], args["release"], args["architecture"] = id[:], f.Version, string(f.Release),
		f.Architecture
	args["of"] = f.PackageArchitecture
	args["complete"], args["look"] = f.Complete, reportsLooked
	args["since"], args["until"] = f.Since.Time(), f.Until.Time()
	if f.Until == 0 {
		args["until"] = db.EndOfTime
	}
	if f == (index.Filter{}) {
		args["look"] = 1 << 30 // nothing is passed over
	}
	return args, nil
}

// SystemReports returns the reports of a machine, as BucketReports does those of a bucket.
func (s *Store) SystemReports(ctx context.Context, system crash.SystemID, after crash.OopsID,
	limit int) ([]crash.ReportRow, error) {
	args := db.NewestFirst(after, limit)
	sql := sqlNamelessList
	if key := db.SystemKey(system); key != nil {
		sql, args["system"], args["system_key"] = sqlSystemList, string(system), *key
	}
	rows, err := s.reportList(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("reports of a machine: %w", db.Classify(err))
	}
	return rows, nil
}

func (s *Store) reportList(ctx context.Context, sql string, args pgx.NamedArgs) ([]crash.ReportRow, error) {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, db.ScanReport)
}

// The limit is how many there can be at most, by what was counted, so that looking ends with the last of them. A crash is
// never older than its report by more than a day.
const sqlDayReports = `
	select ` + db.ReportColumns + ` from reports
	where received >= @day::date - interval '1 day' and day = @day and counted and (@release = '' or release = @release)
	order by received, id
	limit least(@limit, (
		select coalesce(sum(reports), 0) from release_days where day = @day and (@release = '' or release = @release)
	))`

// DayReports returns counted reports of crashes of a UTC day, of all releases or one, in the order of their arrival, at
// most limit.
func (s *Store) DayReports(ctx context.Context, day time.Time, release crash.Release, limit int) ([]crash.ReportRow,
	error) {
	rows, err := s.reportList(ctx, sqlDayReports, pgx.NamedArgs{"day": day, "release": release, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("reports of a day: %w", db.Classify(err))
	}
	return rows, nil
}
