package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/intake"
	"mishap/crash/symbols/cores"
	dbsymbols "mishap/db/symbols"
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

A core dump is stored as if the machine had been asked for it, and "mishap serve" then gives the report
its names, unless it needs none, or cores or cores_packages forbid it; then the reason is printed. Text that
is not valid UTF-8 is repaired. Fields that are not text are dropped, and their names printed.

Files that cannot be read or that are refused are printed with the reason, and the exit status is 1;
the others are imported. A report that was imported before is recognised and counts once. Symbolic links
are not followed.`,
		Example: `  mishap import /var/crash/*.crash
  mishap import --system "$(cat /var/lib/whoopsie/whoopsie-id)" /var/crash/*.crash`,
		Args: cobra.MinimumNArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("system") || isSystemName(system) {
				return nil
			}
			return fmt.Errorf("--system: expected the hash that a machine sends as its name (128 hex digits, or other text "+
				"of at most %d bytes without blanks and slashes), got %q", crash.MaxSystemID, system)
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			im := importer{
				intake: intake.New(intakeConfig(s.config), s.store), symbols: dbsymbols.New(s.store), config: s.config,
				cores:  sync.OnceValues(func() (*cores.Store, error) { return openCores(ctx, s.config) }),
				system: crash.NewSystemID(system),
			}
			return "", p.importFiles(ctx, im, s.args)
		}),
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
	symbols *dbsymbols.Store
	cores   func() (*cores.Store, error) // opens them with the first core, because that creates a folder
	config  config.Config
	system  crash.SystemID
}

// imported is what became of a file.
type imported struct {
	intake.Receipt
	core    bool     // its core is stored
	noCore  string   // why its core is not; empty: it has none, or it was stored before
	dropped []string // names of fields that are not stored
}

// tally counts the outcomes of files.
type tally struct {
	mu                    sync.Mutex
	stored, known, failed int
	cores                 int
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
			result, err := im.importFile(ctx, file)
			t.mu.Lock()
			defer t.mu.Unlock()
			say := func(format string, args ...any) {
				_ = bar.Clear()
				_, _ = fmt.Fprintf(p.err, "%s: %s\n", onOneLine(file), onOneLine(fmt.Sprintf(format, args...)))
			}
			switch {
			case ctx.Err() != nil && err != nil: // interrupted, reported below
			case err != nil:
				t.failed++
				say("%s", reason(err))
			case result.Duplicate:
				t.known++
			default:
				t.stored++
			}
			if result.core {
				t.cores++
			}
			if result.noCore != "" {
				say("without its core: %s", result.noCore)
			}
			if n := len(result.dropped); n > 0 {
				say("%s dropped (not text, or too large): %s", crash.Counted(int64(n), "field", "fields"),
					strings.Join(result.dropped, ", "))
			}
			_ = bar.Add(1)
			return nil
		})
	}
	_ = group.Wait() // the functions above return no errors
	_ = bar.Finish()
	p.printf("%d stored, %d known already, %d refused.", t.stored, t.known, t.failed)
	if t.cores > 0 {
		_, _ = fmt.Fprintf(p.err, "%s stored.\n", crash.Counted(int64(t.cores), "core", "cores"))
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", ctx.Err())
	case t.failed > 0:
		return errReported
	}
	return nil
}

func (im importer) importFile(ctx context.Context, file string) (imported, error) {
	f, err := openCrashFile(file)
	if err != nil {
		return imported{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	content, err := readCrashFile(f, int64(im.config.IngestMaxBytes))
	if err != nil {
		return imported{}, err
	}
	receipt, err := im.intake.Accept(ctx, crash.Report{System: im.system, Fields: content.fields})
	if err != nil {
		return imported{}, err
	}
	result := imported{Receipt: receipt, dropped: content.binary}
	if content.core {
		result.core, err = im.importCore(ctx, f, receipt)
		if err != nil {
			result.noCore = reason(err)
		}
	}
	return result, ctx.Err()
}

// The reasons for which a core is not stored.
var (
	errCoreNotNeeded = crash.Errorf(crash.Conflict, "not_needed", "The report needs none: it has names or a signature "+
		"of its own, or no signal and architecture.")
	errNoCores       = crash.Errorf(crash.Conflict, "no_cores", `The configuration has cores = "never".`)
	errCoreExcluded  = crash.Errorf(crash.Conflict, "excluded", "cores_packages excludes its package.")
	errCoreTooLarge  = crash.Errorf(crash.TooLarge, "core_too_large", "It is larger than core_max_bytes permits.")
	errCoreDuplicate = crash.Errorf(crash.Conflict, "duplicate", "Another core of the same problem and version is stored.")
)

// importCore stores the core in a file as if its machine had been asked for it. It returns false if the
// core was stored before, and an error with the reason if it is not stored.
func (im importer) importCore(ctx context.Context, file *os.File, receipt intake.Receipt) (bool, error) {
	r := receipt.Core
	switch {
	case im.config.Cores == "never":
		return false, errNoCores
	case r == nil:
		return false, errCoreNotNeeded
	case !im.config.CorePatterns().Match(r.Executable, r.Packages...):
		return false, errCoreExcluded
	}
	store, err := im.cores()
	if err != nil {
		return false, err
	}
	if received, err := im.symbols.OfferCore(ctx, *r); err != nil || received {
		return false, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	text, err := apport.OpenCore(file)
	if err != nil {
		return false, err
	}
	limited := &io.LimitedReader{R: text, N: int64(im.config.CoreMaxBytes) + 1}
	size, _, err := store.Put(ctx, r.Report, limited)
	switch {
	case errors.Is(err, cores.ErrPending):
		return true, nil
	case err != nil:
		return false, err
	}
	needed := limited.N > 0
	if needed {
		needed, err = im.symbols.CoreReceived(ctx, crash.ReceivedCore{Report: r.Report, Architecture: r.Architecture,
			Store: store.ID(), Bytes: size})
	}
	if err != nil || needed {
		return needed, err
	}
	if err := store.Remove(ctx, r.Report); err != nil {
		return false, err
	}
	if limited.N == 0 {
		return false, errCoreTooLarge
	}
	return false, errCoreDuplicate
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
