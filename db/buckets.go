package db

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/s2"
	"golang.org/x/sync/semaphore"

	"mishap/crash"
	"mishap/crash/grouping"
)

// These fragments of SQL read a crash.Bucket from each row of buckets, which is called b. Reports,
// bugs and filings are those of all buckets merged into b. So b must not itself be merged into
// another bucket.
const (
	// BucketColumns are the columns that ScanBucket reads. If a problem has several bugs, they hold
	// the first one in BugOrder. If it has several filings, they hold the one that is most likely to
	// become a bug.
	BucketColumns = `
		b.id, b.signature, b.rule, b.provisional, b.problem_type, b.title, b.name, b.executable,
		b.package, b.source_package,
		w.members, w.reports, w.systems,
		o.seen, coalesce(o.version, ''), coalesce(o.release, ''), n.seen, coalesce(n.version, ''), coalesce(n.release, ''),
		coalesce((w.first_version).version, ''),
		coalesce((w.last_version).version, ''), coalesce((w.last_version).release, ''),
		coalesce((w.first_release).release, ''), coalesce((w.last_release).release, ''),
		g.number, g.title, g.url, g.how, g.person, g.at, g.state, g.master, g.master_title, g.master_url,
		g.tracker, g.project, g.upstream,
		coalesce(f.id, 0), coalesce(f.state, ''), coalesce(f.bug_number, 0), coalesce(f.person, ''),
		coalesce(f.target, ''),
		coalesce(f.title, ''), coalesce(f.marker, ''), coalesce(f.problem, ''),
		coalesce(f.reason, ''), coalesce(f.attempts, 0),
		f.created, f.updated, f.not_before`
	// BucketJoins joins the tables that BucketColumns needs.
	BucketJoins = `
		cross join lateral (
			select count(*) as members, sum(m.reports)::bigint as reports,
				case when count(*) = 1 then max(m.systems)
				else (
					select count(distinct system) from bucket_systems
					where bucket_id in (select id from buckets where head = b.id)
				) end as systems,
				(array_agg(m.first_version order by m.first_version)
					filter (where m.first_version is not null))[1] as first_version,
				(array_agg(m.last_version order by m.last_version desc)
					filter (where m.last_version is not null))[1] as last_version,
				(array_agg(m.first_release order by m.first_release)
					filter (where m.first_release is not null))[1] as first_release,
				(array_agg(m.last_release order by m.last_release desc)
					filter (where m.last_release is not null))[1] as last_release
			from buckets as m where m.head = b.id
		) as w
		left join lateral (
			select (r.first_seen).seen, (r.first_seen).version, r.release
			from buckets as m join bucket_releases as r on r.bucket_id = m.id where m.head = b.id
			order by r.first_seen, r.release limit 1
		) as o on true
		left join lateral (
			select (r.last_seen).seen, (r.last_seen).version, r.release
			from buckets as m join bucket_releases as r on r.bucket_id = m.id where m.head = b.id
			order by r.last_seen desc, r.release desc limit 1
		) as n on true
		left join lateral (
			select ` + BugColumns + ` from bucket_bugs as l ` + BugJoins + `
			where l.bucket_id in (select id from buckets where head = b.id) and not coalesce(pl.upstream, false)
			order by ` + BugOrder + ` limit 1
		) as g (number, title, url, how, person, at, state, master, master_title, master_url, tracker, project, upstream)
			on true
		left join lateral (
			select * from filings where bucket_id in (select id from buckets where head = b.id) and not upstream
			order by ` + FilingRank + `, bucket_id = b.id desc, updated desc, id desc limit 1
		) as f on true`

	// FilingRank is 0 for filings that say most about their problem; others follow.
	FilingRank = `case when state in ('filing', 'uncertain') then 0 when state = 'queued' then 1
			when state = 'filed' then 2 when unsettled then 3 else 4 end`

	// Members selects the ids of all buckets of the problem that the bucket @bucket belongs to.
	Members = `(select id from buckets where head = (select head from buckets where id = @bucket))`
)

const sqlBucket = `select ` + BucketColumns + ` from buckets as b ` + BucketJoins +
	` where b.id = (select head from buckets where id = @id)`

