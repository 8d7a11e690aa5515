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
		Short: "Brings the database schema up to date",
		Long: `Brings the schema of the database up to date. "mishap serve" does the same when it starts, so
this is only needed to have it done beforehand. Any number of instances may start at once: one
migrates, the others wait.

With an empty database_url the private PostgreSQL of data_dir is used; if no server runs there,
it is started for the time being.`,
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
