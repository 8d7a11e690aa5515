package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/db"
	adminview "mishap/views/admin"
)

// regroupShown is the maximum number of moves that are listed.
const regroupShown = 40

func (p *program) regroupCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "regroup",
		Short: "Applies the grouping rules of this version to stored reports",
		Long: `Groups stored reports by the rules of this version of mishap, and moves those that now belong to
another problem, with their counts. New reports are stored meanwhile; while they arrive faster than
they are counted, regrouping pauses.

People's decisions stay: merged problems stay merged, and split reports stay split. If all reports
of a problem move, its address, bugs, notes and name move with them.

It can be interrupted at any time. A running server continues it, or this command if called again.
The page /admin/regroup shows the progress.`,
		Example: "  mishap regroup --dry-run\n  mishap regroup",
		Args:    cobra.NoArgs,
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			return "", p.regroup(ctx, s.store, grouping.CurrentRules(), dry)
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only print what would move")
	return cmd
}

// regroup starts a run, or continues the one in progress, and prints its result.
func (p *program) regroup(ctx context.Context, store *db.Store, rules crash.GroupingRules, dry bool) error {
	run, err := db.NewDecisions(store).StartRegroup(ctx, rules.Version, dry, "")
	if errors.Is(err, crash.Conflict) {
		if run, err = db.NewDecisions(store).RunningRegroup(ctx); err == nil &&
			(run.Dry != dry || run.Rules != rules.Version) {
			return crash.Errorf(crash.Conflict, "another_run",
				"Another run of regrouping is under way (version %d of the rules%s); "+
					"wait for it, or stop it on the page /admin/regroup.",
				run.Rules, map[bool]string{true: ", a dry run"}[run.Dry])
		}
	}
	if err != nil {
		return err
	}
	bar := p.progressBar(100, "regrouping")
	run, err = db.NewDecisions(store).WorkRegroup(ctx, run.ID, rules,
		func(now crash.RegroupRun) { showProgress(bar, now) })
	_ = bar.Finish()
	if err != nil {
		if ctx.Err() != nil {
			p.printf("%s. A running server continues it, or this command if called again.", adminview.RegroupState(run))
		}
		return err
	}
	return p.printRegrouped(ctx, store, run)
}

func showProgress(bar *progressbar.ProgressBar, run crash.RegroupRun) {
	bar.Describe(adminview.RegroupState(run))
	_ = bar.Set64(adminview.RegroupPercent(run))
}

// printRegrouped lists what a run has moved, or would move.
func (p *program) printRegrouped(ctx context.Context, store *db.Store, run crash.RegroupRun) error {
	effect, err := db.NewDecisions(store).RegroupEffect(ctx, run)
	if err != nil {
		return err
	}
	moves, err := db.NewDecisions(store).RegroupMoves(ctx, run.ID, regroupShown+1)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.out, "Rules version %d: %s.\n%s\n",
		run.Rules, adminview.RegroupState(run), adminview.RegroupEffect(run, effect)); err != nil {
		return err
	}
	if len(moves) == 0 {
		return nil
	}
	w := newTable(p.out, "\nREPORTS", "FROM", "TO")
	for _, m := range moves[:min(len(moves), regroupShown)] {
		w.row(m.Reports, regroupEnd(m.From, m.FromLabel, false), regroupEnd(m.To, m.ToLabel, m.New))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(moves) > regroupShown {
		_, err = fmt.Fprintln(p.out, "… and more, all smaller.")
	}
	return err
}

// regroupEnd returns the problem that reports come from or go to.
func regroupEnd(id crash.BucketID, label string, isNew bool) string {
	if id == (crash.BucketID{}) {
		return "no problem"
	}
	out := id.String()[:8] + " " + onOneLine(crash.Shorten(label, 60))
	if isNew {
		out += " (new)"
	}
	return out
}
