package upkeep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/crash/version"
	"mishap/db"
)

// CountLimit is the number above which Plan stops counting.
const CountLimit = 1_000_000

const (
	// sqlCountOfType counts reports of a type or, if except is set, of all types but these.
	sqlCountOfType = `
		select count(*) from (
			select from reports
			where received >= @here and received < @until and (problem_type = any(@types::text[])) <> @except::boolean
			limit @limit
		) as r`
	sqlCountDays = `
		select count(*) from (select from bucket_days where day < @before limit @limit) as d`
	sqlCountBetween = `
		select count(*) from (
			select from reports where received >= @from and received >= @here and received < @until limit @limit
		) as r`
	// sqlExpired is the arrival up to which private fields were removed.
	sqlExpired = `
		select coalesce(max(received), '0001-01-01') from privacy_runs where kind = 'expire' and fields = @fields`
	sqlCountAudit = `
		select count(*) from (select from audit_events where at < @until and action <> 'user.remove' limit @limit) as e`
	// sqlStored uses the estimates of PostgreSQL for tables with many rows.
	sqlStored = `
		select greatest((select count(*) from (select from reports where received >= @here limit @limit) as r), (
				select coalesce(sum(c.reltuples), 0)::bigint
				from pg_inherits as i join pg_class as c on c.oid = i.inhrelid where i.inhparent = 'reports'::regclass)),
			greatest((select count(*) from (select from audit_events limit @limit) as e),
				(select reltuples::bigint from pg_class where oid = 'audit_events'::regclass)),
			greatest((select count(*) from (select from buckets where reports > 0 limit @limit) as b),
				(select reltuples::bigint from pg_class where oid = 'buckets'::regclass and reltuples > @limit)),
			greatest((select count(*) from (select from bucket_days limit @limit) as d),
				(select reltuples::bigint from pg_class where oid = 'bucket_days'::regclass))`
	sqlHeldReports = `
		select coalesce(sum(reports), 0)::bigint from buckets where id in (` + db.HeldBuckets + `)`
)

// Due is the number of reports of which something will be removed within a week.
type Due struct {
	Reports []int64 // whole reports, for each of Keep.Limits
	Private int64   // reports whose private fields are removed
	Audit   int64   // records of the audit log
	Days    int64   // daily counts of problems
	Held    int64   // counted reports of held problems, of which nothing is removed

	Stored, AuditStored, Problems, DaysStored int64 // approximate numbers of what is stored
}

// Due returns how much retention will remove until a time. It counts at most a million reports of each
// kind, and includes those of held problems.
func (s *Retention) Due(ctx context.Context, until time.Time, keep privacy.Periods) (d Due, err error) {
	d, err = db.Since(ctx, s.Handle, time.Time{}, func(ctx context.Context, since time.Time) (Due, error) {
		return s.due(ctx, until, keep, since)
	})
	return d, db.Wrap(err, "what retention will remove")
}

func (s *Retention) due(ctx context.Context, until time.Time, keep privacy.Periods, since time.Time) (d Due,
	err error) {
	privateDays, auditDays := keep.PrivateDays, keep.AuditDays
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if d.Reports, err = dueReports(ctx, tx, until, keep.Reports, since); err != nil {
			return err
		}
		if keep.CountsYears > 0 {
			if err := tx.QueryRow(ctx, sqlCountDays, pgx.NamedArgs{"before": CountsFrom(until, keep.CountsYears),
				"limit": CountLimit}).Scan(&d.Days); err != nil {
				return err
			}
		}
		if privateDays > 0 {
			var from time.Time
			if err := tx.QueryRow(ctx, sqlExpired, pgx.NamedArgs{"fields": s.table.Hash()}).Scan(&from); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, sqlCountBetween, pgx.NamedArgs{"from": from.Add(time.Millisecond),
				"until": until.AddDate(0, 0, -privateDays), "limit": CountLimit, "here": since}).Scan(&d.Private); err != nil {
				return err
			}
		}
		if auditDays > 0 {
			if err := tx.QueryRow(ctx, sqlCountAudit, pgx.NamedArgs{"until": until.AddDate(0, 0, -auditDays),
				"limit": CountLimit}).Scan(&d.Audit); err != nil {
				return err
			}
		}
		if err := tx.QueryRow(ctx, sqlStored, pgx.NamedArgs{"limit": CountLimit, "here": since}).Scan(&d.Stored,
			&d.AuditStored, &d.Problems, &d.DaysStored); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlHeldReports).Scan(&d.Held)
	})
	return d, err
}

