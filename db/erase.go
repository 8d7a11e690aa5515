package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// Erasing a machine removes its reports in chunks, each in one transaction with everything that was
// counted from them. So an erasure can be interrupted at any time, and the counts are always exact.
//
// The digests of the keys of erased reports stay, so that such a report is refused when it is sent
// again. Two transactions must not overlap: one that erases reports, and one that stores them after it
// has looked for their digests. So the latter shares eraseLock, and the former holds it alone while it
// writes the digests. The same lock protects problems that an erasure deletes.

// eraseLock is an advisory lock, see above. The number is arbitrary.
const eraseLock = int64(0x6d69734572617365) // "misErase"

const (
	sqlShareErasing = `select pg_advisory_xact_lock_shared(@lock)`
	sqlLockErasing  = `select pg_advisory_xact_lock(@lock)`

	// sqlReportsToErase leaves out reports that are not counted yet; they follow once they are.
	sqlReportsToErase = `
		select id, occurred, case when occurred is null then coalesce(body, '') end from reports
		where system_key = @system_key and system = @system and received <= @until
			and id not in (select unnest(reports) from uncounted)
		order by received, id limit @limit`
	sqlReportsLeft = `
		select exists (select from reports where system_key = @system_key and system = @system and received <= @until)`
	sqlEraseReports = `
		delete from reports as r using unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
		where ` + AmongReports
	sqlEraseRequests = `delete from core_requests where report_id = any(@ids::uuid[])`
	sqlEraseJobs     = `delete from symbol_jobs where report_id = any(@ids::uuid[])`
	sqlErasedCores   = `
		select count(*) from symbol_jobs where report_id = any(@ids::uuid[]) and core_bytes > 0 and core_removed is null`

	// sqlEraseKeys finds the keys of reports with a date by the time at which the keys begin. It gets those
	// of other reports.
	sqlEraseKeys = `
		with named as (
			delete from report_keys where key = any(@keys::bytea[]) and report_id = any(@ids::uuid[])
		), erased as (
			delete from report_keys as k
			using unnest(@ids::uuid[], @from::bytea[], @until::bytea[]) as m (id, low, high)
			where k.key >= m.low and k.key < m.high and k.report_id = m.id returning key
		), known as (
			select key from erased union select unnest(@keys::bytea[])
		)
		insert into erased_reports (digest, erasure)
		select sha256((select key from erasure_key) || key), @erasure from known order by 1
		on conflict do nothing`

	sqlTakePackages = `
		update report_days as d set reports = d.reports - c.n
		from unnest(@package::text[], @day::date[], @release::text[], @version::text[], @architecture::text[],
				@problem_type::text[], @proposed::boolean[], @n::bigint[])
			as c (package, day, release, version, architecture, problem_type, proposed, n)
		where d.package = c.package and d.day = c.day and d.release = c.release and d.version = c.version
			and d.architecture = c.architecture and d.problem_type = c.problem_type and d.proposed = c.proposed`
	sqlDropPackages = `
		delete from report_days as d using unnest(@package::text[], @day::date[]) as c (package, day)
		where d.package = c.package and d.day = c.day and d.reports <= 0`
	sqlTakeReleases = `
		update release_days as d set reports = d.reports - c.n
		from unnest(@day::date[], @release::text[], @architecture::text[], @problem_type::text[], @proposed::boolean[],
			@n::bigint[]) as c (day, release, architecture, problem_type, proposed, n)
		where d.day = c.day and d.release = c.release and d.architecture = c.architecture
			and d.problem_type = c.problem_type and d.proposed = c.proposed`
	sqlDropReleases = `delete from release_days where day = any(@day::date[]) and reports <= 0`
	sqlTakeHours    = `
		update report_hours as d set reports = d.reports - c.n
		from unnest(@package::text[], @release::text[], @hour::timestamptz[], @version::text[], @n::bigint[])
			as c (package, release, hour, version, n)
		where d.package = c.package and d.release = c.release and d.hour = c.hour and d.version = c.version`
	sqlDropHours = `
		delete from report_hours as d using unnest(@package::text[], @release::text[], @hour::timestamptz[])
			as c (package, release, hour)
		where d.package = c.package and d.release = c.release and d.hour = c.hour and d.reports <= 0`
	sqlTakeReleaseHours = `
		update release_hours as d set reports = d.reports - c.n
		from unnest(@release::text[], @hour::timestamptz[], @n::bigint[]) as c (release, hour, n)
		where d.release = c.release and d.hour = c.hour`
	sqlDropReleaseHours = `
		delete from release_hours as d using unnest(@release::text[], @hour::timestamptz[]) as c (release, hour)
		where d.release = c.release and d.hour = c.hour and d.reports <= 0`
	// notExpired excludes versions of which earlier counts may have expired.
	notExpired = ` and v.first_day >= coalesce((select before from expired_counts), '-infinity')`
	// sqlForgetVersions and sqlVersionsSince update the versions in use. The day of arrival can be exact
	// only to the day.
	sqlForgetVersions = `
		delete from package_versions as v
		using unnest(@package::text[], @release::text[], @version::text[]) as k (package, release, version)
		where v.package = k.package and v.release = k.release and v.version = k.version and not exists (
			select from report_days as d where d.package = k.package and d.release = k.release and d.version = k.version)` +
		notExpired
	sqlVersionsSince = `
		update package_versions as v
		set first_day = d.day, arrived = greatest(v.arrived, d.day::timestamp at time zone 'UTC')
		from (
			select k.package, k.release, k.version, min(d.day) as day
			from (
				select distinct * from unnest(@package::text[], @release::text[], @version::text[]) as k (package, release, version)
			) as k join report_days as d on d.package = k.package and d.release = k.release and d.version = k.version
			group by k.package, k.release, k.version
		) as d
		where v.package = d.package and v.release = d.release and v.version = d.version and v.first_day < d.day` + notExpired
	sqlNoteVersions   = `update counting set versions_changed = round`
	sqlForgetReleases = `
		delete from releases as r where release = any(@release::text[])
			and not exists (select from release_days as d where d.release = r.release)
			and not exists (select from package_versions as v where v.release = r.release)
			and not exists (select from bucket_releases as b where b.release = r.release)`
	sqlForgetActive = `delete from release_active where release = any(@release::text[]) and change = 0`

	sqlDaysOfMachine = `
		select distinct release, day from reports
		where system_key = @system_key and counted and release = any(@release::text[])
			and id not in (select unnest(reports) from uncounted)
		order by release, day`

	// sqlDescribeAgain describes buckets by one of their newest remaining reports. If none is left,
	// they have no title.
	sqlDescribeAgain = `
		update buckets as b set
			problem_type = coalesce(n.problem_type, b.problem_type), title = coalesce(n.title, ''),
			executable = coalesce(n.executable, ''), package = coalesce(n.package, b.package),
			source_package = coalesce(n.source_package, b.source_package), changed = @round
		from unnest(@buckets::bytea[]) as k (id) left join lateral (
			select * from (
				select id, problem_type, title, executable, package, source_package, counted
				from reports as r where r.bucket_id = k.id order by r.received desc, r.id desc limit 20
			) as newest order by counted desc, title = '', id desc limit 1
		) as n on true
		where b.id = k.id`
	sqlArrivedLater = `
		update bucket_arrivals as a set at = n.at
		from unnest(@ids::bytea[], @at::timestamptz[]) as k (id, at) cross join lateral (
			select received from reports as r where r.bucket_id = k.id and r.counted order by received limit 1
		) as n (at)
		where a.bucket_id = k.id and a.at = k.at`

	sqlErasureForUpdate = `select receipt from erasures where id = @erasure and finished is null for update`
	sqlErasureProgress  = `
		update erasures set receipt = @receipt,
			touched = array(select distinct unnest(touched || @buckets::bytea[]))
		where id = @erasure`
)

