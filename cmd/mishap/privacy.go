package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/db/upkeep"
)

func privacyCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "privacy",
		Short: "Shows and applies the classes of the fields of reports",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(privacyTableCommand(p), privacyCheckCommand(p))
	return cmd
}

func privacyTableCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "table",
		Short: "Shows who may read which fields of reports",
		Long: `Prints the class of every known field, with the changes by privacy_fields: public, restricted (people
with a role), private (people with the right to private data) or secret (dropped on arrival). It uses
no database.`,
		Example: "  mishap privacy table | grep secret",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(w, "FIELD\tCLASS\tRESTRICTED EXCERPT\tCHANGED FROM") // Flush returns the error
			for _, row := range c.Privacy().Rows() {
				before := ""
				if row.Changed() {
					before = row.Before.String()
				}
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", onOneLine(row.Name), row.Class, row.Excerpt, before)
			}
			_, _ = fmt.Fprintf(w, "(others)\t%s\t\t\n", c.Privacy().Unlisted())
			return w.Flush()
		},
	}
}

func privacyCheckCommand(p *program) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "check [--apply]",
		Short: "Counts the secret and private fields of stored reports",
		Long: `Examines all stored reports, and prints how many have fields that are secret or private by the present
configuration, and which. It changes nothing without --apply, which removes the secret fields. Reports
of held problems keep theirs, and titles and signatures that were made from a field stay.

It may run while mishap serves, which has priority. It can be interrupted at any time: a running server
continues it, or this command if called again. The page /admin/privacy shows the progress.`,
		Example: "  mishap privacy check\n  mishap privacy check --apply",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			kind := privacy.RunCheck
			if apply {
				kind = privacy.RunApply
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, c config.Config, store *db.Store) error {
				return examineFields(ctx, p, upkeep.NewRetention(store, c.Privacy()), kind)
			})
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "remove the secret fields")
	return cmd
}

// examineFields starts a run, or continues the one in progress if it is of the same kind.
func examineFields(ctx context.Context, p *program, store *upkeep.Retention, kind privacy.RunKind) error {
	run, err := store.Start(ctx, kind, store.Now(), "")
	if errors.Is(err, crash.Conflict) {
		refused := err
		runs, err := store.Runs(ctx, 1)
		if err != nil {
			return err
		}
		if len(runs) == 0 || runs[0].Kind != kind || !runs[0].Finished.IsZero() {
			return refused
		}
		run = runs[0]
	} else if err != nil {
		return err
	}
	bar := p.progressBar(100, "examining")
	run, err = store.Work(ctx, run.ID, func(now privacy.Run) { _ = bar.Set64(now.Percent()) })
	_ = bar.Finish()
	if err != nil {
		if ctx.Err() != nil {
			p.printf("Interrupted. A running server continues, or this command if called again.")
		}
		return err
	}
	p.printf("%s", run.Summary())
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, found := range []struct {
		class  privacy.Class
		counts map[string]int64
	}{{privacy.Secret, run.Found.Secret}, {privacy.Private, run.Found.Private}} {
		for _, f := range privacy.Sorted(found.counts) {
			_, _ = fmt.Fprintf(w, "%s\t%d\t%s\n", found.class, f.Reports, onOneLine(f.Name)) // Flush returns the error
		}
	}
	return w.Flush()
}
