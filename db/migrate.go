package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/tern/v2/migrate"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"mishap/crash"
	"mishap/migrations"
)

// migrateLock is the advisory lock that ensures that only one instance migrates at a time. The
// number is arbitrary.
const migrateLock = int64(0x6d6973686170) // "mishap"

const (
	sqlMigrateTryLock  = `select pg_try_advisory_lock(@lock)`
	sqlMigrateLock     = `select pg_advisory_lock(@lock)`
	sqlMigrateUnlock   = `select pg_advisory_unlock(@lock)`
	sqlMigrateForever  = `select set_config('lock_timeout', '0', false)`
	sqlMigrateTimeout  = `select set_config('lock_timeout', '10s', false)`
	sqlHasRiver        = `select to_regclass('river_migration') is not null`
	sqlRiverAt         = `select coalesce(max(version), 0)::int from river_migration where line = 'main'`
	versionTable       = "schema_version"
	lockNotAvailable   = "55P03"
	lacksPrivilege     = "42501"
	minServer          = 15
	migrateConnections = 2 // one holds the lock and runs our migrations, the other runs those of the job queue
)

// UnfinishedRestore is a table that exists while a backup is being restored into the database. If the
// restore is interrupted, the table stays.
const UnfinishedRestore = "unfinished_restore"

const sqlRestoreUnfinished = `select to_regclass('` + UnfinishedRestore + `') is not null`

var errRestoreUnfinished = crash.Errorf(crash.Conflict, "restore_unfinished", "A backup is being restored into this "+
	"database, or that was interrupted. If it was interrupted, delete the database and restore the backup again.")

// Migrate updates the schema: first our own tables, then those of the job queue. Several instances
// may call it at once: one migrates, and the others wait. It returns Conflict if the database is
// newer than this program or was made by other migrations. It returns Invalid if the server is too
// old, and Unavailable if it cannot be reached or a table stays locked.
func Migrate(ctx context.Context, url string, log *slog.Logger) error {
	return Classify(migrateFiles(ctx, url, log, migrations.Files, false))
}

// MigrateRestored does the same with a database whose restore from a backup has not finished, which
// Migrate refuses.
func MigrateRestored(ctx context.Context, url string, log *slog.Logger) error {
	return Classify(migrateFiles(ctx, url, log, migrations.Files, true))
}

// migrateFiles applies the migrations in files and then those of the job queue. restoring says that the
// database is being restored from a backup. Errors of the connection have no kind.
func migrateFiles(ctx context.Context, url string, log *slog.Logger, files fs.FS, restoring bool) error {
	pc, err := ParseURL(url)
	if err != nil {
		return err
	}
	if _, err := CheckPooler(ctx, url); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	pc.MaxConns = migrateConnections
	pc.AfterConnect = migrateSettings.apply
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer pool.Close()

	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer conn.Release()
	if err := errors.Join(checkServer(conn.Conn()), CheckEncoding(conn.Conn())); err != nil {
		return err
	}
	var unfinished bool
	if err := conn.QueryRow(ctx, sqlRestoreUnfinished).Scan(&unfinished); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if unfinished && !restoring {
		return errRestoreUnfinished
	}
	if err := lockMigrations(ctx, conn.Conn(), log); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() {
		// Closing the connection also releases the lock, so an error does not matter.
		_, _ = conn.Exec(context.WithoutCancel(ctx), sqlMigrateUnlock, pgx.NamedArgs{"lock": migrateLock})
	}()

	changed, err := migrateOwn(ctx, conn.Conn(), log, files)
	if err == nil {
		err = migrateQueue(ctx, pool, log)
	}
	if err == nil && changed {
		if err := AlignArchives(ctx, conn.Conn()); err != nil {
			log.WarnContext(ctx, "the tables in archives are not up to date; a nightly task tries again", "error", err)
		}
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && pg.Code == lacksPrivilege && (strings.HasPrefix(pg.Message, "permission denied for schema") ||
		strings.HasPrefix(pg.Message, "permission denied for database")):
		role, database := pgx.Identifier{pc.ConnConfig.User}.Sanitize(), pgx.Identifier{pc.ConnConfig.Database}.Sanitize()
		return crash.Errorf(crash.Forbidden, "schema_forbidden", "The role %[1]s may not create tables in the database "+
			"%[2]s. As a superuser: alter database %[2]s owner to %[1]s; and in that database: grant usage, create on "+
			"schema public to %[1]s", role, database).Because(err)
	case ok && pg.Code == lockNotAvailable:
		return crash.Errorf(crash.Unavailable, "schema_busy", "A table is in use and the schema cannot be changed right "+
			"now; start again in a moment.").Because(err)
	}
	return err
}

