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
	"mishap/db/check"
)

// checkExamples is how many differences of one kind are printed.
const checkExamples = 10

func (p *program) checkCommand() *cobra.Command {
	var scope crash.CheckScope
	var all bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Counts stored reports again and compares",
		Long: `Counts stored reports again, in another way than on arrival, and compares with the counts that are
kept: of problems, machines, versions, days, releases. By default a sample of the problems and days,
drawn anew each time; with --all everything, which on ten million reports takes minutes.

It reads one snapshot, changes nothing, and may run while mishap serves. Exit status 1 says that
something differs. Counts of reports that were dropped because of their age are kept for ever and
cannot be counted again: such counts are then only seen to be large enough.`,
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
	cmd.Flags().IntVar(&scope.Buckets, "problems", 200, "how many problems the sample has, and a tenth as many days")
	cmd.Flags().Int64Var(&scope.Seed, "seed", 0, "draw the same sample as another check with this number; 0: any")
	cmd.MarkFlagsMutuallyExclusive("all", "problems")
	cmd.MarkFlagsMutuallyExclusive("all", "seed")
	return cmd
}

func (p *program) check(ctx context.Context, store *db.Store, scope crash.CheckScope) error {
	if err := store.WaitCounted(ctx); err != nil {
		return err
	}
	bar := p.progressBar(check.Steps, "counting again")
	result, err := check.Run(ctx, store, scope, func() { _ = bar.Add(1) }) // a bar that cannot be drawn is no reason to stop
	_ = bar.Finish()
	if err != nil {
		return err
	}
	if err := p.printCheck(result); err != nil {
		return err
	}
	if result.Found > 0 {
		return errSaid
	}
	return nil
}

func (p *program) printCheck(r crash.CheckResult) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	if len(r.Differences) > 0 {
		_, _ = fmt.Fprintln(w, "WHAT\tOF\tKEPT\tRECOUNTED") // errors come out of Flush
	}
	for _, d := range r.Differences {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.Count, d.Of, nothing(d.Kept), nothing(d.Recounted))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Dropped != "" {
		_, _ = fmt.Fprintf(p.out, "Reports of %s and before were dropped; what they left in the counts is only seen to be large enough.\n", r.Dropped)
	}
	_, err := fmt.Fprintf(p.out, "%d problems, %d reports, %d counts looked at, %d differences\n", r.Buckets, r.Reports, r.Counts, r.Found)
	return err
}

func nothing(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
