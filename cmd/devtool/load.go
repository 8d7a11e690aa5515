package main

import (
	"fmt"
	"net/url"
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
those of a fleet of machines over the eight weeks until today, and one of each kind that pages must
bear. On one day the same reports are posted each time; those that can be recognised count once.`,
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
	cmd.Flags().IntVar(&reports, "reports", 1500, "how many reports the fleet has")
	return cmd
}

// loadCommand returns the command that measures a running server on any machine.
func loadCommand() *cobra.Command {
	var ingest string
	var connections int
	var length time.Duration
	var fill filling
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Posts reports as fast as a server takes them, or fills a database with millions of them",
		Long: `Posts reports of about 20 kB over a number of connections, each waiting for its answer, to a
server that runs already, and prints how many it accepted per second and how long they took. Its
limits per machine and per address should be off (0). The reports stay: use a database for trials.

With --fill it puts so many reports into a database itself, of 400 days and some thousand packages,
through the same rules and statements as those that machines post; it may be cut off, and go on with
--from. No server may run on the data_dir meanwhile.`,
		Example: `  devtool load --to http://127.0.0.1:8081 --connections 32 --for 10s
  devtool load --fill 1000000 --data-dir /var/tmp/million`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if fill.volume.Reports > 0 {
				fill.volume.Now = time.Now().UTC().Truncate(24 * time.Hour)
				return fill.run(cmd.Context(), cmd.ErrOrStderr(), cmd.OutOrStdout())
			}
			to, err := url.Parse(ingest)
			if err != nil || to.Scheme != "http" || to.Port() == "" {
				return fmt.Errorf("--to: expected an address such as %s, got %q", defaultIngest, ingest)
			}
			send := traffic{next: reportsTo(to.Host, crashtest.NewLoad(time.Now())), connections: connections, length: length}
			m, err := send.send(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%.0f reports/s on %d connections, p50 %.2f ms, p99 %.2f ms\n",
				m.Throughput, connections, ms(m.Latencies.P50), ms(m.Latencies.P99))
			return err
		},
	}
	cmd.Flags().StringVar(&ingest, "to", defaultIngest, "the `address` where machines post reports")
	cmd.Flags().IntVar(&connections, "connections", 32, "how many reports are under way at once")
	cmd.Flags().DurationVar(&length, "for", 10*time.Second, "how long")
	cmd.Flags().IntVar(&fill.volume.Reports, "fill", 0, "fill a database with so many reports instead")
	cmd.Flags().IntVar(&fill.volume.From, "from", 0, "the number of the report to go on with")
	cmd.Flags().IntVar(&fill.volume.Problems, "problems", 0, "how many problems they have, about (default: one for "+
		"each hundred)")
	cmd.Flags().IntVar(&fill.volume.Padding, "padding", 1000, "how many bytes each has besides what it is grouped by")
	cmd.Flags().StringVar(&fill.databaseURL, "database", "", "the `url` of the database to fill")
	cmd.Flags().StringVar(&fill.dataDir, "data-dir", "", "the data_dir whose private PostgreSQL to fill")
	cmd.MarkFlagsMutuallyExclusive("database", "data-dir")
	cmd.MarkFlagsMutuallyExclusive("fill", "to")
	return cmd
}
