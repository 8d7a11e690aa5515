// Package problems stores what people decide about problems, who takes care of them and their tags, and
// saved searches. It reads stored counts for charts, comparisons and the API, and lists the reports of a
// problem or a machine. Package db counts reports and stores them.
package problems

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/index"
	"mishap/db"
)

// Store stores decisions about problems and reads their counts. It is safe for concurrent use.
type Store struct {
	*db.Store

	mu      sync.Mutex
	checked map[int64]int64 // round of the counts with which a standing mute was checked last, by id

	shapeCache *cache.Cache[struct{}] // see Twins
}

// New returns a Store for the problems in s.
func New(s *db.Store) *Store {
	return &Store{Store: s, checked: map[int64]int64{}, shapeCache: cache.New[struct{}](maxShapeBytes, 0)}
}

// maxSearches is the largest number of saved searches of one person.
const maxSearches = 100

var (
	errSearchName = crash.Errorf(crash.Conflict, "search_name_taken",
		"You already have a saved search with this name. Choose another name.")
	errTooManySearches = crash.Errorf(crash.Conflict, "too_many_searches",
		"You have %d saved searches, the maximum. Delete one first.", maxSearches)
	errNoSearch = crash.Errorf(crash.NotFound, "no_such_search", "There is no such saved search.")
)

const (
	sqlSavedSearches = `
		select s.id, s.name, s.path, s.shared, u.name, s.user_id, s.created
		from saved_searches as s join users as u on u.id = s.user_id
		where s.deleted is null and (s.user_id = @user or s.shared) order by lower(s.name), s.id`
	sqlSavedSearch = `
		select s.id, s.name, s.path, s.shared, u.name, s.user_id, s.created
		from saved_searches as s join users as u on u.id = s.user_id
		where s.id = @id and (s.user_id = @user or s.shared) and (s.deleted is not null) = @deleted`
	sqlSaveSearch = `
		insert into saved_searches (user_id, name, path, shared, created)
		select @user, @name, @path, @shared, @now
		where (select count(*) from saved_searches where user_id = @user and deleted is null) < @most
		returning id`
	sqlLockSearch = `
		select name, path, shared from saved_searches where id = @id and (deleted is not null) = @deleted for update`
	sqlChangeSearch  = `update saved_searches set name = @name, shared = @shared where id = @id`
	sqlDeleteSearch  = `update saved_searches set deleted = @now where id = @id`
	sqlRestoreSearch = `update saved_searches set deleted = null where id = @id`
)

// SavedSearches returns the searches of a person and those that others share, by name.
func (a *Store) SavedSearches(ctx context.Context, user int64) ([]crash.SavedSearch, error) {
	searches, err := db.List(ctx, a.Pool, sqlSavedSearches, pgx.NamedArgs{"user": user}, scanSearch)
	return searches, db.Wrap(err, "saved searches")
}

func scanSearch(row pgx.CollectableRow) (s crash.SavedSearch, err error) {
	err = row.Scan(&s.ID, &s.Name, &s.Path, &s.Shared, &s.Owner, &s.OwnerID, &s.Created)
	return s, err
}

// SavedSearch returns a search that a person can see, live or deleted. It returns NotFound if there
// is none, also for the personal searches of others.
func (a *Store) SavedSearch(ctx context.Context, user, id int64, deleted bool) (crash.SavedSearch, error) {
	s, err := db.One(ctx, a.Pool, sqlSavedSearch, pgx.NamedArgs{"user": user, "id": id, "deleted": deleted}, scanSearch)
	return s, db.WrapOr(err, errNoSearch, "saved search")
}

// SaveSearch stores a search of its owner and returns its id. It returns Conflict if the owner has
// another one with this name, or too many.
func (a *Store) SaveSearch(ctx context.Context, s crash.SavedSearch) (id int64, err error) {
	err = a.InTx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlSaveSearch, pgx.NamedArgs{
			"user": s.OwnerID, "name": s.Name, "path": s.Path, "shared": s.Shared, "now": a.Now(), "most": maxSearches,
		}).Scan(&id)
		if err != nil {
			return db.NoRows(err, errTooManySearches)
		}
		return a.Audit(ctx, tx, db.AuditEvent{Action: "search.save", Subject: s.Name, After: auditedSearch(s),
			Detail: map[string]any{"search": id}})
	})
	return id, searchError("save a search", err)
}