// dueReports returns, for each limit, how many reports arrived in months that will have ended that long
// ago.
func dueReports(ctx context.Context, tx pgx.Tx, until time.Time, keep privacy.Keep, since time.Time) ([]int64, error) {
	limits := keep.Limits()
	due := make([]int64, len(limits))
	var listed []string
	for _, l := range limits[1:] {
		listed = append(listed, l.Type)
	}
	for i, l := range limits {
		if l.Days == 0 {
			continue
		}
		end := until.AddDate(0, 0, -l.Days).UTC()
		args := pgx.NamedArgs{"until": time.Date(end.Year(), end.Month(), 1, 0, 0, 0, 0, time.UTC), "except": i == 0,
			"types": append([]string{}, listed...), "limit": CountLimit, "here": since}
		if i > 0 {
			args["types"] = []string{l.Type}
		}
		if err := tx.QueryRow(ctx, sqlCountOfType, args).Scan(&due[i]); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// Retention works on runs over stored reports.
type Retention struct {
	*db.Store
	table *privacy.Table
}

// NewRetention returns a Store that applies a table; nil is the built-in one.
func NewRetention(s *db.Store, table *privacy.Table) *Retention { return &Retention{s, table} }

const (
	stepReports = 250                    // reports in one step
	busyPause   = 250 * time.Millisecond // pause while another instance works on the run
)

const (
	runColumns = `id, kind, person, started, until, finished, estimate, looked_at, secret, private, changed, held, found`
	// sqlStart continues after the last run that has removed private fields, unless the table has changed
	// or a hold was lifted since. Then it begins with the oldest report.
	sqlStart = `
		insert into privacy_runs (kind, person, fields, started, updated, until, received, report_id, estimate)
		select @kind, @person, @fields, @at, @at, @until, p.received, p.report_id, coalesce((
			select case when min(c.reltuples) < 0 then null else sum(c.reltuples)::bigint end
			from pg_inherits as i join pg_class as c on c.oid = i.inhrelid where i.inhparent = 'reports'::regclass
		), (select count(*) from (select from reports limit 1000000) as r))
		from (
			select coalesce(last.received, '0001-01-01') as received,
				coalesce(last.report_id, '00000000-0000-0000-0000-000000000000') as report_id
			from (select) as one left join (
				select received, report_id, started from privacy_runs
				where kind = 'expire' and fields = @fields and @kind = 'expire' and finished is not null
				order by id desc limit 1
			) as last on not exists (select from marks where kind = 'hold' and undone_at >= last.started)
		) as p
		where @kind <> 'expire' or exists (
			select from reports as r
			where r.received >= p.received and (r.received, r.id) > (p.received, p.report_id) and r.received < @until
		)
		on conflict ((true)) where finished is null do nothing
		returning ` + runColumns
	sqlRuns       = `select ` + runColumns + ` from privacy_runs order by id desc limit @limit`
	sqlUnfinished = `select ` + runColumns + ` from privacy_runs where finished is null`
	sqlRun        = `select ` + runColumns + ` from privacy_runs where id = @id`
	// sqlClaim locks a run until the end of the step, so that two instances do not work on it.
	sqlClaim = `
		select ` + runColumns + `, received, report_id, fields from privacy_runs
		where id = @id and finished is null for update skip locked`
	sqlHeld    = `select coalesce(array_agg(id), '{}') from (` + db.HeldBuckets + `) as held`
	sqlReports = `
		select id, coalesce(bucket_id = any(@held::bytea[]), false), body from reports
		where received >= @received and (received, id) > (@received, @id) and received < @until
		order by received, id limit @limit`
	sqlLockReport = `
		select address_signature, complete, body from reports where received = @received and id = @id for update`
	sqlSaveBody = `update reports set body = @body, quality = @quality where received = @received and id = @id`
	sqlSaveStep = `
		update privacy_runs set updated = @at, received = @received, report_id = @report, looked_at = @looked_at,
			secret = @secret, private = @private, changed = @changed, held = @held, found = @found,
			finished = case when @ended::boolean then @at::timestamptz end
		where id = @id`
)

func scanRun(row pgx.CollectableRow, more ...any) (r privacy.Run, err error) {
	var found []byte
	err = row.Scan(append([]any{&r.ID, &r.Kind, &r.Person, &r.Started, &r.Until, db.OrZero(&r.Finished), &r.Estimate,
		&r.LookedAt, &r.Secret, &r.Private, &r.Changed, &r.Held, &found}, more...)...)
	if err == nil {
		err = json.Unmarshal(found, &r.Found)
	}
	return r, err
}

// Errors of runs.
var (
	errRunning    = crash.Errorf(crash.Conflict, "privacy_running", "A run over the stored reports has not ended yet.")
	errUnknownRun = crash.Errorf(crash.NotFound, "unknown_run", "There is no such run.")
)

// Start starts a run over the reports that arrived before a time. [Store.Work] does the work. It returns
// Conflict if another run has not ended, and ErrArchiveAway if an archive cannot be reached.
func (s *Retention) Start(ctx context.Context, kind privacy.RunKind, until time.Time, person string) (
	privacy.Run, error,
) {
	var run privacy.Run
	if err := s.ReachArchives(ctx); err != nil {
		return run, err
	}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var err error
		run, err = db.One(ctx, tx, sqlStart, pgx.NamedArgs{"kind": string(kind), "person": person, "fields": s.table.Hash(),
			"at": s.Now(), "until": until}, func(row pgx.CollectableRow) (privacy.Run, error) { return scanRun(row) })
		if err != nil {
			return db.NoRows(err, errRunning)
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "privacy." + string(kind), Subject: "reports",
			After: map[string]any{"run": run.ID}})
	})
	return run, db.Wrap(err, "start a run over stored reports")
}

