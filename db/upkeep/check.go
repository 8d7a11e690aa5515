package upkeep

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
)

// A check counts the stored reports again in SQL, independently of the rounds, and compares the
// results. It reads one snapshot and omits reports that are not counted yet, so it can run at any
// time.
//
// If retention has dropped reports, their counts stay, and can no longer be counted again. A count
// must then be at least as large as that of the remaining reports. It must be equal on days for
// which no report was dropped. These days start with the second day after the last dropped month,
// because a report counts at most one day after its arrival.
//
// If daily counts have expired, totals by day are compared from the first day that has not. The days of a
// problem and the sums of those that have expired must give its counts by version, whatever was dropped.

const (
	sqlUncounted = `select coalesce(array_agg(r), '{}') from uncounted, unnest(reports) as r`
	sqlDropped   = `select max(month) from dropped_months`
	sqlCheckFrom = `select coalesce((select before from expired_counts), '0001-01-01')`
	sqlCheckDays = `
		select day from (select day from release_days union select day from report_days) as d
		order by md5(day::text || @seed::bigint::text) limit @limit`
)

// A check first copies the data into temporary tables. These exist only during a check, so TestSQL
// cannot prepare the statements that use them; TestCheck runs all of these statements.
const (
	makeCheckTables = `
		create temporary table check_buckets (id bytea primary key) on commit drop;
		create temporary table check_reports (
			id uuid not null, day date not null, counted boolean not null, system_key bigint, bucket_id bytea,
			package text not null, version text not null, release text not null, architecture text not null,
			package_architecture text not null, problem_type text not null,
			proposed boolean not null, seen timestamptz not null, received timestamptz not null, full_text boolean not null
		) on commit drop`
	chooseBuckets = `
		insert into check_buckets
		select id from buckets where @everything or id in (
			select id from buckets order by md5(encode(id, 'hex') || @seed::bigint::text) limit @buckets)`
	// copyReports copies the reports of the chosen buckets, and all reports of the chosen days.
	copyReports = `
		insert into check_reports
		select id, day, counted, system_key, bucket_id, package, version, release, architecture,
			package_architecture, problem_type, proposed,
			case when (occurred at time zone 'UTC')::date = day then occurred else received end, received, body is not null
		from reports
		where (@everything or bucket_id in (select id from check_buckets) or day = any(@days::date[]))
			and not id = any(@uncounted::uuid[])`
	analyseCheckTables = `analyze check_buckets, check_reports`
	checkSizes         = `select (select count(*) from check_buckets), (select count(*) from check_reports)`
)

// CheckSteps is the number of times that Run calls step.
const CheckSteps = 20

// Check counts stored reports again, and returns where the stored counts differ. It calls step after
// each of its Steps, to show the progress. It changes nothing.
func Check(ctx context.Context, s *db.Store, scope crash.CheckScope, step func()) (crash.CheckResult, error) {
	var result crash.CheckResult
	tx, err := s.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return result, fmt.Errorf("check: %w", db.Classify(err))
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // a check only reads
	c := &checking{Tx: tx, scope: scope, result: &result, hours: db.HoursFrom(s.Now()).AddDate(0, 0, 1)}
	for _, do := range c.steps() {
		if err := do(ctx); err != nil {
			return result, fmt.Errorf("check: %w", db.Classify(err))
		}
		step()
	}
	return result, nil
}

// checking is a running check.
type checking struct {
	pgx.Tx
	scope   crash.CheckScope
	result  *crash.CheckResult
	days    []time.Time
	dropped bool
	before  time.Time // first day whose counts have not expired
	exact   time.Time // first day whose counts must be equal, if reports were dropped
	hours   time.Time // first day whose hours are compared
}

func (c *checking) steps() []func(context.Context) error {
	steps := []func(context.Context) error{c.prepare, c.checkEnds}
	for _, k := range comparisons {
		steps = append(steps, func(ctx context.Context) error { return c.compare(ctx, k) })
	}
	return steps
}

