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
	Pool *pgxpool.Pool
	Log  *slog.Logger
	Now  func() time.Time

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
		Pool: pool, Log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), Now: c.Now,
		instance: newInstance(ctx, pool.Config().ConnConfig), password: pool.Config().ConnConfig.Password, inserter: inserter,
	}
	if h.Now == nil {
		h.Now = time.Now
	}
	return h, nil
}

// InTx runs fn in a transaction. It commits if fn returns nil, and otherwise rolls back.
func (h *Handle) InTx(ctx context.Context, fn func(pgx.Tx) error) error {
	return Classify(pgx.BeginFunc(ctx, h.Pool, fn))
}

// InstanceNumber returns the number under which this instance claims work. Others may take the work
// over once this instance no longer holds the lock on its number.
func (h *Handle) InstanceNumber(ctx context.Context) (int64, error) { return h.instance.number(ctx) }

// AuditEvent records who did what to which thing. Events are stored for ever and hold no secrets.
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
		"at": s.Now(), "person": e.Person, "action": e.Action, "subject": e.Subject, "detail": detail,
	})
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Action, err)
	}
	return nil
}
