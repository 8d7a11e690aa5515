package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db/embedded"
)

func upgradeCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "upgrade-postgresql",
		Short: "Moves the private PostgreSQL to the newest installed version",
		Long: `Moves the private PostgreSQL of data_dir to the newest version of PostgreSQL that is installed, with
pg_upgrade. The server programs of the old version must still be installed, and mishap must not run.
The files of the old version stay beside the new ones, so the disk needs space for both. If the command
fails or is killed, the database is as it was.

With database_url, upgrade that server with its own tools. Where only one version is installed, as in
the container images, make a backup with the old one and restore it with the new one.`,
		Example: `  systemctl stop mishap && mishap upgrade-postgresql && systemctl start mishap`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.dataConfig(cmd)
			if err != nil {
				return err
			}
			return p.upgradePostgreSQL(cmd.Context(), c)
		},
	}
}

func (p *program) upgradePostgreSQL(ctx context.Context, c config.Config) error {
	if c.DatabaseURL != "" {
		return crash.Errorf(crash.Conflict, "not_private", "database_url is set, so mishap does not run PostgreSQL here; "+
			"upgrade that server with its own tools.")
	}
	log := newLog(p.err, slog.LevelWarn)
	done, err := embedded.Upgrade(ctx, embedded.Config{DataDir: c.DataDir, Log: log})
	if err != nil {
		return err
	}
	if done.Old == "" {
		p.printf("The database belongs to PostgreSQL %d, and no newer version is installed.", done.To)
		return nil
	}
	p.printf("The database belongs to PostgreSQL %d now. The files of PostgreSQL %d stay in %s; remove them when you are "+
		"sure that you do not need them.", done.To, done.From, done.Old)
	if err := analyse(ctx, c, done.To, log); err != nil { // PostgreSQL does so by itself, later
		p.printf("Pages may be slow for some minutes, because the statistics for queries are not there yet: %v", err)
	}
	return nil
}

// analyse collects PostgreSQL's statistics for queries, which pg_upgrade leaves behind.
func analyse(ctx context.Context, c config.Config, major int, log *slog.Logger) error {
	tool, err := embedded.FindTool(ctx, "vacuumdb", major)
	if err != nil {
		return err
	}
	database, err := openDatabase(ctx, c, true, log)
	if err != nil {
		return err
	}
	_, err = embedded.RunTool(ctx, nil, tool, "--analyze-only", "--quiet", "--dbname="+database.url)
	if stopErr := database.close(ctx); err == nil {
		err = stopErr
	}
	return err
}
