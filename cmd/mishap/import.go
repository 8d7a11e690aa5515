package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/crash/symbols/cores"
	dbsymbols "mishap/db/symbols"
)

// importers is how many files are imported concurrently. Their reports share transactions.
const importers = 8

func (p *program) importCommand() *cobra.Command {
	var system, server string
	cmd := &cobra.Command{
		Use:   "import [--system HASH] FILE.crash...",
		Short: "Stores the reports in crash report files, or those of a FAF server",
		Long: `Stores the reports in apport's files as if a machine had sent them. With --system, give the machine's
hash, from its /var/lib/whoopsie/whoopsie-id. A report that the machine also sends then counts once.

Core dumps are stored, too, and "mishap serve" symbolises them, unless the report needs no names, or cores
or cores_packages forbid it; then the reason is printed. Text that is not valid UTF-8 is repaired. Fields
that are not text are dropped, and their names printed.

Files that cannot be read or are refused are printed with the reason, the others are imported, and the
exit status is 1. A report that was imported before counts once. Symbolic links are not followed.

With --faf, copies the reports of FAF, the analytics server of ABRT, from the address of its pages:

  - If it lists its µReports for replication (/reports, /report/<name>), all of them.
  - Else from its pages for programs (/reports/get_hash/, /reports/items/): one report of each stack and release,
    with FAF's number of reports in the field FAFReports, and with the bugs and old addresses of these problems.
    FAF does not know more.

Crashes that are older than ingest_max_age_days are left out. The same command continues an interrupted copy: the
names of what is copied are in the folder faf of data_dir.`,
		Example: `  mishap import /var/crash/*.crash
  mishap import --system "$(cat /var/lib/whoopsie/whoopsie-id)" /var/crash/*.crash
  mishap import --faf https://faf.example.org/faf`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("faf") {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("system") || isSystemName(system) {
				return nil
			}
			return fmt.Errorf("--system: expected the hash that a machine sends as its name (128 hex digits, or other text "+
				"of at most %d bytes without blanks and slashes), got %q", crash.MaxSystemID, system)
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			if len(s.args) == 0 {
				return "", p.importFAF(ctx, s, server)
			}
			im := importer{
				intake: intake.New(intakeConfig(s.config), s.store), symbols: dbsymbols.New(s.store), config: s.config,
				cores:  sync.OnceValues(func() (*cores.Store, error) { return openCores(ctx, s.config) }),
				system: crash.NewSystemID(system),
			}
			return "", p.importFiles(ctx, im, s.args)
		}),
	}
	cmd.Flags().StringVar(&system, "system", "", "the `hash` of the machine that the reports come from")
	cmd.Flags().StringVar(&server, "faf", "", "the `address` of a FAF server, whose reports are copied")
	cmd.MarkFlagsMutuallyExclusive("system", "faf")
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
	f, err := apport.OpenFile(file)
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

