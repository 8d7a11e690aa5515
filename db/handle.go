package db

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"mishap/crash/audit"
	"mishap/crash/span"
	"mishap/db/connect"
)

// Handle is the part of a [Store] that all packages below db need. They embed it in stores of their
// own.
type Handle struct {
	Pool *pgxpool.Pool
	Log  *slog.Logger
	Now  func() time.Time

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
		tracer: c.Tracer,
	}
	if h.Now == nil {
		h.Now = time.Now
	}
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

// AuditEvent records who did what to what. It must contain no secrets: a changed one is "changed".
// The actor of the context adds the rest (see package audit).
type AuditEvent struct {
	Person  string         // name of the account; empty: that of the actor
	Action  string         // a key of [audit.Actions]
	Subject string         // affected object
	Before  map[string]any // values before a change; may be nil
	After   map[string]any // values after a change; may be nil
	Detail  map[string]any // a few other values; may be nil
	Refused string         // code of the error that refused the action; empty: it was done
}

// sqlInsertAuditEvent does not write the id of a machine that was erased, which somebody may look for.
const sqlInsertAuditEvent = `
	insert into audit_events
		(at, person, action, subject, detail, kind, via, address, request_id, before, after, result, reason, once)
	values (@at, @person, @action,
		coalesce((
			select 'erased:' || encode(substr(digest, 1, 8), 'hex') from erasures where digest = system_digest(@subject::text)
			limit 1
		), @subject::text), @detail, @kind, @via, @address, @request, @before, @after, @result, @reason,
		nullif(@once, ''))
	on conflict (once) do nothing`

// Audit records an event in the transaction that makes the change.
func (s *Handle) Audit(ctx context.Context, tx pgx.Tx, e AuditEvent) error {
	return s.insertAuditEvent(ctx, tx, e, "")
}

// AuditAlone records an event that changes nothing in the database.
func (s *Handle) AuditAlone(ctx context.Context, e AuditEvent) error {
	return s.insertAuditEvent(ctx, s.Pool, e, "")
}

// AuditOnce records an event at most once in each period, for each actor, object and reason. Repeated
// calls in one instance need no query. Visitors together cause at most maxVisitorRecords records an
// hour and instance, so that nobody can fill the disk from outside.
func (s *Handle) AuditOnce(ctx context.Context, e AuditEvent, period time.Duration) error {
	a := actorOf(ctx, e)
	key := strings.Join([]string{string(a.Kind), a.Person, a.Via, a.Address, e.Action, e.Subject, e.Refused,
		strconv.FormatInt(s.Now().UnixNano()/int64(period), 10)}, "\x1f")
	sum := sha256.Sum256([]byte(key))
	once := hex.EncodeToString(sum[:16])
	if !s.audited.wants(once, a.Kind == audit.Visitor, s.Now()) {
		if actor := audit.ActorOf(ctx); actor != nil {
			actor.MarkRecorded()
		}
		return nil
	}
	if err := s.insertAuditEvent(ctx, s.Pool, e, once); err != nil {
		return err
	}
	s.audited.add(once)
	return nil
}

// actorOf returns the actor of an event.
func actorOf(ctx context.Context, e AuditEvent) *audit.Actor {
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

// Storable makes any text fit for the database: valid UTF-8 without NUL.
func Storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

func (s *Handle) insertAuditEvent(ctx context.Context, tx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, e AuditEvent, once string) error {
	if _, known := audit.Words(e.Action); !known {
		return fmt.Errorf("audit: unknown action %q", e.Action)
	}
	a, result := actorOf(ctx, e), audit.Done
	if e.Refused != "" {
		result = audit.Refused
	}
	args := pgx.NamedArgs{
		"at": s.Now(), "person": a.Person, "action": e.Action, "subject": Storable(e.Subject), "kind": a.Kind, "via": a.Via,
		"address": a.Address, "request": a.RequestID, "result": result, "reason": e.Refused, "once": once,
		"detail": []byte("{}"),
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
	if _, err := tx.Exec(ctx, sqlInsertAuditEvent, args); err != nil {
		return fmt.Errorf("audit %s: %w", e.Action, Classify(err))
	}
	if actor := audit.ActorOf(ctx); actor != nil {
		actor.MarkRecorded()
	}
	return nil
}

const (
	maxAudited        = 20_000 // keys that recentAudits holds
	maxVisitorRecords = 1000   // an hour, of visitors together
)

// recentAudits holds the keys of recent records, so that a repeated view needs no query. It is safe
// for concurrent use.
type recentAudits struct {
	mu       sync.Mutex
	keys     map[string]bool
	hour     time.Time
	visitors int // records of visitors in this hour
}

// wants reports whether a record should be inserted.
func (r *recentAudits) wants(key string, visitor bool, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if hour := now.Truncate(time.Hour); !hour.Equal(r.hour) || len(r.keys) >= maxAudited {
		if !hour.Equal(r.hour) {
			r.visitors = 0
		}
		r.keys, r.hour = map[string]bool{}, hour
	}
	if r.keys[key] || visitor && r.visitors >= maxVisitorRecords {
		return false
	}
	if visitor {
		r.visitors++
	}
	return true
}

func (r *recentAudits) add(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[key] = true
}
