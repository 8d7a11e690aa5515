package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/db/backup"
)

// backupFlags are the flags of the command backup.
type backupFlags struct {
	blobs, secrets, json bool
	keep, jobs           int
}

func backupCommand(p *program) *cobra.Command {
	var f backupFlags
	cmd := &cobra.Command{
		Use:   "backup FOLDER",
		Short: "Writes a backup while mishap runs",
		Long: `Writes a backup into a new folder below FOLDER: the database as of one moment, the configuration
without its secrets, the keys of data_dir, and a manifest with the checksum of each file. With
--blobs it also contains core dumps and added symbols. It works with the private PostgreSQL and
with database_url, while mishap serves or not, and needs pg_dump.

An interrupted or failed backup leaves nothing that looks like a backup. Anyone who can read a
backup can read all reports, also private ones, and perhaps file bugs as mishap's account.`,
		Example: `  mishap backup /var/backups/mishap --keep 14
  mishap backup /mnt/disk --blobs --with-secrets`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.keep < 0 || f.jobs < 1 {
				return &usageError{errors.New("--keep and --jobs: expected a number above 0"), cmd.CommandPath()}
			}
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			return runBackup(cmd.Context(), p, c, args[0], f)
		},
	}
	cmd.Flags().BoolVar(&f.blobs, "blobs", false, "with core dumps and added symbols")
	cmd.Flags().BoolVar(&f.secrets, "with-secrets", false, "with the secrets of the configuration")
	cmd.Flags().IntVar(&f.keep, "keep", 0, "`number` of complete backups to keep, older ones are deleted; 0: all")
	cmd.Flags().IntVar(&f.jobs, "jobs", 2, "`number` of tables that are read at the same time")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the manifest")
	return cmd
}

func runBackup(ctx context.Context, p *program, c config.Config, folder string, f backupFlags) (err error) {
	began := time.Now()
	options := backup.Options{
		Dir: folder, DataDir: c.DataDir, Secrets: f.secrets, Files: f.blobs, Mishap: versionText(), Keep: f.keep,
		Jobs: f.jobs,
	}
	if options.Config, err = c.Export(f.secrets); err != nil {
		return err
	}
	if c.Blobs != "" && f.blobs {
		if options.Blobs, err = openBlobs(c); err != nil {
			return err
		}
	}
	database, err := openDatabase(ctx, c, false, newLog(p.err, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	options.URL = database.url
	r, err := backup.Create(ctx, options)
	if err != nil {
		return err
	}
	if f.json {
		e := json.NewEncoder(p.out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	p.printf("%s is complete: %s, in %s.", r.Path, describeTotals(r.Manifest), time.Since(began).Round(time.Second/10))
	if !f.blobs {
		p.printf("Core dumps and added symbols are not in it; --blobs adds them.")
	}
	for _, old := range r.Deleted {
		p.printf("Deleted %s.", old)
	}
	return nil
}

// describeTotals returns "120 reports, 7 problems, 2 bugs; 85 files, 1.2 MiB".
func describeTotals(m backup.Manifest) string {
	return fmt.Sprintf("%d reports, %d problems, %d bugs; %d files, %.1f MiB", m.Reports, m.Problems, m.Bugs, len(m.Files),
		float64(m.Size())/(1<<20))
}
