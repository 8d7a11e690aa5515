package problems

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db"
)

const (
	sqlGateDays = `
		select day, sum(reports)::bigint, coalesce(sum(reports) filter (where version = @new), 0)::bigint,
			coalesce(sum(reports) filter (where version = @old), 0)::bigint
		from report_days
		where package = @package and release = @release and day between @since and @until
			and problem_type <> all(@uncounted)
		group by day`
	// ownBuckets selects the buckets of the package.
	ownBuckets = `
		with own as materialized (
			select id, head from buckets where package = @package and problem_type <> all(@uncounted)
		)`
	sqlGateProblems = ownBuckets + `, counted as (
			select o.head,
				coalesce(sum(d.reports) filter (where d.day between @before_since and @before_until), 0)::bigint as before,
				coalesce(sum(d.reports) filter (where d.day between @after_since and @after_until), 0)::bigint as after,
				coalesce(sum(d.reports) filter (where d.day between @history_since and @history_until), 0)::bigint as history
			from own as o join bucket_days as d on d.bucket_id = o.id
			where d.release = @release and d.day between @since and @until and d.reports > 0
			group by o.head
		), seen as (
			select o.head, bool_or(v.version_key is null or v.version_key < @key) as lower
			from own as o join bucket_versions as v on v.bucket_id = o.id
			where v.release = @release and v.reports > 0
			group by o.head
		)
		select c.head, c.before, c.after, c.history, coalesce(s.lower, false),
			h.provisional or starts_with(h.signature, 'failed:')
		from counted as c join buckets as h on h.id = c.head left join seen as s on s.head = c.head`
	// sqlGateMachines counts the machines that reported a version in its window. A report counts at most
	// one day after it arrived, so earlier ones are not read.
	sqlGateMachines = ownBuckets + `
		select r.version, count(distinct r.system_key) from own as o cross join lateral (
			select version, system_key, day from reports
			where bucket_id = o.id and received >= @here and counted and release = @release offset 0
		) as r
		where (
			r.version = @new and r.day between @after_since and @after_until
			or r.version = @old and r.day between @before_since and @before_until)
		group by r.version`
	// sqlGateClusters reads the machines of the buckets with either version. A row without a bucket is
	// about all problems together. The lateral query makes PostgreSQL look up each bucket and version
	// by the primary key, which reads no other versions.
	sqlGateClusters = ownBuckets + `, cells as materialized (
			select o.head, v.version, s.system, s.reports
			from own as o join bucket_versions as v on v.bucket_id = o.id
			cross join lateral (
				select system, reports from bucket_systems
				where bucket_id = v.bucket_id and release = v.release and version = v.version offset 0
			) as s
			where v.release = @release and v.version in (@new, @old) and v.reports > 0 and s.reports > 0
		), machines as (
			select head, version, system, sum(reports)::bigint as n from cells
			group by grouping sets ((head, version, system), (version, system))
		)
		select head, version, count(*), sum(n)::bigint, sum(n * n)::bigint from machines group by head, version`
)

// maxKnownVersions is the number of versions that an answer without results names.
const maxKnownVersions = 10

// UpdateGate tells whether a version of a binary package made things worse. It returns NotFound if
// there is no report of the package. It considers only releases that lists name. now decides which
// days are over.
func (s *Store) UpdateGate(
	ctx context.Context, table *crash.ReleaseTable, q stats.GateQuestion, now time.Time,
) (stats.GateAnswer, error) {
	if err := q.Check(); err != nil {
		return stats.GateAnswer{}, err
	}
	known, err := s.VersionsInUse(ctx, q.Package)
	if err != nil {
		return stats.GateAnswer{}, err
	}
	if len(known) == 0 {
		return stats.GateAnswer{}, crash.Errorf(crash.NotFound, "unknown_package",
			"No report of a binary package %s names its version. Check the name: it is that of a binary package, not of a "+
				"source package.", q.Package)
	}
	list, err := s.Releases(ctx, table)
	if err != nil {
		return stats.GateAnswer{}, err
	}
	answer := stats.GateAnswer{GateQuestion: q}
	for _, release := range list.Descending() {
		if q.Release != "" && release != q.Release {
			continue
		}
		result, ok, err := s.gateIn(ctx, known, release, q, crash.Midnight(now))
		if err != nil {
			return stats.GateAnswer{}, fmt.Errorf("update gate for %s %s: %w", q.Package, q.Version, db.Classify(err))
		}
		if ok {
			answer.Results = append(answer.Results, result)
		}
	}
	answer.Verdict = stats.OverallVerdict(answer.Results)
	if len(answer.Results) == 0 {
		answer.Known = knownVersions(known, q.Release)
	}
	answer.Buckets, err = s.gateBuckets(ctx, answer.Results)
	return answer, err
}

