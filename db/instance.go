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

// instance shows the other instances that this one is alive: a connection of its own holds an
// advisory lock on a random number for as long as the process and the connection live. The lock
// needs a lasting session, so the database must be reached directly or through a pooler in session
// mode.
type instance struct {
	config *pgx.ConnConfig
	ctx    context.Context // never ends: the lock outlives the request that acquired it

	mu     sync.Mutex
	conn   *pgx.Conn
	id     int64
	closed bool
}

// lockTimeout bounds acquiring or checking the lock.
const lockTimeout = 5 * time.Second

const (
	sqlInstanceSettings = `
		select set_config('idle_session_timeout', '0', false), set_config('application_name', 'mishap instance', false)`
	sqlLockInstance = `select pg_try_advisory_lock(@instance)`
	sqlInstanceDead = `select pg_try_advisory_xact_lock(@instance)` // true: nobody holds it
)

func newInstance(ctx context.Context, config *pgx.ConnConfig) *instance {
	return &instance{config: config, ctx: context.WithoutCancel(ctx)}
}

// number returns the number of this instance, whose lock it holds. After a lost connection it is a
// new one, and work claimed under the old number counts as abandoned.
func (i *instance) number(ctx context.Context) (int64, error) {
	// The end of the caller's context must not close the connection.
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
		return 0, known(fmt.Errorf("connect for the lock of the instance: %w", err))
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
		return 0, known(fmt.Errorf("acquire the lock of the instance: %w", err))
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
