package db

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"mishap/crash"
)

var (
	errUnavailable = crash.Errorf(crash.Unavailable, "database_away", "The database cannot be reached "+
		"right now. Try again shortly.")
	errStatementTimeout = crash.Errorf(crash.Unavailable, "too_slow", "The database took too long to answer. Try "+
		"again shortly.")
	errNoSpace = &crash.Error{Kind: crash.Unavailable, Code: "no_space", RetryAfter: 10 * time.Minute,
		Message: "There is no space left on the disk of the database; please try again later."}
)

// Classify gives err the kind Unavailable if the database is unreachable, full, shutting down or
// too slow. It returns other errors unchanged, and those that have a kind already.
func Classify(err error) error {
	if err == nil || crash.KindOf(err) != 0 {
		return err
	}
	if noSpace(err) {
		return errNoSpace.Because(err)
	}
	if isUnavailable(err) {
		return errUnavailable.Because(err)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == queryCanceled {
		return errStatementTimeout.Because(err)
	}
	return err
}

// IsOutage reports whether err says that the database is unreachable, full or shutting down. Errors of
// other servers do not count.
func IsOutage(err error) bool {
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Code == errUnavailable.Code || e.Code == errNoSpace.Code
	}
	_, answered := errors.AsType[*pgconn.PgError](err)
	return (answered || isConnectError(err)) && isUnavailable(err)
}

// notAllowed is PostgreSQL's code for connections to a database that does not allow any.
const notAllowed = "55000"

func isConnectError(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}

// IsFull reports whether err says that the database's disk is full.
func IsFull(err error) bool {
	e, ok := errors.AsType[*crash.Error](err)
	return ok && e.Code == errNoSpace.Code || noSpace(err)
}

// queryCanceled is PostgreSQL's code for a statement that exceeded statement_timeout or was
// cancelled by an administrator.
const queryCanceled = "57014"

// noSpace reports whether err says that the database's disk is full.
func noSpace(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "53100"
}

// isUnavailable reports whether err says that the database is unreachable, overloaded, shutting
// down or read-only.
func isUnavailable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code[:min(2, len(pg.Code))] { // class of the error
		case "08", "53": // connection failure; insufficient resources
			return true
		case "57": // shutting down or starting up, unless a statement was cancelled
			return pg.Code != queryCanceled
		}
		// Read-only: a standby that is not promoted yet. Connections are not allowed: maintenance.
		return pg.Code == "25006" || pg.Code == notAllowed && isConnectError(err)
	}
	if isConnectError(err) {
		return true
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	if errors.Is(err, context.Canceled) {
		return false // the caller has gone away
	}
	// The connection broke before or during a statement, none was free in time, or the pool is closed.
	return pgconn.SafeToRetry(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, puddle.ErrClosedPool)
}
