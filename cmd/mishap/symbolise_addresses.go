package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/symbols"
	"mishap/crash/symbols/builds"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	dbsymbols "mishap/db/symbols"
)

// nameAddresses names the address signature of a report without a core.
func nameAddresses(ctx context.Context, c config.Config, log *slog.Logger, s *symbols.Symboliser,
	report crash.Fields) (r symbols.Result, err error) {
	err = useStore(ctx, c, log, func(store *db.Store) error {
		n, err := symbols.NewNamer(dbsymbols.NewBuilds(store), s.Finder, filepath.Join(c.DataDir, "symbols", "jobs"))
		if err != nil {
			return err
		}
		r, err = n.Name(ctx, report)
		return err
	})
	return r, err
}

// learnBuilds stores which builds the added packages hold.
func learnBuilds(ctx context.Context, c config.Config, log *slog.Logger, facts []builds.Fact) error {
	if len(facts) == 0 {
		return nil
	}
	return useStore(ctx, c, log, func(store *db.Store) error {
		return dbsymbols.NewBuilds(store).Learn(ctx, facts)
	})
}

// factOf returns what an added file says about its package.
func factOf(a debuginfo.Added) builds.Fact {
	if a.Refused != nil || a.Kind != debuginfo.Executable {
		return builds.Fact{}
	}
	return builds.Fact{Path: builds.NormalPath(a.Path), Package: a.Package.Name, Version: a.Package.Version,
		Architecture: a.Package.Architecture, Build: a.ID}
}

// unknownBuild says why the build-id of a module is unknown.
func unknownBuild(r symbols.Result) string {
	if r.Threads == 0 {
		return "no package of this version was added"
	}
	return "the core does not hold it"
}
