package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"mishap/db/backup"
	"mishap/db/embedded"
)

// loadPrivate restores the database into a new private PostgreSQL, calls then, and stops the server. See
// Load for last.
func (r *restore) loadPrivate(
	ctx context.Context, c embedded.Config, last func(context.Context, pgx.Tx) error, then func(url string) error,
) (stored backup.Totals, err error) {
	err = r.withServer(ctx, c, func(url string) error {
		if r.manifest.Method == backup.Base {
			stored, err = r.manifest.Adopt(ctx, url, r.log, last)
		} else {
			stored, err = r.manifest.Load(ctx, r.dir, url, r.jobs, r.log, last)
		}
		if err != nil {
			return err
		}
		return then(url)
	})
	return stored, err
}

// withServer starts a new private PostgreSQL, from the files of a base backup or empty, calls do, and
// stops it.
func (r *restore) withServer(ctx context.Context, c embedded.Config, do func(url string) error) (err error) {
	if r.manifest.Method == backup.Base {
		c.From = r.manifest.Copy(r.dir)
	}
	server, err := embedded.Start(ctx, c)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, server.Stop(ctx))
	}()
	return do(server.URL())
}

// loadInto restores the database into the empty one at url. Files of a base backup cannot be loaded into
// another server, so a temporary server makes a dump of them first.
func (r *restore) loadInto(ctx context.Context, url string) (err error) {
	if r.manifest.Method != backup.Base {
		_, err = r.manifest.Load(ctx, r.dir, url, r.jobs, r.log, r.addErasures)
		return err
	}
	dataDir, remove, err := temporaryDataDir("mishap-restore-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	dir := filepath.Join(filepath.Dir(dataDir), "dump")
	var dump backup.Manifest
	err = r.withServer(ctx, embedded.Config{DataDir: dataDir, Throwaway: true, Log: r.log}, func(from string) error {
		dump, err = r.manifest.Convert(ctx, from, dir, r.jobs)
		return err
	})
	if err != nil {
		return err
	}
	_, err = dump.Load(ctx, dir, url, r.jobs, r.log, r.addErasures)
	return err
}

// temporaryDataDir returns a data directory that does not exist yet, below a new folder in TMPDIR that
// remove deletes.
func temporaryDataDir(prefix string) (dataDir string, remove func() error, err error) {
	parent, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", nil, err
	}
	dataDir = filepath.Join(parent, "data")
	remove = func() error { return errors.Join(embedded.Remove(dataDir), os.RemoveAll(parent)) }
	if err := os.Chmod(parent, 0o711); err != nil { // the server's user needs access
		return "", nil, errors.Join(err, remove())
	}
	return dataDir, remove, nil
}