// Bucket returns the problem that a bucket belongs to: the bucket itself, or the one it was merged
// into. The result includes everything merged into it, its bug, and its filing without the text and
// tags to be sent. It returns NotFound if there is no such bucket.
func (s *Store) Bucket(ctx context.Context, id crash.BucketID) (crash.Bucket, error) {
	b, err := One(ctx, s.Pool, sqlBucket, pgx.NamedArgs{"id": id[:]}, ScanBucket)
	return b, WrapOr(err, crash.ErrUnknownBucket, "bucket %s", id)
}

// ScanBucket scans a row of BucketColumns.
func ScanBucket(row pgx.CollectableRow) (crash.Bucket, error) {
	var b crash.Bucket
	err := ScanBucketAnd(row, &b)
	return b, err
}

// ScanBucketAnd scans a row of BucketColumns into b, and the columns after them into more.
func ScanBucketAnd(row pgx.CollectableRow, b *crash.Bucket, more ...any) error {
	var bug BugScan
	columns := []any{
		&b.ID, &b.Signature, &b.Rule, &b.Provisional, &b.ProblemType, &b.Title, &b.Name, &b.Executable, &b.Package,
		&b.SourcePackage,
		&b.Members, &b.Reports, &b.Systems,
		OrZero(&b.FirstSeen), &b.FirstSeenVersion, &b.FirstSeenRelease, OrZero(&b.LastSeen), &b.LastSeenVersion,
		&b.LastSeenRelease,
		&b.LowestVersion, &b.HighestVersion, &b.HighestVersionRelease, &b.LowestRelease,
		&b.HighestRelease,
	}
	columns = append(columns, bug.Columns()...)
	columns = append(columns,
		&b.Filing.ID, &b.Filing.State, &b.Filing.Bug, &b.Filing.Person, &b.Filing.Target,
		&b.Filing.Title, &b.Filing.Marker, &b.Filing.Problem, &b.Filing.Reason, &b.Filing.Attempts,
		OrZero(&b.Filing.Created), OrZero(&b.Filing.Updated), OrZero(&b.Filing.NotBefore),
	)
	err := row.Scan(append(columns, more...)...)
	b.Bug = bug.Bug()
	if b.Filing.ID != 0 {
		b.Filing.Bucket = b.ID
	}
	return err
}

const sqlBucketVersions = `
	select version, release, sum(reports)::bigint from bucket_versions where bucket_id in ` + Members + `
	group by version, release`

// BucketVersions returns how many reports a bucket's problem has for each version and release. It
// sorts by version, newest first, see [crash.CompareVersions]; versions that are not comparable come last.
// Releases of the same version are sorted by age. The result is empty for an unknown bucket.
func (s *Store) BucketVersions(ctx context.Context, id crash.BucketID) ([]crash.VersionCount, error) {
	counts, err := List(ctx, s.Pool, sqlBucketVersions, pgx.NamedArgs{"bucket": id[:]},
		pgx.RowToStructByPos[crash.VersionCount])
	if err != nil {
		return nil, fmt.Errorf("versions of bucket %s: %w", id, Classify(err))
	}
	slices.SortFunc(counts, func(a, b crash.VersionCount) int {
		return cmp.Or(crash.CompareVersions(b.Release, b.Version, a.Release, a.Version), a.Release.Compare(b.Release))
	})
	return counts, nil
}

const sqlBucketDays = `
	select day, release, sum(reports)::bigint from bucket_days
	where bucket_id in ` + Members + ` and day between @since and @until
	group by day, release order by day`

// BucketDays returns how many reports a bucket's problem has for each UTC day and release, from
// since to until inclusive. It sorts by day, then by the age of the release. Days without reports
// are omitted.
func (s *Store) BucketDays(ctx context.Context, id crash.BucketID, since, until time.Time) ([]crash.DayCount, error) {
	counts, err := List(ctx, s.Pool, sqlBucketDays, pgx.NamedArgs{"bucket": id[:], "since": since, "until": until},
		pgx.RowToStructByPos[crash.DayCount])
	if err != nil {
		return nil, fmt.Errorf("days of bucket %s: %w", id, Classify(err))
	}
	slices.SortStableFunc(counts, func(a, b crash.DayCount) int {
		return cmp.Or(a.Day.Compare(b.Day), a.Release.Compare(b.Release))
	})
	return counts, nil
}

