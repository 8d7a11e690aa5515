package main

import (
	"context"
	"log/slog"

	"mishap/cmd/mishap/config"
	"mishap/crash/symbols"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	dbsymbols "mishap/db/symbols"
)

// recordAdded stores which builds the added packages hold, and starts the jobs that wait for files in
// shared storage. Instances find files in data_dir by themselves.
func recordAdded(ctx context.Context, c config.Config, log *slog.Logger, got collected) error {
	var shared []string
	if c.Blobs != "" {
		for _, a := range got.added {
			shared = append(shared, string(a.ID)+"/"+string(a.Kind))
		}
	}
	if len(got.facts) == 0 && len(shared) == 0 {
		return nil
	}
	return useStore(ctx, c, log, func(store *db.Store) error {
		if err := dbsymbols.NewBuilds(store).Learn(ctx, got.facts); err != nil {
			return err
		}
		return dbsymbols.New(store).FilesAdded(ctx, "", shared)
	})
}

// factOf returns what an added file says about its package.
func factOf(a debuginfo.Added) debuginfo.Fact {
	if a.Refused != nil || a.Kind != debuginfo.Executable {
		return debuginfo.Fact{}
	}
	return debuginfo.Fact{Path: debuginfo.NormalPath(a.Path), Package: a.Package.Name, Version: a.Package.Version,
		Architecture: a.Package.Architecture, Build: a.ID}
}

// unknownBuild says why the build-id of a module is unknown.
func unknownBuild(r symbols.Result) string {
	if r.Threads == 0 {
		return "no package of this version was added"
	}
	return "the core does not hold it"
}
