package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/embedded"
)

const (
	sqlNotEmpty = `
		select exists (
			select from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
			where n.nspname <> 'information_schema' and n.nspname not like 'pg\_%'
				and not exists (select from pg_depend as d where d.objid = c.oid and d.deptype = 'e')
		), to_regclass('` + db.UnfinishedRestore + `') is not null, current_setting('server_version_num')::int / 10000`
	sqlLockRestore  = `select pg_try_advisory_lock(@lock)`
	sqlBeginRestore = `create table ` + db.UnfinishedRestore + ` ()`
	sqlEndRestore   = `drop table ` + db.UnfinishedRestore
	sqlMarkRestored = `update filing_writer set restored = now(), backup_taken = @taken`
	// sqlRestartRules makes rules ignore what happened before the restore, so that they do not
	// repeat what they did between the backup and the restore.
	sqlRestartRules = `update rules set since = now(), prepared = false where deleted is null`
	// sqlSkipWarnings marks tokens of which the owners were probably warned after the backup.
	sqlSkipWarnings = `
		update api_tokens set warned = now()
		where warned is null and revoked is null and expires <= now() + @warning::interval`
	// sqlEndSessions also ends sessions that ended after the backup.
	sqlEndSessions = `delete from sessions`
	sqlAnalyze     = `analyze`
)

// restoreLock is the key of the advisory lock of a restore in the database that it fills.
const restoreLock = 0x6d697368_72657374

// Load restores the database of the backup in dir, which Verify has checked, into the empty
// database at url, and migrates it. Nothing is sent from the database until it has been compared
// with the tracker (see filings.FinishRestore). Until Load has finished, no mishap can use the
// database. It calls last, if that is not nil, in the transaction that ends the restore.
//
// Load returns Conflict if the database is not empty, if another restore into it runs or was
// interrupted, or if its server is older than that of the backup. It changes nothing then. Stored
// are the totals of the database before it was migrated.
func (m Manifest) Load(ctx context.Context, dir, url string, jobs int, log *slog.Logger,
	last func(context.Context, pgx.Tx) error) (stored Totals, err error) {
	conn, err := open(ctx, url)
	if err != nil {
		return stored, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // everything is committed
	var used, unfinished, locked bool
	var server int
	// The lock belongs to the connection, so that it ends with this process.
	if err := conn.QueryRow(ctx, sqlLockRestore, pgx.NamedArgs{"lock": restoreLock}).Scan(&locked); err != nil {
		return stored, db.Classify(err)
	}
	if !locked {
		return stored, crash.Errorf(crash.Conflict, "restore_running", "Another restore into this database is running; "+
			"wait for its end.")
	}
	if err := conn.QueryRow(ctx, sqlNotEmpty).Scan(&used, &unfinished, &server); err != nil {
		return stored, db.Classify(err)
	}
	if unfinished {
		return stored, crash.Errorf(crash.Conflict, "restore_interrupted", "A restore into this database was interrupted, "+
			"and it cannot be continued. Delete the database and create it again (dropdb, createdb), then restore again.")
	}
	if used {
		return stored, crash.Errorf(crash.Conflict, "database_not_empty", "The database is not empty, and restoring "+
			"would mix "+
			"two states. Create a new database (createdb) and name it, or delete this one first.")
	}
	if err := db.CheckEncoding(conn); err != nil {
		return stored, err
	}
	if server < m.PostgreSQL {
		return stored, crash.Errorf(crash.Conflict, "server_older", "The backup is from PostgreSQL %d, and this server is "+
			"PostgreSQL %d; restore it with PostgreSQL %d or newer.", m.PostgreSQL, server, m.PostgreSQL)
	}
	program, err := embedded.FindTool(ctx, "pg_restore", server)
	if err != nil {
		return stored, err
	}
	environ, err := environment(url)
	if err != nil {
		return stored, err
	}
	if _, err := conn.Exec(ctx, sqlBeginRestore); err != nil {
		return stored, db.Classify(err)
	}
	_, err = embedded.RunTool(ctx, environ, program, "--format=directory", "--jobs="+strconv.Itoa(max(jobs, 1)),
		"--no-owner", "--no-privileges", "--exit-on-error", "--dbname="+databaseOf(environ),
		filepath.Join(dir, databaseName))
	if err != nil {
		return stored, fmt.Errorf("the database is incomplete, delete it before you try again: %w", err)
	}
	if _, err := conn.Exec(ctx, sqlAnalyze); err != nil {
		return stored, db.Classify(err)
	}
	return m.finish(ctx, conn, url, log, last)
}

// Adopt does the same as Load with a database that is a copy of the server's files, see [Manifest.Copy].
func (m Manifest) Adopt(ctx context.Context, url string, log *slog.Logger, last func(context.Context, pgx.Tx) error) (
	stored Totals, err error,
) {
	conn, err := open(ctx, url)
	if err != nil {
		return stored, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // everything is committed
	if _, err := conn.Exec(ctx, sqlBeginRestore); err != nil {
		return stored, db.Classify(err)
	}
	return m.finish(ctx, conn, url, log, last)
}

// Convert dumps the restored database at url, which nobody changes, to the new folder dir for Load. The
// dump counts as taken when the base backup was.
func (m Manifest) Convert(ctx context.Context, url, dir string, jobs int) (Manifest, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return m, err
	}
	dump, err := Options{URL: url, Jobs: jobs, Mishap: m.Mishap}.dump(ctx, dir)
	dump.Taken = m.Taken
	return dump, err
}

// finish counts, migrates and releases a database that contains the backup.
func (m Manifest) finish(ctx context.Context, conn *pgx.Conn, url string, log *slog.Logger,
	last func(context.Context, pgx.Tx) error) (stored Totals, err error) {
	if stored, err = totals(ctx, conn); err != nil {
		return stored, err
	}
	if err := db.MigrateRestored(ctx, url, log); err != nil {
		return stored, err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"taken": m.Taken, "warning": crash.TokenWarning}
		err := db.Exec(ctx, tx, args, sqlMarkRestored, sqlRestartRules, sqlSkipWarnings, sqlEndSessions, sqlEndRestore)
		if err == nil && last != nil {
			err = last(ctx, tx)
		}
		return err
	})
	return stored, db.Classify(err)
}