// gateBuckets returns the buckets of the problems that an answer lists.
func (s *Store) gateBuckets(ctx context.Context, results []stats.GateResult) (map[crash.BucketID]crash.Bucket, error) {
	var cursors []crash.ProblemCursor
	for _, r := range results {
		for _, f := range slices.Concat(stats.ListedFindings(r.Appeared), stats.ListedFindings(r.Increases)) {
			cursors = append(cursors, crash.ProblemCursor{ID: f.ID})
		}
	}
	buckets := make(map[crash.BucketID]crash.Bucket, len(cursors))
	if len(cursors) == 0 {
		return buckets, nil
	}
	problems, err := s.ProblemsByID(ctx, cursors)
	for _, p := range problems {
		buckets[p.ID] = *p.Bucket
	}
	return buckets, err
}

// knownVersions returns the highest versions in use in a release, or in any.
func knownVersions(known []stats.VersionKnown, release crash.Release) []string {
	known = slices.SortedFunc(slices.Values(known), func(a, b stats.VersionKnown) int {
		return crash.CompareVersions(b.Release, b.Version, a.Release, a.Version)
	})
	var versions []string
	for _, k := range known {
		if (release == "" || k.Release == release) && !slices.Contains(versions, k.Version) {
			versions = append(versions, k.Version)
		}
	}
	return versions[:min(len(versions), maxKnownVersions)]
}

// gateKey is the key of a cached result.
type gateKey struct {
	stats.GateQuestion
	today time.Time
}

// gateIn returns the result for one release, or false if it lacks a version of the question. The
// caller must not modify it: it is cached.
func (s *Store) gateIn(
	ctx context.Context, known []stats.VersionKnown, release crash.Release, q stats.GateQuestion, today time.Time,
) (stats.GateResult, bool, error) {
	from, err := s.From(ctx)
	if err != nil {
		return stats.GateResult{}, false, err
	}
	known = slices.Clone(known)
	for i := range known { // the counts of earlier days have expired
		if known[i].Since.Before(from) {
			known[i].Since = from
		}
	}
	first := today
	for _, k := range known {
		if k.Release == release && k.Since.Before(first) {
			first = crash.Midnight(k.Since)
		}
	}
	active, err := s.ActiveMachines(ctx, []crash.Release{release}, first, today)
	if err != nil {
		return stats.GateResult{}, false, err
	}
	machines := func(day time.Time) int64 { return active[release][int(day.Sub(first)/(24*time.Hour))] }
	plan, ok := stats.NewGatePlan(known, release, q.Version, q.Against, today, machines)
	if !ok {
		return stats.GateResult{}, false, nil
	}
	q.Release = release
	result, err := db.CachedCounts(ctx, s.Store, gateKey{q, today}, func(ctx context.Context) (stats.GateResult, error) {
		return s.assess(ctx, q.Package, plan, today, machines)
	})
	return result, err == nil, err
}

func (s *Store) assess(
	ctx context.Context, pkg string, plan stats.GatePlan, today time.Time, machines func(time.Time) int64,
) (stats.GateResult, error) {
	since := plan.After.Since
	for _, w := range []stats.Window{plan.Before, plan.History} {
		if w.Days() > 0 && w.Since.Before(since) {
			since = w.Since
		}
	}
	args := pgx.NamedArgs{
		"package": pkg, "release": plan.Release, "new": plan.Version, "old": plan.Against, "since": since, "until": today,
		"uncounted": stats.GateUncounted(), "key": plan.Release.VersionOrder().Key(plan.Version),
		"before_since": plan.Before.Since, "before_until": plan.Before.Until, "after_since": plan.After.Since,
		"after_until": plan.After.Until, "history_since": plan.History.Since, "history_until": plan.History.Until,
	}
	in := stats.GateInput{GatePlan: plan}
	for day := since; !day.After(today); day = day.AddDate(0, 0, 1) {
		in.Days = append(in.Days, stats.GateDay{Day: day, Machines: machines(day)})
	}
	if err := s.gateDays(ctx, args, in.Days); err != nil {
		return stats.GateResult{}, fmt.Errorf("days of the package: %w", err)
	}
	if err := s.gateMachines(ctx, args, &in); err != nil {
		return stats.GateResult{}, fmt.Errorf("machines of the versions: %w", err)
	}
	if err := s.gateProblems(ctx, args, &in); err != nil {
		return stats.GateResult{}, fmt.Errorf("problems of the package: %w", err)
	}
	return stats.AssessGate(in), nil
}

