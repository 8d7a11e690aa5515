package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/blobs"
	"mishap/crash/grouping"
	"mishap/crash/symbols"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/worker"
	"mishap/db"
	dbsymbols "mishap/db/symbols"
)

func (p *program) symbolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "symbols",
		Short: "Manages programs and debug files for symbolising",
		Long: `Manages the programs, libraries and debug files that give native crashes the names of their
functions. They are stored by build-id under data_dir/symbols, in the layout of debuginfod's cache.`,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "add FILE|DIR|PACKAGE...",
		Short: "Adds programs, libraries and debug files",
		Long: `Adds ELF files with a build-id: programs, libraries and debug files. A folder stands for all ELF files
and packages in it and below it, a Debian package (.deb, .ddeb) for all ELF files in it. Symbolic links
in folders are not followed.

To name the functions of a crash, mishap needs both the program or library and its debug file. From
packages, it learns in the database which build each version has, so that crashes without a core dump
can be named, too.

It prints each file. If a file is refused, it prints the reason, and the exit status is 1; the others
are added.`,
		Example: `  mishap symbols add build/usr/bin/tidewatch tidewatch.debug
  mishap symbols add tidewatch_1.0_amd64.deb tidewatch-dbgsym_1.0_amd64.ddeb
  mishap symbols add /srv/builds`,
		Args: cobra.MinimumNArgs(1),
		RunE: p.configured(p.addSymbols),
	}, &cobra.Command{
		Use:   "list",
		Short: "Lists the stored programs and debug files",
		Long: `Lists the programs, libraries and debug files that were added, and those that were fetched from
debuginfod servers, the least recently used first.`,
		Example: "  mishap symbols list",
		Args:    cobra.NoArgs,
		RunE:    p.configured(p.listSymbols),
	})
	return cmd
}

func (p *program) addSymbols(ctx context.Context, names []string, c config.Config) error {
	added, _, err := symbolFolders(c)
	if err != nil {
		return err
	}
	got, err := p.collect(ctx, added, names)
	if err != nil {
		return err
	}
	p.printf("%d added, %d known already, %d refused.", got.stored, got.known, got.refused)
	if err := shareFiles(ctx, c, added, got.added); err != nil {
		return crash.Errorf(crash.KindOf(err), "not_shared",
			"The files are added on this machine, but not shared with others: %s", reason(err)).Because(err)
	}
	if err := recordAdded(ctx, c, newLog(p.err, slog.LevelWarn), got); err != nil {
		return crash.Errorf(crash.KindOf(err), "not_recorded",
			"The files are added, but the database does not know about them, so crashes that wait for them may wait "+
				"longer. Run the command again. %s", reason(err)).Because(err)
	}
	if got.refused > 0 {
		return errReported
	}
	return nil
}

// collected says what became of files.
type collected struct {
	stored, known, refused int
	added                  []debuginfo.Added // without refused ones
	facts                  []debuginfo.Fact
}

// collect stores files in a folder, and prints each of them, or why it is refused.
func (p *program) collect(
	ctx context.Context, folder *debuginfo.Folder, names []string,
) (got collected, err error) {
	for _, name := range names {
		err := folder.Add(ctx, name, func(a debuginfo.Added) {
			if f := factOf(a); f.Valid() {
				got.facts = append(got.facts, f)
			}
			switch {
			case a.Refused != nil:
				got.refused++
				_, _ = fmt.Fprintf(p.err, "%s: refused: %s\n", onOneLine(a.Name), onOneLine(reason(a.Refused)))
				return
			case a.Known:
				got.known++
				p.printf("%s  %-10s  %s (known already)", a.ID, a.Kind, onOneLine(a.Name))
			default:
				got.stored++
				p.printf("%s  %-10s  %s", a.ID, a.Kind, onOneLine(a.Name))
			}
			got.added = append(got.added, a)
		})
		if ctx.Err() != nil {
			return got, fmt.Errorf("interrupted: %w", ctx.Err())
		}
		if err != nil {
			got.refused++
			_, _ = fmt.Fprintf(p.err, "%s: %s\n", onOneLine(name), reason(err))
		}
	}
	return got, nil
}

func (p *program) listSymbols(_ context.Context, _ []string, c config.Config) error {
	added, cache, err := symbolFolders(c)
	if err != nil {
		return err
	}
	w := newTable(p.out, "BUILD-ID", "KIND", "BYTES", "USED", "STORED", "ORIGIN")
	for _, folder := range []struct {
		how   string
		files *debuginfo.Folder
	}{{"added", added}, {"cached", cache}} {
		entries, err := folder.files.List()
		if err != nil {
			return err
		}
		for _, e := range entries {
			w.row(e.ID, e.Kind, e.Size, dateTime(e.Used), folder.how, onOneLine(e.Origin))
		}
	}
	return w.Flush()
}

