package db

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
)

// Handle is the part of a [Store] that every area of the database needs. The packages below db
// embed it in stores of their own.
type Handle struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	now  func() time.Time

	instance *instance             // shows other instances that this one is alive
	password string                // of the database; it seals the secrets of the tracker
	inserter *river.Client[pgx.Tx] // puts jobs into the queue
}

func newHandle(ctx context.Context, pool *pgxpool.Pool, c Config) (*Handle, error) {
	inserter, err := newInserter(pool)
	if err != nil {
		return nil, err
	}
	h := &Handle{
		pool: pool, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), now: c.Now,
		instance: newInstance(ctx, pool.Config().ConnConfig), password: pool.Config().ConnConfig.Password, inserter: inserter,
	}
	if h.now == nil {
		h.now = time.Now
	}
	return h, nil
}

// inTx runs fn in a transaction. It commits if fn returns nil, and otherwise rolls back.
func (h *Handle) inTx(ctx context.Context, fn func(pgx.Tx) error) error {
	return known(pgx.BeginFunc(ctx, h.pool, fn))
}
