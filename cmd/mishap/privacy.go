package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/privacy"
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
			w := newTable(p.out, "FIELD", "CLASS", "RESTRICTED EXCERPT", "CHANGED FROM")
			for _, row := range c.Privacy().Rows() {
				before := ""
				if row.Changed() {
					before = row.Before.String()
				}
				w.row(onOneLine(row.Name), row.Class, row.Excerpt, before)
			}
			w.row("(others)", c.Privacy().Unlisted(), "", "")
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
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			kind := privacy.RunCheck
			if apply {
				kind = privacy.RunApply
			}
			return "", examineFields(ctx, p, upkeep.NewRetention(s.store, s.config.Privacy()), kind)
		}),
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
	w := newTable(p.out)
	for _, found := range []struct {
		class  privacy.Class
		counts map[string]int64
	}{{privacy.Secret, run.Found.Secret}, {privacy.Private, run.Found.Private}} {
		for _, f := range privacy.Sorted(found.counts) {
			w.row(found.class, f.Reports, onOneLine(f.Name))
		}
	}
	return w.Flush()
}
