package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/symbols"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	dbsymbols "mishap/db/symbols"
)

func (p *program) symbolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "symbols",
		Short: "Manages programs and debug files for symbolising",
		Long: `Manages the programs, libraries and debug files that give native crashes the names of their
functions. They are stored by build-id under data_dir/symbols, in the layout of debuginfod's cache.`,
		Args: cobra.NoArgs,
		RunE: needsCommand,
	}
	c := symbolCommands{p}
	cmd.AddCommand(c.add(), c.list())
	return cmd
}

// symbolCommands makes the commands below "symbols".
type symbolCommands struct{ *program }

func (c symbolCommands) add() *cobra.Command {
	return &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error {
			configured, err := c.dataConfig(cmd)
			if err != nil {
				return err
			}
			return c.addSymbols(cmd.Context(), configured, args)
		},
	}
}

func (c symbolCommands) addSymbols(ctx context.Context, configured config.Config, names []string) error {
	added, _, err := symbolFolders(configured)
	if err != nil {
		return err
	}
	got, err := c.collect(ctx, added, names)
	if err != nil {
		return err
	}
	c.printf("%d added, %d known already, %d refused.", got.stored, got.known, got.refused)
	if err := shareFiles(ctx, configured, added, got.added); err != nil {
		return crash.Errorf(crash.KindOf(err), "not_shared",
			"The files are added on this machine, but not shared with others: %s", reason(err)).Because(err)
	}
	if err := recordAdded(ctx, configured, newLog(c.err, slog.LevelWarn), got); err != nil {
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
func (c symbolCommands) collect(ctx context.Context, folder *debuginfo.Folder, names []string) (got collected,
	err error,
) {
	for _, name := range names {
		err := folder.Add(ctx, name, func(a debuginfo.Added) {
			if f := factOf(a); f.Valid() {
				got.facts = append(got.facts, f)
			}
			switch {
			case a.Refused != nil:
				got.refused++
				_, _ = fmt.Fprintf(c.err, "%s: refused: %s\n", onOneLine(a.Name), onOneLine(reason(a.Refused)))
				return
			case a.Known:
				got.known++
				c.printf("%s  %-10s  %s (known already)", a.ID, a.Kind, onOneLine(a.Name))
			default:
				got.stored++
				c.printf("%s  %-10s  %s", a.ID, a.Kind, onOneLine(a.Name))
			}
			got.added = append(got.added, a)
		})
		if ctx.Err() != nil {
			return got, fmt.Errorf("interrupted: %w", ctx.Err())
		}
		if err != nil {
			got.refused++
			_, _ = fmt.Fprintf(c.err, "%s: %s\n", onOneLine(name), reason(err))
		}
	}
	return got, nil
}

func (c symbolCommands) list() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Lists the stored programs and debug files",
		Long: `Lists the programs, libraries and debug files that were added, and those that were fetched from
debuginfod servers, the least recently used first.`,
		Example: "  mishap symbols list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			configured, err := c.dataConfig(cmd)
			if err != nil {
				return err
			}
			return listSymbols(c.out, configured)
		},
	}
}

func listSymbols(out io.Writer, c config.Config) error {
	added, cache, err := symbolFolders(c)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "BUILD-ID\tKIND\tBYTES\tUSED\tSTORED\tORIGIN") // Flush returns the error
	for _, folder := range []struct {
		how   string
		files *debuginfo.Folder
	}{{"added", added}, {"cached", cache}} {
		entries, err := folder.files.List()
		if err != nil {
			return err
		}
		for _, e := range entries {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", e.ID, e.Kind, e.Size, e.Used.UTC().Format(time.DateTime),
				folder.how, onOneLine(e.Origin))
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
	key, err := cores.Key(c.DataDir, c.CoresKey)
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
