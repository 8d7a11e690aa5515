package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// viewsBench measures the pages on a database that is filled already.
type viewsBench struct {
	filled

	small   filled // with few reports, to compare with; may be none
	only    []string
	profile string
	rounds  int
	reports float64 // that come in each second
	out     io.Writer
}

func benchViewsCommand() *cobra.Command {
	b := viewsBench{}
	cmd := &cobra.Command{
		Use:   "bench-pages",
		Short: "Measures how fast pages come on a database that is filled already",
		Long: `Starts the real server on a database that is filled already ("devtool load --fill"), asks for each
kind of page over eight connections, each asking again as soon as it has its answer, and prints how
long the answers take, and how long one takes when nobody else asks. Over the budget (30 ms for the
usual pages, 150 ms with any filter, for 99 of 100) a line is marked. There are four tables:

  visitors   as visitors see pages, which the server keeps
  anew       the same, each time under an address that nobody asked for: nothing is kept of the page
  reports    as visitors see pages while reports come in, so that what is kept becomes stale
  signed-in  as somebody sees them who is signed in: made each time

Then (memory) it compares the front page, in the same three ways, with the same page made from memory,
tells what a first visit loads, and, when a second database with few reports is given (small), how the
front page with many reports compares with the one with few. While reports come in they stay in the
database. No other server may run on it meanwhile.`,
		Example: `  devtool bench-pages --data-dir /var/tmp/ten --small-data-dir /var/tmp/small
  devtool bench-pages --data-dir /var/tmp/ten --only signed-in --rounds 200`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.out = cmd.OutOrStdout()
			for _, part := range b.only {
				if !slices.Contains(benchParts, part) {
					return fmt.Errorf("--only %s: there are %s", part, strings.Join(benchParts, ", "))
				}
			}
			return b.run(cmd.Context())
		},
	}
	b.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&b.small.dataDir, "small-data-dir", "", "the data_dir of a database with few reports")
	flags.StringVar(&b.small.database, "small-database", "", "the `url` of a database with few reports")
	cmd.MarkFlagsMutuallyExclusive("small-data-dir", "small-database")
	flags.StringSliceVar(&b.only, "only", nil, "the `parts` that are measured: "+strings.Join(benchParts, ", "))
	flags.IntVar(&b.rounds, "rounds", 800, "how many times each page is asked for")
	flags.Float64Var(&b.reports, "reports-per-second", 20, "how many reports come in while that is measured")
	flags.StringVar(&b.profile, "profile", "", "write how the server spends ten seconds of its first table to this `file`, for go tool pprof")
	return cmd
}

var benchParts = []string{"visitors", "anew", "reports", "signed-in", "memory", "small"}

func (b *viewsBench) wants(part string) bool {
	return len(b.only) == 0 || slices.Contains(b.only, part)
}

func (b *viewsBench) run(ctx context.Context) error {
	return b.serve(ctx, func(s *site, databaseURL string) (err error) {
		known, err := lookAround(ctx, databaseURL)
		if err != nil {
			return err
		}
		if err := s.signIn(ctx); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(b.out, "%d reports of the last year; %d connections\n", known.reports, visitors)
		if b.profile != "" {
			done := s.profiled(ctx, b.profile)
			defer func() { err = errors.Join(err, done()) }()
		}
		if err := b.tables(ctx, s, known); err != nil {
			return err
		}
		if b.wants("memory") {
			if err := b.besideMemory(ctx, s, databaseURL); err != nil {
				return err
			}
			if err := b.firstVisit(ctx, s); err != nil {
				return err
			}
		}
		if b.wants("small") && b.small.dataDir+b.small.database != "" {
			return b.besideSmall(ctx, s)
		}
		return nil
	})
}

