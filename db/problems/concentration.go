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

// These constants limit the newest reports in full among which machines are chosen. Only the bodies of
// chosen ones are read.
const (
	concentrationLook   = 1000                    // reports of the problem
	concentrationOthers = 40                      // other problems of the package: those with most reports
	concentrationEach   = 3 * stats.SampledOfEach // reports of each of them in a period: machines have several
	concentrationTime   = 10 * time.Second
)

const (
	// sqlMachinesHere reads the newest reports in full of a problem.
	sqlMachinesHere = `
		select r.id, coalesce(r.system_key, 0), @bucket::bytea
		from (select id from buckets where id in ` + db.Members + `) as m (source) cross join lateral (
			select received, id, system_key from reports
			where bucket_id = m.source and received >= @here and body is not null and counted
				and (@release = '' or release = @release) and (@version = '' or version = @version)
			order by received desc, id desc limit @look
		) as r
		order by r.received desc, r.id desc limit @look`
	// sqlMachinesThere reads the newest reports in full of other problems of the package in each period, without
	// those of machines that have the problem.
	sqlMachinesThere = `
		select r.id, coalesce(r.system_key, 0), m.head from (
			select id, head from buckets
			where case @source when '' then package = @package else source_package = @source end
				and head <> (select head from buckets where id = @bucket) and reports > 0
			order by reports desc, id limit @others
		) as m (source, head) cross join unnest(@froms::timestamptz[], @untils::timestamptz[]) as p (since, until)
		cross join lateral (
			select received, id, system_key from reports
			where bucket_id = m.source and received >= @here and received >= p.since and received < p.until
				and body is not null and counted
				and (@release = '' or release = @release) and (@version = '' or version = @version)
				and not exists (
					select from bucket_systems as s where s.bucket_id in ` + db.Members + ` and s.system = system_key)
			order by received desc, id desc limit @each
		) as r
		order by r.received desc, r.id desc`
	sqlMemberBodies = `
		select ` + db.ReportColumns + `, body from (
			select r.* from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
				join reports as r on ` + db.AmongReports + `
		) as r`
)

// ConcentrationScope limits a comparison to reports of a release and version.
type ConcentrationScope struct {
	Release crash.Release // empty: any
	Version string        // empty: any
	Since   time.Time     // when the first report arrived; zero: any time
}

// Concentrations compares the machines of a problem's newest reports in full with machines that have other
// problems of the same source package, or package if that is unknown, in the same periods. It looks in
// archives only if the problem has no report here. It takes at most ten seconds, and returns Unavailable if
// that is not enough.
func (s *Store) Concentrations(ctx context.Context, b crash.Bucket, scope ConcentrationScope) (
	stats.Concentrations, error,
) {
	ctx, cancel := context.WithTimeout(ctx, concentrationTime)
	defer cancel()
	args := pgx.NamedArgs{"bucket": b.ID[:], "package": b.Package, "source": b.SourcePackage, "look": concentrationLook,
		"others": concentrationOthers, "each": concentrationEach, "release": scope.Release, "version": scope.Version}
	c, err := db.Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) (stats.Concentrations, bool, error) {
		args["here"] = since
		if scope.Since.After(since) {
			args["here"] = scope.Since
		}
		return s.concentrations(ctx, args)
	})
	if err != nil {
		return c, fmt.Errorf("concentrations of %s: %w", b.ID, db.Classify(err))
	}
	return c, nil
}

// sqlUpdateMachines reads the newest reports in full of a version in a release.
const sqlUpdateMachines = `
	select r.id, coalesce(r.system_key, 0), m.head from (
		select id, head from buckets where package = @package and problem_type <> all(@uncounted) and reports > 0
		order by reports desc, id limit @others
	) as m (source, head) cross join lateral (
		select received, id, system_key from reports
		where bucket_id = m.source and received >= @here and body is not null and counted
			and release = @release and version = @version
		order by received desc, id desc limit @each
	) as r
	order by r.received desc, r.id desc`

// concentrationKey is the key of cached concentrations of what is worse in a release.
type concentrationKey struct {
	stats.GateQuestion
	problem crash.BucketID
	day     time.Time
}