// StartExpiring starts a run that removes the private fields of reports that are older than keepDays
// days, unless there are none, another run has not ended, or keepDays is 0.
func (s *Retention) StartExpiring(ctx context.Context, keepDays int) error {
	if keepDays == 0 {
		return nil
	}
	_, err := s.Start(ctx, privacy.RunExpire, s.Now().AddDate(0, 0, -keepDays), "")
	if errors.Is(err, crash.Conflict) {
		return nil
	}
	return db.UnlessAway(err)
}

// Runs returns the newest runs, the newest first.
func (s *Retention) Runs(ctx context.Context, limit int) ([]privacy.Run, error) {
	return s.query(ctx, sqlRuns, pgx.NamedArgs{"limit": limit})
}

// Run returns a run. It returns NotFound if there is none with this number.
func (s *Retention) Run(ctx context.Context, id int64) (privacy.Run, error) {
	runs, err := s.query(ctx, sqlRun, pgx.NamedArgs{"id": id})
	if err != nil || len(runs) == 1 {
		return append(runs, privacy.Run{})[0], err
	}
	return privacy.Run{}, errUnknownRun
}

func (s *Retention) query(ctx context.Context, sql string, args pgx.NamedArgs) ([]privacy.Run, error) {
	runs, err := db.List(ctx, s.Pool, sql, args, func(row pgx.CollectableRow) (privacy.Run, error) { return scanRun(row) })
	db.MarkWaiting(ctx, s.Handle, runs, func(r *privacy.Run) *bool {
		if r.Finished.IsZero() {
			return &r.Waits
		}
		return nil
	})
	return runs, db.Wrap(err, "runs over stored reports")
}

// Continue works on the run that has not ended, if there is one. It does nothing while the run waits for an archive.
func (s *Retention) Continue(ctx context.Context) error {
	runs, err := s.query(ctx, sqlUnfinished, pgx.NamedArgs{})
	if err != nil || len(runs) == 0 {
		return err
	}
	_, err = s.Work(ctx, runs[0].ID, func(privacy.Run) {})
	return db.UnlessAway(err)
}

// Work does all remaining steps of a run, and calls progress after each. It pauses after each step for
// as long as the step took, so that storing reports has priority. It may be interrupted at any time.
// If another instance works on the run, Work waits for it, and takes over if that instance dies. It returns
// ErrArchiveAway if the run waits for an archive; another call continues it.
func (s *Retention) Work(ctx context.Context, id int64, progress func(privacy.Run)) (privacy.Run, error) {
	for {
		began := time.Now()
		run, mine, err := s.step(ctx, id)
		if err != nil {
			return run, fmt.Errorf("run %d over stored reports: %w", id, db.Classify(err))
		}
		pause := time.Since(began)
		if !mine {
			if run, err = s.Run(ctx, id); err != nil {
				return run, err
			}
			pause = busyPause
		}
		progress(run)
		if !run.Finished.IsZero() {
			return run, nil
		}
		if err := crash.Sleep(ctx, pause); err != nil {
			return run, err
		}
	}
}

// step examines some reports in one transaction. mine is false if the run has ended, or another
// instance works on it.
func (s *Retention) step(ctx context.Context, id int64) (run privacy.Run, mine bool, err error) {
	if err := s.ReachArchives(ctx); err != nil {
		return run, false, err
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		var received time.Time
		var last crash.OopsID
		var hash string
		run, err = db.One(ctx, tx, sqlClaim, pgx.NamedArgs{"id": id}, func(row pgx.CollectableRow) (privacy.Run, error) {
			return scanRun(row, &received, (*[16]byte)(&last), &hash)
		})
		if err != nil {
			return db.NoRows(err, nil)
		}
		mine = true
		ended := hash != s.table.Hash()
		if !ended {
			examined, err := s.examine(ctx, tx, &run, received, &last)
			if err != nil {
				return err
			}
			if examined > 0 {
				received = last.Received()
			}
			ended = examined < stepReports
		}
		return s.saveStep(ctx, tx, &run, received, last, ended)
	})
	return run, mine, err
}

func (s *Retention) saveStep(ctx context.Context, tx pgx.Tx, run *privacy.Run, received time.Time, last crash.OopsID,
	ended bool) error {
	found, err := json.Marshal(run.Found)
	if err != nil {
		return err
	}
	at := s.Now()
	if ended {
		run.Finished = at
	}
	if _, err := tx.Exec(ctx, sqlSaveStep, pgx.NamedArgs{
		"id": run.ID, "at": at, "received": received, "report": [16]byte(last), "looked_at": run.LookedAt,
		"secret": run.Secret, "private": run.Private, "changed": run.Changed, "held": run.Held, "found": found,
		"ended": ended,
	}); err != nil {
		return err
	}
	if !ended || run.Kind == privacy.RunCheck {
		return nil
	}
	return s.Audit(ctx, tx, db.AuditEvent{Person: run.Person, Action: "privacy.finished", Subject: "reports",
		Detail: map[string]any{"run": run.ID, "kind": string(run.Kind), "reports": run.LookedAt, "changed": run.Changed,
			"held": run.Held}})
}

