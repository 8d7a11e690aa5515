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

// baseFrom is the size of a database in bytes from which Auto chooses a base backup: restoring a dump of that
// size takes minutes longer. Below it, a dump that any newer PostgreSQL reads is worth more.
const baseFrom = 4 << 30

// sqlServer reads what decides about the method. Sizes of other databases count only as far as the role
// may know them.
const sqlServer = `
	select pg_database_size(current_database()), (
			select coalesce(sum(pg_database_size(oid)), 0)::bigint from pg_database
			where datname <> current_database() and has_database_privilege(oid, 'connect')
		), current_user::text, (select rolsuper or rolreplication from pg_roles where rolname = current_user),
		(select count(*) > 2 from pg_tablespace), current_database()::text`

// server is what decides about the method.
type server struct {
	size, others   int64 // bytes of the database, and of the other databases of the server
	role           string
	mayReplicate   bool
	hasTablespaces bool
	database       string
}

func readServer(ctx context.Context, conn *pgx.Conn) (s server, err error) {
	err = conn.QueryRow(ctx, sqlServer).Scan(&s.size, &s.others, &s.role, &s.mayReplicate, &s.hasTablespaces,
		&s.database)
	if err != nil {
		return s, fmt.Errorf("read the state of the server: %w", db.Classify(err))
	}
	return s, nil
}

// choose returns the method, and a sentence for people if a base backup would be better but is not
// possible.
func (s server) choose(m Method) (Method, string, error) {
	if m == Dump || m == Auto && s.size < baseFrom {
		return Dump, "", nil
	}
	impossible := s.baseImpossible()
	switch {
	case m == Base:
		return Base, "", impossible
	case impossible != nil:
		notice := "A base backup would be restored quicker. " + impossible.Error()
		return Dump, notice, nil //nolint:nilerr // the notice says it
	case s.others > s.size: // a base backup contains them, too
		return Dump, "", nil
	}
	return Base, "", nil
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