func (p *program) inspectCommand() *cobra.Command {
	var as inspectOutput
	cmd := &cobra.Command{
		Use:   "inspect FILE.crash...",
		Short: "Shows what would be stored of crash report files",
		Long: `Reads apport's report files and shows what mishap would store: the problem of each report, and the
package, version and release that it would count for. It uses no database.

With --json it prints one JSON object per file and line, with the members file, problem_type,
signature, rule, address_signature, title, package, version, source_package, release and
architecture; null stands for a missing value. The member dropped_fields lists secret fields, which would not be
stored. For a file that cannot be read, or that would be
refused, the members are file and refused, which is the reason. The exit status is then 1.

With --why it also shows which lines of the report the grouping rule used and which it left out, each
with the reason (with --json: the member why).`,
		Example: `  mishap inspect /var/crash/_usr_bin_foo.1000.crash
  mishap inspect --why /var/crash/linux-image-6.8.0-41-generic.3f1b77aa.crash
  mishap inspect --json /var/crash/*.crash | jq -r 'select(.refused == null).signature'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			if err := setReleases(c, newLog(p.err, slog.LevelWarn)); err != nil {
				return err
			}
			return p.inspect(c, args, as)
		},
	}
	cmd.Flags().BoolVar(&as.json, "json", false, "print one JSON object per file")
	cmd.Flags().BoolVar(&as.why, "why", false, "explain how the report is grouped")
	return cmd
}

// inspectOutput is the format of the output.
type inspectOutput struct{ json, why bool }

// inspection is the output for one file with --json. Missing values are null.
type inspection struct {
	File             string   `json:"file"`
	ProblemType      *string  `json:"problem_type"`
	Signature        *string  `json:"signature"`
	Rule             *string  `json:"rule"`
	AddressSignature *string  `json:"address_signature"`
	Title            *string  `json:"title"`
	Package          *string  `json:"package"`
	Version          *string  `json:"version"`
	SourcePackage    *string  `json:"source_package"`
	Release          *string  `json:"release"`
	Architecture     *string  `json:"architecture"`
	Dropped          []string `json:"dropped_fields,omitempty"`
	Why              *reasons `json:"why,omitempty"`
}

// refusedFile is the output with --json for a file that would be refused.
type refusedFile struct {
	File    string `json:"file"`
	Refused string `json:"refused"`
}

func (p *program) inspect(c config.Config, files []string, as inspectOutput) error {
	out := json.NewEncoder(p.out)
	out.SetEscapeHTML(false)
	judge, table := intake.New(intakeConfig(c), nil), c.Privacy()
	var refused bool
	for i, file := range files {
		var rec crash.Record
		var why *reasons
		content, err := inspectFile(file)
		fields := content.fields
		if err == nil {
			rec, err = judge.Examine(crash.Report{Fields: fields})
		}
		refused = refused || err != nil
		if as.why && err == nil {
			why = newReasons(grouping.Explain(fields))
		}
		switch {
		case as.json && err != nil:
			err = out.Encode(refusedFile{file, reason(err)})
		case as.json:
			found := newInspection(file, rec)
			_, found.Dropped = table.DropSecrets(fields)
			found.Why = why
			err = out.Encode(found)
		default:
			if i > 0 {
				p.printf("")
			}
			_, private := table.Visible(crash.User{Role: crash.RoleViewer}, rec.Fields, rec.SourcePackage)
			_, dropped := table.DropSecrets(fields)
			dropped = append(dropped, content.binary...)
			if err = p.describe(file, rec, private, dropped, err); err == nil && why != nil {
				err = p.describeReasons(*why)
			}
		}
		if err != nil {
			return err
		}
	}
	if refused {
		return errReported
	}
	return nil
}

func inspectFile(file string) (reportFile, error) {
	f, err := apport.OpenFile(file)
	if err != nil {
		return reportFile{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	return readCrashFile(f, 0)
}

func newInspection(file string, rec crash.Record) inspection {
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return inspection{
		File: file, ProblemType: orNull(rec.ProblemType),
		Signature: orNull(rec.Grouping.Signature), Rule: orNull(string(rec.Grouping.Rule)),
		AddressSignature: orNull(rec.AddressSignature), Title: orNull(rec.Title), Package: orNull(rec.Package),
		Version: orNull(rec.Version), SourcePackage: orNull(rec.SourcePackage), Release: orNull(string(rec.Release)),
		Architecture: orNull(rec.Architecture),
	}
}

// describe prints what mishap would store of a file, with the names of private fields and of dropped
// ones, or the reason for a refusal.
func (p *program) describe(file string, rec crash.Record, private, dropped []string, refusal error) error {
	p.printf("%s", onOneLine(file))
	w := newTable(p.out)
	line := w.labelled
	if refusal != nil {
		line("refused", reason(refusal))
		return w.Flush()
	}
	line("problem type", rec.ProblemType)
	line("title", rec.Title)
	line("package", rec.Package)
	line("version", rec.Version)
	line("source package", rec.SourcePackage)
	line("release", string(rec.Release))
	line("architecture", rec.Architecture)
	line("signature", rec.Grouping.Signature)
	line("not grouped", rec.Grouping.Reason)
	line("address signature", rec.AddressSignature)
	if rec.Grouping.Signature != "" {
		line("grouped by", groupedBy(rec.Grouping))
		line("problem", crash.BucketIDOf(rec.Grouping.Signature).Path())
	}
	line("counts on", rec.Day.Format(time.DateOnly))
	line("private fields", strings.Join(private, ", "))
	line("dropped fields", strings.Join(dropped, ", "))
	return w.Flush()
}

// reason returns a sentence that says why a file is not stored.
func reason(err error) string {
	if known, ok := errors.AsType[*crash.Error](err); ok {
		return known.Message
	}
	if inFile, ok := errors.AsType[*fs.PathError](err); ok { // the caller names the file
		return inFile.Err.Error()
	}
	return err.Error()
}

// onOneLine returns outside text for a terminal, with control characters and line breaks escaped.
func onOneLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func groupedBy(g crash.Grouping) string {
	if g.Provisional {
		return string(g.Rule) + ", until it is symbolised"
	}
	return string(g.Rule)
}

// reasons is the output of inspect --why, made from a [grouping.Explanation].
type reasons struct {
	Because string       `json:"because"` // what the rule uses, or why there is no signature
	Field   string       `json:"field,omitempty"`
	Used    []usedFrame  `json:"used,omitempty"`
	Skipped []leftFrame  `json:"left_out,omitempty"`
	Changed []sameAsText `json:"made_the_same,omitempty"`
}

type usedFrame struct {
	Text string `json:"text"`
	As   string `json:"as"`
}

type leftFrame struct {
	Text string `json:"text"`
	Why  string `json:"why"`
}

type sameAsText struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func newReasons(e grouping.Explanation) *reasons {
	r := reasons{Because: e.Description, Field: e.Field}
	if e.Signature == "" {
		r.Because = e.Reason
	}
	for _, f := range e.Frames {
		if f.Used {
			r.Used = append(r.Used, usedFrame{f.Text, f.As})
		} else {
			r.Skipped = append(r.Skipped, leftFrame{f.Text, f.Why})
		}
	}
	for _, c := range e.Changes {
		r.Changed = append(r.Changed, sameAsText{c.From, c.To})
	}
	return &r
}

// describeReasons prints the reasons below the output of describe.
func (p *program) describeReasons(r reasons) error {
	p.printf("  why: %s", onOneLine(r.Because))
	w := newTable(p.out)
	line := func(label, text, more string) { w.row("    "+label, onOneLine(text), onOneLine(more)) }
	if r.Field != "" {
		line("read from", r.Field, "")
	}
	for _, f := range r.Used {
		line("used", f.Text, f.As)
	}
	for _, f := range r.Skipped {
		line("left out", f.Text, f.Why)
	}
	for _, c := range r.Changed {
		line("made the same", c.From, c.To)
	}
	return w.Flush()
}

// Files of the package distro-info-data, which list releases.
const (
	ubuntuReleases = "/usr/share/distro-info/ubuntu.csv"
	debianReleases = "/usr/share/distro-info/debian.csv"
)

// intakeConfig returns the part of the configuration that intake applies to reports.
func intakeConfig(c config.Config) intake.Config {
	return intake.Config{MaxAgeDays: c.IngestMaxAgeDays, Privacy: c.Privacy()}
}

// setReleases sets the table of releases that all parts of the program use. It returns an error if the
// configured file cannot be used. Files of the machine are not needed: their errors are logged.
func setReleases(c config.Config, log *slog.Logger) error {
	table, ignored, err := releasesOf(c)
	if err != nil {
		return err
	}
	if ignored != nil {
		log.Warn("ignored the release data of this machine; using the built-in data", "error", ignored)
	}
	crash.SetReleases(table)
	return nil
}

// releasesOf returns the known releases, and those of the configured file. It always returns a table. The
// first error is about files of the machine, the second about the configured one.
func releasesOf(c config.Config) (table *crash.ReleaseTable, ignored, err error) {
	table, ignored = knownReleases(ubuntuReleases, debianReleases)
	if c.Releases == "" {
		return table, ignored, nil
	}
	if _, err := os.Stat(c.Releases); err != nil {
		return table, ignored, fmt.Errorf("releases: %w", err)
	}
	if err := readReleaseFile(c.Releases, func(r io.Reader) error {
		more, err := table.Extend(r)
		if err == nil {
			table = more
		}
		return err
	}); err != nil {
		return table, ignored, fmt.Errorf("releases: %w", err)
	}
	return table, ignored, nil
}

// knownReleases returns the built-in releases, updated from newer files on the machine. It ignores
// missing and older files. It always returns a table; the error names unreadable files.
func knownReleases(ubuntu, debian string) (*crash.ReleaseTable, error) {
	table := crash.BuiltInReleases()
	var wrong error
	for _, f := range []struct{ distribution, name string }{{"Ubuntu", ubuntu}, {"Debian", debian}} {
		wrong = errors.Join(wrong, readReleaseFile(f.name, func(r io.Reader) (err error) {
			table, err = table.With(f.distribution, r)
			return err
		}))
	}
	return table, wrong
}

func readReleaseFile(file string, read func(io.Reader) error) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular(): // opening a pipe would wait for a writer
		return fmt.Errorf("%s is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if err := read(f); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// reportFile is the content of a report file.
type reportFile struct {
	fields crash.Fields
	core   bool     // it has a core dump
	binary []string // names of the fields that are not text, or too large; they are dropped
}

// readCrashFile reads an apport report file. It skips core dumps, and texts beyond maxText bytes in
// total; 0 means the limit of package apport.
func readCrashFile(f *os.File, maxText int64) (c reportFile, err error) {
	var binary []apport.Binary
	c.fields, binary, err = apport.Read(f, apport.Limits{Text: maxText})
	for _, b := range binary {
		if apport.IsCore(b.Name) {
			c.core = c.core || b.Size > 0
		} else {
			c.binary = append(c.binary, b.Name)
		}
	}
	return c, err
}
