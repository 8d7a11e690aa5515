package db

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"mishap/crash"
	"mishap/crash/span"
	"mishap/db/connect"
)

// Handle is the part of a [Store] that all packages below db need. They embed it in stores of their
// own.
type Handle struct {
	Pool *pgxpool.Pool
	Log  *slog.Logger
	Now  func() time.Time
	// Rights are those of people beside the ones that administrators give them.
	Rights crash.RightsConfig

	instance *instance             // shows other instances that this one is alive
	password string                // of the database; it encrypts the tracker's secrets
	inserter *river.Client[pgx.Tx] // inserts jobs into the queue
	audited  recentAudits
	tracer   *span.Tracer
}

func newHandle(ctx context.Context, pool *pgxpool.Pool, c Config) (*Handle, error) {
	inserter, err := newInserter(pool)
	if err != nil {
		return nil, err
	}
	h := &Handle{
		Pool: pool, Log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), Now: c.Now,
		instance: newInstance(ctx, pool.Config().ConnConfig), password: pool.Config().ConnConfig.Password, inserter: inserter,
		tracer: c.Tracer, Rights: c.Rights,
	}
	if h.Now == nil {
		h.Now = time.Now
	}
	h.Rights.GroupsMaxAge = cmp.Or(h.Rights.GroupsMaxAge, crash.GroupsMaxAge)
	return h, nil
}

const sqlReadOnly = `select set_config('default_transaction_read_only', 'on', false)`

// OpenReadOnly connects to the database without background work, in sessions that cannot write. It
// neither migrates nor checks the schema; [Handle.Inspect] does. It returns Invalid for an invalid
// URL. Close the pool afterwards.
func OpenReadOnly(ctx context.Context, url string) (*Handle, error) {
	pc, err := connect.ParseURL(url)
	if err != nil {
		return nil, err
	}
	pc.MaxConns = 1
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sqlReadOnly)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	h, err := newHandle(ctx, pool, Config{})
	if err != nil {
		pool.Close()
	}
	return h, err
}

// InTx runs fn in a transaction. It commits if fn returns nil, and otherwise rolls back.
func (h *Handle) InTx(ctx context.Context, fn func(pgx.Tx) error) error {
	return Classify(pgx.BeginFunc(ctx, h.Pool, fn))
}

// InstanceNumber returns the number under which this instance claims work. Other instances may take
// over the work once this one no longer holds the lock on the number.
func (h *Handle) InstanceNumber(ctx context.Context) (int64, error) { return h.instance.number(ctx) }