// migrateSettings let a migration run for long, but not wait for long for a busy table: every other statement
// on that table would wait behind it.
var migrateSettings = settings{"application_name": "mishap migrate", "statement_timeout": "0", "lock_timeout": "10s"}

// checkServer returns Invalid if PostgreSQL is older than the oldest version that mishap supports.
func checkServer(conn *pgx.Conn) error {
	version := conn.PgConn().ParameterStatus("server_version") // "15.18 (Debian …)", "18beta2"
	var major int
	if _, err := fmt.Sscanf(version, "%d", &major); err == nil && major < minServer {
		return crash.Errorf(crash.Invalid, "old_postgresql",
			"The database server is PostgreSQL %s; mishap needs version %d or newer.", version, minServer)
	}
	return nil
}

// CheckEncoding returns Invalid unless the database can store every character of a report.
func CheckEncoding(conn *pgx.Conn) error {
	encoding := conn.PgConn().ParameterStatus("server_encoding")
	if encoding == "UTF8" {
		return nil
	}
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	return crash.Errorf(crash.Invalid, "bad_encoding", "The encoding of the database is %s, which lacks characters that "+
		"reports contain; mishap needs UTF8. Create it again: create database %s encoding 'UTF8' template template0",
		encoding, name)
}

// lockMigrations waits until no other instance migrates, or until ctx ends.
func lockMigrations(ctx context.Context, conn *pgx.Conn, log *slog.Logger) error {
	args := pgx.NamedArgs{"lock": migrateLock}
	var free bool
	if err := conn.QueryRow(ctx, sqlMigrateTryLock, args).Scan(&free); err != nil || free {
		return err
	}
	log.InfoContext(ctx, "waiting for another instance to migrate the database")
	if _, err := conn.Exec(ctx, sqlMigrateForever); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, sqlMigrateLock, args); err != nil {
		return err
	}
	return Exec(ctx, conn, nil, sqlMigrateTimeout)
}

// migrateOwn applies our migrations, and reports whether there were any to apply.
func migrateOwn(ctx context.Context, conn *pgx.Conn, log *slog.Logger, files fs.FS) (
	changed bool, err error) {
	m, err := migrate.NewMigrator(ctx, conn, versionTable)
	if err != nil {
		return false, fmt.Errorf("migrate: %w", err)
	}
	if err := m.LoadMigrations(files); err != nil {
		return false, fmt.Errorf("read migrations: %w", err)
	}
	at, err := m.GetCurrentVersion(ctx)
	if err != nil {
		return false, fmt.Errorf("migrate: %w", err)
	}
	if int(at) > len(m.Migrations) {
		return false, errNewer(int(at), len(m.Migrations))
	}
	own, err := ownMigrations(files)
	if err != nil {
		return false, err
	}
	if err := verifyHistory(ctx, conn, int(at), own); err != nil {
		return false, fmt.Errorf("migrate: %w", err)
	}
	if err := recordMigrations(m.Migrations, own); err != nil {
		return false, err
	}
	m.OnStart = func(_ int32, name, _, _ string) {
		changed = true
		log.InfoContext(ctx, "migrating the database", "migration", name)
		_ = migrateSettings.apply(ctx, conn) // tern resets them after each file; after an error, the file fails, too
	}
	if err := m.Migrate(ctx); err != nil {
		return false, fmt.Errorf("migrate: %w", err)
	}
	return changed, nil
}

// migrateQueue creates or updates the tables of the job queue, which has its own migrations.
func migrateQueue(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	m, at, newest, err := queueVersions(ctx, pool)
	if err != nil {
		return fmt.Errorf("migrate job queue: %w", err)
	}
	switch {
	case at == newest:
		return nil
	case at > newest:
		return errNewer(at, newest)
	}
	log.InfoContext(ctx, "migrating the job queue", "from", at, "to", newest)
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate job queue: %w", err)
	}
	return nil
}