// databaseOf returns the name of the database in the environment, which pg_restore also needs as an
// argument. An empty name stands for the default.
func databaseOf(environ []string) string {
	for _, v := range environ {
		if name, ok := strings.CutPrefix(v, "PGDATABASE="); ok {
			return name
		}
	}
	return ""
}

// Config returns the configuration in the backup in dir.
func Config(dir string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, configName)) }

// RestoreFiles writes the keys, cores, symbols and blobs of the backup in dir to a data directory,
// as far as the backup has them. It returns the folder of the blobs, or an empty text if there are
// none.
func RestoreFiles(ctx context.Context, dir, dataDir string) (blobs string, err error) {
	err = errors.Join(
		copyTree(filepath.Join(dir, keysName), dataDir, ctx.Err),
		copyTree(filepath.Join(dir, dataName), dataDir, ctx.Err))
	if err != nil {
		return "", fmt.Errorf("restore files: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, blobsName)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	to := filepath.Join(dataDir, blobsName)
	if err := copyTree(filepath.Join(dir, blobsName), to, ctx.Err); err != nil {
		return "", fmt.Errorf("restore blobs: %w", err)
	}
	return to, nil
}

// Copy returns the files of the server in the base backup in dir, which Verify has checked.
func (m Manifest) Copy(dir string) *embedded.Copy {
	return &embedded.Copy{Major: m.PostgreSQL, Database: m.Database, Private: m.Private,
		Write: func(ctx context.Context, to string) error { return unpackBase(ctx, dir, to) }}
}

// unpackBase unpacks the base backup in dir into the empty directory to.
func unpackBase(ctx context.Context, dir, to string) error {
	dir = filepath.Join(dir, databaseName)
	manifest, err := os.Open(filepath.Join(dir, baseManifest))
	if err == nil {
		err = errors.Join(writeFrom(filepath.Join(to, baseManifest), manifest), manifest.Close())
	}
	if err = errors.Join(err, untar(ctx, filepath.Join(dir, baseArchive), to),
		untar(ctx, filepath.Join(dir, walArchive), filepath.Join(to, "pg_wal"))); err != nil {
		return fmt.Errorf("unpack the database: %w", err)
	}
	return nil
}

// untar unpacks a compressed archive of files and directories. All are for their owner alone.
func untar(ctx context.Context, name, to string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	content, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	root, err := os.OpenRoot(to) // no file of the archive can be elsewhere
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only used to create files
	for archive := tar.NewReader(content); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			if err = root.Mkdir(filepath.Clean(h.Name), 0o700); errors.Is(err, fs.ErrExist) {
				err = nil
			}
		case tar.TypeReg:
			err = unpackFile(root, h.Name, archive)
		default:
			err = fmt.Errorf("unexpected kind of file %q", h.Typeflag)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", name, h.Name, err)
		}
	}
}

func unpackFile(root *os.Root, name string, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close()) // PostgreSQL syncs all files when it recovers
}
