package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/intake"
	"mishap/db"
)

// importers is how many files are read and stored at once: reports of concurrent importers share a transaction.
const importers = 8

func (p *program) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE.crash...",
		Short: "Reads crash report files into the store",
		Long: `Reads apport report files into the store, as if a machine without a name had sent them. A file
that cannot be read, or that is turned away, is named with the reason; the others go in, and the
exit status is 1. A crash that was imported before is recognised and counts once.`,
		Example: "  mishap import /var/crash/*.crash",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, c Config, store *db.Store) error {
				return p.importFiles(ctx, intake.New(c.intake(), store), args)
			})
		},
	}
}

// tally counts what became of the files.
type tally struct {
	mu                    sync.Mutex
	stored, known, failed int
}

func (p *program) importFiles(ctx context.Context, in *intake.Intake, files []string) error {
	bar := p.progressBar(len(files), "importing")
	var t tally
	var group errgroup.Group
	group.SetLimit(importers)
	for _, file := range files {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			receipt, err := importFile(ctx, in, file)
			t.mu.Lock()
			defer t.mu.Unlock()
			switch {
			case ctx.Err() != nil && err != nil: // interrupted, said below
			case err != nil:
				t.failed++
				_ = bar.Clear()
				_, _ = fmt.Fprintf(p.err, "%s: %s\n", onOneLine(file), reason(err))
			case receipt.Duplicate:
				t.known++
			default:
				t.stored++
			}
			_ = bar.Add(1) // of no account
			return nil
		})
	}
	_ = group.Wait() // the functions above return no errors
	_ = bar.Finish()
	p.say("%d stored, %d known already, %d not taken.", t.stored, t.known, t.failed)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", ctx.Err())
	case t.failed > 0:
		return errSaid
	}
	return nil
}

func importFile(ctx context.Context, in *intake.Intake, file string) (intake.Receipt, error) {
	fields, err := readCrashFile(file)
	if err != nil {
		return intake.Receipt{}, err
	}
	return in.Accept(ctx, crash.Report{Fields: fields})
}

// progressBar shows how far a long work is, to a person at a terminal only.
func (p *program) progressBar(steps int, what string) *progressbar.ProgressBar {
	w := io.Discard
	if isTerminal(p.err) {
		w = p.err
	}
	return progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100e6))
}