// symbolFolders opens the folder of added files and that of files from servers.
func symbolFolders(c config.Config) (added, cache *debuginfo.Folder, err error) {
	root := filepath.Join(c.DataDir, "symbols")
	if added, err = debuginfo.OpenFolder(filepath.Join(root, "added"), 0); err != nil {
		return nil, nil, err
	}
	cache, err = debuginfo.OpenFolder(filepath.Join(root, "cache"), int64(c.SymbolsCacheMaxBytes))
	return added, cache, err
}

// openCores opens the cores in data_dir or, if the key blobs is set, those that all instances share.
func openCores(ctx context.Context, c config.Config) (*cores.Store, error) {
	key, err := cores.Key(ctx, c.DataDir, c.CoresKey)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(c.DataDir, "cores")
	shared, err := openBlobs(c)
	if err != nil {
		return nil, err
	}
	if shared == nil {
		return cores.OpenFolder(ctx, dir, key)
	}
	return cores.Open(ctx, shared, "cores/", dir, key)
}

// symboliser returns a Symboliser with this configuration. wrap wraps the transport of every request to
// a debuginfod server, unless it is nil.
func symboliser(c config.Config, wrap func(http.RoundTripper) http.RoundTripper) (*symbols.Symboliser, error) {
	added, cache, err := symbolFolders(c)
	if err != nil {
		return nil, err
	}
	servers, err := debuginfo.ParseServers(c.DebuginfodURLs)
	if err != nil {
		return nil, err
	}
	shared, err := sharedFiles(c)
	if err != nil {
		return nil, err
	}
	return symbols.New(symbols.Config{
		Finder: debuginfo.NewFinder(debuginfo.Config{Added: added, Cache: cache, Machine: c.SymbolsFromMachine,
			Shared: shared, Servers: servers, UserAgent: "mishap/" + versionText(), Transport: wrap}),
		WorkDir: filepath.Join(c.DataDir, "symbols", "jobs"),
		Core:    int64(c.CoreMaxBytes), Memory: int64(c.SymboliseMaxMemory),
		Time: time.Duration(c.SymboliseSeconds) * time.Second,
	})
}

// recordAdded stores which builds the added packages hold, and starts the jobs that wait for files in
// shared storage. Instances find files in data_dir by themselves.
func recordAdded(ctx context.Context, c config.Config, log *slog.Logger, got collected) error {
	var shared []string
	if c.Blobs != "" {
		for _, a := range got.added {
			shared = append(shared, string(a.ID)+"/"+string(a.Kind))
		}
	}
	if len(got.facts) == 0 && len(shared) == 0 {
		return nil
	}
	return useStore(ctx, c, log, func(store *db.Store) error {
		if err := dbsymbols.NewBuilds(store).Learn(ctx, got.facts); err != nil {
			return err
		}
		return dbsymbols.New(store).FilesAdded(ctx, "", shared)
	})
}

// factOf returns what an added file says about its package.
func factOf(a debuginfo.Added) debuginfo.Fact {
	if a.Refused != nil || a.Kind != debuginfo.Executable {
		return debuginfo.Fact{}
	}
	return debuginfo.Fact{Path: debuginfo.NormalPath(a.Path), Package: a.Package.Name, Version: a.Package.Version,
		Architecture: a.Package.Architecture, Build: a.ID}
}

// unknownBuild says why the build-id of a module is unknown.
func unknownBuild(r symbols.Result) string {
	if r.Threads == 0 {
		return "no package of this version was added"
	}
	return "the core does not hold it"
}