var errErased = crash.Errorf(crash.Invalid, "erased", "This report was erased, or its machine is blocked; it is not "+
	"accepted again.")

// ErrErasureEnded is returned if another instance has finished an erasure.
var ErrErasureEnded = crash.Errorf(crash.Conflict, "erasure_ended", "The erasure has ended already.")

// EraseReports erases up to limit reports of an erasure, the oldest first. It returns how many it has
// erased, and whether others are left that it must erase: those that are not counted yet come later.
// It returns ErrErasureEnded if the erasure is finished.
func (s *Decisions) EraseReports(ctx context.Context, e crash.Erasure, limit int) (erased int, left bool, err error) {
	args := pgx.NamedArgs{"system": string(e.System), "system_key": SystemKey(e.System), "until": e.Until, "limit": limit}
	if err := s.ReachArchives(ctx); err != nil {
		return 0, false, err
	}
	err = s.decide(ctx, func(d *deciding) error {
		counts, err := d.erasureForUpdate(ctx, e.ID)
		if err != nil {
			return err
		}
		chunk, err := d.reportsToErase(ctx, args, e.System)
		if err != nil || len(chunk.ids) == 0 {
			return errors.Join(err, errNothing)
		}
		erased = len(chunk.ids)
		return d.eraseChunk(ctx, e, chunk, &counts)
	})
	if errors.Is(err, errNothing) {
		erased, err = 0, nil
	}
	if err == nil {
		err = Classify(s.Pool.QueryRow(ctx, sqlReportsLeft, args).Scan(&left))
	}
	return erased, left, Wrap(err, "erase reports")
}

