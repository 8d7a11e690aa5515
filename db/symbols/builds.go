package symbols

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/symbols/builds"
	"mishap/crash/symbols/elffile"
	"mishap/db"
)

// Builds stores which builds the packages hold. It is safe for concurrent use.
type Builds struct{ *db.Store }

// NewBuilds returns the Builds of a database.
func NewBuilds(s *db.Store) *Builds { return &Builds{s} }

const (
	sqlLearnBuilds = `
		insert into builds (path, package, version, architecture, build_id)
		select * from unnest(@paths::text[], @packages::text[], @versions::text[], @architectures::text[], @ids::text[])
		on conflict do nothing`
	// sqlBuildsOf selects the builds of files in the versions of the packages that a machine has.
	sqlBuildsOf = `
		select b.path, b.build_id from builds as b
		join unnest(@packages::text[], @versions::text[]) as installed (package, version) using (package, version)
		where b.path = any(@paths) and b.architecture = @architecture`
	sqlBuildOwners = `
		select path, array_agg(distinct package) from builds
		where path = any(@paths) and architecture = @architecture group by path`
)

// Learn stores facts. It ignores incomplete ones.
func (b *Builds) Learn(ctx context.Context, facts []builds.Fact) error {
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
func (b *Builds) LearnFromCore(ctx context.Context, report crash.Fields, loaded []builds.Loaded) error {
	paths := make([]string, len(loaded))
	for i, l := range loaded {
		paths[i] = builds.NormalPath(l.Path)
	}
	rows, err := b.Pool.Query(ctx, sqlBuildOwners, pgx.NamedArgs{"paths": paths,
		"architecture": builds.ArchitectureOf(report)})
	if err != nil {
		return fmt.Errorf("owners of files: %w", db.Classify(err))
	}
	owners := map[string][]string{}
	var path string
	var packages []string
	_, err = pgx.ForEachRow(rows, []any{&path, &packages}, func() error {
		owners[path] = append([]string(nil), packages...)
		return nil
	})
	if err != nil {
		return fmt.Errorf("owners of files: %w", db.Classify(err))
	}
	return b.Learn(ctx, builds.OfCore(report, loaded, owners))
}

// BuildsOf returns the build-ids of files of the machine that sent a report. It leaves out files
// whose build is unknown or contradictory.
func (b *Builds) BuildsOf(ctx context.Context, report crash.Fields, paths []string) (map[string]elffile.BuildID,
	error) {
	var packages, versions, normal []string
	for name, version := range builds.InstalledOf(report) {
		packages, versions = append(packages, name), append(versions, version)
	}
	for _, p := range paths {
		normal = append(normal, builds.NormalPath(p))
	}
	rows, err := b.Pool.Query(ctx, sqlBuildsOf, pgx.NamedArgs{"packages": packages, "versions": versions,
		"paths": normal, "architecture": builds.ArchitectureOf(report)})
	if err != nil {
		return nil, fmt.Errorf("builds of files: %w", db.Classify(err))
	}
	found, contradictory := map[string]elffile.BuildID{}, map[string]bool{}
	var path, id string
	_, err = pgx.ForEachRow(rows, []any{&path, &id}, func() error {
		if before, ok := found[path]; ok && before != elffile.BuildID(id) {
			contradictory[path] = true
		}
		found[path] = elffile.BuildID(id)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("builds of files: %w", db.Classify(err))
	}
	known := map[string]elffile.BuildID{}
	for i, p := range paths {
		if id, ok := found[normal[i]]; ok && !contradictory[normal[i]] {
			known[p] = id
		}
	}
	return known, nil
}
