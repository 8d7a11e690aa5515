package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/blobs"
	"mishap/db"
	"mishap/db/backup"
	"mishap/db/embedded"
	"mishap/db/upkeep"
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

// restoreFlags are the flags of the command restore.
type restoreFlags struct {
	dataDir, databaseURL string
	erasures             string
	asOf                 time.Time
	verify               bool
	jobs                 int
}

// restoredConfig is the name of the restored configuration in the data directory.
const restoredConfig = "local_config.toml"

func restoreCommand(p *program) *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore BACKUP|s3://BUCKET/PREFIX/BACKUP",
		Short: "Restores or verifies a backup",
		Long: `Restores a backup that "mishap backup" has written. First it verifies all checksums. A backup in
object storage is first copied to TMPDIR, with blobs_access_key and blobs_secret. A base backup needs
the server programs of its version of PostgreSQL.

With --data-dir it creates a new data directory with a private PostgreSQL, the configuration and
the keys. With --database-url it restores into an empty database; --data-dir then receives the
configuration and the keys. It never changes existing data. A backup of an older mishap is migrated.

Machines that were erased after the backup are erased again. Their record is read from the data_dir of
the configuration, from all backups in the same folder or under the same prefix, and from --erasures (docs/privacy.md).
If the backup was made of a database that another program had restored to an earlier time, --as-of names
that time (docs/operating.md).

Afterwards, mishap files no bugs and sends no comments, mails and webhooks until "mishap filings
reconcile --apply" has compared the database with the tracker.

With --verify it restores into a temporary folder (see TMPDIR), recounts everything like "mishap
check --all", compares the numbers with the manifest, and removes the folder. Exit status 1 means
that the backup is not good. Of a folder or prefix with backups, it verifies the newest one. If the
database of the configuration knows the backup, the result is recorded there: the page /admin, the
metrics and "mishap doctor" show it.`,
		Example: `  mishap restore /var/backups/mishap/mishap-20261123T002000Z --data-dir /var/lib/mishap-new
  mishap restore --verify /var/backups/mishap/mishap-20261123T002000Z
  mishap restore --verify /var/backups/mishap`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if f.verify == (f.dataDir != "" || f.databaseURL != "") {
				return errors.New("expected --verify, or --data-dir and --database-url or one of them")
			}
			if f.jobs < 1 {
				return errors.New("--jobs: expected a number above 0")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			c, noConfig := p.config(cmd)     // a new machine has none
			if noConfig == nil && f.verify { // what root restores otherwise belongs to root
				if err := p.becomeOwner(c.DataDir); err != nil {
					return err
				}
			}
			r := restore{program: p, place: args[0], restoreFlags: f, log: newLog(p.err, slog.LevelWarn)}
			switch {
			case !isRemote(args[0]):
				err = r.fromFolder(cmd)
			case noConfig != nil:
				return noConfig
			default:
				err = r.fromRemote(cmd, c)
			}
			switch {
			case !f.verify || r.dir == "" || cmd.Context().Err() != nil:
				return err
			case noConfig != nil:
				p.printf("The result is not recorded: %v", noConfig)
				return err
			}
			return errors.Join(err, r.record(cmd.Context(), c, err))
		},
	}
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "new data directory `folder`")
	cmd.Flags().StringVar(&f.databaseURL, "database-url", "", "address of an empty `database`")
	cmd.Flags().StringVar(&f.erasures, "erasures", "", "the newest "+backup.ErasuresName+", if it is elsewhere: a `file`")
	cmd.Flags().TimeVar(&f.asOf, "as-of", time.Time{}, []string{time.RFC3339, "2006-01-02 15:04:05Z07"},
		"when the state of the database was current, if that was before the backup: a `time`")
	cmd.Flags().BoolVar(&f.verify, "verify", false, "restore into a temporary folder and check the result")
	cmd.Flags().IntVar(&f.jobs, "jobs", 2, "`number` of tables that are written at the same time")
	return cmd
}

// restore is the work of one command.
type restore struct {
	restoreFlags
	program  *program
	dir      string // of the backup, or of its copy
	place    string // where the backup is
	manifest backup.Manifest
	// lacksSecrets is whether the configuration had secrets that the backup lacks.
	lacksSecrets bool
	// beside are the records of erasures in this and in all other backups of the same place.
	beside []string
	// erased is what was erased, also after the backup.
	erased upkeep.ErasureRecord
	log    *slog.Logger
}