func (d *deciding) erasureForUpdate(ctx context.Context, id int64) (counts crash.ErasedCounts, err error) {
	err = d.QueryRow(ctx, sqlErasureForUpdate, pgx.NamedArgs{"erasure": id}).Scan(&counts)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrErasureEnded
	}
	return counts, err
}

// erasedChunk holds the reports of one chunk, and their keys.
type erasedChunk struct {
	ids       []crash.OopsID
	low, high [][]byte // range of the keys; empty for reports without a date
	keys      [][]byte // of reports without a date
}

func (d *deciding) reportsToErase(ctx context.Context, args pgx.NamedArgs, system crash.SystemID) (c erasedChunk,
	err error) {
	var id [16]byte
	var occurred time.Time
	var bodies [][]byte
	var body []byte
	err = Each(ctx, d, sqlReportsToErase, args, []any{&id, OrZero(&occurred), &body}, func() {
		c.ids = append(c.ids, id)
		low, high := []byte{}, []byte{}
		if !occurred.IsZero() || body != nil && len(body) == 0 { // the keys of reports without a date are those of 1970
			low, high = crash.KeysAt(occurred)
		}
		c.low, c.high = append(c.low, low), append(c.high, high)
		if len(body) > 0 {
			bodies, body = append(bodies, body), nil
		}
	})
	if err != nil {
		return c, err
	}
	for _, body := range bodies {
		if err := d.store.ReadBody(ctx, body, func(f crash.Fields) {
			key := crash.DuplicateKey(system, f)
			c.keys = append(c.keys, key[:])
		}); err != nil {
			return c, err
		}
	}
	return c, nil
}

// eraseChunk erases the reports of a chunk, with what was counted from them.
func (d *deciding) eraseChunk(ctx context.Context, e crash.Erasure, c erasedChunk, counts *crash.ErasedCounts) error {
	reports, err := d.reportsToMove(ctx, c.ids)
	if err != nil {
		return fmt.Errorf("reports to erase: %w", err)
	}
	args := ReportsArgs(c.ids)
	args["erasure"], args["from"], args["until"], args["keys"] = e.ID, c.low, c.high, c.keys
	var cores int64
	if err := d.QueryRow(ctx, sqlErasedCores, args).Scan(&cores); err != nil {
		return err
	}
	counts.Cores += cores
	for sql, count := range map[string]*int64{sqlEraseReports: &counts.Reports, sqlEraseRequests: &counts.Requests,
		sqlEraseJobs: &counts.Jobs} {
		erased, err := Planned(ctx, d, sql, args)
		if err != nil {
			return err
		}
		*count += erased
	}
	touched, err := d.uncount(ctx, *SystemKey(e.System), reports)
	if err != nil {
		return err
	}
	if _, err := d.Exec(ctx, sqlErasureProgress, pgx.NamedArgs{"erasure": e.ID, "receipt": *counts,
		"buckets": touched}); err != nil {
		return err
	}
	if _, err := d.Exec(ctx, sqlLockErasing, pgx.NamedArgs{"lock": eraseLock}); err != nil {
		return err
	}
	return Exec(ctx, d, args, sqlEraseKeys)
}

