package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/symbols"
	"mishap/crash/symbols/builds"
	"mishap/crash/symbols/debuginfo"
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
	cmd.AddCommand(p.symbolsAddCommand(), p.symbolsListCommand())
	return cmd
}

func (p *program) symbolsAddCommand() *cobra.Command {
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
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			return p.addSymbols(cmd.Context(), c, args)
		},
	}
}

func (p *program) addSymbols(ctx context.Context, c config.Config, names []string) error {
	added, _, err := symbolFolders(c)
	if err != nil {
		return err
	}
	var stored, known, refused int
	var facts []builds.Fact
	var share []debuginfo.Added
	for _, name := range names {
		err := added.Add(ctx, name, func(a debuginfo.Added) {
			if f := factOf(a); f.Valid() {
				facts = append(facts, f)
			}
			if a.Refused == nil {
				share = append(share, a)
			}
			switch {
			case a.Refused != nil:
				refused++
				_, _ = fmt.Fprintf(p.err, "%s: refused: %s\n", onOneLine(a.Name), onOneLine(reason(a.Refused)))
			case a.Known:
				known++
				p.printf("%s  %-10s  %s (known already)", a.ID, a.Kind, onOneLine(a.Name))
			default:
				stored++
				p.printf("%s  %-10s  %s", a.ID, a.Kind, onOneLine(a.Name))
			}
		})
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		if err != nil {
			refused++
			_, _ = fmt.Fprintf(p.err, "%s: %s\n", onOneLine(name), reason(err))
		}
	}
	p.printf("%d added, %d known already, %d refused.", stored, known, refused)
	if err := shareFiles(ctx, c, added, share); err != nil {
		return crash.Errorf(crash.KindOf(err), "not_shared",
			"The files are added on this machine, but not shared with others: %s", reason(err)).Because(err)
	}
	if err := learnBuilds(ctx, c, newLog(p.err, slog.LevelWarn), facts); err != nil {
		return crash.Errorf(crash.KindOf(err), "not_learned",
			"The files are added, but mishap did not learn which versions of packages they belong to: %s",
			reason(err)).Because(err)
	}
	if refused > 0 {
		return errReported
	}
	return nil
}

func (p *program) symbolsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Lists the stored programs and debug files",
		Long: `Lists the programs, libraries and debug files that were added, and those that were fetched from
debuginfod servers, the least recently used first.`,
		Example: "  mishap symbols list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			return listSymbols(p.out, c)
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

// symboliser returns a Symboliser with this configuration.
func symboliser(c config.Config) (*symbols.Symboliser, error) {
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
			Shared: shared, Servers: servers, UserAgent: "mishap/" + versionText()}),
		WorkDir: filepath.Join(c.DataDir, "symbols", "jobs"),
		Core:    int64(c.CoreMaxBytes), Memory: int64(c.SymboliseMaxMemory),
		Time: time.Duration(c.SymboliseSeconds) * time.Second,
	})
}
