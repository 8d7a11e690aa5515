package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

var (
	errPooler = crash.Errorf(crash.Invalid, "pooler", "A connection pooler between mishap and PostgreSQL gives each "+
		"transaction another connection to the server. The locks and notifications of mishap need lasting connections. "+
		"Name PostgreSQL itself in database_url, or set pool_mode = session in the pooler.")
	errPoolerFull = crash.Errorf(crash.Unavailable, "pooler_full", "The connection pooler between mishap and PostgreSQL "+
		"has no second connection to the server for mishap. Raise its default_pool_size to 17 for each instance, or name "+
		"PostgreSQL itself in database_url.")
)

const (
	// poolerAttempts is how often CheckPooler compares connections. Other clients of the pooler can hide the
	// change of a connection once, but hardly each time.
	poolerAttempts = 5
	// poolerTimeout limits how long CheckPooler waits for the pooler to assign a process.
	poolerTimeout = 3 * time.Second
)

const sqlBackend = `select pg_backend_pid()`

// CheckPooler reports whether there is a connection pooler between mishap and PostgreSQL: it sends another
// process id at the start of a connection than that of the process of PostgreSQL that answers. It returns
// Invalid if the pooler does not keep one connection to the server for each of its clients. The check leaves
// no settings behind, which other clients of such a pooler would get.
func CheckPooler(ctx context.Context, url string) (pooled bool, err error) {
	pc, err := ParseURL(url)
	if err != nil {
		return false, err
	}
	conn, err := connect(ctx, pc.ConnConfig)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	process, err := backend(ctx, conn)
	if err != nil || process == conn.PgConn().PID() {
		return false, err
	}
	pc.ConnConfig.ValidateConnect = nil // it waits for a process, too
	other, err := connect(ctx, pc.ConnConfig)
	if err != nil {
		return true, err
	}
	defer func() { _ = other.Close(context.WithoutCancel(ctx)) }()
	waiting, cancel := context.WithTimeout(ctx, poolerTimeout)
	defer cancel()
	for range poolerAttempts {
		lasting, err := keepsBackend(waiting, conn, other, process)
		switch {
		case waiting.Err() != nil && ctx.Err() == nil:
			return true, errPoolerFull.Because(err)
		case err != nil:
			return true, fmt.Errorf("look for a connection pooler: %w", err)
		case !lasting:
			return true, errPooler
		}
	}
	return true, nil
}

// keepsBackend reports whether conn keeps its process of the server while another connection has a
// transaction, and whether that has another process.
func keepsBackend(ctx context.Context, conn, other *pgx.Conn, process uint32) (bool, error) {
	tx, err := other.Begin(ctx)
	if pgCode(err) == protocolViolation { // pool_mode = statement
		return false, nil
	}
	if err != nil {
		return false, err
	}
	theirs, err := backend(ctx, other)
	ours := process
	if err == nil && theirs != process { // otherwise conn might wait for a free process
		ours, err = backend(ctx, conn)
	}
	return ours == process && theirs != process, errors.Join(err, tx.Rollback(ctx))
}

// protocolViolation is the code with which pgbouncer refuses transactions in pool mode statement.
const protocolViolation = "08P01"

// backend returns the process id of the server's process that answers. It prepares nothing: that would need a
// lasting connection.
func backend(ctx context.Context, conn *pgx.Conn) (process uint32, err error) {
	err = conn.QueryRow(ctx, sqlBackend, pgx.QueryExecModeExec).Scan(&process)
	return process, err
}

// connect makes a connection. It returns Invalid if the server refuses the user, the password or the database.
func connect(ctx context.Context, c *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, c)
	if refused := Refusal(err); refused != nil {
		return nil, refused.Because(err)
	}
	return conn, err
}

// settings are PostgreSQL settings of a session. They are not parameters of the start of a connection, because
// pgbouncer refuses these.
type settings map[string]string

const sqlSet = `select set_config(name, value, false) from unnest(@names::text[], @values::text[]) as s (name, value)`

// apply makes the settings in a session.
func (s settings) apply(ctx context.Context, conn *pgx.Conn) error {
	names := keysOf(s)
	_, err := conn.Exec(ctx, sqlSet, pgx.QueryExecModeExec, pgx.NamedArgs{
		"names": names, "values": column(names, func(name string) string { return s[name] }),
	})
	return err
}