// start returns the command that starts mishap with a restored data directory.
func (r *restore) start(dataDir string) string {
	command := "mishap serve --config " + filepath.Join(dataDir, restoredConfig)
	// The environment, as of the container images, wins over the restored configuration.
	if setting := config.Variable("data_dir") + "="; slices.ContainsFunc(r.program.environ, func(v string) bool {
		return strings.HasPrefix(v, setting)
	}) {
		command = setting + dataDir + " " + command
	}
	return command
}

// fromRemote copies the backup from object storage to a temporary folder, and restores it from
// there.
func (r *restore) fromRemote(cmd *cobra.Command, c config.Config) (err error) {
	ctx := cmd.Context()
	location, err := remoteLocation(c, r.place)
	if err != nil {
		return err
	}
	prefix, name := path.Split(strings.TrimSuffix(location.Prefix, "/"))
	if r.verify && !backup.IsName(name) {
		prefix, name = location.Prefix, "" // the newest one
	} else if name == "" {
		return crash.Errorf(crash.Invalid, "no_backup", "%s names no backup: add its name, mishap-….", r.place)
	}
	location.Prefix = prefix
	bucket, err := openRemote(ctx, c, location)
	if err != nil {
		return err
	}
	if name == "" {
		if name, err = backup.NewestRemote(ctx, bucket); err != nil {
			return err
		}
		r.place = withName(r.place, name)
	}
	tmp, err := os.MkdirTemp("", "mishap-restore-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	r.dir = filepath.Join(tmp, name)
	if err := backup.Download(ctx, bucket, name, r.dir); err != nil {
		return err
	}
	records, err := os.MkdirTemp("", "mishap-erasures-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(records)) }()
	if r.beside, err = backup.DownloadErasures(ctx, bucket, records); err != nil {
		return err
	}
	return r.check(cmd)
}

// fromFolder works with the backup in the folder r.place, and the others beside it.
func (r *restore) fromFolder(cmd *cobra.Command) (err error) {
	dir, err := filepath.Abs(r.place)
	if err == nil && r.verify {
		dir, err = backup.Newest(cmd.Context(), dir)
	}
	if err != nil {
		return err
	}
	r.dir, r.place = dir, dir
	if r.beside, err = backup.ErasuresBeside(r.dir); err != nil {
		return err
	}
	return r.check(cmd)
}

// check checks the backup in r.dir, and verifies or restores it.
func (r *restore) check(cmd *cobra.Command) (err error) {
	ctx := cmd.Context()
	if r.manifest, err = backup.Read(r.dir); err != nil {
		return err
	}
	if err := r.manifest.Verify(ctx, r.dir); err != nil {
		return err
	}
	if r.asOf.After(r.manifest.Taken) {
		return crash.Errorf(crash.Invalid, "as_of_later",
			"The backup was taken %s, so it has no later state; correct --as-of.",
			r.manifest.Taken.UTC().Format(time.DateTime+" UTC"))
	}
	if !r.asOf.IsZero() && !r.verify {
		r.manifest.Taken = r.asOf
	}
	if r.manifest.Method == backup.Base { // say so before anything is unpacked
		if err := embedded.CheckMajor(ctx, r.manifest.PostgreSQL); err != nil {
			return err
		}
	}
	if r.verify {
		return r.verifyAll(ctx)
	}
	if err := r.readErasures(cmd); err != nil {
		return err
	}
	return r.run(ctx)
}

// run restores into a new data directory, or into a database.
func (r *restore) run(ctx context.Context) error {
	if r.dataDir == "" {
		if err := r.loadInto(ctx, r.databaseURL); err != nil {
			return err
		}
		if err := r.eraseAgain(ctx, r.databaseURL, ""); err != nil {
			return err
		}
		r.report("the database")
		r.program.printf("The configuration and the keys are in %s; --data-dir restores them, too.", r.place)
		return nil
	}
	dataDir, err := filepath.Abs(r.dataDir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dataDir)
	if len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return crash.Errorf(crash.Conflict, "data_dir_not_empty", "%s is not empty, and restoring would mix two "+
			"states; name "+
			"a new folder.", dataDir).Because(err)
	}
	// An interrupted restore leaves only the folder tmp, and the next one deletes it. The lock is a
	// file beside it, because tmp is renamed.
	tmp := filepath.Join(filepath.Dir(dataDir), "."+filepath.Base(dataDir)+".restoring")
	unlock, err := backup.LockFile(tmp+".lock", crash.Errorf(crash.Conflict, "restore_running",
		"Another restore to %s is running; wait for its end.", dataDir))
	if err != nil {
		return err
	}
	defer unlock()
	if err := embedded.Remove(tmp); err != nil {
		return fmt.Errorf("remove an incomplete restore: %w", err)
	}
	if err := r.fill(ctx, tmp, dataDir); err != nil {
		return errors.Join(err, embedded.Remove(tmp))
	}
	_ = os.Remove(dataDir) // it is empty or missing; Rename reports any other error
	if err := os.Rename(tmp, dataDir); err != nil {
		return errors.Join(err, embedded.Remove(tmp))
	}
	r.report(dataDir)
	if os.Geteuid() == 0 {
		r.program.printf("It belongs to root. If another user runs mishap: chown -R USER: '%s'", dataDir)
	}
	r.program.printf("Start it with: %s", r.start(dataDir))
	if !r.manifest.Secrets && r.lacksSecrets {
		r.program.printf("The backup has no secrets: set those that the configuration names in comments.")
	}
	return nil
}

// fill writes everything to tmp, which becomes dataDir.
func (r *restore) fill(ctx context.Context, tmp, dataDir string) error {
	if err := os.MkdirAll(tmp, 0o755); err != nil { // the server's user needs access
		return err
	}
	doc, err := backup.Config(r.dir)
	if err != nil {
		return err
	}
	r.lacksSecrets = bytes.Contains(doc, []byte(config.HiddenSecret))
	values := map[string]string{"data_dir": dataDir, "database_url": r.databaseURL}
	blobs, err := backup.RestoreFiles(ctx, r.dir, tmp)
	if err != nil {
		return err
	}
	if blobs != "" {
		values["blobs"] = filepath.Join(dataDir, filepath.Base(blobs))
	}
	if doc, err = config.WithTexts(doc, values); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, restoredConfig), doc, 0o600); err != nil {
		return err
	}
	if r.databaseURL != "" {
		if err := r.loadInto(ctx, r.databaseURL); err != nil {
			return err
		}
		return r.eraseAgain(ctx, r.databaseURL, tmp)
	}
	_, err = r.loadPrivate(ctx, embedded.Config{DataDir: tmp, Exclusive: true, Log: r.log}, r.addErasures,
		func(url string) error { return r.eraseAgain(ctx, url, tmp) })
	return err
}