func (s *Store) gateDays(ctx context.Context, args pgx.NamedArgs, days []stats.GateDay) error {
	var d stats.GateDay
	return db.Each(ctx, s.Pool, sqlGateDays, args, []any{&d.Day, &d.Reports, &d.New, &d.Old}, func() {
		to := &days[int(d.Day.Sub(days[0].Day)/(24*time.Hour))]
		to.Reports, to.New, to.Old = d.Reports, d.New, d.Old
	})
}

func (s *Store) gateMachines(ctx context.Context, args pgx.NamedArgs, in *stats.GateInput) error {
	since, _ := args["since"].(time.Time)
	counts, err := db.Since(ctx, s.Handle, since.AddDate(0, 0, -1), func(ctx context.Context, since time.Time) (
		[]crash.NameCount, error) {
		args["here"] = since
		return db.List(ctx, s.Pool, sqlGateMachines, args, pgx.RowToStructByPos[crash.NameCount])
	})
	for _, c := range counts {
		if c.Name == in.Version {
			in.NewMachines = c.Reports
		} else {
			in.OldMachines = c.Reports
		}
	}
	return err
}

func (s *Store) gateProblems(ctx context.Context, args pgx.NamedArgs, in *stats.GateInput) error {
	var err error
	in.Problems, err = db.List(ctx, s.Pool, sqlGateProblems, args,
		db.Into(func(p *stats.GateProblem) []any {
			return []any{&p.ID, &p.Before, &p.After, &p.History, &p.Lower, &p.Nameless}
		}))
	if err != nil {
		return err
	}
	problems := make(map[crash.BucketID]*stats.GateProblem, len(in.Problems))
	for i := range in.Problems {
		problems[in.Problems[i].ID] = &in.Problems[i]
	}
	var head []byte
	var version string
	var c stats.Clusters
	into := []any{&head, &version, &c.Machines, &c.Reports, &c.Squares}
	return db.Each(ctx, s.Pool, sqlGateClusters, args, into, func() {
		switch {
		case head == nil && version == in.Version:
			in.New = c
		case head == nil:
			in.Old = c
		case problems[crash.BucketID(head)] != nil:
			p := problems[crash.BucketID(head)]
			p.Clusters = p.Clusters.Plus(c)
			if version == in.Version {
				p.Machines = c.Machines
			}
		}
	})
}

// activeMachines selects, for a union, the changes in the number of active machines by release and
// day.
const activeMachines = `
	select release, day, 0::bigint as reports, 0::bigint as apart, change::bigint from release_active`

// perMachine ends a statement that starts with a union u of counts and changes. It returns rows of
// release, day, reports, reports of one problem type, and active machines on the day. It reads u
// once, however many days there are.
const perMachine = `
	select release, day, reports, apart, machines from (
		select release, day, sum(reports)::bigint as reports, sum(apart)::bigint as apart,
			sum(sum(change)) over (partition by release order by day)::bigint as machines
		from u group by release, day
	) as days
	where day between @since and @until and reports > 0 and machines > 0
	order by release, day`

const (
	sqlPackageRates = `
		with u as (
			select release, day, reports, case when problem_type = @apart then reports else 0 end as apart,
				0::bigint as change
			from report_days
			where package = @package and day between @since and @until and (@version = '' or version = @version)
				and (@release = '' or release = @release)
			union all ` + activeMachines + `
		) ` + perMachine
	sqlReleaseRates = `
		with u as (
			select release, day, reports, case when problem_type = @apart then reports else 0 end as apart,
				0::bigint as change
			from release_days where day between @since and @until and (@release = '' or release = @release)
			union all ` + activeMachines + `
		) ` + perMachine
)

const (
	sqlActive      = `select release, day, change from release_active`
	sqlSharedSpans = `
		select system, release, from_day, until_day from release_systems where shared order by system, from_day`
)

// active says on which days how many machines began or ceased to be active in each release.
type active struct {
	changes map[crash.Release][]activeChange
	shared  []sharedSpan // by machine, then by first day
}

// sharedSpan is a span of days, both included, on which a machine was active in one of its releases.
type sharedSpan struct {
	system      int64
	release     crash.Release
	from, until time.Time
}