// ChangeSearch changes the name of a search, and whether it is shared.
func (a *Store) ChangeSearch(ctx context.Context, s crash.SavedSearch) error {
	return a.changeSearch(ctx, "search.change", sqlChangeSearch,
		pgx.NamedArgs{"id": s.ID, "name": s.Name, "shared": s.Shared, "deleted": false},
		func(e *db.AuditEvent, was crash.SavedSearch) {
			s.Path = was.Path
			e.Before, e.After = auditedSearch(was), auditedSearch(s)
		})
}

// DeleteSearch deletes a search. RestoreSearch undoes that.
func (a *Store) DeleteSearch(ctx context.Context, id int64) error {
	return a.changeSearch(ctx, "search.delete", sqlDeleteSearch, pgx.NamedArgs{"id": id, "now": a.Now(),
		"deleted": false}, func(e *db.AuditEvent, was crash.SavedSearch) { e.Before = auditedSearch(was) })
}

// RestoreSearch restores a deleted search. It returns Conflict if its name is in use again.
func (a *Store) RestoreSearch(ctx context.Context, id int64) error {
	return a.changeSearch(ctx, "search.restore", sqlRestoreSearch, pgx.NamedArgs{"id": id, "deleted": true},
		func(e *db.AuditEvent, was crash.SavedSearch) { e.After = auditedSearch(was) })
}

// changeSearch executes a statement that changes one search, and records it with what values returns for
// the search before the change. It returns NotFound if there is no such search.
func (a *Store) changeSearch(ctx context.Context, action, sql string, args pgx.NamedArgs,
	values func(e *db.AuditEvent, was crash.SavedSearch)) error {
	return searchError(action, a.InTx(ctx, func(tx pgx.Tx) error {
		var was crash.SavedSearch
		err := tx.QueryRow(ctx, sqlLockSearch, args).Scan(&was.Name, &was.Path, &was.Shared)
		if err != nil {
			return db.NoRows(err, errNoSearch)
		}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
		event := db.AuditEvent{Action: action, Subject: was.Name, Detail: map[string]any{"search": args["id"]}}
		values(&event, was)
		return a.Audit(ctx, tx, event)
	}))
}

// auditedSearch returns what the audit log says about a search.
func auditedSearch(s crash.SavedSearch) map[string]any {
	return map[string]any{"name": s.Name, "path": s.Path, "shared": s.Shared}
}

// searchError wraps an error of the database. A duplicate name is a Conflict.
func searchError(what string, err error) error {
	if err == nil {
		return nil
	}
	if violation, ok := errors.AsType[*pgconn.PgError](err); ok && violation.ConstraintName == "saved_searches_name" {
		return errSearchName
	}
	return fmt.Errorf("%s: %w", what, db.Classify(err))
}

// The first condition on received looks redundant, but it lets PostgreSQL skip partitions. See [db.Recent] for the
// second one.
const (
	belowReport = ` and received <= @received and received >= @here
		and (received, id) < (@received, @id) order by received desc, id desc`
	sqlBucketList = `
		select ` + db.ReportColumns + ` from (select id from buckets where id in ` + db.Members +
		`) as m (source) cross join lateral (
			select * from (
				select * from reports where bucket_id = m.source` + belowReport + ` limit @look
			) as looked where ` + likeThat + ` order by received desc, id desc limit @limit
		) as r
		order by received desc, id desc limit @limit`
	sqlExaminedTo = `
		select r.received, r.id from (select id from buckets where id in ` + db.Members +
		`) as m (source) cross join lateral (
			select received, id from reports where bucket_id = m.source` + belowReport + ` offset @look - 1 limit 1
		) as r
		order by received desc, id desc limit 1`

	// likeThat is the condition that a report meets an index.Filter.
	likeThat = `(@version = '' or version = @version) and (@release = '' or release = @release)
		and (@architecture = '' or architecture = @architecture)
		and (@of = '' or package_architecture = @of) and (not @complete or complete) and day between @since and @until`
	sqlSystemList = `select ` + db.ReportColumns + ` from reports where system_key = @system_key and system = @system` +
		belowReport + ` limit @limit`
	sqlNamelessList = `select ` + db.ReportColumns + ` from reports where system_key is null` + belowReport +
		` limit @limit`
)

