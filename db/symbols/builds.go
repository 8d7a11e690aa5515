package symbols

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
)

// Builds stores which builds the packages hold. It is safe for concurrent use.
type Builds struct{ *db.Store }

// NewBuilds returns the Builds of a database.
func NewBuilds(s *db.Store) *Builds { return &Builds{s} }

const (
	// sqlLearnBuilds also queues the jobs again that lack one of the builds. If the package of a file was
	// unknown, its first package in any version tells which versions help.
	sqlLearnBuilds = `
		with learned as (
			insert into builds (path, package, version, architecture, build_id)
			select * from unnest(@paths::text[], @packages::text[], @versions::text[], @architectures::text[], @ids::text[])
			on conflict do nothing
			returning path, package, version, architecture
		)
		update symbol_jobs as j set state = 'queued', not_before = null
		from unknown_builds as u join learned as l on l.path = u.path and l.architecture = u.architecture
			and (u.package = '' or u.package = l.package and u.version = l.version)
		where u.report_id = j.report_id and j.state in ('waiting', 'partial') and j.core_removed is null`
	// sqlBuildsOf selects the builds of files in the versions of the packages that a machine has.
	sqlBuildsOf = `
		select b.path, b.build_id from builds as b
		join unnest(@packages::text[], @versions::text[]) as installed (package, version) using (package, version)
		where b.path = any(@paths) and b.architecture = @architecture`
	sqlBuildOwners = `
		select path, array_agg(distinct package) from builds
		where path = any(@paths) and architecture = @architecture group by path`
)