// activeChange is the change in the number of active machines of a release on a day.
type activeChange struct {
	day    time.Time
	change int64
}

// ActiveMachines returns, by release, the number of active machines on each UTC day from since to
// until, inclusive. A machine is active if it sent a report from the release in the 90 days up to
// that day.
func (s *Store) ActiveMachines(ctx context.Context, releases []crash.Release, since,
	until time.Time) (map[crash.Release][]int64, error) {
	all, err := db.CachedCounts(ctx, s.Store, nil, s.readActive)
	if err != nil {
		return nil, fmt.Errorf("active machines: %w", db.Classify(err))
	}
	machines := map[crash.Release][]int64{}
	for _, r := range releases {
		machines[r] = all.of(r, since, until)
	}
	return machines, nil
}

// Days is a range of UTC days, both included.
type Days struct{ Since, Until time.Time }

// within returns the part of the days that lies from since to until.
func (d Days) within(since, until time.Time) Days {
	if d.Since.Before(since) {
		d.Since = since
	}
	if d.Until.After(until) {
		d.Until = until
	}
	return d
}

// DistinctMachines returns the number of machines that were active in any of the releases on each UTC
// day from since to until, inclusive. A release counts on its days only. A machine that was active in
// several releases on a day counts once.
func (s *Store) DistinctMachines(ctx context.Context, releases map[crash.Release]Days, since,
	until time.Time) ([]int64, error) {
	all, err := db.CachedCounts(ctx, s.Store, nil, s.readActive)
	if err != nil {
		return nil, fmt.Errorf("distinct active machines: %w", db.Classify(err))
	}
	machines := make([]int64, dayCount(since, until))
	for r, d := range releases {
		d = d.within(since, until)
		for i, n := range all.of(r, d.Since, d.Until) {
			machines[dayCount(since, d.Since)-1+i] += n
		}
	}
	for at := 0; at < len(all.shared); {
		var spans []Days // of one machine
		for system := all.shared[at].system; at < len(all.shared) && all.shared[at].system == system; at++ {
			span := all.shared[at]
			if d, ok := releases[span.release]; ok {
				spans = append(spans, d.within(since, until).within(span.from, span.until))
			}
		}
		slices.SortFunc(spans, func(a, b Days) int { return a.Since.Compare(b.Since) })
		var counted time.Time // up to this day
		for _, span := range spans {
			for day := span.Since; !day.After(span.Until) && !day.After(counted); day = day.AddDate(0, 0, 1) {
				machines[dayCount(since, day)-1]--
			}
			if span.Until.After(counted) {
				counted = span.Until
			}
		}
	}
	return machines, nil
}

// dayCount returns the number of days from since to until, inclusive.
func dayCount(since, until time.Time) int { return max(int(until.Sub(since)/(24*time.Hour))+1, 0) }

// of returns the number of active machines of a release on each day from since to until.
func (a *active) of(release crash.Release, since, until time.Time) []int64 {
	days := make([]int64, dayCount(since, until))
	for _, c := range a.changes[release] {
		if at := max(int(c.day.Sub(since)/(24*time.Hour)), 0); at < len(days) {
			days[at] += c.change
		}
	}
	for i := 1; i < len(days); i++ {
		days[i] += days[i-1]
	}
	return days
}

func (s *Store) readActive(ctx context.Context) (*active, error) {
	all := active{changes: map[crash.Release][]activeChange{}}
	var release crash.Release
	var c activeChange
	if err := db.Each(ctx, s.Pool, sqlActive, nil, []any{&release, &c.day, &c.change}, func() {
		all.changes[release] = append(all.changes[release], c)
	}); err != nil {
		return nil, err
	}
	var span sharedSpan
	err := db.Each(ctx, s.Pool, sqlSharedSpans, nil, []any{&span.system, &span.release, &span.from, &span.until},
		func() { all.shared = append(all.shared, span) })
	return &all, err
}

// RateFilter selects reports to count by release and day. It is not an [index.Filter], because its
// package is always a binary package, as in API 1.0, and because it also counts one problem type
// separately.
type RateFilter struct {
	Since, Until time.Time // UTC days, inclusive
	Release      crash.Release
	Package      string // binary package; empty for all
	Version      string // ignored without a package
	Apart        string // problem type that is also counted separately
}