// prepare chooses what to check, and copies it into the temporary tables.
func (c *checking) prepare(ctx context.Context) error {
	if _, err := c.Exec(ctx, db.NoTimeLimit); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, makeCheckTables); err != nil {
		return err
	}
	var uncounted [][16]byte
	if err := c.QueryRow(ctx, sqlUncounted).Scan(&uncounted); err != nil {
		return err
	}
	if err := c.QueryRow(ctx, sqlCheckFrom).Scan(&c.before); err != nil {
		return err
	}
	if c.before.Year() > 1 {
		c.result.Expired = c.before.Format(time.DateOnly)
	}
	var month *time.Time
	if err := c.QueryRow(ctx, sqlDropped).Scan(&month); err != nil {
		return err
	}
	if month != nil {
		c.dropped, c.exact, c.result.Dropped = true, month.AddDate(0, 1, 1), month.Format("2006-01")
	}
	seed := c.scope.Seed
	if seed == 0 {
		seed = rand.Int64() //nolint:gosec // the choice of buckets is no secret
	}
	everything := c.scope.Buckets == 0
	args := pgx.NamedArgs{"seed": seed, "limit": max(1, c.scope.Buckets/10)}
	var err error
	if c.days, err = db.List(ctx, c, sqlCheckDays, args, pgx.RowTo[time.Time]); err != nil {
		return err
	}
	args = pgx.NamedArgs{"everything": everything, "seed": seed, "buckets": c.scope.Buckets, "days": c.days,
		"uncounted": uncounted}
	if err := db.Exec(ctx, c, args, chooseBuckets, copyReports, analyseCheckTables); err != nil {
		return err
	}
	return c.QueryRow(ctx, checkSizes).Scan(&c.result.Buckets, &c.result.Reports)
}

