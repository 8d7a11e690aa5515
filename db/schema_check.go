package db

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/migrations"
)

const undefinedTable = "42P01"

var builtInMigrations = sync.OnceValues(func() ([]appliedMigration, error) { return ownMigrations(migrations.Files) })

// checkSchema returns Unavailable when the schema is not one that this program can work with: the database was replaced,
// by a backup for example, since this program migrated it. A schema that a later version has migrated further is accepted,
// so that instances can be upgraded one after the other.
func (s *Store) checkSchema(ctx context.Context) error {
	own, err := builtInMigrations()
	if err != nil {
		return err
	}
	applied, err := readHistory(ctx, s.pool)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == undefinedTable {
		err = nil // an empty database, or one of before 0.1.0
	}
	if err != nil {
		return known(err)
	}
	if err := compareHistory(applied, own); err != nil {
		return errReplaced.Because(err)
	}
	if len(applied) < len(own) {
		return errReplaced
	}
	return nil
}

var errReplaced = crash.Errorf(crash.Unavailable, "database_replaced",
	"The database was replaced by one with another schema while mishap was running; restart mishap, which upgrades it or says why it cannot.")