// ConcentrateGate adds to an answer where that is concentrated which is worse: the update, if the rate rose, compared
// with the machines that crashed with the version before; and up to five problems, compared with machines that have
// others, in the same version.
func (s *Store) ConcentrateGate(ctx context.Context, a *stats.GateAnswer) error {
	problems := 0
	add := func(r stats.GateResult, id crash.BucketID, read func(context.Context) (stats.Concentrations, error)) error {
		q := a.GateQuestion
		q.Release = r.Release
		c, err := db.CachedCounts(ctx, s.Store, concentrationKey{q, id, r.GatePlan.After.Since}, read)
		a.Where = append(a.Where, stats.GateConcentration{Release: r.Release, Problem: id, Concentrations: c})
		return err
	}
	for _, r := range a.Results {
		if r.Increased && r.Against != "" {
			err := add(r, crash.BucketID{}, func(ctx context.Context) (stats.Concentrations, error) {
				return s.concentrateUpdate(ctx, a.Package, r.GatePlan)
			})
			if err != nil {
				return err
			}
		}
		for _, id := range r.WorseProblems() {
			b, ok := a.Buckets[id]
			if problems++; !ok || problems > stats.MaxGateConcentrations {
				break
			}
			err := add(r, id, func(ctx context.Context) (stats.Concentrations, error) {
				return s.Concentrations(ctx, b, ConcentrationScope{r.Release, r.Version, r.GatePlan.After.Since})
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) concentrateUpdate(ctx context.Context, pkg string, p stats.GatePlan) (stats.Concentrations, error) {
	args := pgx.NamedArgs{"package": pkg, "release": p.Release, "uncounted": stats.GateUncounted(),
		"others": concentrationOthers, "each": concentrationEach}
	read := func(version string, since time.Time) ([]stats.Sampled, error) {
		return db.Since(ctx, s.Handle, since, func(ctx context.Context, since time.Time) ([]stats.Sampled, error) {
			args["version"], args["here"] = version, since
			return s.sampled(ctx, sqlUpdateMachines, args)
		})
	}
	here, err := read(p.Version, p.After.Since)
	if err != nil {
		return stats.Concentrations{}, fmt.Errorf("machines of the update: %w", db.Classify(err))
	}
	there, err := read(p.Against, p.Before.Since)
	if err != nil {
		return stats.Concentrations{}, fmt.Errorf("machines before the update: %w", db.Classify(err))
	}
	updated := map[int64]bool{}
	for _, r := range here {
		updated[r.Machine] = r.Machine != 0
	}
	there = slices.DeleteFunc(there, func(r stats.Sampled) bool { return updated[r.Machine] })
	members, err := s.members(ctx, stats.Sampling{}, stats.Machines(here), stats.Machines(there))
	if err != nil {
		return stats.Concentrations{}, fmt.Errorf("traits of the update: %w", db.Classify(err))
	}
	c := stats.ConcentrateUpdate(members)
	c.Since, c.Until = p.Before.Since, s.Now()
	return c, nil
}

// ConcentratedOn reports whether a problem is concentrated on a value of a field that matches a pattern, see
// [stats.Concentrations.On].
func (s *Store) ConcentratedOn(
	ctx context.Context, problem crash.BucketID, field stats.FacetField, pattern string,
) (bool, error) {
	ctx = db.Everything(ctx)
	b, err := s.Bucket(ctx, problem)
	if err != nil {
		return false, err
	}
	c, err := s.Concentrations(ctx, b, ConcentrationScope{})
	return c.On(field, pattern), err
}

func (s *Store) concentrations(ctx context.Context, args pgx.NamedArgs) (c stats.Concentrations, some bool, err error) {
	here, err := s.sampled(ctx, sqlMachinesHere, args)
	if err != nil {
		return c, false, err
	}
	here = stats.Machines(here)
	sampling := stats.NewSampling(here)
	args["froms"], args["untils"] = sampling.Windows()
	there, err := s.sampled(ctx, sqlMachinesThere, args)
	if err != nil {
		return c, false, err
	}
	members, err := s.members(ctx, sampling, here, sampling.Choose(there))
	if err != nil {
		return c, false, err
	}
	c = stats.Concentrate(members)
	c.Since, c.Until = sampling.Since(), sampling.Until
	if now := s.Now(); c.Until.After(now) {
		c.Until = now
	}
	return c, len(here) > 0, nil
}

func (s *Store) sampled(ctx context.Context, sql string, args pgx.NamedArgs) ([]stats.Sampled, error) {
	return db.List(ctx, s.Pool, sql, args, func(row pgx.CollectableRow) (r stats.Sampled, err error) {
		return r, row.Scan((*[16]byte)(&r.ID), &r.Machine, &r.Problem)
	})
}

// members reads the traits of some reports here and elsewhere.
func (s *Store) members(ctx context.Context, sampling stats.Sampling, here, there []stats.Sampled) (
	[]stats.Member, error,
) {
	var ids []crash.OopsID
	problems := map[crash.OopsID]stats.Member{}
	for i, r := range slices.Concat(here, there) {
		ids = append(ids, r.ID)
		problems[r.ID] = stats.Member{Here: i < len(here), Problem: r.Problem, Unknown: r.Machine == 0,
			Period: sampling.Period(r.ID)}
	}
	return db.List(ctx, s.Pool, sqlMemberBodies, db.ReportsArgs(ids), func(row pgx.CollectableRow) (
		stats.Member, error,
	) {
		r, body, err := db.ScanReportBody(row)
		m := problems[r.ID]
		if err != nil {
			return m, err
		}
		err = s.ReadBody(ctx, body, func(f crash.Fields) { m.Traits = stats.NewTraits(r.Summary, f) })
		m.Release = r.Release
		return m, err
	})
}