// compare runs one comparison. Its query returns the name of a count, the stored and the recounted
// value, and the numbers of compared and of different counts.
func (c *checking) compare(ctx context.Context, k comparison) error {
	rows, err := c.Query(ctx, k.sql, pgx.NamedArgs{
		"everything": c.scope.Buckets == 0, "days": c.days, "dropped": c.dropped, "exact": c.exactDay(),
		"most": max(c.scope.Most, 1), "before": c.before, "hours": c.hours,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", k.count, err)
	}
	d := crash.Difference{Count: k.count}
	var stored, recounted *string
	var looked, differ int64
	var of *string
	if _, err := pgx.ForEachRow(rows, []any{&of, &stored, &recounted, &looked, &differ}, func() error {
		if of != nil {
			d.Of, d.Stored, d.Recounted = *of, orEmpty(stored), orEmpty(recounted)
			c.result.Differences = append(c.result.Differences, d)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("%s: %w", k.count, err)
	}
	c.result.Counts += looked
	c.result.Found += differ
	return nil
}

// exactDay returns the first day on which stored counts must equal the recounted ones.
func (c *checking) exactDay() time.Time {
	if !c.dropped {
		return time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return c.exact
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// comparison compares a kind of stored counts with the reports. count names the kind for people.
type comparison struct{ count, sql string }

// compared returns a comparison of two queries with the columns key, n and day. The key is a text
// for people, and day is null for counts that do not depend on the day. A stored count may be
// larger than the recounted one if reports of its day may have been dropped.
func compared(count, stored, recounted string) comparison {
	return comparison{count, `
		with stored as materialized (` + stored + `), recounted as materialized (` + recounted + `),
		both_sides as materialized (
			select coalesce(s.key, r.key) as key, s.n as stored, r.n as recounted, coalesce(s.day, r.day) as day
			from stored as s full join recounted as r on r.key = s.key
		), wrong as materialized (
			select key, stored, recounted from both_sides
			where case when @dropped and (day is null or day < @exact::date) then coalesce(stored, 0) < coalesce(recounted, 0)
				else coalesce(stored, 0) <> coalesce(recounted, 0) end
		), numbers as (
			select (select count(*) from both_sides) as looked, (select count(*) from wrong) as differ
		)
		select w.key, w.stored::text, w.recounted::text, numbers.looked, numbers.differ
		from numbers left join (select * from wrong order by key limit @most) as w on true`}
}

const (
	ofBuckets = ` where (@everything or bucket_id in (select id from check_buckets))`
	ofReports = ` from check_reports where counted and bucket_id in (select id from check_buckets)`
	ofDays    = ` where (@everything or day = any(@days::date[]))`
	ofDay     = ` from check_reports where counted and (@everything or day = any(@days::date[]))`

	// notExpired excludes the days of which the counts have expired (expired_counts).
	notExpired = ` and day >= @before::date`

	bucketKey = `substr(encode(bucket_id, 'hex'), 1, 40)`
	cellKey   = bucketKey + ` || ' ' || release || ' · ' || version`
	travelKey = bucketKey + ` || ' ' || version || ' · ' || `
	dayKey    = bucketKey +
		` || ' ' || day || ' ' || release || ' · ' || version || ' · ' || architecture || ' · ' || package_architecture`
	reportKey = `package || ' ' || day || ' ' || release || ' · ' || version || ' · ' || architecture || ' · ' ||
		problem_type || ' ' || proposed`
	packageHour = `package || ' ' || hour || ' ' || release || ' · ' || version`
	releaseHour = `hour || ' ' || release`
	hourOf      = `date_trunc('hour', seen, 'UTC') as hour`
	dayOfHour   = `(hour at time zone 'UTC')::date`
	// ofHours selects the days whose hours are all counted and not deleted yet.
	ofHours  = ` and day >= greatest((select hours_since from counting), @hours::date)`
	totalKey = `day || ' ' || release || ' · ' || architecture || ' · ' || problem_type || ' ' || proposed`
)

// recountedSpans computes the spans of release_systems from reports. Each day with a report starts
// a span of 90 days, and spans that overlap or touch become one.
const recountedSpans = `
	select release, system_key, min(day) as from_day, max(day) + 89 as until_day
	from (
		select release, system_key, day, sum(case when day > before + 90 or before is null then 1 else 0 end)
			over (partition by release, system_key order by day) as island
		from (
			select release, system_key, day, lag(day) over (partition by release, system_key order by day) as before
			from (select distinct release, system_key, day from check_reports where counted and system_key is not null) as d
		) as l
	) as i group by release, system_key, island`

var comparisons = []comparison{
	compared("reports of a problem",
		`select `+bucketKey+
			` as key, reports as n, null::date as day from (select id as bucket_id, reports from buckets) as b`+ofBuckets,
		`select `+bucketKey+` as key, count(*) as n, null::date as day`+ofReports+` group by bucket_id`),
	compared("machines of a problem",
		`select `+bucketKey+
			` as key, systems as n, null::date as day from (select id as bucket_id, systems from buckets) as b`+ofBuckets,
		`select `+bucketKey+` as key, count(distinct system_key) as n, null::date as day`+ofReports+` group by bucket_id`),
	compared("reports of a problem by version",
		`select `+cellKey+` as key, reports as n, null::date as day from bucket_versions`+ofBuckets,
		`select `+cellKey+` as key, count(*) as n, null::date as day`+ofReports+` group by bucket_id, release, version`),
	compared("machines of a problem by version",
		`select `+cellKey+` as key, systems as n, null::date as day from bucket_versions`+ofBuckets,
		`select `+cellKey+` as key, count(distinct system_key) as n, null::date as day`+ofReports+
			` group by bucket_id, release, version`),
	compared("reports of a machine in a problem",
		`select `+cellKey+` || ' · ' || system as key, reports as n, null::date as day from bucket_systems`+ofBuckets,
		`select `+cellKey+` || ' · ' || system_key as key, count(*) as n, null::date as day`+ofReports+
			` and system_key is not null group by bucket_id, release, version, system_key`),
	compared("releases of a machine with a version of a problem, beyond the first",
		`select `+travelKey+`system as key, extra as n, null::date as day from bucket_travellers`+ofBuckets,
		`select `+travelKey+`system_key as key, count(distinct release) - 1 as n, null::date as day`+ofReports+
			` and system_key is not null group by bucket_id, version, system_key having count(distinct release) > 1`),
	compared("reports of a problem by day",
		`select `+dayKey+` as key, reports as n, day from bucket_days`+ofBuckets,
		`select `+dayKey+` as key, count(*) as n, day`+ofReports+
			` group by bucket_id, day, release, version, architecture, package_architecture`),
	compared("reports of a problem by day from the proposed pocket",
		`select `+dayKey+` as key, proposed as n, day from bucket_days`+ofBuckets,
		`select `+dayKey+` as key, count(*) filter (where proposed) as n, day`+ofReports+
			` group by bucket_id, day, release, version, architecture, package_architecture`),
	compared("reports of a problem by version, and the sum of its days",
		`select `+cellKey+` as key, reports as n, date 'infinity' as day from bucket_versions`+ofBuckets,
		`select `+cellKey+` as key, sum(reports)::bigint as n, date 'infinity' as day from (
			select bucket_id, release, version, reports from bucket_days
			union all select bucket_id, release, version, reports from bucket_expired
		) as d`+ofBuckets+` group by bucket_id, release, version`),
	compared("reports of a package by day",
		`select `+reportKey+` as key, reports as n, day from report_days`+ofDays+notExpired,
		`select `+reportKey+` as key, count(*) as n, day`+ofDay+notExpired+
			` group by day, release, package, version, architecture, problem_type, proposed`),
	compared("reports of a release by day",
		`select `+totalKey+` as key, reports as n, day from release_days`+ofDays+notExpired,
		`select `+totalKey+` as key, count(*) as n, day`+ofDay+notExpired+
			` group by day, release, architecture, problem_type, proposed`),
	compared("reports of a release by day, and the sum of its packages",
		`select `+totalKey+` as key, reports as n, date 'infinity' as day from release_days`+ofDays+notExpired,
		`select `+totalKey+` as key, sum(reports)::bigint as n, date 'infinity' as day from report_days`+ofDays+notExpired+
			` group by day, release, architecture, problem_type, proposed`),
	compared("reports of a package by hour",
		`select `+packageHour+` as key, reports as n, day from (select *, `+dayOfHour+` as day from report_hours) as h`+
			ofDays+ofHours,
		`select `+packageHour+` as key, count(*) as n, day from (select *, `+hourOf+` from check_reports) as r
			where counted and (@everything or day = any(@days::date[]))`+ofHours+
			` group by day, package, hour, release, version`),
	compared("reports of a release by hour",
		`select `+releaseHour+` as key, reports as n, day from (select *, `+dayOfHour+` as day from release_hours) as h`+
			ofDays+ofHours,
		`select `+releaseHour+` as key, count(*) as n, day from (select *, `+hourOf+` from check_reports) as r
			where counted and (@everything or day = any(@days::date[]))`+ofHours+` group by day, hour, release`),
	compared("reports of a release by day, and the sum of its hours",
		`select day || ' ' || release as key, sum(reports)::bigint as n, date 'infinity' as day from release_days`+
			ofDays+notExpired+ofHours+` group by day, release`,
		`select day || ' ' || release as key, sum(reports)::bigint as n, date 'infinity' as day from (
			select *, `+dayOfHour+` as day from release_hours) as h`+ofDays+notExpired+ofHours+` group by day, release`),
	activityCheck,
	bodiesCheck("reports of a problem by month, since bodies are limited", "reports", "*"),
	bodiesCheck("reports of a problem by month that are stored in full, since bodies are limited", "kept",
		"*) filter (where full_text"),
}

// bodiesCheck compares a column of bucket_bodies. The rows of a month go with its reports, so dropped months
// are compared, too.
func bodiesCheck(count, column, counted string) comparison {
	const key = bucketKey + ` || ' ' || month as key, `
	return compared(count,
		`select `+key+column+` as n, date 'infinity' as day from bucket_bodies`+ofBuckets,
		`select `+key+`count(`+counted+`) as n, date 'infinity' as day from (
			select *, date_trunc('month', received)::date as month`+ofReports+`
				and received >= (select bodies_since from counting)
		) as r group by bucket_id, month`)
}

// activityCheck compares the numbers of active machines by release and day. The stored numbers are
// sums of changes. Changes on days that have expired count as one on the first day that has not. A
// complete check computes the spans again from the reports. A sample does not contain all reports of a
// machine, so it uses the stored spans.
var activityCheck = comparison{"active machines of a release by day", `
	with again as materialized (` + recountedSpans + `), spans as materialized (
		select release, from_day, until_day from release_systems where not @everything
		union all select release, from_day, until_day from again where @everything
	), recounted as materialized (
		select release, greatest(day, @before::date) as day, sum(n) as n from (
			select release, from_day as day, 1 as n from spans union all select release, until_day + 1, -1 from spans
		) as c group by 1, 2
	), active as materialized (
		select release, greatest(day, @before::date) as day, sum(change) as change from release_active group by 1, 2
	), both_sides as materialized (
		select coalesce(s.release, r.release) as release, coalesce(s.day, r.day) as day,
			coalesce(s.change, 0) as stored, coalesce(r.n, 0) as recounted
		from active as s full join recounted as r on r.release = s.release and r.day = s.day
	), wrong as materialized (
		select release || ' ' || day as key, stored, recounted from both_sides
		where stored <> recounted and not (@dropped and @everything)
	)
	select w.key, w.stored::text, w.recounted::text, (select count(*) from both_sides), (select count(*) from wrong)
	from (select 1) as one left join (select * from wrong order by key limit @most) as w on true`}

// AuditLog reads the audit log. It is safe for concurrent use.
type AuditLog struct{ store *db.Store }

// NewAuditLog returns a Store for the audit log in store.
func NewAuditLog(store *db.Store) *AuditLog { return &AuditLog{store} }

const sqlRecords = `
	select id, at, kind, person, via, address, request_id, action, subject, before, after, detail, result, reason
	from audit_events
	where (@who = '' or (case when person <> '' then person else via end) = @who)
		and (@action = '' or action = @action) and (@object = '' or subject = @object)
		and (@address = '' or address = @address and address <> '')
		and (@result = '' or result = @result)
		and (@since::timestamptz is null or at >= @since) and (@until::timestamptz is null or at < @until)
		and (@id::bigint = 0 or (at, id) < (@at, @id))
	order by at desc, id desc limit @limit`

// List returns at most limit records after a cursor, newest first.
func (s *AuditLog) List(ctx context.Context, f audit.Filter, after audit.Cursor, limit int) ([]audit.Record, error) {
	// Each filter has an index. A generic plan could use only one of them, so PostgreSQL plans each query.
	rows, err := s.store.Pool.Query(ctx, sqlRecords, pgx.QueryExecModeCacheDescribe, pgx.NamedArgs{
		"who": f.Person, "action": f.Action, "object": f.Object, "address": f.Address, "result": f.Result,
		"since": timeOrNull(f.Since), "until": timeOrNull(f.Until), "at": after.At, "id": after.ID, "limit": limit,
	})
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", db.Classify(err))
	}
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r audit.Record, err error) {
		err = row.Scan(&r.ID, &r.At, &r.Kind, &r.Person, &r.Via, &r.Address, &r.RequestID, &r.Action, &r.Object,
			&r.Before, &r.After, &r.Detail, &r.Result, &r.Reason)
		r.At = r.At.UTC()
		return r, err
	})
	return records, db.Wrap(err, "audit log")
}

// exportChunk is the number of records that one query of All reads.
const exportChunk = 1000

// All returns all records that a filter selects, newest first, without holding them in memory. It
// leaves out records that are inserted after the first is read.
func (s *AuditLog) All(ctx context.Context, f audit.Filter) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		var after audit.Cursor
		for {
			records, err := s.List(ctx, f, after, exportChunk)
			if err != nil {
				yield(audit.Record{}, err)
				return
			}
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
				after = audit.Cursor{At: r.At, ID: r.ID}
			}
			if len(records) < exportChunk {
				return
			}
		}
	}
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

const sqlDrop = `select drop_audit_events(@oldest, @most)`

const (
	// MinAuditDays is the shortest time for which records stay. The database enforces it, too.
	MinAuditDays = 31
	dropChunk    = 10_000 // records that one statement deletes
)

// Drop removes records older than keepDays days, and records how many. It removes none if keepDays is
// 0. Records of removed accounts stay, so that nobody else gets their names.
func (s *AuditLog) Drop(ctx context.Context, keepDays int) error {
	if keepDays == 0 {
		return nil
	}
	oldest, dropped := s.store.Now().AddDate(0, 0, -max(keepDays, MinAuditDays)), int64(0)
	for {
		var n int64
		err := s.store.Pool.QueryRow(ctx, sqlDrop, pgx.NamedArgs{"oldest": oldest, "most": dropChunk}).Scan(&n)
		if err != nil {
			return fmt.Errorf("drop old records of the audit log: %w", db.Classify(err))
		}
		if dropped += n; n < dropChunk {
			break
		}
	}
	if dropped == 0 {
		return nil
	}
	return s.store.AuditAlone(ctx, db.AuditEvent{Action: "audit.drop", Detail: map[string]any{
		"records": dropped, "older_than": oldest.UTC().Format(time.DateOnly)}})
}
