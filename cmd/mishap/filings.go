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
		Short: "Manages the bugs that mishap has filed",
		Long:  `Manages the bugs that mishap has filed. The page /admin/filings lists all filings.`,
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
		Short: "Finds bugs of mishap's account without a link to a problem",
		Long: `Lists the bugs that mishap's account has filed under tracker_target and that are not linked to any
problem, for example after the database was restored from an old backup. A bug belongs to the
problem whose permanent address is in its description.

With --apply it links each bug to its problem; without, it changes nothing. It can run any number
of times, also while mishap serves. It finds private bugs only if the access token may see them.

After "mishap restore", nothing is filed until this has run with --apply. It also remembers the bugs
of problems that the restored database lacks: if such a problem returns, it gets its bug again.`,
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
	restored, err := filings.New(store).Restored(ctx) // before the search, which may miss later bugs
	if err != nil {
		return err
	}
	strays, err := tracker.NewClient(settings, tracker.NewCredentials(settings, filings.New(store))).StrayBugs(ctx,
		filings.New(store).KnownBugs)
	if err != nil {
		return err
	}
	lost := map[crash.BucketID]int64{}
	if len(strays) == 0 {
		p.printf("Every bug of mishap's account is linked to a problem.")
		return finishRestore(ctx, p, store, restored, lost, apply)
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "BUG\tPROBLEM\tWHAT\tTITLE") // Flush returns the error
	var failed error
	linkable := 0
	for _, stray := range strays {
		what, known, err := reconcileOne(ctx, store, stray, apply)
		if err != nil {
			failed, what = errReported, explain(err)
		}
		switch {
		case known:
			linkable++
		case err == nil && stray.Marker != "":
			if first, ok := lost[stray.Bucket]; !ok || stray.Number < first {
				lost[stray.Bucket] = stray.Number
			}
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
	if failed != nil {
		return failed
	}
	return finishRestore(ctx, p, store, restored, lost, apply)
}

// finishRestore permits filing in a restored database if apply is set. lost are bugs of problems that the
// database lacks.
func finishRestore(
	ctx context.Context, p *program, store *db.Store, restored crash.Restored, lost map[crash.BucketID]int64, apply bool,
) error {
	switch {
	case restored.At.IsZero():
		return nil
	case !apply:
		p.printf("The database was restored from a backup, and nothing is filed until this has run with --apply.")
		return nil
	}
	if err := filings.New(store).FinishRestore(ctx, restored, lost); err != nil {
		return err
	}
	p.printf("The restored database was compared with the tracker: bugs are filed again.")
	return nil
}

// reconcileOne links a bug to its problem if apply is set. It returns a description of the action,
// and whether the problem is in the database.
func reconcileOne(
	ctx context.Context, store *db.Store, stray tracker.Stray, apply bool,
) (what string, known bool, err error) {
	if stray.Marker == "" {
		return "names no problem", false, nil
	}
	bucket, err := store.Bucket(ctx, stray.Bucket)
	switch {
	case errors.Is(err, crash.NotFound):
		return "its problem is not in the database", false, nil
	case err != nil:
		return "", false, err
	case apply:
		what = "linked"
		bug := crash.Bug{Number: stray.Number, Title: stray.Title, URL: stray.URL, How: crash.Filed}
		err = filings.New(store).ReconcileBug(ctx, stray.Bucket, bug)
	default:
		what = "can be linked"
	}
	if bucket.Bug.Number != 0 {
		what += fmt.Sprintf(", besides bug %d", bucket.Bug.Number)
	}
	return what, true, err
}