const sqlBucketArchitectures = `
	select architecture, sum(reports)::bigint, sum(proposed)::bigint from (
		select architecture, reports, proposed from bucket_days where bucket_id in ` + Members + `
		union all select architecture, reports, proposed from bucket_expired where bucket_id in ` + Members + `
	) as d
	group by architecture order by 2 desc, architecture limit 20`

// BucketArchitectures returns how many reports a bucket's problem has for each architecture, most
// frequent first. It also returns how many of them came from the proposed pocket. The caller must
// not modify the result, which is cached.
func (s *Store) BucketArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64,
	err error) {
	all, err := CachedCounts(ctx, s, id, func(ctx context.Context) (a architectures, err error) {
		a.counts, a.proposed, err = s.readArchitectures(ctx, id)
		return a, err
	})
	return all.counts, all.proposed, Classify(err)
}

// architectures holds the results of BucketArchitectures.
type architectures struct {
	counts   []crash.NameCount
	proposed int64
}

func (s *Store) readArchitectures(ctx context.Context, id crash.BucketID) (counts []crash.NameCount, proposed int64,
	err error) {
	var c crash.NameCount
	var n int64
	err = Each(ctx, s.Pool, sqlBucketArchitectures, pgx.NamedArgs{"bucket": id[:]}, []any{&c.Name, &c.Reports, &n},
		func() {
			counts = append(counts, c)
			proposed += n
		})
	return counts, proposed, Wrap(err, "architectures of bucket %s", id)
}

// The round that counts a report decides which bucket it belongs to, under the lock that decisions
// take too. If the report is counted before someone splits the problem, the split moves it.
// Otherwise the round puts it into the right bucket.
const (
	sqlAnySplit = `
		select exists (
			select from split_sources as s join decisions as d on d.id = s.decision_id where d.undone_at is null)`
	sqlSplitsOf = `
		select s.bucket_id, d.other_id, d.condition from split_sources as s join decisions as d on d.id = s.decision_id
		where d.undone_at is null and s.bucket_id = any(@buckets::bytea[]) order by d.id`
	sqlAskedReports = `
		select r.id, r.bucket_id, r.executable, r.package, r.version, r.release, r.architecture
		from ` + eachReport + `
		where r.bucket_id in (select bucket_id from split_sources)`
	sqlBody       = `select body from reports where received = @received and id = @id`
	sqlPutReports = `
		update reports as r set bucket_id = m.bucket_id
		from unnest(@ids::uuid[], @received::timestamptz[], @buckets::bytea[]) as m (id, received, bucket_id)
		where ` + AmongReports
)

// maxSplits limits how many splits in a row can move a report.
const maxSplits = 16

// splitRule is a split of a bucket that is not undone.
type splitRule struct {
	to        crash.BucketID
	condition crash.Condition
}

// askedReport is a report in a bucket with splits.
type askedReport struct {
	id      crash.OopsID
	bucket  crash.BucketID
	summary crash.Summary
	fields  crash.Fields // nil until they are read
}

func scanAsked(row pgx.CollectableRow) (r askedReport, err error) {
	err = row.Scan((*[16]byte)(&r.id), &r.bucket, &r.summary.Executable, &r.summary.Package, &r.summary.Version,
		&r.summary.Release, &r.summary.Architecture)
	return r, err
}

// placer applies splits to reports within one transaction.
type placer struct {
	tx    pgx.Tx
	rules map[crash.BucketID][]splitRule // cached, by bucket
}

func newPlacer(tx pgx.Tx) *placer {
	return &placer{tx: tx, rules: map[crash.BucketID][]splitRule{}}
}

// rulesOf returns the splits of a bucket, oldest first.
func (p *placer) rulesOf(ctx context.Context, bucket crash.BucketID) ([]splitRule, error) {
	if rules, ok := p.rules[bucket]; ok {
		return rules, nil
	}
	rules, err := List(ctx, p.tx, sqlSplitsOf, pgx.NamedArgs{"buckets": [][]byte{bucket[:]}},
		func(row pgx.CollectableRow) (r splitRule, err error) {
			var source crash.BucketID
			err = row.Scan(&source, &r.to, &r.condition)
			return r, err
		})
	p.rules[bucket] = rules
	return rules, err
}

