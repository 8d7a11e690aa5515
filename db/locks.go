package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Advisory locks on work that one instance does at a time. Any fixed numbers will do; older
// versions know these, too.
const (
	bugsLock    = int64(0x6d69736861707761) // "mishapwa": reading bugs from the tracker
	archiveLock = int64(0x6d69736861706172) // "mishapar": reading the tracker's archive
)

const (
	sqlTryLock = `select pg_try_advisory_lock(@lock)`
	sqlUnlock  = `select pg_advisory_unlock(@lock)`
)

// LockBugs acquires the lock on reading bugs from the tracker. ok is false while another instance
// holds it. This instance holds it until it calls unlock or dies. Do not call it again before
// unlock: the lock counts for the whole instance.
func (s *Handle) LockBugs(ctx context.Context) (unlock func(), ok bool, err error) {
	return s.lock(ctx, bugsLock)
}

// LockArchive is LockBugs for reading the tracker's archive.
func (s *Handle) LockArchive(ctx context.Context) (unlock func(), ok bool, err error) {
	return s.lock(ctx, archiveLock)
}

func (s *Handle) lock(ctx context.Context, lock int64) (unlock func(), ok bool, err error) {
	if _, err := s.instance.number(ctx); err != nil { // the instance's connection holds the lock
		return nil, false, err
	}
	if ok, err = s.instance.ask(ctx, sqlTryLock, lock); err != nil || !ok {
		return nil, false, err
	}
	unlock = func() {
		_, _ = s.instance.ask(context.WithoutCancel(ctx), sqlUnlock, lock) // a lost connection unlocks, too
	}
	return unlock, true, nil
}

// ask runs a query about an advisory lock on the instance's connection.
func (i *instance) ask(ctx context.Context, sql string, lock int64) (yes bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTimeout)
	defer cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conn == nil {
		return false, errUnavailable
	}
	if err := i.conn.QueryRow(ctx, sql, pgx.NamedArgs{"lock": lock}).Scan(&yes); err != nil {
		return false, known(fmt.Errorf("advisory lock %d: %w", lock, err))
	}
	return yes, nil
}