// views are the pages, as they come and with filters.
func (k surroundings) views() (usual, filtered []string) {
	q := url.QueryEscape
	release, pkg, version := q(string(k.report.Release)), q(k.common.Package), q(k.common.HighestVersion)
	id := k.common.ID.Path()
	usual = []string{
		"/", "/?period=day", "/?period=month", "/?period=year", id, k.rare.ID.Path(), "/search?q=" + pkg, "/search?q=step",
		"/package/" + url.PathEscape(k.common.Package), "/release/" + url.PathEscape(string(k.report.Release)),
	}
	year := "/?period=year"
	filtered = []string{
		"/?period=day&release=" + release, "/?release=" + release, "/?package=" + pkg, year + "&release=" + release,
		year + "&package=" + pkg, year + "&package=" + pkg + "&version=" + version, year + "&pkg_arch=arm64", year + "&type=Crash&pkg_arch=arm64&release=" + release,
		year + "&new=1", year + "&state=none", year + "&sort=last", year + "&sort=first", "/?from=2026-03-02&to=2026-04-11",
		id + "?release=" + release, id + "?version=" + version, "/search?q=" + q("package:"+k.common.Package+" step"), "/search?q=" + q("arch:arm64 -step_1"),
	}
	return usual, filtered
}

// viewsOfPeople are the pages that only people who are signed in see.
func (k surroundings) viewsOfPeople() (usual, filtered []string) {
	id := k.common.ID.Path()
	return []string{
		"/oops/" + k.report.ID.String(), "/oops/" + k.report.ID.String() + "?via=" + url.QueryEscape(id), "/user/" + url.PathEscape(string(k.report.System)),
		id + "/traits", "/my",
	}, []string{id + "?complete=1&release=" + url.QueryEscape(string(k.report.Release))}
}

func (b *viewsBench) tables(ctx context.Context, s *site, known surroundings) error {
	usual, filtered := known.views()
	if b.wants("visitors") {
		if err := b.table(ctx, s, "Visitors", asking{}, usual, filtered); err != nil {
			return err
		}
	}
	if b.wants("anew") {
		if err := b.table(ctx, s, "Visitors, each page made anew", asking{anew: true}, usual, filtered); err != nil {
			return err
		}
	}
	if b.wants("reports") {
		title := fmt.Sprintf("Visitors, while %.0f reports come in each second", b.reports)
		taken, err := s.whileReportsCome(ctx, b.reports, func() error { return b.table(ctx, s, title, asking{}, usual, filtered) })
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(b.out, "meanwhile %d reports were taken, p99 %.1f ms\n", taken.Reports, ms(taken.P99))
	}
	if b.wants("signed-in") {
		own, ownFiltered := known.viewsOfPeople()
		return b.table(ctx, s, "Signed in", asking{signedIn: true}, append(usual, own...), append(filtered, ownFiltered...))
	}
	return nil
}

// aloneRounds are how many times a page is asked for when nobody else asks.
const aloneRounds = 24

func (b *viewsBench) table(ctx context.Context, s *site, title string, a asking, usual, filtered []string) error {
	_, _ = fmt.Fprintf(b.out, "\n%s\n", title)
	t := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "p50\tp99\tat most\talone\tper second\tcompressed\t\t")
	over := 0
	for i, path := range append(slices.Clone(usual), filtered...) {
		budget := usualBudget
		if i >= len(usual) {
			budget = filterBudget
		}
		a.path = path
		m, err := s.crowd(ctx, a, b.rounds)
		if err != nil {
			return err
		}
		alone, err := s.alone(ctx, a, aloneRounds)
		if err != nil {
			return err
		}
		mark := ""
		if m.took.at(.99) > budget {
			mark = "OVER"
			over++
		}
		_, _ = fmt.Fprintf(t, "%.2f ms\t%.2f ms\t%.0f ms\t%.2f ms\t%.0f\t%.1f kB\t%s\t %s\n", ms(m.took.at(.5)), ms(m.took.at(.99)), ms(budget),
			ms(alone.at(.5)), m.perSecond, float64(m.bytes)/1000, mark, path)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(b.out, "%d of %d over what they may take\n", over, len(usual)+len(filtered))
	return err
}

// whileReportsCome has reports come in for as long as something is done.
func (s *site) whileReportsCome(ctx context.Context, perSecond float64, do func() error) (loadResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		result loadResult
		err    error
	}
	sent := make(chan outcome, 1)
	go func() {
		result, err := newReportPool(time.Now()).load(ctx, loadOrder{Address: s.ingest, Connections: 2, Length: time.Hour, PerSecond: perSecond})
		sent <- outcome{result, err}
	}()
	err := do()
	cancel()
	o := <-sent
	return o.result, errors.Join(err, o.err)
}
