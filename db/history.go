package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"mishap/crash"
)

// The table applied_migrations holds the checksum of each applied migration. Each migration inserts
// its row in its own transaction. Migrate refuses a database whose rows differ from the files of
// this program: the database may lack tables that the program needs, and would fail much later or
// silently.
//
// Databases older than 0.1.0 have no such rows. Their schema is compared with that of the last
// commit before the table was introduced, which had baselineVersion migrations.
const (
	baselineVersion     = 10
	baselineFingerprint = "73adcc3994bf7d6b8c42e26499ea606f55baf13a0fb663c4ac520d17c3ddb997"
)

const (
	createHistory = `
		create table if not exists applied_migrations (
			version  integer     primary key,
			name     text        not null,
			checksum text        not null,  -- sha256 of the file, in hexadecimal
			applied  timestamptz not null default now()
		)`
	sqlHistory = `select version, name, checksum from applied_migrations order by version`

	sqlAddHistory  = `insert into applied_migrations (version, name, checksum) values (@version, @name, @checksum)`
	addHistoryText = "\n;\ninsert into applied_migrations (version, name, checksum) values (%d, '%s', '%s');\n"
)

// sqlFingerprint describes the schema line by line: columns, constraints, indexes, triggers and
// functions. It omits partitions, which depend on the reports, and the tables of tern and the job
// queue.
const sqlFingerprint = `
	with tables as (
		select c.oid, c.relname, c.relkind from pg_class as c
		where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'c') and not c.relispartition
			and c.relname not in ('schema_version', 'applied_migrations') and c.relname not like 'river\_%'
	), parts (line) as (
		select concat_ws(' ', 'column', t.relkind, t.relname, a.attname, format_type(a.atttypid, a.atttypmod),
				a.attnotnull, a.attidentity,
				(select collname from pg_collation where oid = a.attcollation), pg_get_expr(d.adbin, d.adrelid))
			from tables as t join pg_attribute as a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
				left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
		union all
		select concat_ws(' ', 'constraint', t.relname, k.conname, pg_get_constraintdef(k.oid))
			from tables as t join pg_constraint as k on k.conrelid = t.oid and k.contype in ('c', 'f', 'p', 'u')
		union all
		select concat_ws(' ', 'index', t.relname, pg_get_indexdef(i.indexrelid))
			from tables as t join pg_index as i on i.indrelid = t.oid
		union all
		select concat_ws(' ', 'trigger', t.relname, pg_get_triggerdef(g.oid))
			from tables as t join pg_trigger as g on g.tgrelid = t.oid and not g.tgisinternal
		union all
		select concat_ws(' ', 'function', p.proname, p.prosrc)
			from pg_proc as p where p.pronamespace = current_schema()::regnamespace and p.proname not like 'river\_%'
	)
	select coalesce(string_agg(line, E'\n' order by line collate "C"), '') from (
		select replace(line, current_schema() || '.', '') as line from parts) as lines`

// appliedMigration is a row of applied_migrations, or the expected content of one.
type appliedMigration struct {
	Version        int
	Name, Checksum string
}

// ownMigrations returns the migrations in files, in order.
func ownMigrations(files fs.FS) ([]appliedMigration, error) {
	names, err := migrate.FindMigrations(files)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	own := make([]appliedMigration, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		sum := sha256.Sum256(text)
		own[i] = appliedMigration{Version: i + 1, Name: name, Checksum: hex.EncodeToString(sum[:])}
	}
	return own, nil
}

// verifyHistory returns Conflict unless the first at migrations in own have produced this database.
// If the database is older than 0.1.0 and has the expected schema, verifyHistory inserts the
// missing rows. The caller holds the migration lock.
func verifyHistory(ctx context.Context, conn *pgx.Conn, at int, own []appliedMigration) error {
	if _, err := conn.Exec(ctx, createHistory); err != nil {
		return err
	}
	applied, err := readHistory(ctx, conn)
	if err != nil {
		return err
	}
	if len(applied) == 0 && at > 0 {
		return adoptBaseline(ctx, conn, at, own)
	}
	if len(applied) != at {
		return errHistoryIncomplete(at, len(applied))
	}
	return compareHistory(applied, own)
}

func readHistory(ctx context.Context, conn querier) ([]appliedMigration, error) {
	rows, err := conn.Query(ctx, sqlHistory)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[appliedMigration])
}

// querier is implemented by connections and pools.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// compareHistory returns Conflict if an applied migration differs from the same migration of this
// program.
func compareHistory(applied, own []appliedMigration) error {
	for i, a := range applied {
		if i < len(own) && (a.Version != own[i].Version || a.Checksum != own[i].Checksum) {
			return crash.Errorf(crash.Conflict, "database_differs",
				"The database was migrated by another build of mishap: its migration %d is %s (sha256 %.12s…), that of this "+
					"program is %s (%.12s…); run the build that made the database, or give this one a new, empty database "+
					"and import the reports again.",
				a.Version, a.Name, a.Checksum, own[i].Name, own[i].Checksum)
		}
	}
	return nil
}

func errHistoryIncomplete(at, rows int) error {
	return crash.Errorf(crash.Conflict, "database_differs",
		"The database is at schema %d but has records of %d migrations, so it was changed by something else than mishap; "+
			"restore a backup, or give mishap a new, empty database and import the reports again.", at, rows)
}

// adoptBaseline inserts the rows of applied_migrations for a database that is older than this
// table. It returns Conflict if the schema is not the expected one.
func adoptBaseline(ctx context.Context, conn *pgx.Conn, at int, own []appliedMigration) error {
	found, err := schemaFingerprint(ctx, conn)
	if err != nil {
		return err
	}
	if at != baselineVersion || found != baselineFingerprint {
		return crash.Errorf(crash.Conflict, "database_before_release",
			"The database was made by a development version of mishap from before 0.1.0 (schema %d) whose tables differ from "+
				"those of every release, so it cannot be upgraded; give mishap a new, empty database and import the reports "+
				"again.", at)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, m := range own[:at] {
			args := pgx.NamedArgs{"version": m.Version, "name": m.Name, "checksum": m.Checksum}
			if _, err := tx.Exec(ctx, sqlAddHistory, args); err != nil {
				return err
			}
		}
		return nil
	})
}

// schemaFingerprint returns a hash of the schema. It is the same on all supported versions of
// PostgreSQL.
func schemaFingerprint(ctx context.Context, conn *pgx.Conn) (string, error) {
	var text string
	if err := conn.QueryRow(ctx, sqlFingerprint).Scan(&text); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), nil
}

// recordMigrations makes each migration insert its own row into applied_migrations.
func recordMigrations(all []*migrate.Migration, own []appliedMigration) error {
	if len(all) != len(own) {
		return errors.New("migrate: some migrations were not read")
	}
	for i, m := range all {
		name := strings.ReplaceAll(own[i].Name, "'", "''")
		m.UpSQL += fmt.Sprintf(addHistoryText, own[i].Version, name, own[i].Checksum)
	}
	return nil
}
