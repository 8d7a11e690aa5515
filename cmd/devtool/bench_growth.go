package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/handlers/ingest"
)

// smallReports is how many reports the database holds with which a filled one is compared.
const smallReports = 100_000

// growthBench measures whether taking reports becomes slower with what is stored already.
type growthBench struct {
	filled

	out, err io.Writer
}

func benchGrowthCommand() *cobra.Command {
	var b growthBench
	cmd := &cobra.Command{
		Use:   "bench-growth",
		Short: "Measures whether taking reports becomes slower with what is stored already",
		Long: `Takes reports into a database that is filled already ("devtool load --fill") and, in turns, into one
with 100,000 reports beside it on the same PostgreSQL, and prints how the two rates compare. The
reports stay in the filled one. No other server may run on the data_dir meanwhile.`,
		Example: "  devtool bench-growth --data-dir /var/tmp/million",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.out, b.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return b.run(cmd.Context())
		},
	}
	b.flags(cmd)
	return cmd
}

func (b *growthBench) run(ctx context.Context) (err error) {
	large, stop, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	const name = "bench_growth"
	if err := execOn(ctx, large, "drop database if exists "+name); err != nil {
		return err
	}
	small, err := (&bench{}).empty(ctx, large, name, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, execOn(ctx, large, "drop database "+name)) }()
	fill := filling{databaseURL: small, volume: crashtest.Volume{Reports: smallReports, Problems: smallReports / 100, Now: time.Now()}}
	if err := fill.run(ctx, b.err, io.Discard); err != nil {
		return err
	}
	return b.compare(ctx, small, large)
}

// compare takes reports into the two databases in turns.
func (b *growthBench) compare(ctx context.Context, urls ...string) error {
	send, err := startSender(ctx)
	if err != nil {
		return err
	}
	defer send.stop()
	runs := make([]*growthRun, len(urls))
	for i, url := range urls {
		if runs[i], err = openGrowthRun(ctx, url, send); err != nil {
			return err
		}
		defer runs[i].close()
	}
	for range benchRounds {
		for _, r := range runs {
			if err := r.measure(ctx, &r.figure, everything, loadOrder{Connections: mostLoad, Length: benchLength}); err != nil {
				return err
			}
		}
	}
	for _, r := range runs {
		_, _ = fmt.Fprintf(b.out, "%12d reports stored: %6.0f/s, CPU %.3f ms\n", r.before, r.figure.perSecond(), r.figure.cpuMS())
	}
	_, err = fmt.Fprintf(b.out, "ratio: %.2f\n", runs[1].figure.perSecond()/runs[0].figure.perSecond())
	return err
}

// growthRun is one of the databases with a server of its own.
type growthRun struct {
	comparison

	figure figure
	before int64 // reports that it held
	close  func()
}

func openGrowthRun(ctx context.Context, url string, send *sender) (*growthRun, error) {
	store, err := db.Open(ctx, db.Config{URL: url, MaxConns: 16})
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		store.Close()
		return nil, err
	}
	r := &growthRun{comparison: comparison{store: store, sender: send}}
	dir, err := os.MkdirTemp("", "mishap-bench-")
	r.close = func() {
		pool.Close()
		store.Close()
		_ = os.RemoveAll(dir)
	}
	if err == nil {
		err = r.open(ctx, pool, dir)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *growthRun) open(ctx context.Context, pool *pgxpool.Pool, dir string) (err error) {
	if r.meter, err = newCPUMeter(ctx, pool); err != nil {
		return err
	}
	if err := pool.QueryRow(ctx, "select coalesce(sum(reports), 0) from release_days").Scan(&r.before); err != nil {
		return err
	}
	h, err := ingest.New(ingest.Deps{Intake: intake.New(intake.Config{MaxAgeDays: 366}, r.store), Store: r.store, DataDir: dir, MaxBytes: 16 << 20})
	if err != nil {
		return err
	}
	address, stop, err := listen(ctx, h)
	if err != nil {
		return err
	}
	r.addresses[everything] = address
	rest := r.close
	r.close = func() { stop(); rest() }
	return nil
}

func execOn(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}