// BucketReports returns up to limit reports of a bucket's problem that arrived before the report
// after, newest first. A zero after starts with the newest report. It includes reports of test
// machines.
func (s *Store) BucketReports(ctx context.Context, id crash.BucketID, after crash.OopsID, limit int) ([]crash.ReportRow,
	error) {
	rows, _, err := s.BucketReportsLike(ctx, id, index.Filter{}, after, limit)
	return rows, err
}

// maxExamined limits how many reports of a bucket a filtered list examines at a time. The filter
// may match none of them, and a problem may have millions.
const maxExamined = 20_000

// BucketReportsLike returns the same as BucketReports, but only reports that match a filter. It
// returns an error if the filter has fields that do not select reports (see
// [index.Filter.OfReports]). It examines a limited number of reports. If it stops early with fewer
// than limit reports, further is the value of after for the next call; otherwise it is zero.
func (s *Store) BucketReportsLike(
	ctx context.Context, id crash.BucketID, f index.Filter, after crash.OopsID, limit int,
) (rows []crash.ReportRow, further crash.OopsID, err error) {
	args, err := likeArgs(db.NewestFirst(after, limit), id, f)
	if err != nil {
		return nil, further, err
	}
	found, err := db.Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) (someReports, bool, error) {
		args["here"] = since
		some, err := s.reportsLike(ctx, args, f, limit)
		return some, len(some.rows) >= limit || !some.further.IsZero(), err
	})
	return found.rows, found.further, db.Wrap(err, "reports of bucket %s", id)
}

// someReports are the results of BucketReportsLike.
type someReports struct {
	rows    []crash.ReportRow
	further crash.OopsID
}

func (s *Store) reportsLike(ctx context.Context, args pgx.NamedArgs, f index.Filter, limit int) (some someReports,
	err error) {
	some.rows, err = db.List(ctx, s.Pool, sqlBucketList, args, db.ScanReport)
	if err != nil || len(some.rows) >= limit || f == (index.Filter{}) {
		return some, err
	}
	var received time.Time
	err = s.Pool.QueryRow(ctx, sqlExaminedTo, args).Scan(&received, (*[16]byte)(&some.further))
	if err != nil {
		return some, db.NoRows(err, nil)
	}
	// Only some of the problem's buckets were examined beyond this report.
	some.rows = slices.DeleteFunc(some.rows, func(r crash.ReportRow) bool {
		return bytes.Compare(r.ID[:], some.further[:]) < 0
	})
	return some, nil
}

// likeArgs adds the arguments of likeThat. It returns an error if the filter has fields that do not
// select reports.
func likeArgs(args pgx.NamedArgs, id crash.BucketID, f index.Filter) (pgx.NamedArgs, error) {
	if f != f.OfReports() {
		return nil, fmt.Errorf("reports cannot be chosen by all of %+v", f)
	}
	args["bucket"], args["version"], args["release"] = id[:], f.Version, string(f.Release)
	args["architecture"], args["of"] = f.Architecture, f.PackageArchitecture
	args["complete"], args["look"] = f.Complete, maxExamined
	args["since"], args["until"] = f.Since.Time(), f.Until.Time()
	if f.Until == 0 {
		args["until"] = db.EndOfTime
	}
	if f == (index.Filter{}) {
		args["look"] = 1 << 30 // no limit, because every report matches
	}
	return args, nil
}

