package problems

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/dpkg"
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
		select r.version, count(distinct r.system_key) from own as o join reports as r on r.bucket_id = o.id
		where r.counted and r.release = @release and r.received >= @since::timestamptz - interval '1 day' and (
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
			"No report of a binary package %s has named its version.", q.Package)
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
	var versions []string
	for _, k := range known {
		if (release == "" || k.Release == release) && !slices.Contains(versions, k.Version) {
			versions = append(versions, k.Version)
		}
	}
	slices.SortFunc(versions, func(a, b string) int { return dpkg.Order(b, a) })
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
		"uncounted": stats.GateUncounted(), "key": dpkg.Key(plan.Version),
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
	var version string
	var machines int64
	return db.Each(ctx, s.Pool, sqlGateMachines, args, []any{&version, &machines}, func() {
		if version == in.Version {
			in.NewMachines = machines
		} else {
			in.OldMachines = machines
		}
	})
}

func (s *Store) gateProblems(ctx context.Context, args pgx.NamedArgs, in *stats.GateInput) error {
	var err error
	in.Problems, err = db.List(ctx, s.Pool, sqlGateProblems, args,
		db.Into(func(p *stats.GateProblem) []any {
			return []any{db.ScanTo(p.ID[:]), &p.Before, &p.After, &p.History, &p.Lower, &p.Nameless}
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
