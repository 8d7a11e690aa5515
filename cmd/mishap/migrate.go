package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/db"
)

func (p *program) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Migrates the database schema to this version",
		Long: `Migrates the schema of the database to this version. "mishap serve" does the same when it starts, so
this is only needed to migrate beforehand. Any number of instances may start at once: one migrates,
the others wait.

With an empty database_url it uses the private PostgreSQL of data_dir, and starts it if necessary
for as long as the command runs.`,
		Example: "  mishap migrate",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd, slog.LevelInfo, func(context.Context, config.Config, *db.Store) error {
				_, err := fmt.Fprintln(p.out, "The database schema is up to date.")
				return err
			})
		},
	}
}
