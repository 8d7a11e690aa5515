package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/blobs"
	"mishap/db/backup"
)

// backupFlags are the flags of the command backup.
type backupFlags struct {
	blobs, secrets, json, incremental bool
	method                            string
	keep, jobs                        int
}

func backupCommand(p *program) *cobra.Command {
	var f backupFlags
	cmd := &cobra.Command{
		Use:   "backup FOLDER|s3://BUCKET/PREFIX",
		Short: "Writes a backup while mishap runs",
		Long: `Writes a backup into a new folder below FOLDER: the database as of one moment, the configuration
without its secrets, the keys of data_dir, and a manifest with the checksum of each file. With
--blobs it also contains core dumps and added symbols. It works with the private PostgreSQL and
with database_url, while mishap serves or not.

The method dump copies the database with pg_dump. The method base copies all files of the server
with pg_basebackup, which is restored quicker; with database_url the role needs the right
REPLICATION. The method auto takes base from 4 GiB, if it is possible.

The folder that contains FOLDER must exist. With s3:// the backup is stored in object storage, with
blobs_access_key and blobs_secret; unless the address has the parameter endpoint, that of blobs is
used. TMPDIR must have space for the compressed database meanwhile.

An interrupted or failed backup leaves nothing that looks like a backup, and no backup is ever
overwritten. Anyone who can read a backup can read all reports, also private ones, and perhaps file
bugs as mishap's account.`,
		Example: `  mishap backup /var/backups/mishap --keep 14
  mishap backup /mnt/disk/mishap --blobs --with-secrets
  mishap backup 's3://backups/mishap?endpoint=https://s3.example.com' --keep 14`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if f.keep < 0 || f.jobs < 1 {
				return errors.New("--keep and --jobs: expected a number above 0")
			}
			if !slices.Contains([]backup.Method{backup.Auto, backup.Dump, backup.Base}, backup.Method(f.method)) {
				return errors.New("--method: expected auto, dump or base")
			}
			return nil
		},
		RunE: p.configured(func(ctx context.Context, args []string, c config.Config) error {
			if f.incremental {
				_, _ = fmt.Fprintln(p.err, "mishap: --incremental was removed, and this is a whole backup. Leave the option "+
					"out; docs/operating.md shows programs that archive only changes.")
			}
			return runBackup(ctx, p, c, args[0], f)
		}),
	}
	cmd.Flags().BoolVar(&f.blobs, "blobs", false, "with core dumps and added symbols")
	cmd.Flags().BoolVar(&f.secrets, "with-secrets", false, "with the secrets of the configuration")
	cmd.Flags().IntVar(&f.keep, "keep", 0, "`number` of good backups to keep, older ones are deleted; 0: all")
	cmd.Flags().IntVar(&f.jobs, "jobs", 2, "`number` of tables that are read at the same time")
	cmd.Flags().StringVar(&f.method, "method", string(backup.Auto), "auto, dump or base")
	cmd.Flags().BoolVar(&f.incremental, "incremental", false, "")
	_ = cmd.Flags().MarkHidden("incremental") // a unit's MISHAP_BACKUPS_OPTIONS may have it
	cmd.Flags().BoolVar(&f.json, "json", false, "print the manifest")
	return cmd
}

func runBackup(ctx context.Context, p *program, c config.Config, place string, f backupFlags) (err error) {
	began := time.Now()
	options := backup.Options{
		Dir: place, DataDir: c.DataDir, Secrets: f.secrets, Files: f.blobs, Mishap: versionText(), Keep: f.keep,
		Jobs: f.jobs, Method: backup.Method(f.method), Private: c.DatabaseURL == "",
	}
	if options.Config, err = c.Export(f.secrets); err != nil {
		return err
	}
	if c.Blobs != "" && f.blobs {
		if options.Blobs, err = openBlobs(c); err != nil {
			return err
		}
	}
	create := func() (backup.Result, error) { return backup.Create(ctx, options) }
	if isRemote(place) {
		location, err := remoteLocation(c, place)
		if err != nil {
			return err
		}
		bucket, err := openRemote(ctx, c, location)
		if err != nil {
			return err
		}
		options.Dir = os.TempDir()
		create = func() (backup.Result, error) {
			r, err := backup.CreateRemote(ctx, options, bucket)
			r.Path = withName(place, r.Path)
			return r, err
		}
	}
	database, err := openDatabase(ctx, c, false, newLog(p.err, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	options.URL = database.url
	r, err := create()
	if err != nil {
		return err
	}
	if err := backup.Record(ctx, database.url, r); err != nil {
		return fmt.Errorf("%s is complete, but pages do not show it: %w", r.Path, err)
	}
	if f.json {
		e := json.NewEncoder(p.out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	p.printf("%s is complete: %s, %s, in %s.", r.Path, describeMethod(r.Manifest), describeTotals(r.Manifest),
		time.Since(began).Round(time.Second/10))
	if r.Notice != "" {
		p.printf("%s", r.Notice)
	}
	if !f.blobs {
		p.printf("Core dumps and added symbols are not in it; --blobs adds them.")
	}
	for _, old := range r.Deleted {
		p.printf("Deleted %s.", old)
	}
	for _, damaged := range r.Damaged {
		p.printf("%s is damaged, incremental or from a newer mishap. It was not counted and not deleted.", damaged)
	}
	for _, unread := range r.Unread {
		p.printf("This account may not read %s, so nobody knows whether it is good. It was not counted and "+
			"not deleted.", unread)
	}
	return nil
}

// isRemote reports whether an address is in object storage.
func isRemote(address string) bool { return strings.HasPrefix(address, "s3://") }

// remoteLocation parses an address in object storage. Without an endpoint, it uses that of the key
// blobs.
func remoteLocation(c config.Config, address string) (blobs.Location, error) {
	u, err := url.Parse(address)
	if shared, sharedErr := url.Parse(c.Blobs); err == nil && sharedErr == nil && isRemote(c.Blobs) {
		if !u.Query().Has("endpoint") {
			u.RawQuery = shared.RawQuery
			address = u.String()
		}
	}
	location, err := blobs.ParseLocation(address)
	if err != nil {
		return location, crash.Errorf(crash.Invalid, "bad_backup_address", "%s is not an address of a backup: %s.", address,
			err.Error())
	}
	return location, nil
}

// openRemote opens object storage with the credentials of the key blobs, and checks that it
// answers.
func openRemote(ctx context.Context, c config.Config, location blobs.Location) (*blobs.Bucket, error) {
	bucket, err := blobs.OpenBucket(location, c.BlobsAccessKey, c.BlobsSecret)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, blobsCheckTimeout)
	defer cancel()
	return bucket, bucket.Check(ctx)
}

// withName returns the address of a backup in object storage, with the parameters of the address of
// all.
func withName(address, name string) string {
	base, query, found := strings.Cut(address, "?")
	if found {
		query = "?" + query
	}
	return strings.TrimSuffix(base, "/") + "/" + name + query
}

// describeMethod returns what a backup contains of the database.
func describeMethod(m backup.Manifest) string {
	if m.Method == backup.Base {
		return "a base backup"
	}
	return "a dump"
}

// describeTotals returns "120 reports, 7 problems, 2 bugs; 85 files, 1.2 MiB".
func describeTotals(m backup.Manifest) string {
	return fmt.Sprintf("%d reports, %d problems, %d bugs; %d files, %.1f MiB", m.Reports, m.Problems, m.Bugs, len(m.Files),
		float64(m.Size())/(1<<20))
}