// place returns the bucket that a report belongs to, starting from the given one.
func (p *placer) place(ctx context.Context, r *askedReport, bucket crash.BucketID) (crash.BucketID, error) {
	for range maxSplits {
		rules, err := p.rulesOf(ctx, bucket)
		if err != nil {
			return bucket, err
		}
		next := bucket
		for _, rule := range rules {
			holds, err := p.holds(ctx, r, rule.condition)
			if err != nil {
				return bucket, err
			}
			if holds {
				next = rule.to
				break
			}
		}
		if next == bucket {
			break
		}
		bucket = next
	}
	return bucket, nil
}

func (p *placer) holds(ctx context.Context, r *askedReport, c crash.Condition) (bool, error) {
	if c.NeedsFields() {
		if err := p.read(ctx, r); err != nil {
			return false, err
		}
	}
	return c.Holds(r.id, r.summary, func(function string) bool { return grouping.Calls(r.fields, function) }), nil
}

// read reads the fields of a report unless they have been read already. A report without a body has none, so it
// meets no condition about functions.
func (p *placer) read(ctx context.Context, r *askedReport) error {
	if r.fields != nil {
		return nil
	}
	var body []byte
	err := p.tx.QueryRow(ctx, sqlBody, ReportArgs(r.id)).Scan(&body)
	if r.fields = (crash.Fields{}); err == nil && body != nil {
		r.fields, err = Decompress(body)
	}
	return err
}

// placeReports applies the splits to the reports of a round, and returns the new buckets of those
// that it has moved. Without splits it reads only two small tables.
func (s *Store) placeReports(ctx context.Context, tx pgx.Tx, ids [][16]byte) (map[crash.OopsID]crash.BucketID, error) {
	var anySplit bool
	if err := tx.QueryRow(ctx, sqlAnySplit).Scan(&anySplit); err != nil || !anySplit {
		return nil, err
	}
	asked, err := List(ctx, tx, sqlAskedReports, ReportsArgs(ids), scanAsked)
	if err != nil {
		return nil, fmt.Errorf("reports to place: %w", err)
	}
	p := newPlacer(tx)
	placed := map[crash.OopsID]crash.BucketID{}
	var put reportRows
	for i := range asked {
		r := &asked[i]
		to, err := p.place(ctx, r, r.bucket)
		if err != nil {
			return nil, fmt.Errorf("place report %s: %w", r.id, err)
		}
		if to != r.bucket {
			placed[r.id] = to
			put.add(r.id, move{to: &to})
		}
	}
	if len(placed) == 0 {
		return nil, nil
	}
	_, err = Planned(ctx, tx, sqlPutReports, put.args())
	return placed, Wrap(err, "place reports")
}

const (
	qualityBatch = 250 // reports in one step of DecideQuality

	// sqlUndecided skips reports that another transaction is changing; a later step or run finds them.
	sqlUndecided = `
		select id, complete, body from reports where quality is null order by received desc, id desc limit @limit
		for update skip locked`
	sqlSaveQuality = `
		update reports as r set quality = m.quality
		from unnest(@ids::uuid[], @received::timestamptz[], @quality::smallint[]) as m (id, received, quality)
		where ` + AmongReports
)

// DecideQuality decides the quality of reports that versions before 0.2.0 have stored, the newest first. It
// pauses after each step for as long as the step took, so that storing reports has priority. It may be
// interrupted at any time.
func (s *Store) DecideQuality(ctx context.Context) error {
	return paced(ctx, func() (done bool, err error) {
		n, err := s.decideQuality(ctx)
		return n < qualityBatch, Wrap(err, "quality of reports")
	})
}

func (s *Store) decideQuality(ctx context.Context) (n int, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		var ids [][16]byte
		var quality []int16
		var id crash.OopsID
		var complete bool
		var body []byte
		if err := Each(ctx, tx, sqlUndecided, pgx.NamedArgs{"limit": qualityBatch}, []any{(*[16]byte)(&id), &complete, &body},
			func() {
				fields, err := Decompress(body)
				if err != nil { // nobody can read a damaged report
					fields, complete = nil, false
				}
				ids = append(ids, id)
				quality = append(quality, int16(grouping.Quality(fields, complete))) //nolint:gosec // at most 100
			}); err != nil || len(ids) == 0 {
			return err
		}
		n = len(ids)
		args := ReportsArgs(ids)
		args["quality"] = quality
		_, err := Planned(ctx, tx, sqlSaveQuality, args)
		return err
	})
	return n, err
}