// uncount corrects all counts for reports of one machine that were deleted. It returns the buckets of
// these reports.
func (d *deciding) uncount(ctx context.Context, system int64, reports []storedReport) ([]crash.BucketID, error) {
	change := newCountChange()
	totals := newTotals(time.Time{})
	arrivals := map[crash.BucketID]time.Time{}
	for i := range reports {
		r := &reports[i]
		change.move(r, nil)
		if r.bucket != nil {
			if first, ok := arrivals[*r.bucket]; !ok || r.received.Before(first) {
				arrivals[*r.bucket] = r.received
			}
		}
		if r.counted {
			totals.add(r)
		}
	}
	if err := d.apply(ctx, change); err != nil {
		return nil, err
	}
	if err := d.applyTotals(ctx, totals); err != nil {
		return nil, fmt.Errorf("totals: %w", err)
	}
	named := column(keysOf(totals.releases), func(k releaseDay) string { return k.release })
	if err := d.shortenSpans(ctx, system, named); err != nil {
		return nil, fmt.Errorf("active machines: %w", err)
	}
	touched := slices.SortedFunc(slices.Values(keysOf(arrivals)), compareIDs)
	args := pgx.NamedArgs{"buckets": touched, "ids": touched, "round": d.round,
		"at": column(touched, func(id crash.BucketID) time.Time { return arrivals[id] })}
	if err := Exec(ctx, d, args, sqlDescribeAgain, sqlArrivedLater); err != nil {
		return nil, fmt.Errorf("describe problems again: %w", err)
	}
	return touched, nil
}

// applyTotals subtracts reports from the counts of packages and releases.
func (d *deciding) applyTotals(ctx context.Context, t totals) error {
	packages, releases := t.args()
	if err := Exec(ctx, d, packages, sqlTakePackages, sqlDropPackages); err != nil {
		return err
	}
	hours, releaseHours := t.hourArgs()
	if err := Exec(ctx, d, hours, sqlTakeHours, sqlDropHours); err != nil {
		return err
	}
	if err := Exec(ctx, d, releaseHours, sqlTakeReleaseHours, sqlDropReleaseHours); err != nil {
		return err
	}
	var versions int64 // changed
	for _, sql := range []string{sqlForgetVersions, sqlVersionsSince} {
		tag, err := d.Exec(ctx, sql, packages)
		if err != nil {
			return err
		}
		versions += tag.RowsAffected()
	}
	if versions > 0 {
		if _, err := d.Exec(ctx, sqlNoteVersions); err != nil {
			return err
		}
	}
	return Exec(ctx, d, releases, sqlTakeReleases, sqlDropReleases, sqlForgetReleases)
}

// shortenSpans computes the days again on which a machine was active in some releases, from its
// stored reports.
func (d *deciding) shortenSpans(ctx context.Context, system int64, releases []string) error {
	slices.Sort(releases)
	releases = slices.Compact(releases)
	args := pgx.NamedArgs{"system_key": system, "release": releases}
	days := map[string][]time.Time{}
	var release string
	var day time.Time
	if err := Each(ctx, d, sqlDaysOfMachine, args, []any{&release, &day}, func() {
		days[release] = append(days[release], day.UTC())
	}); err != nil {
		return err
	}
	machines := column(releases, func(r string) machine { return machine{r, system} })
	stored, err := readSpans(ctx, d, machines)
	if err != nil {
		return err
	}
	changes := newSpanChanges()
	for _, m := range machines {
		changes.add(m, stored[m], mergeDays(nil, days[m.release]))
	}
	var write pgx.Batch
	changes.queue(&write)
	write.Queue(sqlForgetActive, args)
	return d.SendBatch(ctx, &write).Close()
}

