package main

import (
	"context"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/upkeep"
)

// checkExamples is the maximum number of printed differences of one kind.
const checkExamples = 10

func (p *program) checkCommand() *cobra.Command {
	var scope crash.CheckScope
	var all bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Recounts stored reports and compares the counts",
		Long: `Recounts stored reports, in another way than on arrival, and compares the results with the stored
counts of problems, machines, versions, days and releases. By default it checks a new random sample
of problems and days. With --all it checks everything, which takes minutes for ten million reports.

It reads one snapshot, changes nothing, and may run while mishap serves. Exit status 1 means that
counts differ. The counts of reports that were dropped because of their age stay for ever and cannot
be recounted; the check then only verifies that they are large enough.`,
		Example: `  mishap check
  mishap check --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if scope.Buckets < 1 {
				return &usageError{fmt.Errorf("--problems: expected a number above 0, got %d", scope.Buckets), cmd.CommandPath()}
			}
			if all {
				scope.Buckets = 0
			}
			scope.Most = checkExamples
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				return p.check(ctx, store, scope)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "everything instead of a sample")
	cmd.Flags().IntVar(&scope.Buckets, "problems", 200, "number of problems in the sample, which has a tenth as many days")
	cmd.Flags().Int64Var(&scope.Seed, "seed", 0, "number that selects the sample; 0: a random one")
	cmd.MarkFlagsMutuallyExclusive("all", "problems")
	cmd.MarkFlagsMutuallyExclusive("all", "seed")
	return cmd
}

func (p *program) check(ctx context.Context, store *db.Store, scope crash.CheckScope) error {
	if err := store.WaitCounted(ctx); err != nil {
		return err
	}
	bar := p.progressBar(upkeep.CheckSteps, "recounting")
	result, err := upkeep.Check(ctx, store, scope, func() { _ = bar.Add(1) }) // errors of the bar do not matter
	_ = bar.Finish()
	if err != nil {
		return err
	}
	if err := p.printCheck(result); err != nil {
		return err
	}
	if result.Found > 0 {
		return errReported
	}
	return nil
}

func (p *program) printCheck(r crash.CheckResult) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	if len(r.Differences) > 0 {
		_, _ = fmt.Fprintln(w, "COUNT\tOF\tSTORED\tRECOUNTED") // Flush returns the error
	}
	for _, d := range r.Differences {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.Count, d.Of, orDash(d.Stored), orDash(d.Recounted))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Dropped != "" {
		_, _ = fmt.Fprintf(p.out,
			"Reports of %s and before were dropped; their counts were only verified to be large enough.\n",
			r.Dropped)
	}
	if r.Expired != "" {
		_, _ = fmt.Fprintf(p.out,
			"Counts by day have expired before %s; their sums were verified against the counts by version.\n", r.Expired)
	}
	_, err := fmt.Fprintf(p.out, "%d problems, %d reports and %d counts checked, %d differences\n",
		r.Buckets, r.Reports, r.Counts, r.Found)
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