// ReportColumns are the columns that ScanReport reads.
const ReportColumns = `
	id, problem_type, title, executable, package, version, source_package, release, architecture, package_architecture,
	address_signature, proposed, complete, system, occurred, bucket_id, unbucketed, coalesce(quality < 0, false)`

// ScanReport scans a row of ReportColumns.
func ScanReport(row pgx.CollectableRow) (r crash.ReportRow, err error) {
	err = scanReportAnd(row, &r)
	return r, err
}

// ScanReportBody reads ReportColumns and the body that follows them.
func ScanReportBody(row pgx.CollectableRow) (r crash.ReportRow, body []byte, err error) {
	err = scanReportAnd(row, &r, &body)
	return r, body, err
}

// scanReportAnd scans a row of ReportColumns into r, and the columns after them into more.
func scanReportAnd(row pgx.CollectableRow, r *crash.ReportRow, more ...any) error {
	return row.Scan(append([]any{
		(*[16]byte)(&r.ID), &r.ProblemType, &r.Title, &r.Executable, &r.Package, &r.Version, &r.SourcePackage, &r.Release,
		&r.Architecture, &r.PackageArchitecture, &r.AddressSignature, &r.Proposed, &r.Complete, &r.System,
		OrZero(&r.Occurred), &r.Bucket, &r.Unbucketed, &r.TypedOnly,
	}, more...)...)
}

const sqlReport = `select ` + ReportColumns + `, rule, rules, body from reports where received = @received and id = @id`

// Report returns a report with all its fields that are stored. It returns NotFound if there is none with this id.
func (s *Store) Report(ctx context.Context, id crash.OopsID) (crash.StoredReport, error) {
	r, err := s.readReport(ctx, id)
	return r, WrapOr(err, crash.ErrUnknownReport, "report %s", id)
}

// sqlBestReport takes the newest report of a bucket if none of them says anything, one with a body if possible.
const sqlBestReport = `
	select r.id from (select id from buckets where id in ` + Members + `) as m (source) cross join lateral (
		(select received, id, quality from reports
			where bucket_id = m.source and quality > 0 and received >= @here
			order by quality desc, received desc, id desc limit 1)
		union all
		(select received, id, 0 from reports where bucket_id = m.source and body is not null and received >= @here
			order by received desc, id desc limit 1)
		union all
		(select received, id, -1 from reports where bucket_id = m.source and received >= @here
			order by received desc, id desc limit 1)
		order by quality desc limit 1
	) as r
	order by r.quality desc, r.received desc, r.id desc limit 1`

// RepresentativeReport returns the report that a problem's page shows: of all stored reports the newest one of
// the highest quality ([grouping.Quality]). It looks in archives only if there is none here. It returns NotFound if no
// report of the problem is stored.
func (s *Store) RepresentativeReport(ctx context.Context, id crash.BucketID) (best crash.StoredReport, err error) {
	for range 3 { // retention may remove the report before it is read
		found, err := Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) ([]crash.OopsID, bool, error) {
			found, err := List(ctx, s.Pool, sqlBestReport, pgx.NamedArgs{"bucket": id[:], "here": since}, ScanReportID)
			return found, len(found) > 0, err
		})
		if err != nil {
			return best, fmt.Errorf("representative report of bucket %s: %w", id, err)
		}
		if len(found) == 0 {
			break
		}
		if best, err = s.Report(ctx, found[0]); !errors.Is(err, crash.NotFound) {
			return best, err
		}
	}
	return best, crash.ErrUnknownReport
}

