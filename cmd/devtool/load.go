package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash/crashtest"
)

const defaultIngest = "http://127.0.0.1:8081"

// seedCommand returns the command that fills a running server.
func seedCommand() *cobra.Command {
	var ingest string
	var reports int
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Posts sample reports to a running server",
		Long: `Posts the sample reports of the demonstration, as machines do, to a running server:
eight weeks of reports from a fleet of machines, and one extreme report of each kind. On the same day,
each run posts the same reports. The server recognises most of them as duplicates and counts them once.`,
		Example: "  devtool seed --to http://127.0.0.1:8081 --reports 20000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bar := progress(cmd.ErrOrStderr(), reports, "posting sample reports")
			today := time.Now().UTC().Truncate(24 * time.Hour)
			err := postReports(cmd.Context(), ingest, sampleReports(reports, today), func() { _ = bar.Add(1) })
			_ = bar.Finish()
			return err
		},
	}
	cmd.Flags().StringVar(&ingest, "to", defaultIngest, "the `address` where machines post reports")
	cmd.Flags().IntVar(&reports, "reports", 1500, "`number` of reports from the fleet")
	return cmd
}

// loadCommand returns the command that measures a running server, or fills a database.
func loadCommand() *cobra.Command {
	var ingest, address string
	var connections int
	var slow bool
	var length time.Duration
	var fill filling
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Posts reports as fast as a server accepts them, or fills a database with millions of reports",
		Long: `Posts reports of about 20 kB to a running server, and prints how many it accepted per second and how
long they took. Each connection waits for an answer before it sends the next report. Set the server's
limits per machine and per address to 0. The reports stay in the database, so use a test database.

With --fill it stores reports directly in a database, with the same rules and statements as for reports
from machines. They cover 400 days and about a thousand packages. After an interruption, continue with
--from. No server may use the data_dir at the same time.`,
		Example: `  devtool load --to http://127.0.0.1:8081 --connections 32 --for 10s
  devtool load --fill 1000000 --data-dir /var/tmp/million`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if fill.volume.Reports > 0 {
				fill.volume.Now = time.Now().UTC().Truncate(24 * time.Hour)
				return fill.run(cmd.Context(), cmd.ErrOrStderr(), cmd.OutOrStdout())
			}
			t := traffic{clients: connections, apart: address != "", slow: slow}
			if address != "" {
				t.next = get(address, nil, false)
				if slow { // compressed, most of the answer would be in buffers at once
					t.next = get(address, http.Header{"Accept-Encoding": {"identity"}}, false)
				}
			} else {
				to, err := url.Parse(ingest)
				if err != nil || to.Scheme != "http" || to.Port() == "" {
					return fmt.Errorf("--to: expected an address such as %s, got %q", defaultIngest, ingest)
				}
				t.next = reportsTo(to.Host, crashtest.NewLoad(time.Now()))
			}
			a := t.send(cmd.Context(), length)
			if address == "" && a.err != nil {
				return a.err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%.0f/s on %d connections, p50 %.2f ms, p99 %.2f ms, by status: %v",
				a.perSecond(), connections, a.percentile(50), a.percentile(99), a.statuses)
			if len(a.cut) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), ", %d cut off after %.0f to %.0f s", len(a.cut), slices.Min(a.cut),
					slices.Max(a.cut))
			}
			fmt.Fprintln(cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().StringVar(&ingest, "to", defaultIngest, "the `address` where machines post reports")
	cmd.Flags().StringVar(&address, "get", "", "request this `address` instead of posting reports, as visitors from "+
		"different loopback addresses")
	cmd.Flags().BoolVar(&slow, "slow", false, "with --get: request it once on each connection and read 512 bytes a second")
	cmd.Flags().IntVar(&connections, "connections", 32, "`number` of concurrent connections")
	cmd.Flags().DurationVar(&length, "for", 10*time.Second, "`duration` of the measurement")
	cmd.Flags().IntVar(&fill.volume.Reports, "fill", 0, "fill a database with this `number` of reports instead")
	cmd.Flags().IntVar(&fill.volume.From, "from", 0, "`number` of the report to continue with")
	cmd.Flags().IntVar(&fill.volume.Problems, "problems", 0,
		"approximate `number` of problems (default: one per 100 reports)")
	cmd.Flags().IntVar(&fill.volume.Padding, "padding", 1000, "`bytes` in each report in addition to what grouping uses")
	cmd.Flags().StringVar(&fill.databaseURL, "database", "", "`url` of the database to fill")
	cmd.Flags().StringVar(&fill.dataDir, "data-dir", "", "the data_dir whose private PostgreSQL to fill")
	cmd.MarkFlagsMutuallyExclusive("database", "data-dir")
	cmd.MarkFlagsMutuallyExclusive("fill", "to")
	return cmd
}
