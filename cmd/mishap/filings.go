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
	"mishap/db"
	"mishap/db/filings"
	"mishap/tracker"
)

func (p *program) filingsCommand() *cobra.Command {
	filings := &cobra.Command{
		Use:   "filings",
		Short: "Looks after the bugs that mishap has filed",
		Long:  `Looks after the bugs that mishap has filed. All filings stand on the page /admin/filings.`,
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	filings.AddCommand(p.reconcileCommand())
	return filings
}

func (p *program) reconcileCommand() *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Finds bugs of our account that no problem knows",
		Long: `Goes through all bugs that our account has filed under tracker_target, whatever their status, and
lists those that no problem knows: after the database was restored from an old backup, say. A bug
belongs to the problem whose permanent address stands in its description.

Nothing is changed without --apply; with it, each is linked to its problem. It can be run as often
as you like, also while mishap serves. Private bugs are found only when the access token may see
them.`,
		Example: `  mishap filings reconcile
  mishap filings reconcile --apply`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, c config.Config, store *db.Store) error {
				return p.reconcile(ctx, c, store, apply)
			})
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "link the bugs to their problems")
	return cmd
}

func (p *program) reconcile(ctx context.Context, c config.Config, store *db.Store, apply bool) error {
	settings := trackerConfig(c, newLog(p.err, slog.LevelWarn), nil)
	strays, err := tracker.NewClient(settings, tracker.NewCredentials(settings, filings.New(store))).StrayBugs(ctx, filings.New(store).KnownBugs)
	if err != nil {
		return err
	}
	if len(strays) == 0 {
		_, err := fmt.Fprintln(p.out, "Every bug of our account is known here.")
		return err
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "BUG\tPROBLEM\tWHAT\tTITLE") // errors come out of Flush
	var failed error
	linkable := 0
	for _, stray := range strays {
		what, ours, err := reconcileOne(ctx, store, stray, apply)
		if err != nil {
			failed, what = errSaid, explain(err)
		}
		if ours {
			linkable++
		}
		problem := "-"
		if stray.Marker != "" {
			problem = stray.Bucket.String()
		}
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", stray.Number, problem, what, stray.Title)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !apply && linkable > 0 {
		if _, err := fmt.Fprintf(p.out, "\n%d can be linked; --apply does it.\n", linkable); err != nil {
			return err
		}
	}
	return failed
}

// reconcileOne says what is to be done about a bug, and does it with apply. ours: its problem is known here.
func reconcileOne(ctx context.Context, store *db.Store, stray tracker.Stray, apply bool) (what string, ours bool, err error) {
	if stray.Marker == "" {
		return "names no problem", false, nil
	}
	bucket, err := store.Bucket(ctx, stray.Bucket)
	switch {
	case errors.Is(err, crash.NotFound):
		return "its problem is not known here", false, nil
	case err != nil:
		return "", false, err
	case apply:
		what = "linked"
		err = filings.New(store).ReconcileBug(ctx, stray.Bucket, crash.Bug{Number: stray.Number, Title: stray.Title, URL: stray.URL, How: crash.Filed})
	default:
		what = "can be linked"
	}
	if bucket.Bug.Number != 0 {
		what += fmt.Sprintf(", besides bug %d", bucket.Bug.Number)
	}
	return what, true, err
}
