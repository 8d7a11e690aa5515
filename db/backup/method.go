package backup

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// Method is how a backup contains the database.
type Method string

// The methods. Auto is never in a manifest.
const (
	Auto Method = "auto" // chosen by the size of the database
	Dump Method = "dump" // a logical copy of the database, by pg_dump
	Base Method = "base" // a physical copy of the whole server, by pg_basebackup
)

// baseFrom is the size of a database in bytes from which Auto chooses a base backup. docs/backup.md has
// the measurement.
const baseFrom = 4 << 30

// incrementalSince is the first major version of PostgreSQL with incremental backups.
const incrementalSince = 17

// sqlServer reads what decides about the method. Sizes of other databases count only as far as the role
// may know them.
const sqlServer = `
	select current_setting('server_version_num')::int / 10000, pg_database_size(current_database()), (
			select coalesce(sum(pg_database_size(oid)), 0)::bigint from pg_database
			where datname <> current_database() and has_database_privilege(oid, 'connect')
		), current_user::text, (select rolsuper or rolreplication from pg_roles where rolname = current_user),
		(select count(*) > 2 from pg_tablespace), current_database()::text,
		coalesce(current_setting('summarize_wal', true), 'off') = 'on'`

// server is what decides about the method.
type server struct {
	major          int
	size, others   int64 // bytes of the database, and of the other databases of the server
	role           string
	mayReplicate   bool
	hasTablespaces bool
	database       string
	summarises     bool
}

func readServer(ctx context.Context, conn *pgx.Conn) (s server, err error) {
	err = conn.QueryRow(ctx, sqlServer).Scan(&s.major, &s.size, &s.others, &s.role, &s.mayReplicate, &s.hasTablespaces,
		&s.database, &s.summarises)
	if err != nil {
		return s, fmt.Errorf("read the state of the server: %w", db.Classify(err))
	}
	return s, nil
}

// choose returns the method, and a sentence for people if a base backup would be better but is not
// possible.
func (s server) choose(m Method, incremental bool) (Method, string, error) {
	if m == Dump || m == Auto && !incremental && s.size < baseFrom {
		return Dump, "", nil
	}
	impossible := s.baseImpossible()
	if m == Auto && !incremental {
		switch {
		case impossible != nil:
			notice := "A base backup would be restored quicker. " + impossible.Error()
			return Dump, notice, nil //nolint:nilerr // the notice says it
		case s.others > s.size: // a base backup contains them, too
			return Dump, "", nil
		}
	}
	if incremental && impossible == nil {
		impossible = s.incrementalImpossible()
	}
	return Base, "", impossible
}

// baseImpossible returns why this server or role cannot make a base backup, or nil.
func (s server) baseImpossible() error {
	switch {
	case !s.mayReplicate:
		return crash.Errorf(crash.Forbidden, "no_replication_right", "The role %s may not make base backups: let an "+
			"administrator of PostgreSQL run \"alter role %s with replication\", or use --method dump.", s.role,
			pgx.Identifier{s.role}.Sanitize())
	case s.hasTablespaces:
		return crash.Errorf(crash.Unavailable, "tablespaces", "The server has tablespaces, with which mishap makes no base "+
			"backups; use --method dump.")
	}
	return nil
}

// incrementalImpossible returns why this server cannot make an incremental backup, or nil.
func (s server) incrementalImpossible() error {
	switch {
	case s.major < incrementalSince:
		return crash.Errorf(crash.Unavailable, "no_incremental", "The server is PostgreSQL %d, and incremental backups need "+
			"PostgreSQL %d or newer, which summarises its write-ahead log for them. Upgrade the server, or make a whole "+
			"backup without --incremental.", s.major, incrementalSince)
	case !s.summarises:
		return crash.Errorf(crash.Unavailable, "no_summaries", "The server does not summarise its write-ahead log, which "+
			"incremental backups need: let an administrator of PostgreSQL run \"alter system set summarize_wal = on\" and "+
			"\"select pg_reload_conf()\".")
	}
	return nil
}