// SystemReports returns the reports of a machine in the same way as BucketReports.
func (s *Store) SystemReports(ctx context.Context, system crash.SystemID, after crash.OopsID,
	limit int) ([]crash.ReportRow, error) {
	args := db.NewestFirst(after, limit)
	sql := sqlNamelessList
	if key := db.SystemKey(system); key != nil {
		sql, args["system"], args["system_key"] = sqlSystemList, string(system), *key
	}
	rows, err := db.Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) ([]crash.ReportRow, bool, error) {
		args["here"] = since
		rows, err := db.List(ctx, s.Pool, sql, args, db.ScanReport)
		return rows, len(rows) >= limit, err
	})
	return rows, db.Wrap(err, "reports of a machine")
}

// sqlDayReports limits the result to the number of counted reports, so that the scan ends with the
// last one. A report counts at most one day before its arrival.
const sqlDayReports = `
	select ` + db.ReportColumns + ` from reports
	where received >= @here and day = @day and counted and (@release = '' or release = @release)
	order by received, id
	limit least(@limit, (
		select coalesce(sum(reports), 0) from release_days where day = @day and (@release = '' or release = @release)
	))`

// DayReports returns up to limit counted reports of a UTC day, from one release or, if release is
// empty, from all. It sorts by arrival.
func (s *Store) DayReports(ctx context.Context, day time.Time, release crash.Release, limit int) ([]crash.ReportRow,
	error) {
	rows, err := db.Since(ctx, s.Handle, day.AddDate(0, 0, -1), func(ctx context.Context, since time.Time) (
		[]crash.ReportRow, error) {
		return db.List(ctx, s.Pool, sqlDayReports, pgx.NamedArgs{"day": day, "release": release, "limit": limit,
			"here": since}, db.ScanReport)
	})
	return rows, db.Wrap(err, "reports of a day")
}

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
	ids, err := s.reportsFrom(ctx, sqlBucketFrom, from, args)
	return ids, db.Wrap(err, "reports of bucket %s", id)
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
	ids, err := s.reportsFrom(ctx, sql, from, args)
	return ids, db.Wrap(err, "reports of a machine")
}

// reportsFrom executes a statement that lists reports in the order of arrival, from a report on.
func (s *Store) reportsFrom(ctx context.Context, sql string, from crash.OopsID, args pgx.NamedArgs) ([]crash.OopsID,
	error) {
	return db.Since(ctx, s.Handle, from.Received(), func(ctx context.Context, since time.Time) ([]crash.OopsID, error) {
		if since.After(from.Received()) {
			args["received"], args["id"] = since, [16]byte{}
		}
		return db.List(ctx, s.Pool, sql, args, db.ScanReportID)
	})
}

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

// sqlReportPlace counts the newest reports of a problem: those that match a filter and did not arrive before a report,
// all that match, and all.
const sqlReportPlace = `
	select count(*) filter (where ` + likeThat + ` and (received, id) >= (@received, @id)),
		count(*) filter (where ` + likeThat + `), count(*)
	from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
		select * from reports where bucket_id = m.source and received >= @here
		order by received desc, id desc limit @look
	) as r`

// ReportPlace returns the place of a report, newest first, among those of a bucket's problem that match a filter (see
// BucketReportsLike), and their number. It counts a limited number of reports: more means that there can be others.
func (s *Store) ReportPlace(ctx context.Context, bucket crash.BucketID, f index.Filter, id crash.OopsID) (
	place, of int64, more bool, err error,
) {
	args, err := likeArgs(db.ReportArgs(id), bucket, f)
	if err != nil {
		return 0, 0, false, err
	}
	args["look"] = maxExamined
	type counts struct{ Place, Of, Examined int64 }
	found, err := db.Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) (counts, bool, error) {
		args["here"] = since
		c, err := db.One(ctx, s.Pool, sqlReportPlace, args, pgx.RowToStructByPos[counts])
		more = c.Examined >= maxExamined || !since.IsZero()
		return c, !id.Received().Before(since), err
	})
	return found.Place, found.Of, more, db.Wrap(err, "place of report %s", id)
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
	if newest, err = s.nextOlder(ctx, sqlNextOlder, args); err == nil {
		args["received"] = crash.OopsID{}.Received()
		oldest, err = s.nextNewer(ctx, sqlNextNewer, args)
	}
	return newest, oldest, db.Wrap(err, "ends of the reports of bucket %s", bucket)
}