func (s *Store) readReport(ctx context.Context, id crash.OopsID) (crash.StoredReport, error) {
	var body []byte
	r, err := AtReport(ctx, s.Handle, id, func(ctx context.Context) (crash.StoredReport, error) {
		return One(ctx, s.Pool, sqlReport, ReportArgs(id), func(row pgx.CollectableRow) (r crash.StoredReport, err error) {
			err = scanReportAnd(row, &r.ReportRow, &r.Rule, &r.Rules, &body)
			return r, err
		})
	})
	if err != nil {
		return crash.StoredReport{}, err
	}
	if body == nil {
		r.Fields, r.TypedOnly = r.TypedFields(), true
		return r, nil
	}
	if err := s.reading.reserve(ctx, body); err != nil {
		return crash.StoredReport{}, err
	}
	r.Fields, err = Decompress(body)
	return r, err
}

const sqlReportSystem = `select system from reports where received = @received and id = @id`

// ReportSystem returns the machine that sent a report. It returns NotFound if there is no report
// with this id.
func (s *Store) ReportSystem(ctx context.Context, id crash.OopsID) (crash.SystemID, error) {
	system, err := AtReport(ctx, s.Handle, id, func(ctx context.Context) (crash.SystemID, error) {
		return One(ctx, s.Pool, sqlReportSystem, ReportArgs(id), pgx.RowTo[crash.SystemID])
	})
	return system, WrapOr(err, crash.ErrUnknownReport, "system of report %s", id)
}

// ReportArgs returns the arguments that find a report. The id contains the time of arrival, which
// selects the partition.
func ReportArgs(id crash.OopsID) pgx.NamedArgs {
	return pgx.NamedArgs{"id": [16]byte(id), "received": id.Received()}
}

// ReportsArgs returns the arguments that find several reports (see [AmongReports]).
func ReportsArgs[ID ~[16]byte](reports []ID) pgx.NamedArgs {
	ids, received := make([][16]byte, len(reports)), make([]time.Time, len(reports))
	var first, last time.Time
	for i, id := range reports {
		ids[i], received[i] = id, crash.OopsID(id).Received()
		if i == 0 || received[i].Before(first) {
			first = received[i]
		}
		if received[i].After(last) {
			last = received[i]
		}
	}
	return pgx.NamedArgs{"ids": ids, "received": received, "first": first, "last": last}
}

// These fragments of SQL find the reports r of ReportsArgs. The range of time leaves out the partitions that have
// none of them. Without it, PostgreSQL would connect to all archives.
const (
	// AmongReports is the condition of a join with m, which has the ids and times of the reports. With the arrays an
	// archive sends only these reports, and all at once.
	AmongReports = `r.received = m.received and r.id = m.id and r.received between @first and @last
			and r.received = any(@received::timestamptz[]) and r.id = any(@ids::uuid[])`
	// eachReport looks up each report by index, also in a round, which plans statements only once.
	eachReport = `unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received) cross join lateral (
			select * from reports as f
			where f.received = m.received and f.id = m.id and f.received between @first and @last offset 0
		) as r`
)

const (
	sqlPlanAnew = `
		select current_setting('plan_cache_mode'), set_config('plan_cache_mode', 'force_custom_plan', true)`
	sqlPlanAsBefore = `select set_config('plan_cache_mode', @mode, true)`
)

// Planned executes a statement that changes reports, and returns how many. PostgreSQL plans it for its arguments: a
// plan for any arguments would connect to all archives.
func Planned(ctx context.Context, tx pgx.Tx, sql string, args pgx.NamedArgs) (changed int64, err error) {
	var mode, anew string
	if err := tx.QueryRow(ctx, sqlPlanAnew).Scan(&mode, &anew); err != nil {
		return 0, Classify(err)
	}
	tag, err := tx.Exec(ctx, sql, args)
	if err != nil {
		return 0, Classify(err)
	}
	return tag.RowsAffected(), Exec(ctx, tx, pgx.NamedArgs{"mode": mode}, sqlPlanAsBefore)
}

// EndOfTime is later than every stored time.
var EndOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// NewestFirst returns the arguments for a list of reports older than after, or of all reports if
// after is zero.
func NewestFirst(after crash.OopsID, limit int) pgx.NamedArgs {
	args := ReportArgs(after)
	if after.IsZero() {
		args["received"] = EndOfTime
	}
	args["limit"] = limit
	return args
}