const (
	// sqlSurplusOfMachine selects what counts know of a machine beyond its stored reports: reports that
	// retention has dropped.
	sqlSurplusOfMachine = `
		select b.bucket_id, b.release, b.version, b.reports - coalesce(r.n, 0)
		from bucket_systems as b left join (
			select bucket_id, release, version, count(*) as n from reports
			where system_key = @system_key and counted and id not in (select unnest(reports) from uncounted)
			group by bucket_id, release, version
		) as r on r.bucket_id = b.bucket_id and r.release = b.release and r.version = b.version
		where b.system = @system_key and b.reports > coalesce(r.n, 0)`
	sqlReleasesOfMachine = `select distinct release from release_systems where system = @system_key`

	// PeoplesWork selects the buckets that people or rules have worked on.
	PeoplesWork = `
		select bucket_id from bucket_bugs union select bucket_id from unlinked_bugs union select bucket_id from filings
		union select bucket_id from decisions union select other_id from decisions where other_id is not null
		union select bucket_id from split_sources union select bucket_id from notes union select bucket_id from assignments
		union select bucket_id from marks where kind <> 'hold'
		union select bucket_id from problem_tags union select bucket_id from candidates
		union select bucket_id from bug_comments`
	sqlEmptiedBuckets = `
		select b.id from erasures as e cross join unnest(e.touched) as t (id) join buckets as b on b.id = t.id
		where e.id = @erasure and b.reports = 0 and b.head = b.id and b.id not in (` + PeoplesWork + `)
			and not exists (select from reports as r where r.bucket_id = b.id offset 0)
			and not exists (select from buckets as m where m.head = b.id and m.id <> b.id)
		order by b.id`
	sqlForgetBuckets   = `delete from buckets where id = any(@ids::bytea[])`
	sqlForgetArrivals  = `delete from bucket_arrivals where bucket_id = any(@ids::bytea[])`
	sqlForgetNames     = `delete from known_names where bucket_id = any(@ids::bytea[]) or address_id = any(@ids::bytea[])`
	sqlForgetEdges     = `delete from rule_edges where bucket_id = any(@ids::bytea[])`
	sqlForgetMarks     = `delete from follow_marks where bucket_id = any(@ids::bytea[])`
	sqlForgetWanted    = `delete from wanted_cores where problem = any(@ids::bytea[])`
	sqlForgetMoves     = `update regroup_moves set signature = '' where to_id = any(@ids::bytea[])`
	sqlForgetDelivered = `
		update deliveries set payload = null
		where event_id in (select id from events where bucket_id = any(@ids::bytea[]))`
	sqlForgetEvents = `
		update events set title = 'Removed problem', text = @why, package = '',
			source_package = '', version = '' where bucket_id = any(@ids::bytea[])`
	sqlNextErasure  = `update counting set erasures = erasures + 1`
	sqlEraseInAudit = `select erase_from_audit_events(@machine, 'erased:' || encode(substr(digest, 1, 8), 'hex'))
		from erasures where id = @erasure`
	sqlEndErasure = `
		update erasures set finished = @at, system = '', touched = '{}', receipt = @receipt::jsonb || jsonb_build_object(
				'problems', cardinality(touched))
		where id = @erasure`
)