func (p *program) symboliseCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "symbolise FILE.crash|OOPS...",
		Short: "Gives crashes the names of their functions",
		Long: `Reads apport's report files with a core dump, works out the stack with gdb, and prints it with the
signature that the report then has. For each program and library of the process it prints the build-id
and where the program and its debug file were found, or where they were searched. It changes no report.

OOPS is the id of a stored report. Its core dump is read from data_dir/cores, if it is still there.

A report without a core dump, but with an address signature, is named, too, if the database says which
builds of the programs and libraries the versions of its packages hold ("mishap symbols add" of
packages). For files with a core dump it uses no database. "mishap serve" symbolises the stored reports by
itself.

The files come from "mishap symbols add", from the servers in debuginfod_urls, and from this machine if
symbols_from_machine is true. gdb runs in a sandbox without network.

With --json it prints one JSON object per file and line. If a report cannot be symbolised, the reason
is printed (with --json: the member failed), and the exit status is 1.`,
		Example: `  mishap symbolise /var/crash/_usr_bin_tidewatch.1000.crash
  mishap symbolise 0199f3a0-6c00-7000-8000-000000000001
  MISHAP_DEBUGINFOD_URLS=https://debuginfod.ubuntu.com mishap symbolise --json *.crash | jq -r .signature`,
		Args: cobra.MinimumNArgs(1),
		RunE: p.configured(func(ctx context.Context, args []string, c config.Config) error {
			return p.symbolise(ctx, c, args, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per file")
	return cmd
}

func (p *program) symbolise(ctx context.Context, c config.Config, reports []string, asJSON bool) error {
	s, err := symboliser(c, nil)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // the next start removes the files
	one := symbolising{c, newLog(p.err, slog.LevelWarn), s}
	out := json.NewEncoder(p.out)
	out.SetEscapeHTML(false)
	failed := false
	for i, name := range reports {
		result, err := one.report(ctx, name)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		failed = failed || err != nil
		if asJSON {
			err = out.Encode(newSymbolised(name, result, err))
		} else {
			if i > 0 {
				p.printf("")
			}
			err = p.describeSymbolised(name, result, err)
		}
		if err != nil {
			return err
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// symbolising symbolises single reports.
type symbolising struct {
	config config.Config
	log    *slog.Logger
	*symbols.Symboliser
}

// report symbolises the report with this file name or id.
func (s symbolising) report(ctx context.Context, name string) (result symbols.Result, err error) {
	job, err := s.NewJob()
	if err != nil {
		return symbols.Result{}, err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	id, idErr := crash.ParseOopsID(name)
	in, err := apport.OpenFile(name)
	if errors.Is(err, fs.ErrNotExist) && idErr == nil {
		return s.stored(ctx, job, id)
	}
	if err != nil {
		return symbols.Result{}, err
	}
	defer in.Close() //nolint:errcheck // only read
	fields, binary, err := apport.ReadCore(in, apport.Limits{Decompressed: s.MaxUnpacked() + 1}, job.Core())
	if err != nil {
		return symbols.Result{}, err
	}
	if fields["ProblemType"] == "" {
		return symbols.Result{}, crash.Errorf(crash.Invalid, "no_report", "This is not a report: it has no ProblemType.")
	}
	if slices.ContainsFunc(binary, func(b apport.Binary) bool { return apport.IsCore(b.Name) && b.Size > 0 }) {
		return job.Run(ctx, fields)
	}
	if grouping.AddressSignature(fields) == "" {
		return symbols.Result{}, errNoAddresses
	}
	err = useStore(ctx, s.config, s.log, func(store *db.Store) error {
		result, err = s.addresses(ctx, store, fields)
		return err
	})
	return result, err
}

var errNoAddresses = crash.Errorf(crash.Invalid, "no_core",
	"There is no core dump of this report, and it has no address signature.")

// stored symbolises a report of the database.
func (s symbolising) stored(ctx context.Context, job *symbols.Job, id crash.OopsID) (result symbols.Result, err error) {
	err = useStore(ctx, s.config, s.log, func(store *db.Store) error {
		report, err := store.Report(ctx, id)
		if err != nil {
			return err
		}
		cores, err := openCores(ctx, s.config)
		if err != nil {
			return err
		}
		s.Builds, s.Names = dbsymbols.NewBuilds(store), dbsymbols.New(store)
		err = worker.Unpack(ctx, job, cores, id, s.MaxUnpacked())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			result, err = s.addresses(ctx, store, report.Fields)
		case err == nil:
			result, err = job.Run(ctx, report.Fields)
		}
		return err
	})
	return result, err
}

// addresses names the address signature of a report without a core.
func (s symbolising) addresses(ctx context.Context, store *db.Store, report crash.Fields) (symbols.Result, error) {
	if grouping.AddressSignature(report) == "" {
		return symbols.Result{}, errNoAddresses
	}
	s.Builds, s.Names = dbsymbols.NewBuilds(store), dbsymbols.New(store)
	return s.Name(ctx, report)
}

// symbolised is the output for one file with --json. Missing values are left out.
type symbolised struct {
	File        string               `json:"file"`             // or the id of a report
	Failed      string               `json:"failed,omitempty"` // the reason
	State       symbols.State        `json:"state,omitempty"`
	Signature   string               `json:"signature,omitempty"`
	Rule        crash.GroupingRule   `json:"rule,omitempty"`
	Provisional bool                 `json:"provisional,omitempty"`
	Truncated   bool                 `json:"truncated,omitempty"`
	Incomplete  string               `json:"incomplete,omitempty"`
	Threads     int                  `json:"threads,omitempty"`
	Engine      string               `json:"engine,omitempty"`
	Seconds     float64              `json:"seconds,omitempty"`
	CPUSeconds  float64              `json:"cpu_seconds,omitempty"`
	MemoryBytes int64                `json:"memory_bytes,omitempty"`
	Fields      crash.Fields         `json:"fields,omitempty"`
	Modules     []crash.SymbolModule `json:"modules,omitempty"`
}

func newSymbolised(file string, r symbols.Result, err error) symbolised {
	out := symbolised{File: file, State: r.State, Signature: r.Grouping.Signature, Rule: r.Grouping.Rule,
		Provisional: r.Grouping.Provisional, Truncated: r.Truncated, Incomplete: r.Incomplete, Threads: r.Threads,
		Engine: r.Engine, Seconds: r.Seconds, CPUSeconds: r.Usage.CPU.Seconds(), MemoryBytes: r.Usage.Memory,
		Fields: r.Fields, Modules: r.Describe()}
	if err != nil {
		out.Failed = reason(err)
	}
	return out
}

// describeSymbolised prints a result, or the reason why there is none, and the modules.
func (p *program) describeSymbolised(file string, r symbols.Result, failure error) error {
	p.printf("%s", onOneLine(file))
	w := newTable(p.out)
	line := w.labelled
	if failure != nil {
		line("failed", reason(failure))
	}
	line("state", string(r.State))
	line("signature", r.Grouping.Signature)
	line("not grouped", r.Grouping.Reason)
	if r.Grouping.Signature != "" {
		line("grouped by", groupedBy(r.Grouping))
		line("problem", crash.BucketIDOf(r.Grouping.Signature).Path())
	}
	line("incomplete", r.Incomplete)
	if r.Truncated {
		line("core", "its end is missing")
	}
	if r.Engine != "" {
		line("debugger", fmt.Sprintf("%s, %.1f s", r.Engine, r.Seconds))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if stack := r.Fields["Stacktrace"]; stack != "" {
		p.printf("\n%s", printable(stack))
	}
	for i, m := range r.Modules {
		if i == 0 {
			p.printf("")
		}
		p.printf("  %s", onOneLine(m.Path))
		if m.BuildID == "" {
			p.printf("    build-id    unknown: %s", unknownBuild(r))
			continue
		}
		p.printf("    build-id    %s", m.BuildID)
		for _, search := range []struct {
			label  string
			result *debuginfo.Result
		}{{"program", m.Executable}, {"debug file", m.Debuginfo}, {"shared", m.Shared}} {
			if search.result != nil {
				p.printf("    %-10s  %s", search.label, searchText(search.result))
			}
		}
		if m.Executable != nil && m.Executable.HasDWARF {
			p.printf("    debug file  in the program")
		}
	}
	return nil
}

// searchText returns where a file was found, or where it was searched.
func searchText(r *debuginfo.Result) string {
	if r.Found {
		return onOneLine(r.Origin)
	}
	var tried []string
	for _, a := range r.Searched {
		one := a.Source + ": " + a.Outcome
		if a.Detail != "" {
			one += " (" + a.Detail + ")"
		}
		tried = append(tried, one)
	}
	return onOneLine("not found; " + strings.Join(tried, "; "))
}

// printable escapes control characters of each line.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = onOneLine(line)
	}
	return strings.Join(lines, "\n")
}

// blobsCheckTimeout is how long the object storage may take to answer at the start.
const blobsCheckTimeout = 10 * time.Second

// openBlobs opens the store of the key blobs. It returns nil if the key is empty.
func openBlobs(c config.Config) (blobs.Store, error) {
	if c.Blobs == "" {
		return nil, nil
	}
	location, err := blobs.ParseLocation(c.Blobs)
	if err != nil {
		return blobs.OpenFolder(c.Blobs) // the configuration accepts only these two
	}
	return blobs.OpenBucket(location, c.BlobsAccessKey, c.BlobsSecret)
}

// sharedFiles opens the store of the key blobs for symbols. It returns nil if the key is empty.
func sharedFiles(c config.Config) (debuginfo.Shared, error) {
	store, err := openBlobs(c)
	if store == nil || err != nil {
		return nil, err // an interface that is nil
	}
	return store, nil
}

// shareFiles stores added files in the store of the key blobs, if there is one.
func shareFiles(ctx context.Context, c config.Config, folder *debuginfo.Folder, files []debuginfo.Added) error {
	shared, err := sharedFiles(c)
	if err != nil || shared == nil {
		return err
	}
	for _, a := range files {
		if err := folder.Share(ctx, shared, a.ID, a.Kind); err != nil {
			return err
		}
	}
	return nil
}

// checkBlobs returns an error if the object storage refuses the credentials or has no such bucket, or
// does not answer.
func checkBlobs(ctx context.Context, c config.Config) error {
	store, err := openBlobs(c)
	if err != nil {
		return err
	}
	if b, ok := store.(*blobs.Bucket); ok {
		ctx, cancel := context.WithTimeout(ctx, blobsCheckTimeout)
		defer cancel()
		return b.Check(ctx)
	}
	return nil
}