func (r *restore) report(where string) {
	m := r.manifest
	r.program.printf("Restored the state of %s into %s: %s.", m.Taken.UTC().Format(time.DateTime+" UTC"), where,
		describeTotals(m))
	r.program.printf("Nothing is filed or sent until this has compared it with the tracker: mishap filings " +
		"reconcile --apply")
}

// loadPrivate restores the database into a new private PostgreSQL, calls then, and stops the server. See
// Load for last.
func (r *restore) loadPrivate(
	ctx context.Context, c embedded.Config, last func(context.Context, pgx.Tx) error, then func(url string) error,
) (stored backup.Totals, err error) {
	err = r.withServer(ctx, c, func(url string) error {
		if r.manifest.Method == backup.Base {
			stored, err = r.manifest.Adopt(ctx, url, r.log, last)
		} else {
			stored, err = r.manifest.Load(ctx, r.dir, url, r.jobs, r.log, last)
		}
		if err != nil {
			return err
		}
		return then(url)
	})
	return stored, err
}

// withServer starts a new private PostgreSQL, from the files of a base backup or empty, calls do, and
// stops it.
func (r *restore) withServer(ctx context.Context, c embedded.Config, do func(url string) error) (err error) {
	if r.manifest.Method == backup.Base {
		c.From = r.manifest.Copy(r.dir)
	}
	server, err := embedded.Start(ctx, c)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, server.Stop(ctx))
	}()
	return do(server.URL())
}

