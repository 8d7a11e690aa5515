package symbols

import (
	"context"
	"fmt"

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
	if err != nil {
		return fmt.Errorf("learn builds: %w", db.Classify(err))
	}
	return nil
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
	rows, err := b.Pool.Query(ctx, sqlBuildOwners, pgx.NamedArgs{"paths": normal,
		"architecture": debuginfo.ArchitectureOf(report)})
	if err != nil {
		return nil, fmt.Errorf("owners of files: %w", db.Classify(err))
	}
	owners := map[string][]string{}
	var path string
	var packages []string
	_, err = pgx.ForEachRow(rows, []any{&path, &packages}, func() error {
		owners[path] = append([]string(nil), packages...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("owners of files: %w", db.Classify(err))
	}
	return owners, nil
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