// Rates returns the number of reports and of active machines for each UTC day and release, sorted
// by day. It omits days without a report or without an active machine. The caller must not modify
// the result, which is cached.
func (s *Store) Rates(ctx context.Context, f RateFilter) ([]stats.DayRate, error) {
	f.Since, f.Until = f.Since.UTC().Truncate(24*time.Hour), f.Until.UTC().Truncate(24*time.Hour)
	rates, err := db.CachedCounts(ctx, s.Store, f, func(ctx context.Context) ([]stats.DayRate, error) {
		return s.readRates(ctx, f)
	})
	return rates, db.Classify(err)
}

func (s *Store) readRates(ctx context.Context, f RateFilter) ([]stats.DayRate, error) {
	sql := sqlPackageRates
	if f.Package == "" {
		sql = sqlReleaseRates
	}
	rates, err := db.List(ctx, s.Pool, sql, pgx.NamedArgs{
		"since": f.Since, "until": f.Until, "release": f.Release, "package": f.Package, "version": f.Version,
		"apart": f.Apart,
	}, pgx.RowToStructByPos[stats.DayRate])
	return rates, db.Wrap(err, "rates by day")
}

const sqlVersionDays = `
	select day, new, new_proposed, old, old_proposed, sum(change) over (order by day)::bigint as machines from (
		select day, sum(new)::bigint as new, sum(new_proposed)::bigint as new_proposed,
			sum(old)::bigint as old, sum(old_proposed)::bigint as old_proposed, sum(change)::bigint as change
		from (
			select day,
				case when version = @new then reports else 0 end as new,
				case when version = @new and proposed then reports else 0 end as new_proposed,
				case when version = @old then reports else 0 end as old,
				case when version = @old and proposed then reports else 0 end as old_proposed, 0::bigint as change
			from report_days
			where package = @package and release = @release and version in (@new, @old) and problem_type = 'Crash'
			union all
			select day, 0, 0, 0, 0, change from release_active where release = @release
		) as u group by day
	) as days order by day`

// VersionDays returns, for each UTC day, how many crashes two versions of a binary package had in a
// release, and how many machines were active there. It sorts by day, and omits days without any
// change, whose number of machines is that of the day before.
func (s *Store) VersionDays(ctx context.Context, release crash.Release, pkg, older, newer string) ([]stats.VersionDay,
	error) {
	args := pgx.NamedArgs{"release": release, "package": pkg, "old": older, "new": newer}
	days, err := db.List(ctx, s.Pool, sqlVersionDays, args, pgx.RowToStructByPos[stats.VersionDay])
	return days, db.Wrap(err, "days of versions")
}

const sqlReleaseDays = `
	select day, release, sum(reports)::bigint from release_days where day between @since and @until
	group by day, release order by day desc`

// ReleaseDays returns the number of reports for each UTC day from since to until, inclusive, and
// each release. It sorts by day, latest first.
func (s *Store) ReleaseDays(ctx context.Context, since, until time.Time) ([]crash.DayCount, error) {
	days, err := db.List(ctx, s.Pool, sqlReleaseDays, pgx.NamedArgs{"since": since, "until": until},
		pgx.RowToStructByPos[crash.DayCount])
	return days, db.Wrap(err, "days of releases")
}

const sqlVersionSpans = `
	select release, version, min(day), max(day), sum(reports)::bigint from report_days
	where package = @package and day between @since and @until and version <> '' group by release, version`

// VersionSpans returns, for each version and release of a binary package, the number of reports
// from since to until, inclusive, and their first and last UTC days. The order is undefined.
func (s *Store) VersionSpans(ctx context.Context, pkg string, since, until time.Time) ([]stats.VersionSpan, error) {
	spans, err := db.List(ctx, s.Pool, sqlVersionSpans, pgx.NamedArgs{"package": pkg, "since": since, "until": until},
		pgx.RowToStructByPos[stats.VersionSpan])
	return spans, db.Wrap(err, "versions of a package")
}

const sqlPackageDays = `
	select day, release, sum(reports)::bigint from report_days
	where package = @package and day between @since and @until group by day, release order by day`

// PackageDays returns the number of reports of a binary package for each UTC day from since to
// until, inclusive, and each release. It sorts by day, and omits days without reports.
func (s *Store) PackageDays(ctx context.Context, pkg string, since, until time.Time) ([]crash.DayCount, error) {
	days, err := db.List(ctx, s.Pool, sqlPackageDays, pgx.NamedArgs{"package": pkg, "since": since, "until": until},
		pgx.RowToStructByPos[crash.DayCount])
	return days, db.Wrap(err, "days of a package")
}
