package db

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

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