// queueVersions returns what migrates the job queue, the version of its schema in the database, or 0 if
// it has none, and the newest one that this program knows.
func queueVersions(ctx context.Context, pool *pgxpool.Pool) (
	m *rivermigrate.Migrator[pgx.Tx], at, newest int, err error,
) {
	m, err = rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, 0, 0, err
	}
	all := m.AllVersions()
	newest = all[len(all)-1].Version
	var created bool
	if err := pool.QueryRow(ctx, sqlHasRiver).Scan(&created); err != nil || !created {
		return m, 0, newest, err
	}
	err = pool.QueryRow(ctx, sqlRiverAt).Scan(&at)
	return m, at, newest, err
}

func errNewer(at, known int) error {
	return crash.Errorf(crash.Conflict, "database_newer",
		"The database was migrated by a newer mishap (schema %d, this program knows up to %d); run that version or a "+
			"later one.", at, known)
}

var builtIn = sync.OnceValues(func() ([]appliedMigration, error) { return ownMigrations(migrations.Files) })

// checkSchema returns Unavailable if this program cannot work with the schema. This happens if the
// database was replaced while the program ran, for example by a backup. A schema with later migrations is
// good, so that instances can be upgraded one after another.
func (s *Store) checkSchema(ctx context.Context) error {
	own, applied, err := compareMigrations(ctx, s.Pool)
	if err == nil && len(applied) < len(own) {
		err = crash.Errorf(crash.Conflict, "database_older", "The database is at schema %d, and this program needs %d.",
			len(applied), len(own))
	}
	if crash.KindOf(err) == crash.Conflict {
		return errReplaced.Because(err)
	}
	return Classify(err)
}

var errReplaced = crash.Errorf(crash.Unavailable, "database_replaced",
	"The database was replaced by one with another schema while mishap was running; restart mishap, which upgrades it or "+
		"says why it cannot.")

// compareMigrations returns the migrations of this program and those in the database. It returns Conflict if they
// differ.
func compareMigrations(ctx context.Context, pool *pgxpool.Pool) (own, applied []appliedMigration, err error) {
	if own, err = builtIn(); err != nil {
		return nil, nil, err
	}
	applied, err = readHistory(ctx, pool)
	if pgCode(err) == undefinedTable {
		err = nil // an empty database
	}
	if err != nil {
		return nil, nil, err
	}
	return own, applied, compareHistory(applied, own)
}

const undefinedTable = "42P01"

// Inspection describes a database server and the state of the schema on it.
type Inspection struct {
	Server   string    // version, "15.18 (Debian 15.18-0+deb12u1)"
	Encoding string    // "UTF8"
	Clock    time.Time // of the server
	Applied  int       // migrations that were applied
	Pending  int       // migrations that "mishap migrate" would apply, without those of the job queue
	Queue    bool      // the tables of the job queue are current
}

const sqlInspect = `
	select current_setting('server_version'), current_setting('server_encoding'), clock_timestamp()`

// Inspect reads the version of the server and the state of the schema. It returns Unavailable if the
// database does not answer, Invalid if it refuses the credentials or is too old, and Conflict if the
// schema is not one of this program. Even with a Conflict, the Inspection is complete.
func (h *Handle) Inspect(ctx context.Context) (Inspection, error) {
	conn, err := h.Pool.Acquire(ctx)
	if err != nil {
		if refused := Refusal(err); refused != nil {
			return Inspection{}, refused.Because(err)
		}
		return Inspection{}, errUnavailable.Because(err)
	}
	conn.Release()
	i, err := inspect(ctx, h.Pool)
	return i, Classify(err)
}

func inspect(ctx context.Context, pool *pgxpool.Pool) (i Inspection, err error) {
	err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return errors.Join(checkServer(conn.Conn()), conn.QueryRow(ctx, sqlInspect).Scan(&i.Server, &i.Encoding, &i.Clock))
	})
	if err != nil {
		return i, err
	}
	own, applied, err := compareMigrations(ctx, pool)
	if err != nil && crash.KindOf(err) != crash.Conflict {
		return i, err
	}
	i.Applied, i.Pending = len(applied), len(own)-len(applied)
	if i.Pending < 0 {
		return i, errNewer(len(applied), len(own))
	}
	if err != nil {
		return i, err
	}
	_, at, newest, err := queueVersions(ctx, pool)
	i.Queue = at >= newest
	return i, err
}
