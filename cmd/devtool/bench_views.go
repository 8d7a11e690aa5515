package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// visitors are how many ask at once.
const visitors = 8

// viewsBench measures the pages on a database that is filled already.
type viewsBench struct {
	filled

	rounds int
	out    io.Writer
}

func benchViewsCommand() *cobra.Command {
	b := viewsBench{}
	cmd := &cobra.Command{
		Use:   "bench-pages",
		Short: "Measures how fast pages come on a database that is filled already",
		Long: `Starts the real server on a database that is filled already ("devtool load --fill"), asks for each
kind of page over eight connections, each asking again as soon as it has its answer, and prints how
long the answers take. Over the budget (30 ms for the usual pages, 150 ms with any filter, for 99 of
100) a line is marked. Then it compares the front page with the same page made from memory, and tells
what a first visit loads. No other server may run on the data_dir meanwhile.`,
		Example: "  devtool bench-pages --data-dir /var/tmp/million",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.out = cmd.OutOrStdout()
			return b.run(cmd.Context())
		},
	}
	b.flags(cmd)
	cmd.Flags().IntVar(&b.rounds, "rounds", 800, "how many times each page is asked for")
	return cmd
}

func (b *viewsBench) run(ctx context.Context) error {
	return b.serve(ctx, func(s *site, databaseURL string) error {
		known, err := lookAround(ctx, databaseURL)
		if err != nil {
			return err
		}
		if err := s.signIn(ctx); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(b.out, "%d reports of the last year; %d connections\n", known.reports, visitors)
		if err := b.pages(ctx, s, known); err != nil {
			return err
		}
		if err := b.besideMemory(ctx, s, databaseURL); err != nil {
			return err
		}
		return b.firstVisit(ctx, s)
	})
}

// views are the pages, as they come and with filters. The report is for people who are signed in, the others are asked for
// as visitors do.
func (k surroundings) views() (usual, filtered []string) {
	q := url.QueryEscape
	release, pkg, version := q(string(k.report.Release)), q(k.common.Package), q(k.common.LastVersion)
	id := k.common.ID.Path()
	usual = []string{
		"/", "/?period=day", "/?period=month", "/?period=year", id, k.rare.ID.Path(),
		"/oops/" + k.report.ID.String(), "/search?q=" + pkg, "/search?q=step",
	}
	year := "/?period=year"
	filtered = []string{
		"/?period=day&release=" + release, "/?release=" + release, "/?package=" + pkg, year + "&release=" + release,
		year + "&package=" + pkg, year + "&package=" + pkg + "&version=" + version, year + "&pkg_arch=arm64", year + "&type=Crash&pkg_arch=arm64&release=" + release,
		year + "&new=1", year + "&state=none", year + "&sort=machines", year + "&sort=first", "/?from=2026-03-02&to=2026-04-11",
		id + "?release=" + release, id + "?version=" + version, "/search?q=" + q("package:"+k.common.Package+" step"), "/search?q=" + q("arch:arm64 -step_1"),
	}
	return usual, filtered
}

func (b *viewsBench) pages(ctx context.Context, s *site, known surroundings) error {
	usual, filtered := known.views()
	t := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "p50\tp99\tat most\tper second\tcompressed\t\t")
	for i, path := range append(slices.Clone(usual), filtered...) {
		budget := usualBudget
		if i >= len(usual) {
			budget = filterBudget
		}
		m, err := s.crowd(ctx, s.url+path, b.rounds)
		if err != nil {
			return err
		}
		mark := ""
		if m.took.at(.99) > budget {
			mark = "OVER"
		}
		_, _ = fmt.Fprintf(t, "%.2f ms\t%.2f ms\t%.0f ms\t%.0f\t%.1f kB\t%s\t %s\n", ms(m.took.at(.5)), ms(m.took.at(.99)), ms(budget), m.perSecond,
			float64(m.bytes)/1000, mark, path)
	}
	return t.Flush()
}

// crowded is what many who ask at once saw.
type crowded struct {
	took      timings
	perSecond float64
	bytes     int64 // of one answer, compressed
}

// crowd asks for a page over and over, from several connections.
func (s *site) crowd(ctx context.Context, address string, rounds int) (crowded, error) {
	jar := s.client.Jar
	if !needsSignIn(address) {
		jar = nil
	}
	client := &http.Client{Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: visitors, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var c crowded
	if _, err := s.crowdRound(ctx, client, address, 8*visitors); err != nil { // does not count
		return c, err
	}
	began := time.Now()
	found, err := s.crowdRound(ctx, client, address, rounds)
	found.perSecond = float64(len(found.took)) / time.Since(began).Seconds()
	return found, err
}

func (s *site) crowdRound(ctx context.Context, client *http.Client, address string, rounds int) (crowded, error) {
	var c crowded
	parts := make([]crowded, visitors)
	group, ctx := errgroup.WithContext(ctx)
	for i := range visitors {
		group.Go(func() error {
			for range max(rounds/visitors, 1) {
				began := time.Now()
				n, err := compressed(ctx, client, address, nil)
				if err != nil {
					return err
				}
				parts[i].took, parts[i].bytes = append(parts[i].took, time.Since(began)), n
			}
			return nil
		})
	}
	err := group.Wait()
	for _, part := range parts {
		c.took, c.bytes = append(c.took, part.took...), part.bytes
	}
	return c, err
}

// compressed fetches something as browsers do, without unpacking it, and returns how many bytes it has. What is read goes to
// to as well when that is not nil.
func compressed(ctx context.Context, client *http.Client, address string, to io.Writer) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: got status %d", address, resp.StatusCode)
	}
	if to == nil {
		to = io.Discard
	}
	return io.Copy(to, resp.Body)
}
