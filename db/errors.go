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
	errUnavailable = crash.Errorf(crash.Unavailable, "database_away", "The database cannot be reached at the "+
		"moment; please try again shortly.")
	errStatementTimeout = crash.Errorf(crash.Unavailable, "too_slow", "The database took too long to answer. Please try "+
		"again shortly.")
	errNoSpace = &crash.Error{Kind: crash.Unavailable, Code: "no_space", RetryAfter: 10 * time.Minute,
		Message: "There is no space left on the disk of the database; please try again later."}
)

// Classify gives err the kind Unavailable when it says that the database is away, full, stopping or too slow. Errors that carry
// a kind already, and internal ones, stay as they are.
func Classify(err error) error {
	if err == nil || crash.KindOf(err) != 0 {
		return err
	}
	if noSpace(err) {
		return errNoSpace.Because(err)
	}
	if away(err) {
		return errUnavailable.Because(err)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == queryCanceled {
		return errStatementTimeout.Because(err)
	}
	return err
}

// queryCanceled is PostgreSQL's code for a statement that took longer than statement_timeout, or that an administrator
// cancelled.
const queryCanceled = "57014"

// noSpace reports whether err says that the database's disk is full.
func noSpace(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "53100"
}

func away(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code[:min(2, len(pg.Code))] { // the class of the error
		case "08", "53": // connection trouble; out of connections, memory or disk
			return true
		case "57": // stopping or starting; a cancelled statement is neither
			return pg.Code != queryCanceled
		}
		return pg.Code == "25006" // read only: a standby that has not taken over yet
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	if errors.Is(err, context.Canceled) {
		return false // the caller has gone
	}
	// A connection that broke before anything was sent, or halfway; no free one in time; the store is closed.
	return pgconn.SafeToRetry(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, puddle.ErrClosedPool)
}
