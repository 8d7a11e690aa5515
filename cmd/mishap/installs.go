package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db/doors"
)

func (p *program) installsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "installs",
		Short: "Imports how many machines have a release or a version",
		Long: `Imports how many machines have a release, or a version of a package. Pages then say how many machines
had no crash, at most.`,
	}
	cmd.AddCommand(p.installsImportCommand())
	return cmd
}

func (p *program) installsImportCommand() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:   "import FILE.csv",
		Short: "Imports numbers of machines",
		Long: `Imports numbers of machines from a CSV file in UTF-8 with a header. Lines that begin with # are comments.

  day,release,architecture,package,version,machines
  2026-11-28,Ubuntu 24.04,amd64,,,1204311
  2026-11-28,Ubuntu 24.04,arm64,,,60112
  2026-11-28,Ubuntu 24.04,,nautilus,1:46.4-0ubuntu2,310000

A line without a package is about the release, one with a package about that version in the release. Without
an architecture, it is about all of them. The columns architecture, package and version may be missing. Releases
have the names in reports.

An import replaces everything that was imported of the same days. If a line is wrong, nothing is imported.
A number counts for the 30 days from its day; "-" reads standard input.`,
		Example: `  mishap installs import machines.csv
  mishap installs import --source "update server" - <machines.csv`,
		Args: cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			from := p.in
			if s.args[0] != "-" {
				file, err := os.Open(s.args[0])
				if err != nil {
					return "", err
				}
				defer file.Close() //nolint:errcheck // only read
				from = file
			}
			all, err := stats.ReadInstalls(from, s.store.Now())
			if err != nil {
				return "", err
			}
			days, err := doors.New(s.store).ImportInstalls(ctx, all, cmp.Or(source, filepath.Base(s.args[0])))
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("Imported %s of %s, %s to %s.", crash.Counted(int64(len(all)), "number", "numbers"),
				crash.Counted(int64(len(days)), "day", "days"), days[0].Format(time.DateOnly),
				days[len(days)-1].Format(time.DateOnly)), nil
		}),
	}
	cmd.Flags().StringVar(&source, "source", "", "the `name` of where the numbers come from; default: that of the file")
	return cmd
}
