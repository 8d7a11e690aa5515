package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Advisory locks, each held by one instance at a time. Any fixed numbers will do.
const (
	watchLock   = int64(0x6d69736861707761) // "mishapwa": reading the tracker
	archiveLock = int64(0x6d69736861706172) // "mishapar": reading the tracker's archive
)

const (
	sqlTryTurn = `select pg_try_advisory_lock(@lock)`
	sqlEndTurn = `select pg_advisory_unlock(@lock)`
)

// TakeTurn acquires the lock on reading the tracker. ok is false while another instance holds it. It is held until end is
// called or this instance dies.
func (s *Store) TakeTurn(ctx context.Context) (end func(), ok bool, err error) {
	return s.acquire(ctx, watchLock)
}

// TakeArchiveTurn is TakeTurn for reading the tracker's archive.
func (s *Store) TakeArchiveTurn(ctx context.Context) (end func(), ok bool, err error) {
	return s.acquire(ctx, archiveLock)
}

func (s *Store) acquire(ctx context.Context, lock int64) (release func(), ok bool, err error) {
	if _, err := s.unit.number(ctx); err != nil { // opens the instance's connection, which holds the lock
		return nil, false, err
	}
	if ok, err = s.unit.queryLock(ctx, sqlTryTurn, lock); err != nil || !ok {
		return nil, false, err
	}
	return func() { _, _ = s.unit.queryLock(context.WithoutCancel(ctx), sqlEndTurn, lock) }, true, nil // a lost connection releases it too
}

// queryLock runs a statement about an advisory lock on the instance's connection.
func (u *unit) queryLock(ctx context.Context, sql string, lock int64) (yes bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unitWithin)
	defer cancel()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn == nil {
		return false, errUnavailable
	}
	if err := u.conn.QueryRow(ctx, sql, pgx.NamedArgs{"lock": lock}).Scan(&yes); err != nil {
		return false, known(fmt.Errorf("advisory lock %d: %w", lock, err))
	}
	return yes, nil
}