func (s *Store) neighbours(ctx context.Context, above, below string, args pgx.NamedArgs) (newer, older crash.OopsID,
	err error) {
	if older, err = s.nextOlder(ctx, below, args); err == nil {
		newer, err = s.nextNewer(ctx, above, args)
	}
	return newer, older, err
}

func (s *Store) nextOlder(ctx context.Context, sql string, args pgx.NamedArgs) (crash.OopsID, error) {
	return db.Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) (crash.OopsID, bool, error) {
		args["here"] = since
		id, err := s.neighbour(ctx, sql, args)
		return id, !id.IsZero(), err
	})
}

func (s *Store) nextNewer(ctx context.Context, sql string, args pgx.NamedArgs) (crash.OopsID, error) {
	from, _ := args["received"].(time.Time)
	return db.Since(ctx, s.Handle, from, func(ctx context.Context, since time.Time) (crash.OopsID, error) {
		if since.After(from) {
			args["received"], args["id"] = since, [16]byte{}
		}
		return s.neighbour(ctx, sql, args)
	})
}

// neighbour returns the report that a statement selects, or zero if there is none.
func (s *Store) neighbour(ctx context.Context, sql string, args pgx.NamedArgs) (crash.OopsID, error) {
	id, err := db.One(ctx, s.Pool, sql, args, db.ScanReportID)
	return id, db.NoRows(err, nil)
}

const (
	sqlAssignment = `
		select id, assignee from assignments where bucket_id in ` + db.Members + ` and undone_at is null
		order by id desc limit 1`
	sqlAssign = `
		insert into assignments (bucket_id, assignee, person, at) values (@head, @assignee, @by, @at) returning id`
	sqlUndoAssignment = `update assignments set undone_by = @by, undone_at = @at where id = @id`
	sqlAssignments    = `
		select id, bucket_id, assignee, person, at, coalesce(undone_by, ''), undone_at
		from assignments where bucket_id in ` + db.Members + ` order by id desc limit @limit`
	sqlAccount     = `select name from users where lower(name) = lower(@name) and not disabled`
	sqlCountingBug = `
		select ` + db.BugColumns + ` from bucket_bugs as l ` + db.BugJoins + `
		where l.bucket_id in ` + db.Members + ` and not coalesce(pl.upstream, false) order by ` + db.BugOrder + ` limit 1`
	// sqlAccountsOf selects the accounts of an assignee, except that of the person who assigns.
	sqlAccountsOf = `
		select id from users
		where (lower(name) = lower(@assignee) or '~' || tracker_name = @assignee and tracker_name <> '')
			and lower(name) <> lower(@by) and not disabled`
)

var errLaterAssignment = crash.Errorf(crash.Conflict, "assigned_since",
	"This can no longer be undone: the problem was assigned again, or it was undone already.")

// errInTracker explains why a problem cannot be assigned here.
func errInTracker(bug int64, name string) error {
	return crash.Errorf(crash.Conflict, "assigned_in_tracker",
		"Bug %s is assigned to %s in the tracker. Change the assignee there.",
		crash.BugText(bug), strings.TrimPrefix(name, "~"))
}

// Assign assigns a problem to an account or to a name at the tracker; see [crash.ParseAssignee]. An
// empty name assigns it to nobody. It returns the stored assignment, or one without id if nothing
// changes. It returns Invalid for an unknown account, NotFound for an unknown bucket, and Conflict
// if the problem's bug has an assignee in the tracker.
//
// It publishes an event to the account, unless the person assigns the problem to themselves.
func (s *Store) Assign(ctx context.Context, a crash.Assignment) (stored crash.Assignment, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		stored, err = s.assign(ctx, tx, a)
		return err
	})
	return stored, err
}

