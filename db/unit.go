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

// unit shows the other units that this one lives: a connection of its own holds an advisory lock on the unit's random
// number for as long as the process and the connection do. The lock needs a session that lasts, so the database must be
// reached directly or through a pooler in session mode.
type unit struct {
	config *pgx.ConnConfig
	ctx    context.Context // never ends: the lock outlives the request during which it was taken

	mu     sync.Mutex
	conn   *pgx.Conn
	id     int64
	closed bool
}

// unitWithin bounds taking or checking the lock.
const unitWithin = 5 * time.Second

const (
	sqlUnitSettings = `select set_config('idle_session_timeout', '0', false), set_config('application_name', 'mishap unit', false)`
	sqlUnitLock     = `select pg_try_advisory_lock(@unit)`
	sqlUnitDead     = `select pg_try_advisory_xact_lock(@unit)` // got: nobody holds it
)

func newUnit(ctx context.Context, config *pgx.ConnConfig) *unit {
	return &unit{config: config, ctx: context.WithoutCancel(ctx)}
}

// number returns the number of this unit, with its lock held. After a lost connection it is a new one: work claimed under
// the old number counts as left behind.
func (u *unit) number(ctx context.Context) (int64, error) {
	// A caller that goes away must not take the connection along.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unitWithin)
	defer cancel()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return 0, errUnavailable
	}
	if u.conn != nil {
		if err := u.conn.Ping(ctx); err == nil {
			return u.id, nil
		}
		_ = u.conn.Close(ctx)
		u.conn = nil
	}
	conn, err := pgx.ConnectConfig(ctx, u.config)
	if err != nil {
		return 0, known(fmt.Errorf("connect for the unit's lock: %w", err))
	}
	id := randomUnit()
	var locked bool
	_, err = conn.Exec(ctx, sqlUnitSettings)
	if err == nil {
		err = conn.QueryRow(ctx, sqlUnitLock, pgx.NamedArgs{"unit": id}).Scan(&locked)
	}
	if err == nil && !locked {
		err = fmt.Errorf("the unit's number %d is taken", id)
	}
	if err != nil {
		_ = conn.Close(ctx)
		return 0, known(fmt.Errorf("take the unit's lock: %w", err))
	}
	u.conn, u.id = conn, id
	return id, nil
}

func randomUnit() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}

func (u *unit) close() {
	ctx, cancel := context.WithTimeout(u.ctx, unitWithin)
	defer cancel()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	if u.conn != nil {
		_ = u.conn.Close(ctx)
		u.conn = nil
	}
}