// examine examines the next reports after last, sets last to the last of them, and returns their
// number. It holds no more than one report in memory.
func (s *Retention) examine(ctx context.Context, tx pgx.Tx, run *privacy.Run, received time.Time,
	last *crash.OopsID) (examined int, err error) {
	var held [][]byte
	if err := tx.QueryRow(ctx, sqlHeld).Scan(&held); err != nil {
		return 0, err
	}
	var change []crash.OopsID
	var body []byte
	var isHeld bool
	rows, err := tx.Query(ctx, sqlReports, pgx.NamedArgs{"held": held, "received": received, "id": [16]byte(*last),
		"until": run.Until, "limit": stepReports})
	if err != nil {
		return 0, err
	}
	if _, err := pgx.ForEachRow(rows, []any{(*[16]byte)(last), &isHeld, &body}, func() error {
		examined++
		if body == nil { // no field but those of columns is stored
			run.LookedAt++
			return nil
		}
		fields, err := db.Decompress(body)
		if err != nil {
			return err
		}
		highest := s.count(run, fields)
		if run.Kind == privacy.RunCheck || run.Kind == privacy.RunApply && highest < privacy.Secret ||
			highest < privacy.Private {
			return nil
		}
		if isHeld {
			run.Held++
		} else {
			change = append(change, *last)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	for _, id := range change {
		if err := s.remove(ctx, tx, run, id); err != nil {
			return 0, err
		}
	}
	return examined, nil
}

// count counts the fields of a report, and returns their highest class.
func (s *Retention) count(run *privacy.Run, fields crash.Fields) (highest privacy.Class) {
	private := false
	for name := range fields {
		class := s.table.Class(name)
		if class >= privacy.Private {
			run.Found.Add(class, name)
		}
		private = private || class == privacy.Private
		highest = max(highest, class)
	}
	run.LookedAt++
	if highest == privacy.Secret {
		run.Secret++
	}
	if private {
		run.Private++
	}
	return highest
}

// remove removes fields of a report, which it locks, because symbolising may change it.
func (s *Retention) remove(ctx context.Context, tx pgx.Tx, run *privacy.Run, id crash.OopsID) error {
	args := db.ReportArgs(id)
	var address string
	var complete bool
	var body []byte
	err := tx.QueryRow(ctx, sqlLockReport, args).Scan(&address, &complete, &body)
	if err != nil { // without a row, retention has dropped it
		return db.NoRows(err, nil)
	}
	fields, err := db.Decompress(body)
	if err != nil {
		return err
	}
	rest, removed := s.table.DropSecrets(fields)
	if run.Kind == privacy.RunExpire {
		var expired []string
		rest, expired = Expire(s.table, rest, address)
		removed = append(removed, expired...)
	}
	if len(removed) == 0 {
		return nil
	}
	run.Changed++
	args["body"], args["quality"] = db.Compress(rest), grouping.Quality(rest, complete)
	_, err = db.Planned(ctx, tx, sqlSaveBody, args)
	return err
}

// The check of the lowest and highest versions and releases compares versions and releases in Go.
// It does not rely on the sort keys in the database.
const (
	endsOfBuckets = `
		select b.id, b.head = any(select id from buckets),
			coalesce((b.first_version).version, ''), coalesce((b.last_version).version, ''),
			coalesce((b.first_release).release, ''), coalesce((b.last_release).release, ''),
			coalesce(v.versions, '{}'), coalesce(v.releases, '{}')
		from buckets as b
			left join (
				select bucket_id, array_agg(version) as versions, array_agg(release) as releases
				from bucket_versions group by bucket_id
			) as v on v.bucket_id = b.id
		where @everything or b.id in (select id from check_buckets)`
	keysOfVersions = `
		select distinct release, version, version_key from bucket_versions
		where @everything or bucket_id in (select id from check_buckets)`
	reportsWithoutBucket = `
		select r.id from check_reports as r
		where bucket_id is not null and not exists (select from buckets as b where b.id = r.bucket_id) limit @most`
)

// checkEnds checks the lowest and highest versions and releases of buckets against their counts by
// version, which another comparison checks. It also checks the first and last occurrences against
// the reports, the heads, the sort keys, and the buckets of reports.
func (c *checking) checkEnds(ctx context.Context) error {
	everything := pgx.NamedArgs{"everything": c.scope.Buckets == 0, "most": max(c.scope.Most, 1)}
	var (
		id                     crash.BucketID
		headExists             bool
		lowVersion, topVersion string
		lowRelease, topRelease crash.Release
		versions               []string
		releases               []crash.Release // of each version
	)
	if err := db.Each(ctx, c, endsOfBuckets, everything, []any{&id, &headExists, &lowVersion, &topVersion, &lowRelease,
		&topRelease, &versions, &releases}, func() {
		c.result.Counts += 4
		if !headExists {
			c.differ("the problem that stands for another", id.String(), "", "a problem")
		}
		lowest, highest := endsOf(releases, versions)
		if lowest.Release.VersionOrder().Compare(lowest.Version, lowVersion) != 0 ||
			highest.Release.VersionOrder().Compare(highest.Version, topVersion) != 0 {
			c.differ("first and last version of a problem", id.String(), lowVersion+" – "+topVersion,
				lowest.Version+" – "+highest.Version)
		}
		var low, top crash.Release
		if releases = slices.DeleteFunc(releases, func(r crash.Release) bool { return r == "" }); len(releases) > 0 {
			low, top = slices.MinFunc(releases, crash.Release.Compare), slices.MaxFunc(releases, crash.Release.Compare)
		}
		if low.Compare(lowRelease) != 0 || top.Compare(topRelease) != 0 {
			c.differ("first and last release of a problem", id.String(), string(lowRelease+" – "+topRelease),
				string(low+" – "+top))
		}
	}); err != nil {
		return fmt.Errorf("first and last: %w", err)
	}
	if err := c.checkSeen(ctx, everything); err != nil {
		return fmt.Errorf("first and last seen: %w", err)
	}
	if err := c.checkKeys(ctx, keysOfVersions, everything); err != nil {
		return fmt.Errorf("keys of versions: %w", err)
	}
	return c.checkBuckets(ctx, everything)
}

// checkKeys compares stored sort keys of versions with those that the order of their release computes.
func (c *checking) checkKeys(ctx context.Context, sql string, args pgx.NamedArgs) error {
	var in crash.FixedIn
	var key []byte
	return db.Each(ctx, c, sql, args, []any{&in.Release, &in.Version, &key}, func() {
		var want []byte
		if order := in.Release.VersionOrder(); order.Valid(in.Version) {
			want = order.Key(in.Version)
		}
		if c.result.Counts++; !bytes.Equal(key, want) {
			c.differ("the place of a version in the order", in.String(), fmt.Sprintf("%x", key),
				fmt.Sprintf("%x", want))
		}
	})
}

// checkBuckets finds reports whose bucket does not exist.
func (c *checking) checkBuckets(ctx context.Context, args pgx.NamedArgs) error {
	var id crash.OopsID
	return db.Each(ctx, c, reportsWithoutBucket, args, []any{(*[16]byte)(&id)}, func() {
		c.differ("the problem of a report", id.String(), "", "a problem")
	})
}

// differ adds a difference to the result. It lists at most scope.Most of each kind, but counts all.
func (c *checking) differ(count, of, stored, recounted string) {
	c.result.Found++
	same := 0
	for _, d := range c.result.Differences {
		if d.Count == count {
			same++
		}
	}
	if same < max(c.scope.Most, 1) {
		c.result.Differences = append(c.result.Differences, crash.Difference{
			Count: count, Of: of, Stored: stored, Recounted: recounted,
		})
	}
}

// endsOf returns the lowest and the highest of some versions, with the release of each.
func endsOf(releases []crash.Release, versions []string) (lowest, highest crash.FixedIn) {
	for i, v := range versions {
		in := crash.FixedIn{Release: releases[i], Version: v}
		if !in.Release.VersionOrder().Valid(v) {
			continue
		}
		if lowest.Version == "" || crash.CompareVersions(in.Release, v, lowest.Release, lowest.Version) < 0 {
			lowest = in
		}
		if highest.Version == "" || crash.CompareVersions(in.Release, v, highest.Release, highest.Version) > 0 {
			highest = in
		}
	}
	return lowest, highest
}

// Expire returns the fields of a report without private ones, and the sorted names of those that it
// changed. It does not change fields, which must have no secret ones. The report stays in its problem
// when grouping rules are applied again: of a private field that determines the grouping, Expire leaves
// the lines that the rule used, or the whole field if these are not enough. address is the stored
// signature of modules and offsets.
func Expire(table *privacy.Table, fields crash.Fields, address string) (rest crash.Fields, removed []string) {
	rest = maps.Clone(fields)
	for name := range fields {
		if table.Class(name) == privacy.Private {
			delete(rest, name)
			removed = append(removed, name)
		}
	}
	if len(removed) == 0 {
		return fields, nil
	}
	slices.Sort(removed)
	if address != "" && rest["StacktraceAddressSignature"] == "" { // it was computed from private fields
		rest["StacktraceAddressSignature"] = address
	}
	if e := grouping.Explain(fields); !groupedAs(rest, e) {
		for _, name := range removed {
			rest[name] = fields[name]
		}
		for _, name := range removed {
			if delete(rest, name); groupedAs(rest, e) {
				continue
			}
			if rest[name] = usedLines(e, name, fields[name]); !groupedAs(rest, e) {
				rest[name] = fields[name]
			}
		}
	}
	removed = slices.DeleteFunc(removed, func(name string) bool {
		value, there := rest[name]
		return there && value == fields[name]
	})
	if len(removed) == 0 {
		return fields, nil
	}
	privacy.AddNames(rest, crash.ExpiredField, removed)
	return rest, removed
}

// groupedAs reports whether the rules give fields the same result as e.
func groupedAs(fields crash.Fields, e grouping.Explanation) bool {
	now := grouping.SignatureOf(fields)
	return now.Signature == e.Signature && now.Rule == e.Rule
}

// usedLines returns the lines of a field that the grouping rule used.
func usedLines(e grouping.Explanation, name, value string) string {
	for _, p := range e.Passages {
		if p.Field == name {
			return strings.Join(p.UsedLines(value), "\n")
		}
	}
	return ""
}

const (
	// seenOfReports selects rows of bucket_releases beside the times and versions of their oldest and
	// newest reports. Several versions can have a report of the same time.
	seenOfReports = `
		with spans as materialized (
			select bucket_id, release, min(seen) as first, max(seen) as last from check_reports
			where counted and bucket_id is not null and (@everything or bucket_id in (select id from check_buckets))
			group by bucket_id, release
		), ends as (
			select s.bucket_id, s.release, s.first, s.last,
				array_agg(distinct r.version) filter (where r.seen = s.first) as first_versions,
				array_agg(distinct r.version) filter (where r.seen = s.last) as last_versions
			from spans as s join check_reports as r
				on r.bucket_id = s.bucket_id and r.release = s.release and r.counted and r.seen in (s.first, s.last)
			group by s.bucket_id, s.release, s.first, s.last
		), counted as (
			select bucket_id, release, array_agg(distinct version) as versions from bucket_versions
			where @everything or bucket_id in (select id from check_buckets) group by bucket_id, release
		), stored as (
			select * from bucket_releases where @everything or bucket_id in (select id from check_buckets)
		)
		select bucket_id, release, (s.first_seen).seen, coalesce((s.first_seen).version, ''),
			(s.last_seen).seen, coalesce((s.last_seen).version, ''),
			coalesce((s.lowest_version).version, ''), coalesce((s.highest_version).version, ''), s.release is not null,
			e.first, coalesce(e.first_versions, '{}'), e.last, coalesce(e.last_versions, '{}'),
			coalesce(c.versions, '{}'), c.release is not null
		from stored as s full join ends as e using (bucket_id, release) full join counted as c using (bucket_id, release)`
	keysOfSeen = `
		select distinct r.release, o.version, o.key
		from bucket_releases as r cross join lateral (values
			((r.first_seen).version, (r.first_seen).version_key), ((r.last_seen).version, (r.last_seen).version_key),
			((r.lowest_version).version, (r.lowest_version).key), ((r.highest_version).version, (r.highest_version).key)
		) as o (version, key)
		where (@everything or r.bucket_id in (select id from check_buckets)) and o.key is not null`
)

// storedSeen is a row of bucket_releases, with the values expected from the stored reports and from
// the counts by version.
type storedSeen struct {
	first, last                 crash.Occurrence
	lowest, highest             string
	exists                      bool // the row exists
	oldest, newest              time.Time
	oldestIn, newestIn, counted []string // versions
	expected                    bool     // the row should exist
}

// checkSeen checks when, and in which versions, buckets first and last occurred in each release. It
// compares versions in Go, and checks the sort keys separately.
func (c *checking) checkSeen(ctx context.Context, args pgx.NamedArgs) error {
	var id crash.BucketID
	var release crash.Release
	var row storedSeen
	if err := db.Each(ctx, c, seenOfReports, args,
		[]any{&id, &release, db.OrZero(&row.first.At), &row.first.Version,
			db.OrZero(&row.last.At), &row.last.Version, &row.lowest, &row.highest, &row.exists, db.OrZero(&row.oldest),
			&row.oldestIn, db.OrZero(&row.newest), &row.newestIn, &row.counted, &row.expected}, func() {
			c.result.Counts += 4
			c.compareSeen(id.String(), release, row)
		}); err != nil {
		return err
	}
	return c.checkKeys(ctx, keysOfSeen, args)
}

func (c *checking) compareSeen(bucket string, release crash.Release, k storedSeen) {
	of, order := bucket+" "+string(release), release.VersionOrder()
	if k.exists != k.expected {
		c.differ("a release in which a problem was seen", of, is(k.exists), is(k.expected))
		return
	}
	var counted version.Range
	for _, v := range k.counted {
		counted.Add(order, v)
	}
	if order.Compare(k.lowest, counted.Lowest) != 0 || order.Compare(k.highest, counted.Highest) != 0 {
		c.differ("lowest and highest version of a problem in a release", of,
			k.lowest+" – "+k.highest, counted.Lowest+" – "+counted.Highest)
	}
	oldest, newest := crash.Occurrence{At: k.oldest}, crash.Occurrence{At: k.newest}
	if len(k.oldestIn) > 0 {
		oldest.Version = slices.MinFunc(k.oldestIn, order.Total)
	}
	if len(k.newestIn) > 0 {
		newest.Version = slices.MaxFunc(k.newestIn, order.Total)
	}
	// A dropped report may have come before or after the stored ones.
	early, late := c.dropped && k.first.At.Before(oldest.At), c.dropped && k.last.At.After(newest.At)
	gone := c.dropped && len(k.oldestIn) == 0
	if !gone && !early && !sameOccurrence(k.first, oldest) || !gone && !late && !sameOccurrence(k.last, newest) {
		c.differ("when and in which version a problem was first and last seen in a release", of,
			seenText(k.first)+" – "+seenText(k.last), seenText(oldest)+" – "+seenText(newest))
	}
}

func sameOccurrence(a, b crash.Occurrence) bool { return a.At.Equal(b.At) && a.Version == b.Version }

func seenText(o crash.Occurrence) string { return o.At.UTC().Format(time.RFC3339) + " " + o.Version }

func is(exists bool) string {
	if exists {
		return "is there"
	}
	return "is not there"
}

// Daily counts expire by whole months. Sums of them stay in bucket_expired, so that the totals of
// problems can still be verified. Counts of a held problem stay, and those of a problem with a stored
// report of an expired day. A problem without any other day expires as a whole, unless people have
// worked on it.

const (
	sqlBefore  = `select coalesce((select before from expired_counts), '0001-01-01')`
	sqlAdvance = `
		insert into expired_counts (before, at) values (@before, @at)
		on conflict (single) do update set before = excluded.before, at = excluded.at`
	// sqlBaseline makes the number of active machines on the first day that stays a change of that day.
	sqlBaseline = `
		with gone as (delete from release_active where day < @before returning release, change)
		insert into release_active as a (release, day, change)
		select release, @before, sum(change)::bigint from gone group by release
		on conflict (release, day) do update set change = a.change + excluded.change`
	sqlEndSpans = `
		delete from release_systems where ctid = any(array(
			select ctid from release_systems where until_day < @before limit @most))`
	sqlShortenSpans = `
		update release_systems set from_day = @before where ctid = any(array(
			select ctid from release_systems where from_day < @before and until_day >= @before limit @most))`
	sqlDropPackageDays = `
		delete from report_days where ctid = any(array(select ctid from report_days where day < @before limit @most))`
	sqlDropReleaseDays = `
		delete from release_days where ctid = any(array(select ctid from release_days where day < @before limit @most))`

	sqlRound          = `select round from counting`
	sqlExpiredBuckets = `select distinct bucket_id from bucket_days where day < @before`
	// sqlNeeded selects buckets with a stored report of an expired day, whose count such a report needs to
	// be moved or erased.
	sqlNeeded = `
		select distinct bucket_id from reports where day < @before and counted and bucket_id = any(@ids::bytea[])`
	// sqlCollapse leaves out buckets that have changed since sqlNeeded: they may have got such reports.
	sqlCollapse = `
		with gone as (
			delete from bucket_days as d
			where bucket_id = any(@ids::bytea[]) and day < @before and bucket_id not in (` + db.HeldBuckets + `)
				and not exists (
					select from bucket_days as c where c.bucket_id = d.bucket_id and c.day < @before and c.changed > @round)
			returning *
		)
		insert into bucket_expired as e
		select bucket_id, release, version, architecture, package_architecture, sum(reports)::bigint,
			sum(proposed)::bigint, min(day), max(day)
		from gone group by bucket_id, release, version, architecture, package_architecture
		on conflict (bucket_id, release, version, architecture, package_architecture) do update set
			reports = e.reports + excluded.reports, proposed = e.proposed + excluded.proposed,
			first_day = least(e.first_day, excluded.first_day), last_day = greatest(e.last_day, excluded.last_day)`

	// endedBuckets selects the problems of which all counts by day have expired.
	endedBuckets = `
		from buckets as b
		where b.reports > 0 and b.head = b.id and exists (select from bucket_expired as e where e.bucket_id = b.id)
			and not exists (select from bucket_days as d where d.bucket_id = b.id)
			and not exists (select from buckets as m where m.head = b.id and m.id <> b.id)
			and b.id not in (` + db.HeldBuckets + `) and b.id not in (` + db.PeoplesWork + `)
			and not exists (select from reports as r where r.bucket_id = b.id offset 0)`
	sqlEnded      = `select b.id ` + endedBuckets + ` limit @most`
	sqlStillEnded = `select b.id ` + endedBuckets + ` and b.id = any(@ids::bytea[]) order by b.id`
	sqlForget     = `
		with days as (delete from bucket_expired where bucket_id = any(@ids::bytea[])),
			versions as (delete from bucket_versions where bucket_id = any(@ids::bytea[])),
			releases as (delete from bucket_releases where bucket_id = any(@ids::bytea[])),
			travellers as (delete from bucket_travellers where bucket_id = any(@ids::bytea[]))
		delete from bucket_systems where bucket_id = any(@ids::bytea[])`
)

const (
	countRows    = 20_000 // rows that one statement deletes
	countBuckets = 200    // buckets whose days one transaction removes
	endBuckets   = 1000   // problems that one transaction removes
)

// ExpiredCounts is what ExpireCounts has done.
type ExpiredCounts struct {
	Before   time.Time // first day whose counts have stayed; zero: nothing has expired yet
	Advanced bool      // further days have expired than before
	Problems int64     // problems that were removed
}

// CountsFrom returns the first day whose counts stay for a number of years: the month that is that many
// years old stays until its last day is.
func CountsFrom(now time.Time, years int) time.Time {
	at := now.UTC().AddDate(-years, 0, 0)
	return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// ExpireCounts removes daily counts that are older than keepYears years, unless it is 0, and counts
// that an earlier hold has kept. It pauses after each step for as long as the step took. It can be
// interrupted at any time: the next call continues. It does nothing while another instance does this.
func (s *Retention) ExpireCounts(ctx context.Context, keepYears int) (e ExpiredCounts, err error) {
	unlock, ok, err := s.LockExpiry(ctx)
	if err != nil || !ok {
		return e, err
	}
	defer unlock()
	if e, err = s.expireCounts(ctx, keepYears); err != nil {
		return e, fmt.Errorf("expire counts: %w", db.Classify(err))
	}
	return e, nil
}

// DropOldCounts calls ExpireCounts, and logs what it has done.
func (s *Retention) DropOldCounts(ctx context.Context, keepYears int) error {
	e, err := s.ExpireCounts(ctx, keepYears)
	if e.Problems > 0 || e.Advanced {
		s.Log.InfoContext(ctx, "daily counts expired; totals stay", "before", e.Before.Format(time.DateOnly),
			"problems_removed", e.Problems, "counts_keep_years", keepYears)
	}
	return err
}

func (s *Retention) expireCounts(ctx context.Context, keepYears int) (e ExpiredCounts, err error) {
	if err := s.Pool.QueryRow(ctx, sqlBefore).Scan(&e.Before); err != nil {
		return e, err
	}
	e.Before = e.Before.UTC()
	if from := CountsFrom(s.Now(), keepYears); keepYears > 0 && from.After(e.Before) {
		if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
			return db.Exec(ctx, tx, pgx.NamedArgs{"before": from, "at": s.Now()}, sqlAdvance)
		}); err != nil {
			return e, err
		}
		e.Before, e.Advanced = from, true
	}
	if e.Before.Year() < 2 {
		e.Before = time.Time{}
		return e, nil
	}
	args := pgx.NamedArgs{"before": e.Before, "most": countRows}
	if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
		return db.Exec(ctx, tx, args, sqlBaseline)
	}); err != nil {
		return e, err
	}
	for _, sql := range []string{sqlEndSpans, sqlShortenSpans, sqlDropPackageDays, sqlDropReleaseDays} {
		if err := s.inSteps(ctx, sql, args); err != nil {
			return e, err
		}
	}
	if err := s.expireDays(ctx, e.Before); err != nil {
		return e, err
	}
	e.Problems, err = s.endProblems(ctx)
	return e, err
}