// ReadBody calls read with the fields of a stored report's body. It reserves memory for a large
// body until read returns. It returns Unavailable if it cannot get the memory in time.
func (s *Store) ReadBody(ctx context.Context, body []byte, read func(crash.Fields)) error {
	release, err := s.reading.borrow(ctx, body)
	if err != nil {
		return err
	}
	defer release()
	fields, err := Decompress(body)
	if err == nil {
		read(fields)
	}
	return err
}

const (
	bodyFormat = 1
	maxBody    = 1 << 30 // decompressed size in bytes, far above that of any accepted report
)

// Compress returns the fields of a report as a body for the column reports.body. A body consists of
// one byte for the format, and the names and values with their lengths, compressed with S2. S2
// compresses a typical report to slightly more than a third. zstd compresses it to a quarter, but
// takes three times as long, which costs more than writing the difference to disk.
func Compress(f crash.Fields) []byte {
	size := 0
	for name, value := range f {
		size += len(name) + len(value) + 2*binary.MaxVarintLen32
	}
	plain := make([]byte, 0, size)
	for name, value := range f {
		plain = appendText(appendText(plain, name), value)
	}
	return slices.Concat([]byte{bodyFormat}, s2.Encode(nil, plain))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errBody = errors.New("decompress report: the body is damaged")

// Decompress returns the fields of a body. Pages use [Store.ReadBody].
func Decompress(body []byte) (crash.Fields, error) {
	if len(body) == 0 || body[0] != bodyFormat {
		return nil, errors.New("decompress report: unknown format")
	}
	if n, err := s2.DecodedLen(body[1:]); err != nil || n > maxBody {
		return nil, errBody
	}
	plain, err := s2.Decode(nil, body[1:])
	if err != nil {
		return nil, fmt.Errorf("decompress report: %w", err)
	}
	f := crash.Fields{}
	for len(plain) > 0 {
		var name, value string
		var ok bool
		if name, plain, ok = cutText(plain); !ok {
			return nil, errBody
		}
		if value, plain, ok = cutText(plain); !ok {
			return nil, errBody
		}
		f[name] = value
	}
	return f, nil
}

func cutText(b []byte) (s string, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) { //nolint:gosec // n is at most len(b)
		return "", nil, false
	}
	end := n + int(length) //nolint:gosec // no more than len(b)
	return string(b[n:end]), b[end:], true
}

// readBudget limits the memory of large reports that are read at the same time, for pages and
// downloads. It ignores reports of at most 1 MiB, which nearly all are.
type readBudget struct {
	bytes *semaphore.Weighted
	wait  time.Duration // maximum time for which a reader waits
}

const (
	readTotal  = 192 << 20
	readFactor = 3       // memory needed per byte of a report: stored, as fields, and as output
	smallRead  = 1 << 20 // maximum size in bytes of a report that is ignored
	readWait   = 10 * time.Second
)

var errReading = &crash.Error{Kind: crash.Unavailable, Code: "large_reports", RetryAfter: 10 * time.Second,
	Message: "Too many large reports are being read at the moment; please try again shortly."}

// newReadBudget returns a readBudget of 192 MiB.
func newReadBudget() *readBudget {
	return &readBudget{bytes: semaphore.NewWeighted(readTotal), wait: readWait}
}

// reserve reserves the memory that a stored report needs until ctx is done. The context of a
// request is done once the request is answered. It returns Unavailable if the memory is not free
// within 10 seconds.
func (b *readBudget) reserve(ctx context.Context, body []byte) error {
	release, err := b.borrow(ctx, body)
	switch {
	case err != nil:
	case ctx.Done() == nil: // never ends
		release()
	default:
		context.AfterFunc(ctx, release)
	}
	return err
}

// borrow reserves the memory that a stored report needs until the caller calls release. It returns
// Unavailable if the memory is not free within 10 seconds.
func (b *readBudget) borrow(ctx context.Context, body []byte) (release func(), err error) {
	if len(body) == 0 {
		return func() {}, nil
	}
	size, err := s2.DecodedLen(body[1:])
	if err != nil || size <= smallRead {
		return func() {}, nil // small, or damaged, which Decompress will report
	}
	need := min(readFactor*int64(size), readTotal)
	waiting, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	if b.bytes.Acquire(waiting, need) != nil {
		return nil, errReading
	}
	return func() { b.bytes.Release(need) }, nil
}
