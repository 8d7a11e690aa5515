package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"runtime/pprof"

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
	cmd.Flags().BoolVar(&b.ingestOnly, "ingest", false, "measure only how reports are taken")
	cmd.Flags().StringVar(&b.database, "database", "", "measure how reports are taken with this database, at a `URL` on this machine, which may hold reports already")
	cmd.Flags().StringVar(&b.profile, "profile", "", "write how the server's time is spent to this `file`, for go tool pprof")
	cmd.Flags().IntVar(&b.reports, "reports", 100_000, "how many reports are stored before pages are measured")
	cmd.Flags().StringVar(&b.program, "mishap", besideMe("mishap"), "the mishap `program`")
	return cmd
}

type bench struct {
	reports    int
	ingestOnly bool
	database   string
	profile    string
	program    string
	out, err   io.Writer
}

func (b *bench) run(ctx context.Context) (err error) {
	log := slog.New(slog.NewTextHandler(b.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if b.database != "" {
		if err := db.Migrate(ctx, b.database, log); err != nil {
			return err
		}
		return b.ingest(ctx, b.database)
	}
	folder, err := os.MkdirTemp("", "mishap-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := os.Chmod(folder, 0o755); err != nil { // the database's user passes through
		return err
	}
	postgres, err := embedded.Start(ctx, embedded.Config{DataDir: folder, Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Stop(context.WithoutCancel(ctx))) }()

	ingest, err := b.empty(ctx, postgres.URL(), "bench_ingest", log)
	if err != nil {
		return err
	}
	if err := b.ingest(ctx, ingest); err != nil || b.ingestOnly {
		return err
	}
	pages, err := b.empty(ctx, postgres.URL(), "bench_pages", log)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(b.out, "\nPages and Create with %d reports stored, one request after the other\n\n", b.reports)
	return b.pages(ctx, folder, pages)
}

// ingest measures how reports are taken.
func (b *bench) ingest(ctx context.Context, url string) (err error) {
	_, _ = fmt.Fprintf(b.out, "Reports taken, with everything on disk before the answer (fsync on) and counted in the end\n\n")
	if b.profile != "" {
		f, err := os.Create(b.profile)
		if err != nil {
			return err
		}
		defer func() {
			pprof.StopCPUProfile()
			err = errors.Join(err, f.Close())
		}()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	return benchIngest(ctx, url, b.out)
}

// empty makes an empty, migrated database beside the one of a URL.
func (b *bench) empty(ctx context.Context, beside, name string, log *slog.Logger) (string, error) {
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