// changeCounts runs do while nothing else changes counts, without a time limit, and then pauses for as
// long as that took.
func (s *Retention) changeCounts(ctx context.Context, do func(tx pgx.Tx) error) error {
	began := time.Now()
	if err := db.NewDecisions(s.Store).InRound(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.NoTimeLimit); err != nil {
			return err
		}
		return do(tx)
	}); err != nil {
		return err
	}
	return crash.Sleep(ctx, time.Since(began))
}

// inSteps repeats a statement until it changes fewer rows than it may.
func (s *Retention) inSteps(ctx context.Context, sql string, args pgx.NamedArgs) error {
	for changed := int64(countRows); changed == countRows; {
		if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, sql, args)
			changed = tag.RowsAffected()
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// expireDays removes the daily counts of problems before a day, and adds them up in bucket_expired.
func (s *Retention) expireDays(ctx context.Context, before time.Time) error {
	ids, round, err := s.bucketsToExpire(ctx, before)
	if err != nil {
		return err
	}
	for len(ids) > 0 {
		n := min(len(ids), countBuckets)
		args := pgx.NamedArgs{"before": before, "ids": ids[:n], "round": round}
		if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, db.LockHolds); err != nil {
				return err
			}
			return db.Exec(ctx, tx, args, sqlCollapse)
		}); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// bucketsToExpire returns the buckets with daily counts before a day that no stored report needs, and the
