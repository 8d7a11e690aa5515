// Package record inserts records into the audit log. Package audits reads them.
package record

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash/audit"
)

// Event says who did what to what. It must contain no secrets: a changed one is "changed". The actor
// of the context adds the rest (see package audit).
type Event struct {
	Person  string         // name of the account; empty: that of the actor
	Action  string         // a key of [audit.Actions]
	Subject string         // affected object
	Before  map[string]any // values before a change; nil if there was nothing
	After   map[string]any // values after a change; nil if there is nothing
	Detail  map[string]any // a few other values; may be nil
	Refused string         // code of the error that refused the action; empty: it was done
}

// sqlInsert does not write the id of a machine that was erased, which somebody may look for.
const sqlInsert = `
	insert into audit_events
		(at, person, action, subject, detail, kind, via, address, request_id, before, after, result, reason, once)
	values (@at, @person, @action,
		coalesce((
			select 'erased:' || encode(substr(digest, 1, 8), 'hex') from erasures where digest = system_digest(@subject::text)
			limit 1
		), @subject::text), @detail, @kind, @via, @address, @request, @before, @after, @result, @reason,
		nullif(@once, ''))
	on conflict (once) do nothing`

// Conn is a connection, a pool or a transaction.
type Conn interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Insert inserts a record. Records with the same key, unless it is empty, are one. It returns an error
// for an unknown action, and for a change without values before and after (see [audit.Valueless]).
func Insert(ctx context.Context, conn Conn, now time.Time, e Event, key string) error {
	if _, known := audit.Words(e.Action); !known {
		return fmt.Errorf("audit: unknown action %q", e.Action)
	}
	if e.Refused == "" && len(e.Before)+len(e.After) == 0 && audit.Valueless(e.Action) == "" {
		return fmt.Errorf("audit: a record of %s needs values before or after the change", e.Action)
	}
	a, result := actorOf(ctx, e), audit.Done
	if e.Refused != "" {
		result = audit.Refused
	}
	args := pgx.NamedArgs{
		"at": now, "person": Indexed(a.Person), "action": e.Action, "subject": Indexed(e.Subject), "kind": a.Kind,
		"via": Indexed(a.Via), "address": Indexed(a.Address), "request": a.RequestID,
		"result": result, "reason": e.Refused, "once": key, "detail": []byte("{}"),
	}
	for name, values := range map[string]map[string]any{"detail": e.Detail, "before": e.Before, "after": e.After} {
		if len(values) == 0 {
			continue
		}
		b, err := json.Marshal(values)
		if err != nil {
			return fmt.Errorf("audit %s: %w", e.Action, err)
		}
		args[name] = b
	}
	if _, err := conn.Exec(ctx, sqlInsert, args); err != nil {
		return fmt.Errorf("audit %s: %w", e.Action, err)
	}
	if actor := audit.ActorOf(ctx); actor != nil {
		actor.MarkRecorded()
	}
	return nil
}

// actorOf returns the actor of an event.
func actorOf(ctx context.Context, e Event) *audit.Actor {
	a := &audit.Actor{Kind: audit.Job}
	if actor := audit.ActorOf(ctx); actor != nil {
		a.Kind, a.Person, a.Via, a.Address, a.RequestID = actor.Kind, actor.Person, actor.Via, actor.Address, actor.RequestID
	}
	if e.Person != "" {
		a.Person = e.Person
		if a.Kind == audit.Visitor || audit.ActorOf(ctx) == nil {
			a.Kind = audit.Person // who signs in at this moment
		}
	}
	return a
}

// maxIndexed is the largest length in bytes of a text in an index. PostgreSQL refuses rows with more than
// 2,704 bytes of incompressible text in an index, and a few indexes hold several texts.
const maxIndexed = 1000

// Indexed makes any text fit for a column with an index: storable, and cut to maxIndexed bytes.
func Indexed(s string) string {
	s = Storable(s)
	return strings.ToValidUTF8(s[:min(len(s), maxIndexed)], "")
}

// Storable makes any text fit for the database: valid UTF-8 without NUL.
func Storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}