// FinishErasure removes what is left of a machine after its reports, and ends the erasure: what counts
// know of it, its id in texts, and the problems of which nothing is left. It returns false, and does
// nothing, if there are reports to erase. It returns ErrErasureEnded if the erasure is finished. Texts
// are statements that replace the text @machine by "erased-machine".
func (s *Decisions) FinishErasure(ctx context.Context, e crash.Erasure, texts []string) (done bool, err error) {
	if err := s.ReachArchives(ctx); err != nil {
		return false, err
	}
	err = s.decide(ctx, func(d *deciding) error {
		counts, err := d.erasureForUpdate(ctx, e.ID)
		if err != nil {
			return err
		}
		if _, err := d.Exec(ctx, NoTimeLimit); err != nil {
			return err
		}
		args := pgx.NamedArgs{"system": string(e.System), "machine": string(e.System), "system_key": SystemKey(e.System),
			"until": e.Until, "erasure": e.ID, "lock": eraseLock, "at": s.Now()}
		var left bool
		if err := d.QueryRow(ctx, sqlReportsLeft, args).Scan(&left); err != nil || left {
			return err
		}
		if counts.Anonymous, err = d.forgetMachine(ctx, *SystemKey(e.System)); err != nil {
			return err
		}
		for _, sql := range texts {
			tag, err := d.Exec(ctx, sql, args)
			if err != nil {
				return err
			}
			counts.Texts += tag.RowsAffected()
		}
		if err := d.QueryRow(ctx, sqlEraseInAudit, args).Scan(&counts.Audit); err != nil {
			return err
		}
		if counts.Gone, err = ForgetProblems(ctx, d, sqlEmptiedBuckets, args, "",
			"All reports of this problem were erased."); err != nil {
			return err
		}
		args["receipt"] = counts
		if _, err := d.Exec(ctx, sqlEndErasure, args); err != nil {
			return err
		}
		done = true
		return s.Audit(ctx, d, AuditEvent{Person: e.Person, Action: "machine.erased", Subject: e.Digest,
			Detail: map[string]any{"reports": counts.Reports, "cores": counts.Cores, "problems gone": counts.Gone}})
	})
	return done, Wrap(err, "finish erasure")
}

// forgetMachine removes a machine from counts, as far as they know more of it than its stored reports.
// It returns the number of reports that are counted without a machine from then on.
func (d *deciding) forgetMachine(ctx context.Context, system int64) (anonymous int64, err error) {
	args := pgx.NamedArgs{"system_key": system}
	change := newCountChange()
	var c cell
	var n int64
	if err := Each(ctx, d, sqlSurplusOfMachine, args, []any{&c.bucket, &c.release, &c.version, &n}, func() {
		change.buckets[c.bucket], change.versions[c], change.systems[systemCell{c, system}] = 0, 0, -n
		anonymous += n
	}); err != nil {
		return 0, err
	}
	if anonymous > 0 {
		if err := d.apply(ctx, change); err != nil {
			return 0, err
		}
	}
	releases, err := List(ctx, d, sqlReleasesOfMachine, args, pgx.RowTo[string])
	if err != nil {
		return 0, err
	}
	return anonymous, d.shortenSpans(ctx, system, releases)
}

// ForgetProblems deletes the problems that a statement selects. first is a statement that deletes their
// counts; empty: they have none. tx must hold the lock on counting. No report can be stored before its
// end. Afterwards no instance uses what it has cached. why is for people who have read of the problems
// before. ForgetProblems returns the number of problems.
func ForgetProblems(ctx context.Context, tx pgx.Tx, selected string, args pgx.NamedArgs, first, why string) (
	gone int64, err error) {
	if err := Exec(ctx, tx, pgx.NamedArgs{"lock": eraseLock}, sqlLockErasing, sqlNextErasure); err != nil {
		return 0, err
	}
	ids, err := List(ctx, tx, selected, args, pgx.RowTo[[]byte])
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if first != "" {
		if _, err := tx.Exec(ctx, first, pgx.NamedArgs{"ids": ids}); err != nil {
			return 0, err
		}
	}
	if err := Exec(ctx, tx, pgx.NamedArgs{"ids": ids, "why": why}, sqlForgetArrivals, sqlForgetNames, sqlForgetEdges,
		sqlForgetMarks, sqlForgetWanted, sqlForgetMoves, sqlForgetDelivered, sqlForgetEvents, sqlForgetBuckets); err != nil {
		return 0, err
	}
	return int64(len(ids)), nil
}
