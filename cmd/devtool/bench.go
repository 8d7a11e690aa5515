package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash/crashtest"
)

// bench holds the options of all measurements. Each command has flags for the options that it uses.
//
// The measurements are "make bench", "make bench-growth", "make bench-pages", "make bench-api" and
// "make bench-strangers".
// Two built programs are compared by:
//
//	bin/devtool bench-programs --program bin/mishap --against /elsewhere/bin/mishap [--only ingest]
//
// docs/performance.md explains the output. BenchmarkReports in handlers/ingest measures the handler
// alone.
type bench struct {
	program, against, database, dataDir, only string
	reports, rate, pageRate, clients, rounds  int
	strangers, slow                           int
	limits                                    bool
	length                                    time.Duration
	out, err                                  io.Writer
}

func benchCommands() []*cobra.Command {
	const usual = 2 * time.Second
	b := &bench{}
	ingest := b.command(b.ingest, "bench", "Measures storing reports, on an empty database by default", usual)
	growth := b.command(b.growth, "bench-growth", "Compares a filled database with a new one with few reports", usual)
	pages := b.command(b.pages, "bench-pages", "Measures pages and API resources on a filled database, and "+
		"marks slow ones", usual)
	programs := b.command(b.programs, "bench-programs", "Compares two built programs on new databases", usual)
	for _, cmd := range []*cobra.Command{ingest, growth, pages} {
		cmd.Flags().StringVar(&b.dataDir, "data-dir", "", "`folder`: the data_dir whose private PostgreSQL to use")
	}
	for _, cmd := range []*cobra.Command{ingest, pages} {
		cmd.Flags().StringVar(&b.database, "database", "", "the `url` of a database on this machine")
		cmd.MarkFlagsMutuallyExclusive("database", "data-dir")
	}
	for _, cmd := range []*cobra.Command{growth, programs} {
		cmd.Flags().IntVar(&b.reports, "reports", 100_000, "`number` of reports that a new database gets first")
	}
	for _, cmd := range []*cobra.Command{growth, programs} {
		cmd.Flags().IntVar(&b.rate, "rate", 200, "`number` of reports sent per second")
		cmd.Flags().IntVar(&b.pageRate, "page-rate", 60, "`number` of pages and resources requested per second")
	}
	for _, cmd := range []*cobra.Command{growth, pages, programs} {
		cmd.Flags().StringVar(&b.only, "only", "", "run only measurements whose name contains this `text`")
	}
	programs.Flags().StringVar(&b.against, "against", "", "the mishap `program` to compare --program with")
	pages.Flags().IntVar(&b.clients, "connections", 8,
		"`number` of concurrent clients; each sends its next request after an answer")
	pages.MarkFlagsOneRequired("database", "data-dir")
	_ = errors.Join(growth.MarkFlagRequired("data-dir"), programs.MarkFlagRequired("against")) // both flags exist
	return []*cobra.Command{ingest, growth, pages, programs, strangersCommand()}
}

func (b *bench) command(
	run func(context.Context) error, use, short string, length time.Duration,
) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		Long: short + `.
docs/performance.md explains the table. The reports stay in the database; the account "demo" is
removed at the end. No other server may use the database meanwhile.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.out, b.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&b.program, "program", besideMe("mishap"), "the mishap `program`")
	cmd.Flags().IntVar(&b.rounds, "rounds", 5, "`number` of rounds for each kind of traffic")
	cmd.Flags().DurationVar(&b.length, "for", length, "`duration` of a round")
	return cmd
}

const mostConnections = 128

// ingest measures storing reports.
func (b *bench) ingest(ctx context.Context) error {
	s, err := startSubject(ctx, "", b.program, b.dataDir, b.database, false)
	if err != nil {
		return err
	}
	defer s.stop()
	load := crashtest.NewLoad(time.Now())
	full, err := b.table(ctx, []*subject{s}, func(s *subject) (kinds []kind, err error) {
		for _, n := range []int{1, 8, 32, mostConnections} {
			full := traffic{next: reportsTo(s.ingest, load), connections: n}
			kinds = append(kinds, kind{fmt.Sprintf("%d connections", n), 0, full})
		}
		return kinds, nil
	})
	if err != nil {
		return err
	}
	half := int(full.perSecond() / 2)
	_, err = b.table(ctx, []*subject{s}, func(s *subject) ([]kind, error) {
		paced := traffic{next: reportsTo(s.ingest, load), connections: mostConnections, perSecond: half}
		return []kind{{"half of that", 0, paced}}, nil
	})
	return err
}

// growth compares a filled database with a new one of few reports.
func (b *bench) growth(ctx context.Context) error {
	filled, err := startSubject(ctx, "filled", b.program, b.dataDir, "", false)
	if err != nil {
		return err
	}
	defer filled.stop()
	few, err := b.startFilled(ctx, fmt.Sprintf("%d reports", b.reports), b.program)
	if err != nil {
		return err
	}
	defer few.stop()
	return b.pair(ctx, filled, few)
}

// programs compares two programs on new databases.
func (b *bench) programs(ctx context.Context) error {
	first, err := b.startFilled(ctx, "--program", b.program)
	if err != nil {
		return err
	}
	defer first.stop()
	second, err := b.startFilled(ctx, "--against", b.against)
	if err != nil {
		return err
	}
	defer second.stop()
	return b.pair(ctx, first, second)
}

// startFilled starts a program on a new database and posts reports to it like machines do, which
// works with any version.
func (b *bench) startFilled(ctx context.Context, name, program string) (*subject, error) {
	s, err := startSubject(ctx, name, program, "", "", false)
	if err != nil {
		return nil, err
	}
	volume := crashtest.Volume{Reports: b.reports, Padding: 1000, Now: time.Now()}
	bar := progress(b.err, b.reports, "posting reports to "+program)
	err = postReports(ctx, "http://"+s.ingest, volume.All(), func() { _ = bar.Add(1) })
	_ = bar.Finish() // only affects the display
	if err != nil {
		s.stop()
	}
	return s, err
}

// pair compares two servers: reports at full and at a fixed rate, some pages and resources.
func (b *bench) pair(ctx context.Context, subjects ...*subject) error {
	load := crashtest.NewLoad(time.Now())
	for _, s := range subjects {
		s.settle(ctx)
	}
	_, err := b.table(ctx, subjects, func(s *subject) ([]kind, error) {
		reports := traffic{next: reportsTo(s.ingest, load), connections: mostConnections}
		paced := reports
		paced.perSecond = b.rate
		pages, err := b.pageKinds(ctx, s, true)
		return append([]kind{{"ingest", 0, reports}, {fmt.Sprintf("ingest, %d per second", b.rate), 0, paced}}, pages...), err
	})
	return err
}

// pages measures all pages and resources.
func (b *bench) pages(ctx context.Context) error {
	s, err := startSubject(ctx, "", b.program, b.dataDir, b.database, false)
	if err != nil {
		return err
	}
	defer s.stop()
	_, err = b.table(ctx, []*subject{s}, func(s *subject) ([]kind, error) { return b.pageKinds(ctx, s, false) })
	if err != nil {
		return err
	}
	return b.firstVisit(ctx, s)
}
