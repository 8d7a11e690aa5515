package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"mishap/db"
	"mishap/db/embedded"
)

// benchCommand is what `make bench` calls.
func benchCommand() *cobra.Command {
	var b bench
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measures how many reports are taken and how fast pages and Create are",
		Long: `Measures, on a PostgreSQL of its own that syncs to disk: how many reports are accepted per second
and per core; then, with 100,000 reports stored, how long pages and Create take. Everything stands
beside a bare handler and a bare one-row insert of the same run, since only ratios travel from one
machine to another. It takes a few minutes; leave the machine alone meanwhile.`,
		Example: "  devtool bench",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.out, b.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return b.run(cmd.Context())
		},
	}
	cmd.Flags().IntVar(&b.reports, "reports", 100_000, "how many reports are stored before pages are measured")
	cmd.Flags().StringVar(&b.program, "mishap", besideMe("mishap"), "the mishap `program`")
	return cmd
}

type bench struct {
	reports  int
	program  string
	out, err io.Writer
}

func (b *bench) run(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "mishap-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := os.Chmod(folder, 0o755); err != nil { // the database's user passes through
		return err
	}
	log := slog.New(slog.NewTextHandler(b.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	postgres, err := embedded.Start(ctx, embedded.Config{DataDir: folder, Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Stop(context.WithoutCancel(ctx))) }()

	_, _ = fmt.Fprintf(b.out, "Reports taken, with everything on disk before the answer (fsync on)\n\n")
	ingest, err := b.database(ctx, postgres.URL(), "bench_ingest", log)
	if err != nil {
		return err
	}
	if err := benchIngest(ctx, ingest, b.out); err != nil {
		return err
	}
	pages, err := b.database(ctx, postgres.URL(), "bench_pages", log)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(b.out, "\nPages and Create with %d reports stored, one request after the other\n\n", b.reports)
	return b.pages(ctx, folder, pages)
}

// database makes an empty, migrated database beside the one of a URL.
func (b *bench) database(ctx context.Context, beside, name string, log *slog.Logger) (string, error) {
	conn, err := pgx.Connect(ctx, beside)
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "create database "+name)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return "", err
	}
	u, err := url.Parse(beside)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), db.Migrate(ctx, u.String(), log)
}