// loadInto restores the database into the empty one at url. Files of a base backup cannot be loaded into
// another server, so a temporary server makes a dump of them first.
func (r *restore) loadInto(ctx context.Context, url string) (err error) {
	if r.manifest.Method != backup.Base {
		_, err = r.manifest.Load(ctx, r.dir, url, r.jobs, r.log, r.addErasures)
		return err
	}
	dataDir, remove, err := temporaryDataDir("mishap-restore-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	dir := filepath.Join(filepath.Dir(dataDir), "dump")
	var dump backup.Manifest
	err = r.withServer(ctx, embedded.Config{DataDir: dataDir, Throwaway: true, Log: r.log}, func(from string) error {
		dump, err = r.manifest.Convert(ctx, from, dir, r.jobs)
		return err
	})
	if err != nil {
		return err
	}
	_, err = dump.Load(ctx, dir, url, r.jobs, r.log, r.addErasures)
	return err
}

// temporaryDataDir returns a data directory that does not exist yet, below a new folder in TMPDIR that
// remove deletes.
func temporaryDataDir(prefix string) (dataDir string, remove func() error, err error) {
	parent, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", nil, err
	}
	dataDir = filepath.Join(parent, "data")
	remove = func() error { return errors.Join(embedded.Remove(dataDir), os.RemoveAll(parent)) }
	if err := os.Chmod(parent, 0o711); err != nil { // the server's user needs access
		return "", nil, errors.Join(err, remove())
	}
	return dataDir, remove, nil
}

// verifyAll restores into a temporary folder and checks the result.
func (r *restore) verifyAll(ctx context.Context) (err error) {
	m := r.manifest
	r.program.printf("%s was taken %s, %s ago, by mishap %s with PostgreSQL %d and schema %d.",
		r.place, m.Taken.UTC().Format(time.DateTime+" UTC"), m.Age(time.Now()), m.Mishap, m.PostgreSQL, m.Schema)
	r.program.printf("It is %s: %s; secrets: %s, blobs: %s. All checksums are right.", describeMethod(m),
		describeTotals(m), yesNo(m.Secrets), yesNo(m.Blobs))
	dataDir, remove, err := temporaryDataDir("mishap-verify-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var good bool
	stored, err := r.loadPrivate(ctx, embedded.Config{DataDir: dataDir, Throwaway: true, Log: r.log}, nil,
		func(url string) error {
			store, err := db.Open(ctx, db.Config{URL: url, Log: r.log})
			if err != nil {
				return err
			}
			defer store.Close()
			err = r.program.check(ctx, store, crash.CheckScope{Most: checkExamples})
			good = err == nil
			if errors.Is(err, errReported) {
				return nil
			}
			return err
		})
	if err != nil {
		return err
	}
	switch {
	case stored == m.Totals:
	case m.Before != nil && *m.Before != m.Totals: // the state is one between these
		r.program.printf("Restored are %s. Before the backup there were %s, and after it %s.", countsOf(stored),
			countsOf(*m.Before), countsOf(m.Totals))
	default:
		good = false
		r.program.printf("Restored are %s, but the manifest says %s.", countsOf(stored), countsOf(m.Totals))
	}
	if !good {
		r.program.printf("The backup is NOT good.")
		return errReported
	}
	r.program.printf("The backup is good.")
	return nil
}

// record records the result of a verification, an error or nil, in the database of the configuration if
// that knows the backup. It creates no database.
func (r *restore) record(ctx context.Context, c config.Config, result error) error {
	problem := ""
	switch {
	case errors.Is(result, errReported):
		problem = "What was restored differs from the manifest, or recounting found differences."
	case result != nil:
		problem = result.Error()
		if e, ok := errors.AsType[*crash.Error](result); ok {
			problem = e.Message
		}
	}
	why, err := r.recordProblem(ctx, c, problem)
	if err != nil {
		return fmt.Errorf("the result is not recorded, so pages do not show it: %w", err)
	}
	if why != "" {
		r.program.printf("The result is not recorded, because %s.", why)
	}
	return nil
}

// recordProblem records the problem of the verification, or that there is none. It returns why it could not.
func (r *restore) recordProblem(ctx context.Context, c config.Config, problem string) (why string, err error) {
	if c.DatabaseURL == "" {
		if found, err := embedded.Find(ctx, c.DataDir); err != nil {
			return "", err
		} else if !found.Created {
			return c.DataDir + " has no database", nil
		}
	}
	database, err := openDatabase(ctx, c, false, r.log)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	known, err := backup.RecordVerification(ctx, database.url, filepath.Base(r.dir), problem)
	if err == nil && !known {
		why = "the database of the configuration does not know this backup"
	}
	return why, err
}

func countsOf(t backup.Totals) string {
	return fmt.Sprintf("%d reports, %d problems and %d bugs", t.Reports, t.Problems, t.Bugs)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
