package schema

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"mishap/crash"
	"mishap/migrations"
)

var builtIn = sync.OnceValues(func() ([]appliedMigration, error) { return ownMigrations(migrations.Files) })

// Check returns Conflict if this program cannot work with the schema. It accepts a schema with later
// migrations, so that instances can be upgraded one after another.
func Check(ctx context.Context, pool *pgxpool.Pool) error {
	own, applied, err := compare(ctx, pool)
	if err == nil && len(applied) < len(own) {
		return crash.Errorf(crash.Conflict, "database_older", "The database is at schema %d, and this program needs %d.",
			len(applied), len(own))
	}
	return err
}

// compare returns the migrations of this program and those in the database. It returns Conflict if they
// differ.
func compare(ctx context.Context, pool *pgxpool.Pool) (own, applied []appliedMigration, err error) {
	if own, err = builtIn(); err != nil {
		return nil, nil, err
	}
	applied, err = readHistory(ctx, pool)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == undefinedTable {
		err = nil // an empty database, or one older than 0.1.0
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

// Inspect reads the version of the server and the state of the schema. It returns Invalid if the server
// is too old, and Conflict if the schema is not one of this program. Even with a Conflict, the
// Inspection is complete.
func Inspect(ctx context.Context, pool *pgxpool.Pool) (i Inspection, err error) {
	err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return errors.Join(checkServer(conn.Conn()), conn.QueryRow(ctx, sqlInspect).Scan(&i.Server, &i.Encoding, &i.Clock))
	})
	if err != nil {
		return i, err
	}
	own, applied, err := compare(ctx, pool)
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
	at, newest, err := queueVersions(ctx, pool)
	i.Queue = at >= newest
	return i, err
}
