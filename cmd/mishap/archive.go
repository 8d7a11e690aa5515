package main

import (
	"context"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/db/archive"
)

func (p *program) archiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Moves old reports to other PostgreSQL servers and back",
		Long: `Moves months of reports to archives, which are databases on other PostgreSQL servers. Pages, searches
of reports, erasures and everything else still find them. While an archive is down, new reports are
stored and counted, and lists and problems can be read; what it stores is missing, and erasures wait.

PostgreSQL itself reads archives, with its extension postgres_fdw, so their addresses must be valid on
the machine of mishap's database. docs/operating.md says what that database needs.`,
	}
	cmd.AddCommand(p.archiveAddCommand(), p.archiveRemoveCommand(), p.archiveListCommand(), p.archiveMoveCommand(),
		p.archiveBackCommand())
	return cmd
}

func (p *program) archiveAddCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add NAME ADDRESS",
		Short: "Makes an empty database an archive",
		Long: `Makes the database at ADDRESS an archive. It must be empty, with the encoding UTF8, on PostgreSQL 15 or
newer; a database that was an archive of this installation may have its tables. mishap stores the
password of ADDRESS in the database, where only its own role and superusers can read it. Without one
in ADDRESS, it takes that of PGPASSWORD or of the file ~/.pgpass.`,
		Example: `  mishap archive add old postgres://mishap:PASSWORD@archive.example.org/archive`,
		Args:    cobra.ExactArgs(2),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			if err := archive.New(s.store).Add(ctx, s.args[0], s.args[1]); err != nil {
				return "", err
			}
			return "Added the archive " + s.args[0] + ". Move a month to it: mishap archive move 2026-03 --to " + s.args[0], nil
		}),
	}
}

func (p *program) archiveRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Forgets an archive that stores no reports",
		Example: `  mishap archive remove old`,
		Args:    cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			if err := archive.New(s.store).Remove(ctx, s.args[0]); err != nil {
				return "", err
			}
			return "Removed the archive " + s.args[0] + ". Its database stays; nothing needs it any more.", nil
		}),
	}
}

func (p *program) archiveListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "Lists archives with what they store",
		Example: `  mishap archive list`,
		Args:    cobra.NoArgs,
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			all, err := archive.New(s.store).List(ctx)
			if err != nil {
				return "", err
			}
			if len(all) == 0 {
				return "There are no archives: all reports are in mishap's own database.", nil
			}
			return "", p.printArchives(all)
		}),
	}
}

func (p *program) printArchives(all []archive.Archive) error {
	w := newTable(p.out)
	w.row("ARCHIVE", "ADDRESS", "POSTGRESQL", "SIZE", "STATE", "REPORTS OF")
	for _, a := range all {
		state, size, of := "ok", fmt.Sprintf("%.1f MiB", float64(a.Bytes)/(1<<20)), "-"
		if a.Problem != "" {
			state, size, a.Version = a.Problem, "-", "-"
		}
		if n := len(a.Parts); n > 0 {
			of = a.Parts[0].From.Format(time.DateOnly) + " to " + a.Parts[n-1].Until.AddDate(0, 0, -1).Format(time.DateOnly)
		}
		w.row(a.Name, a.Address, a.Version, size, state, of)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, a := range all {
		for _, m := range a.Moves {
			switch {
			case m.State != "copying":
				p.printf("%s: %s was moved; the table that it has left remains to be dropped.", a.Name, m.Part)
			case m.Back:
				p.printf("%s: %s is being moved back; %d reports are copied.", a.Name, m.Part, m.Reports)
			default:
				p.printf("%s: %s is being moved there; %d reports are copied.", a.Name, m.Part, m.Reports)
			}
		}
	}
	return nil
}

func (p *program) archiveMoveCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "move MONTH --to NAME",
		Short: "Moves the reports of a month to an archive",
		Long: `Copies the reports that arrived in a month to an archive, compares counts and hashes, puts the copy in
place of the original in one short transaction, and then drops the original. mishap may serve
meanwhile, also from several instances: reports that change are copied again. It rests as long as it
works, so that other work has priority.

An interrupted move changes nothing; the same command continues it, and "mishap archive back" ends it.`,
		Example: `  mishap archive move 2026-03 --to old`,
		Args:    cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			progress, done := p.moveProgress()
			defer done()
			n, err := archive.New(s.store).Move(ctx, s.args[0], to, progress)
			if err != nil {
				return "", err
			}
			done()
			if n == 0 {
				return "The reports of " + s.args[0] + " are in the archive " + to + " already.", nil
			}
			return "Moved " + crash.Counted(n, "report", "reports") + " of " + s.args[0] + " to the archive " + to + ".", nil
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "`name` of the archive")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func (p *program) archiveBackCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "back MONTH",
		Short: "Moves the reports of a month back from its archive",
		Long: `Moves the reports of a month back into mishap's own database, in the same way as "mishap archive move". If
the month is being moved to an archive, it ends that move instead.`,
		Example: `  mishap archive back 2026-03`,
		Args:    cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			progress, done := p.moveProgress()
			defer done()
			n, err := archive.New(s.store).Back(ctx, s.args[0], progress)
			if err != nil {
				return "", err
			}
			done()
			if n == 0 {
				return "The reports of " + s.args[0] + " are in mishap's own database.", nil
			}
			return "Moved " + crash.Counted(n, "report", "reports") + " of " + s.args[0] + " back.", nil
		}),
	}
}

// moveProgress returns a function that shows how far a move is, and one that removes the bar.
func (p *program) moveProgress() (progress archive.Progress, done func()) {
	var bar *progressbar.ProgressBar
	var last string
	done = func() {
		if bar != nil {
			_ = bar.Finish() // errors of the bar do not matter
			bar = nil
		}
	}
	return func(what string, steps, total int) {
		if bar == nil || what != last {
			done()
			bar, last = p.progressBar(total, what), what
		}
		_ = bar.Set(steps) // as above
	}, done
}