// Learn stores facts, and queues the jobs again that they help. It ignores incomplete facts.
func (b *Builds) Learn(ctx context.Context, facts []debuginfo.Fact) error {
	var paths, packages, versions, architectures, ids []string
	for _, f := range facts {
		if !f.Valid() {
			continue
		}
		paths, packages = append(paths, f.Path), append(packages, f.Package)
		versions, architectures = append(versions, f.Version), append(architectures, f.Architecture)
		ids = append(ids, string(f.Build))
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := b.Pool.Exec(ctx, sqlLearnBuilds, pgx.NamedArgs{"paths": paths, "packages": packages, "versions": versions,
		"architectures": architectures, "ids": ids})
	return db.Wrap(err, "learn builds")
}

// LearnFromCore stores what the core of a report says about the packages of its machine.
func (b *Builds) LearnFromCore(ctx context.Context, report crash.Fields, loaded []debuginfo.Loaded) error {
	paths := make([]string, len(loaded))
	for i, l := range loaded {
		paths[i] = l.Path
	}
	owners, err := b.owners(ctx, report, paths)
	if err != nil {
		return err
	}
	return b.Learn(ctx, debuginfo.BuildsOfCore(report, loaded, owners))
}

// owners returns the packages that hold files in any version, by normal path.
func (b *Builds) owners(ctx context.Context, report crash.Fields, paths []string) (map[string][]string, error) {
	normal := make([]string, len(paths))
	for i, name := range paths {
		normal[i] = debuginfo.NormalPath(name)
	}
	owners := map[string][]string{}
	var path string
	var packages []string
	err := db.Each(ctx, b.Pool, sqlBuildOwners, pgx.NamedArgs{"paths": normal,
		"architecture": debuginfo.ArchitectureOf(report)}, []any{&path, &packages}, func() {
		owners[path] = append([]string(nil), packages...)
	})
	return owners, db.Wrap(err, "owners of files")
}

// BuildsOf returns the build-ids of files of the machine that sent a report. It leaves out files
// whose build is unknown or contradictory.
func (b *Builds) BuildsOf(ctx context.Context, report crash.Fields, paths []string) (map[string]debuginfo.BuildID,
	error) {
	rows, err := b.Pool.Query(ctx, sqlBuildsOf, installedArgs(report, paths))
	if err != nil {
		return nil, fmt.Errorf("builds of files: %w", db.Classify(err))
	}
	found, contradictory := map[string]debuginfo.BuildID{}, map[string]bool{}
	var path, id string
	_, err = pgx.ForEachRow(rows, []any{&path, &id}, func() error {
		if before, ok := found[path]; ok && before != debuginfo.BuildID(id) {
			contradictory[path] = true
		}
		found[path] = debuginfo.BuildID(id)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("builds of files: %w", db.Classify(err))
	}
	known := map[string]debuginfo.BuildID{}
	for _, name := range paths {
		normal := debuginfo.NormalPath(name)
		if id, ok := found[normal]; ok && !contradictory[normal] {
			known[name] = id
		}
	}
	return known, nil
}

// installedArgs returns arguments for a query about files in the packages of a machine.
func installedArgs(report crash.Fields, paths []string) pgx.NamedArgs {
	var packages, versions []string
	for name, version := range debuginfo.InstalledOf(report) {
		packages, versions = append(packages, name), append(versions, version)
	}
	normal := make([]string, len(paths))
	for i, name := range paths {
		normal[i] = debuginfo.NormalPath(name)
	}
	return pgx.NamedArgs{"packages": packages, "versions": versions, "paths": normal,
		"architecture": debuginfo.ArchitectureOf(report)}
}

// A person can ask for a core of a problem. Then machines are asked, even if a core of the problem
// has arrived before, until another one arrives.

const (
	// wantedOf selects the rows of the problem that the bucket @bucket belongs to.
	wantedOf    = `from wanted_cores where problem in ` + db.Members
	sqlWantCore = `
		insert into wanted_cores (problem, person)
		select head, @person from buckets where id = @bucket and not exists (select ` + wantedOf + `)
		on conflict do nothing`
	sqlUnwantCore = `delete ` + wantedOf
	// sqlAwaited selects what a problem waits for: the files whose build is unknown, the person who asked
	// for a core and when, and when a machine was last asked for one, in the last week. The last column
	// says whether the problem has a job.
	sqlAwaited = `
		select array(
				select distinct u.path from symbol_jobs as j join unknown_builds as u using (report_id)
				where j.problem in ` + db.Members + ` and j.state in ('waiting', 'partial')
				order by u.path limit 100),
			coalesce(c.person, ''), c.asked,
			(select max(requested) from core_requests
				where problem in ` + db.Members + ` and received is null and requested > now() - interval '7 days'),
			exists (select from symbol_jobs where problem in ` + db.Members + `)
		from (select) as one left join lateral (
			select person, asked ` + wantedOf + ` order by asked desc limit 1) as c on true`
)

// WantCore records that a person asks for a core of a problem, unless somebody has asked already.
func (s *Store) WantCore(ctx context.Context, problem crash.BucketID, person string) error {
	return s.changeWanted(ctx, sqlWantCore, "core.ask", true, problem, person)
}

// UnwantCore withdraws the request of WantCore, if there is one.
func (s *Store) UnwantCore(ctx context.Context, problem crash.BucketID, person string) error {
	return s.changeWanted(ctx, sqlUnwantCore, "core.withdraw", false, problem, person)
}

func (s *Store) changeWanted(ctx context.Context, sql, action string, wanted bool, problem crash.BucketID,
	person string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, pgx.NamedArgs{"bucket": problem[:], "person": person})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: problem.String(),
			Before: map[string]any{"core_wanted": !wanted}, After: map[string]any{"core_wanted": wanted}})
	})
	return db.Wrap(err, "%s of %s", action, problem)
}

// useWanted ends the request for a core of a problem, because one has arrived. It reports whether
// there was one.
func (s *Store) useWanted(ctx context.Context, tx pgx.Tx, problem []byte) (wanted bool, err error) {
	tag, err := tx.Exec(ctx, sqlUnwantCore, pgx.NamedArgs{"bucket": problem})
	return err == nil && tag.RowsAffected() > 0, err
}

// ProblemSymbols returns how far a problem is symbolised. Its job is the one that tells most or, if
// that gave no names, has the state SymbolsAsked while a core is on its way.
func (s *Store) ProblemSymbols(ctx context.Context, problem crash.BucketID) (p crash.ProblemSymbols, err error) {
	args := pgx.NamedArgs{"bucket": problem[:]}
	var unknown []string
	var requested time.Time
	var known bool
	err = s.Pool.QueryRow(ctx, sqlAwaited, args).Scan(&unknown, &p.Wanted.Person, db.OrZero(&p.Wanted.Asked),
		db.OrZero(&requested), &known)
	if err != nil {
		return p, fmt.Errorf("what the symbols of %s wait for: %w", problem, db.Classify(err))
	}
	if known {
		if p.Job, known, err = s.oneJob(ctx, sqlProblemJob, args); err != nil {
			return p, err
		}
	}
	if !requested.IsZero() && (!known || !named(p.Job)) {
		p.Job = awaitingCore(p.Job, requested)
	}
	p.Missing = append(p.Job.MissingPaths(), unknown...)
	return p, nil
}