// round up to which that is known.
func (s *Retention) bucketsToExpire(ctx context.Context, before time.Time) (ids [][]byte, round int64, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.NoTimeLimit); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlRound).Scan(&round); err != nil {
			return err
		}
		args := pgx.NamedArgs{"before": before}
		all, err := db.List(ctx, tx, sqlExpiredBuckets, args, pgx.RowTo[[]byte])
		if err != nil || len(all) == 0 {
			return err
		}
		args["ids"] = all
		needed := map[crash.BucketID]bool{}
		var id []byte
		if err := db.Each(ctx, tx, sqlNeeded, args, []any{&id}, func() {
			needed[crash.BucketID(id)] = true
		}); err != nil {
			return err
		}
		for _, id := range all {
			if !needed[crash.BucketID(id)] {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, round, err
}

// endProblems removes problems of which all days have expired.
func (s *Retention) endProblems(ctx context.Context) (ended int64, err error) {
	for found := endBuckets; found == endBuckets; {
		if err := s.changeCounts(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, db.LockHolds); err != nil {
				return err
			}
			ids, err := db.List(ctx, tx, sqlEnded, pgx.NamedArgs{"most": endBuckets}, pgx.RowTo[[]byte])
			if found = len(ids); err != nil || found == 0 {
				return err
			}
			args := pgx.NamedArgs{"ids": ids}
			n, err := db.ForgetProblems(ctx, tx, sqlStillEnded, args, sqlForget, "All counts of this problem have expired.")
			ended += n
			return err
		}); err != nil {
			return ended, err
		}
	}
	return ended, nil
}