// AssignIn is like Assign, in a transaction of the caller.
func (s *Store) AssignIn(ctx context.Context, tx pgx.Tx, a crash.Assignment) error {
	_, err := s.assign(ctx, tx, a)
	return err
}

func (s *Store) assign(ctx context.Context, tx pgx.Tx, a crash.Assignment) (crash.Assignment, error) {
	var err error
	if a.Assignee, err = crash.ParseAssignee(a.Assignee); err != nil {
		return a, err
	}
	event, err := s.LockProblem(ctx, tx, a.Bucket)
	if err != nil {
		return a, err
	}
	a.ID, a.Bucket, a.At = 0, *event.Bucket, s.Now()
	args := pgx.NamedArgs{"bucket": a.Bucket[:], "head": a.Bucket[:], "by": a.By, "at": a.At}
	if a.Assignee, err = account(ctx, tx, a.Assignee); err != nil {
		return a, err
	}
	args["assignee"] = a.Assignee
	var bug db.BugScan
	if err := tx.QueryRow(ctx, sqlCountingBug, args).Scan(bug.Columns()...); err != nil &&
		!errors.Is(err, pgx.ErrNoRows) {
		return a, fmt.Errorf("assign %s: %w", a.Bucket, db.Classify(err))
	}
	if name := bug.Bug().AssigneeOf(event.Source); name != "" {
		return a, errInTracker(bug.Bug().Counts(), name)
	}
	_, before, err := present(ctx, tx, a.Bucket)
	if err != nil || before == a.Assignee {
		return a, err
	}
	if err := tx.QueryRow(ctx, sqlAssign, args).Scan(&a.ID); err != nil {
		return a, fmt.Errorf("assign %s: %w", a.Bucket, db.Classify(err))
	}
	if err := s.Audit(ctx, tx, db.AuditEvent{Person: a.By, Action: "problem.assign", Subject: a.Bucket.String(),
		Before: map[string]any{"assignee": before}, After: map[string]any{"assignee": a.Assignee}}); err != nil {
		return a, err
	}
	return a, s.tellAssignee(ctx, tx, event, a)
}

// account returns the name of an account as it is written, or a name at the tracker unchanged.
func account(ctx context.Context, tx pgx.Tx, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "~") {
		return name, nil
	}
	err := tx.QueryRow(ctx, sqlAccount, pgx.NamedArgs{"name": name}).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", crash.Errorf(crash.Invalid, "unknown_assignee",
			"There is no account named %q. For a person or team at the tracker, write ~%s.", name, name)
	}
	return name, db.Wrap(err, "account %q", name)
}

// present returns the number and the assignee of the assignment that counts, or 0 and "".
func present(ctx context.Context, tx pgx.Tx, bucket crash.BucketID) (id int64, assignee string, err error) {
	err = tx.QueryRow(ctx, sqlAssignment, pgx.NamedArgs{"bucket": bucket[:]}).Scan(&id, &assignee)
	return id, assignee, db.WrapOr(err, nil, "assignee of %s", bucket)
}

// tellAssignee notifies the accounts of an assignee.
func (s *Store) tellAssignee(ctx context.Context, tx pgx.Tx, e crash.Event, a crash.Assignment) error {
	if a.Assignee == "" {
		return nil
	}
	users, err := db.List(ctx, tx, sqlAccountsOf, pgx.NamedArgs{"assignee": a.Assignee, "by": a.By}, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("accounts of %s: %w", a.Assignee, db.Classify(err))
	}
	if len(users) == 0 {
		return nil
	}
	e.Edge, e.Kind = fmt.Sprintf("assigned:%d", a.ID), crash.EventAssigned
	e.Text = fmt.Sprintf("%s assigned %s to %s.", a.By, e.Title, strings.TrimPrefix(a.Assignee, "~"))
	var to crash.Recipients
	for _, id := range users {
		to.People = append(to.People, crash.Recipient{User: id, Reason: "it was assigned to you"})
	}
	_, err = s.Publish(ctx, tx, e, to)
	return err
}

