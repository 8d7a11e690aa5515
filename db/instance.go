package db

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// instance shows other instances that this one is alive. Its own connection holds an advisory lock
// on a random number while the process and the connection live. The lock needs a lasting session:
// the database must be reached directly or through a pooler in session mode.
type instance struct {
	config *pgx.ConnConfig
	ctx    context.Context // never ends, because the lock outlives the request that acquires it

	mu     sync.Mutex
	conn   *pgx.Conn
	id     int64
	closed bool
}

// lockTimeout limits how long it may take to acquire or check the lock.
const lockTimeout = 5 * time.Second

const (
	sqlInstanceSettings = `
		select set_config('idle_session_timeout', '0', false), set_config('application_name', 'mishap instance', false)`
	sqlLockInstance = `select pg_try_advisory_lock(@instance)`
)

func newInstance(ctx context.Context, config *pgx.ConnConfig) *instance {
	return &instance{config: config, ctx: context.WithoutCancel(ctx)}
}

// number returns the number of this instance, on which it holds the lock. After a lost connection
// the instance gets a new number, and work claimed under the old one counts as abandoned.
func (i *instance) number(ctx context.Context) (int64, error) {
	// Do not let the caller's context close the connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTimeout)
	defer cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return 0, errUnavailable
	}
	if i.conn != nil {
		if err := i.conn.Ping(ctx); err == nil {
			return i.id, nil
		}
		_ = i.conn.Close(ctx)
		i.conn = nil
	}
	conn, err := pgx.ConnectConfig(ctx, i.config)
	if err != nil {
		return 0, Classify(fmt.Errorf("connect for the lock of the instance: %w", err))
	}
	id := randomNumber()
	var locked bool
	_, err = conn.Exec(ctx, sqlInstanceSettings)
	if err == nil {
		err = conn.QueryRow(ctx, sqlLockInstance, pgx.NamedArgs{"instance": id}).Scan(&locked)
	}
	if err == nil && !locked {
		err = fmt.Errorf("the number %d of the instance is taken", id)
	}
	if err != nil {
		_ = conn.Close(ctx)
		return 0, Classify(fmt.Errorf("acquire the lock of the instance: %w", err))
	}
	i.conn, i.id = conn, id
	return id, nil
}

func randomNumber() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}

func (i *instance) close() {
	ctx, cancel := context.WithTimeout(i.ctx, lockTimeout)
	defer cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.conn != nil {
		_ = i.conn.Close(ctx)
		i.conn = nil
	}
}

// These advisory locks ensure that only one instance at a time does a job. The numbers are
// arbitrary but fixed: older versions use them too.
const (
	bugsLock    = int64(0x6d69736861707761) // "mishapwa": reading bugs from the tracker
	archiveLock = int64(0x6d69736861706172) // "mishapar": reading the tracker's archive
	countsLock  = int64(0x6d6973436f756e74) // "misCount": removing expired counts
)

const (
	sqlTryLock = `select pg_try_advisory_lock(@lock)`
	sqlUnlock  = `select pg_advisory_unlock(@lock)`
)

// LockBugs acquires the lock on reading bugs from the tracker. It returns ok false if another
// instance holds the lock. This instance holds it until it calls unlock or dies. Do not call
// LockBugs again before unlock: the lock belongs to the whole instance. It returns Unavailable if
// the database is unavailable.
func (s *Handle) LockBugs(ctx context.Context) (unlock func(), ok bool, err error) {
	return s.lock(ctx, bugsLock)
}

// LockArchive acquires the lock on reading the tracker's archive. It works like LockBugs.
func (s *Handle) LockArchive(ctx context.Context) (unlock func(), ok bool, err error) {
	return s.lock(ctx, archiveLock)
}

// LockExpiry acquires the lock on removing expired counts. It works like LockBugs.
func (s *Handle) LockExpiry(ctx context.Context) (unlock func(), ok bool, err error) {
	return s.lock(ctx, countsLock)
}

func (s *Handle) lock(ctx context.Context, lock int64) (unlock func(), ok bool, err error) {
	if _, err := s.instance.number(ctx); err != nil { // the instance's connection will hold the lock
		return nil, false, err
	}
	if ok, err = s.instance.ask(ctx, sqlTryLock, lock); err != nil || !ok {
		return nil, false, err
	}
	unlock = func() {
		_, _ = s.instance.ask(context.WithoutCancel(ctx), sqlUnlock, lock) // a lost connection also unlocks
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
		return false, Classify(fmt.Errorf("advisory lock %d: %w", lock, err))
	}
	return yes, nil
}
