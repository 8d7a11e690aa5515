package db

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	return classify(pgx.BeginFunc(ctx, h.pool, fn))
}

// AuditEvent says who did what to which thing. The table of these is for ever; nothing secret goes in.
type AuditEvent struct {
	Person  string         // name of the account; empty: the command line, or mishap itself
	Action  string         // "user.add", "tracker.connect"
	Subject string         // what it was done to
	Detail  map[string]any // small; may be nil
}

const sqlInsertAuditEvent = `
	insert into audit_events (at, person, action, subject, detail)
	values (@at, @person, @action, @subject, @detail)`

// Audit records an event in the transaction of the change that it is about.
func (s *Handle) Audit(ctx context.Context, tx pgx.Tx, e AuditEvent) error {
	detail := []byte("{}")
	if len(e.Detail) > 0 {
		var err error
		if detail, err = json.Marshal(e.Detail); err != nil {
			return fmt.Errorf("audit %s: %w", e.Action, err)
		}
	}
	_, err := tx.Exec(ctx, sqlInsertAuditEvent, pgx.NamedArgs{
		"at": s.now(), "person": e.Person, "action": e.Action, "subject": e.Subject, "detail": detail,
	})
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Action, err)
	}
	return nil
}