// UndoAssignment undoes the newest assignment of a problem, so that the one before counts again. It
// returns Conflict if the assignment with this number is not the one that counts.
func (s *Store) UndoAssignment(ctx context.Context, bucket crash.BucketID, id int64, by string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		e, err := s.LockProblem(ctx, tx, bucket)
		if err != nil {
			return err
		}
		newest, assignee, err := present(ctx, tx, *e.Bucket)
		if err != nil {
			return err
		}
		if newest != id || id == 0 {
			return errLaterAssignment
		}
		if _, err := tx.Exec(ctx, sqlUndoAssignment, pgx.NamedArgs{"id": id, "by": by, "at": s.Now()}); err != nil {
			return fmt.Errorf("undo assignment %d: %w", id, err)
		}
		_, after, err := present(ctx, tx, *e.Bucket)
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: by, Action: "problem.unassign", Subject: e.Bucket.String(),
			Before: map[string]any{"assignee": assignee}, After: map[string]any{"assignee": after},
			Detail: map[string]any{"assignment": id}})
	})
}

// Assignments returns up to limit assignments of a problem and its merged buckets, latest first,
// with those that were undone.
func (s *Store) Assignments(ctx context.Context, bucket crash.BucketID, limit int) ([]crash.Assignment, error) {
	found, err := db.List(ctx, s.Pool, sqlAssignments, pgx.NamedArgs{"bucket": bucket[:], "limit": limit},
		db.Into(func(a *crash.Assignment) []any {
			return []any{&a.ID, &a.Bucket, &a.Assignee, &a.By, &a.At, &a.UndoneBy, db.OrZero(&a.UndoneAt)}
		}))
	return found, db.Wrap(err, "assignments of %s", bucket)
}

const sqlPeopleOf = `
	select w.id, coalesce(a.assignee, ''), coalesce(t.tags, '')
	from unnest(@ids::bytea[]) as w (id)
		left join lateral (
			select assignee from assignments
			where bucket_id in (select id from buckets where head = w.id) and undone_at is null
			order by id desc limit 1
		) as a on true
		left join lateral (
			select string_agg(distinct tag, ' ' order by tag) as tags from problem_tags
			where bucket_id in (select id from buckets where head = w.id) and removed_at is null
		) as t on true
	where a.assignee <> '' or t.tags <> ''`

// AssigneesAndTags returns who takes care of some problems, and their tags, without those that have neither. The
// ids are those of heads. It does not consider assignees of bugs.
func (s *Store) AssigneesAndTags(ctx context.Context, ids []crash.BucketID) (map[crash.BucketID]index.People, error) {
	all := map[crash.BucketID]index.People{}
	var id crash.BucketID
	var p index.People
	err := db.Each(ctx, s.Pool, sqlPeopleOf, pgx.NamedArgs{"ids": ids},
		[]any{&id, &p.Name, &p.TagList}, func() { all[id] = p })
	return all, db.Wrap(err, "assignees of problems")
}

const sqlKnownNames = `
	select name, tracker_name from users where not disabled and (
		lower(left(name, length(@begins))) = lower(@begins)
		or tracker_name <> '' and lower(left('~' || tracker_name, length(@begins))) = lower(@begins))
	order by lower(name) limit @limit`

// AssigneeNames returns up to limit names of accounts, and their names at the tracker, with a prefix.
func (s *Store) AssigneeNames(ctx context.Context, begins string, limit int) (accounts, atTracker []string, err error) {
	var name, tracker string
	err = db.Each(ctx, s.Pool, sqlKnownNames, pgx.NamedArgs{"begins": begins, "limit": limit}, []any{&name, &tracker},
		func() {
			accounts = append(accounts, name)
			if tracker != "" {
				atTracker = append(atTracker, "~"+tracker)
			}
		})
	return accounts, atTracker, db.Wrap(err, "names of accounts")
}
