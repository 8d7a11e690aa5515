package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/intake"
	"mishap/db"
)

// importers is how many files are imported concurrently. Their reports share transactions.
const importers = 8

func (p *program) importCommand() *cobra.Command {
	var system string
	cmd := &cobra.Command{
		Use:   "import [--system HASH] FILE.crash...",
		Short: "Stores the reports in crash report files",
		Long: `Stores the reports in apport's files, as if the machine named by --system had sent them, or a machine
without a name. Give the hash that whoopsie sends for the machine of the files, which is in its
/var/lib/whoopsie/whoopsie-id. Then a report counts once, even if the machine sends it, too.

Files that cannot be read or that are refused are printed with the reason, and the exit status is 1;
the others are imported. A report that was imported before is recognised and counts once.`,
		Example: `  mishap import /var/crash/*.crash
  mishap import --system "$(cat /var/lib/whoopsie/whoopsie-id)" /var/crash/*.crash`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("system") && !isSystemName(system) {
				return &usageError{fmt.Errorf("--system: expected the hash that a machine sends as its name (128 hex digits, "+
					"or other text of at most %d bytes without blanks and slashes), got %q",
					crash.MaxSystemID, system), cmd.CommandPath()}
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, c config.Config, store *db.Store) error {
				im := importer{
					intake: intake.New(intakeConfig(c), store), system: crash.NewSystemID(system), maxText: int64(c.IngestMaxBytes),
				}
				return p.importFiles(ctx, im, args)
			})
		},
	}
	cmd.Flags().StringVar(&system, "system", "", "the `hash` of the machine that the reports come from")
	return cmd
}

// isSystemName reports whether a machine may have this name. Whoopsie puts the name into addresses
// without escaping it.
func isSystemName(s string) bool {
	return s != "" && len(s) <= crash.MaxSystemID && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r == '/' || !unicode.IsGraphic(r) || unicode.IsSpace(r)
	})
}

// importer imports files as reports of one machine.
type importer struct {
	intake  *intake.Intake
	system  crash.SystemID
	maxText int64 // bytes of all texts of one report
}

// tally counts the outcomes of files.
type tally struct {
	mu                    sync.Mutex
	stored, known, failed int
}

func (p *program) importFiles(ctx context.Context, im importer, files []string) error {
	bar := p.progressBar(len(files), "importing")
	var t tally
	var group errgroup.Group
	group.SetLimit(importers)
	for _, file := range files {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			receipt, err := im.importFile(ctx, file)
			t.mu.Lock()
			defer t.mu.Unlock()
			switch {
			case ctx.Err() != nil && err != nil: // interrupted, reported below
			case err != nil:
				t.failed++
				_ = bar.Clear()
				_, _ = fmt.Fprintf(p.err, "%s: %s\n", onOneLine(file), reason(err))
			case receipt.Duplicate:
				t.known++
			default:
				t.stored++
			}
			_ = bar.Add(1)
			return nil
		})
	}
	_ = group.Wait() // the functions above return no errors
	_ = bar.Finish()
	p.printf("%d stored, %d known already, %d refused.", t.stored, t.known, t.failed)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", ctx.Err())
	case t.failed > 0:
		return errReported
	}
	return nil
}

func (im importer) importFile(ctx context.Context, file string) (intake.Receipt, error) {
	fields, err := readCrashFile(file, im.maxText)
	if err != nil {
		return intake.Receipt{}, err
	}
	return im.intake.Accept(ctx, crash.Report{System: im.system, Fields: fields})
}

// progressBar returns a progress bar that is visible only at a terminal.
func (p *program) progressBar(steps int, what string) *progressbar.ProgressBar {
	w := io.Discard
	if isTerminal(p.err) {
		w = p.err
	}
	return progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100e6))
}
