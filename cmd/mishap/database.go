package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/db"
	"mishap/db/disk"
	"mishap/db/embedded"
)

// stopTimeout is how long the private PostgreSQL may take to stop before it is killed.
const stopTimeout = 30 * time.Second

// database is the PostgreSQL that the configuration names, or the private one.
type database struct {
	url    string
	server *embedded.Server // nil: database_url is set
}

// openDatabase returns the database of database_url, or else the private one of data_dir, which it
// starts if necessary. If serving is set, it refuses a data_dir that another server uses.
func openDatabase(ctx context.Context, c config.Config, serving bool, log *slog.Logger) (*database, error) {
	if c.DatabaseURL != "" {
		return &database{url: string(c.DatabaseURL)}, nil
	}
	server, err := embedded.Start(ctx, embedded.Config{DataDir: c.DataDir, Exclusive: serving, Log: log})
	if err != nil {
		return nil, err
	}
	return &database{url: server.URL(), server: server}, nil
}

// notice returns a sentence for the operator about the location of the database, or an empty
// string.
func (d *database) notice() string {
	if d.server == nil {
		return ""
	}
	return d.server.Notice()
}

// watch returns a watch of the disks of data_dir and of the private PostgreSQL. An external
// PostgreSQL reports a full disk itself.
func (d *database) watch(dataDir string) *disk.Watch {
	w := disk.NewWatch()
	w.Add("data_dir", dataDir, false)
	if d.server != nil {
		w.Add("database", d.server.Dir(), true)
	}
	return w
}

// close stops the private PostgreSQL if this process runs it, even after ctx has ended.
func (d *database) close(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return d.server.Stop(ctx)
}

// withStore calls do with the database of the configuration that the command line names.
func (p *program) withStore(
	cmd *cobra.Command, level slog.Level, do func(context.Context, config.Config, *db.Store) error,
) error {
	c, err := p.dataConfig(cmd)
	if err != nil {
		return err
	}
	return useStore(cmd.Context(), c, newLog(p.err, level), func(store *db.Store) error {
		return do(cmd.Context(), c, store)
	})
}

// useStore migrates and opens the database, and closes it after do.
func useStore(ctx context.Context, c config.Config, log *slog.Logger, do func(*db.Store) error) (err error) {
	database, err := openDatabase(ctx, c, false, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	if err := db.Migrate(ctx, database.url, log); err != nil {
		return err
	}
	store, err := db.Open(ctx, db.Config{URL: database.url, Log: log, Privacy: c.Privacy(), Rights: c.Rights()})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := do(store); err != nil {
		return err
	}
	return recordCommand(ctx, store)
}
