package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// watchLock is the advisory lock of the one unit that reads the tracker at a time. Any fixed number will do.
const watchLock = int64(0x6d69736861707761) // "mishapwa"

// archiveLock is that of the one unit that reads the tracker's archive.
const archiveLock = int64(0x6d69736861706172) // "mishapar"

const (
	sqlTryTurn = `select pg_try_advisory_lock(@lock)`
	sqlEndTurn = `select pg_advisory_unlock(@lock)`
)

// TakeTurn asks for the turn to read the tracker, which one unit has at a time. ok is false while another one has it. The
// turn lasts until end is called, or this unit dies.
func (s *Store) TakeTurn(ctx context.Context) (end func(), ok bool, err error) {
	return s.takeTurn(ctx, watchLock)
}

// TakeArchiveTurn is TakeTurn for reading the tracker's archive.
func (s *Store) TakeArchiveTurn(ctx context.Context) (end func(), ok bool, err error) {
	return s.takeTurn(ctx, archiveLock)
}

func (s *Store) takeTurn(ctx context.Context, lock int64) (end func(), ok bool, err error) {
	if _, err := s.unit.number(ctx); err != nil { // the unit's connection holds the lock
		return nil, false, err
	}
	if ok, err = s.unit.ask(ctx, sqlTryTurn, lock); err != nil || !ok {
		return nil, false, err
	}
	return func() { _, _ = s.unit.ask(context.WithoutCancel(ctx), sqlEndTurn, lock) }, true, nil // a lost connection ends it too
}

// ask runs a question about an advisory lock on the unit's connection.
func (u *unit) ask(ctx context.Context, sql string, lock int64) (yes bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unitWithin)
	defer cancel()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn == nil {
		return false, errUnavailable
	}
	if err := u.conn.QueryRow(ctx, sql, pgx.NamedArgs{"lock": lock}).Scan(&yes); err != nil {
		return false, known(fmt.Errorf("turn to read the tracker: %w", err))
	}
	return yes, nil
}
