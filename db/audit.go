package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"mishap/crash"
	"mishap/crash/audit"
)

// AuditEvent is a change, a read of private data or a refusal that the audit log records. It must contain
// no secrets: a changed one is "changed". The actor of the context adds the rest (see package audit).
type AuditEvent struct {
	Person  string         // name of the account; empty: that of the actor
	Action  string         // a key of [audit.Actions]
	Subject string         // affected object
	Before  map[string]any // values before a change; nil if there was nothing
	After   map[string]any // values after a change; nil if there is nothing
	Detail  map[string]any // a few other values; may be nil
	Refused string         // code of the error that refused the action; empty: it was done
}

// sqlInsertAudit does not write the id of a machine that was erased, which somebody may look for.
const sqlInsertAudit = `
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
	return Classify(insertAudit(ctx, tx, s.Now(), e, ""))
}

// AuditAlone records an event that changes nothing in the database.
func (s *Handle) AuditAlone(ctx context.Context, e AuditEvent) error {
	return Classify(insertAudit(ctx, s.Pool, s.Now(), e, ""))
}

// AuditOnce records an event at most once in each period, for each actor, object and reason. Repeated
// calls in one instance need no query. Visitors together cause at most maxVisitorAudits records an hour
// and instance, so that nobody can fill the disk from outside.
func (s *Handle) AuditOnce(ctx context.Context, e AuditEvent, period time.Duration) error {
	return Classify(s.audited.insertOnce(ctx, s.Pool, s.Now(), e, period))
}

// insertAudit inserts a record. Records with the same key, unless it is empty, are one. It returns an error
// for an unknown action, and for a change without values before and after (see [audit.Valueless]).
func insertAudit(ctx context.Context, conn Querier, now time.Time, e AuditEvent, key string) error {
	if _, known := audit.Words(e.Action); !known {
		return fmt.Errorf("audit: unknown action %q", e.Action)
	}
	if e.Refused == "" && len(e.Before)+len(e.After) == 0 && !audit.Valueless(e.Action) {
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
	if _, err := conn.Exec(ctx, sqlInsertAudit, args); err != nil {
		return fmt.Errorf("audit %s: %w", e.Action, err)
	}
	if actor := audit.ActorOf(ctx); actor != nil {
		actor.MarkRecorded()
	}
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

const (
	maxRecentAudits = 20_000 // keys that a recentAudits holds
	// maxVisitorAudits limits the records of visitors together, an hour and instance.
	maxVisitorAudits = 1000
)

// recentAudits holds the keys of recent records, so that a repeated view needs no query. It is safe for
// concurrent use. The zero value is ready to use.
type recentAudits struct {
	mu       sync.Mutex
	keys     map[string]bool
	hour     time.Time
	visitors int // records of visitors in this hour
}

// insertOnce inserts a record of an event unless there is one of the same actor, object and reason in
// this period.
func (r *recentAudits) insertOnce(
	ctx context.Context, conn Querier, now time.Time, e AuditEvent, period time.Duration,
) error {
	a := actorOf(ctx, e)
	key := strings.Join([]string{string(a.Kind), a.Person, a.Via, a.Address, e.Action, e.Subject, e.Refused,
		strconv.FormatInt(now.UnixNano()/int64(period), 10)}, "\x1f")
	sum := sha256.Sum256([]byte(key))
	once := hex.EncodeToString(sum[:16])
	if !r.wants(once, a.Kind == audit.Visitor, now) {
		if actor := audit.ActorOf(ctx); actor != nil {
			actor.MarkRecorded()
		}
		return nil
	}
	if err := insertAudit(ctx, conn, now, e, once); err != nil {
		return err
	}
	r.add(once)
	return nil
}

// wants reports whether a record should be inserted.
func (r *recentAudits) wants(key string, visitor bool, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if hour := now.Truncate(time.Hour); !hour.Equal(r.hour) || len(r.keys) >= maxRecentAudits {
		if !hour.Equal(r.hour) {
			r.visitors = 0
		}
		r.keys, r.hour = map[string]bool{}, hour
	}
	if r.keys[key] || visitor && r.visitors >= maxVisitorAudits {
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

// The table applied_migrations holds the checksum of each applied migration. Each migration inserts
// its row in its own transaction. Migrate refuses a database whose rows differ from the files of
// this program: the database may lack tables that the program needs, and would fail much later or
// silently.
const (
	createHistory = `
		create table if not exists applied_migrations (
			version  integer     primary key,
			name     text        not null,
			checksum text        not null,  -- sha256 of the file, in hexadecimal
			applied  timestamptz not null default now()
		)`
	sqlHistory     = `select version, name, checksum from applied_migrations order by version`
	addHistoryText = "\n;\ninsert into applied_migrations (version, name, checksum) values (%d, '%s', '%s');\n"
)

// appliedMigration is a row of applied_migrations, or the expected content of one.
type appliedMigration struct {
	Version        int
	Name, Checksum string
}

// ownMigrations returns the migrations in files, in order.
func ownMigrations(files fs.FS) ([]appliedMigration, error) {
	names, err := migrate.FindMigrations(files)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	own := make([]appliedMigration, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		sum := sha256.Sum256(text)
		own[i] = appliedMigration{Version: i + 1, Name: name, Checksum: hex.EncodeToString(sum[:])}
	}
	return own, nil
}

// verifyHistory returns Conflict unless the first at migrations in own have produced this database.
// The caller holds the migration lock.
func verifyHistory(ctx context.Context, conn *pgx.Conn, at int, own []appliedMigration) error {
	if _, err := conn.Exec(ctx, createHistory); err != nil {
		return err
	}
	applied, err := readHistory(ctx, conn)
	if err != nil {
		return err
	}
	if len(applied) != at {
		return crash.Errorf(crash.Conflict, "database_differs", "The database is at schema %d but has records of %d "+
			"migrations, so it was changed by something else than mishap; restore a backup, or give mishap a new, empty "+
			"database and import the reports again.", at, len(applied))
	}
	return compareHistory(applied, own)
}

func readHistory(ctx context.Context, conn Querier) ([]appliedMigration, error) {
	return List(ctx, conn, sqlHistory, nil, pgx.RowToStructByPos[appliedMigration])
}

// compareHistory returns Conflict if an applied migration differs from the same migration of this
// program.
func compareHistory(applied, own []appliedMigration) error {
	for i, a := range applied {
		if i < len(own) && (a.Version != own[i].Version || a.Checksum != own[i].Checksum) {
			return crash.Errorf(crash.Conflict, "database_differs",
				"The database was migrated by another build of mishap: its migration %d is %s (sha256 %.12s…), that of this "+
					"program is %s (%.12s…); run the build that made the database, or give this one a new, empty database "+
					"and import the reports again.",
				a.Version, a.Name, a.Checksum, own[i].Name, own[i].Checksum)
		}
	}
	return nil
}

// recordMigrations makes each migration insert its own row into applied_migrations.
func recordMigrations(all []*migrate.Migration, own []appliedMigration) error {
	if len(all) != len(own) {
		return errors.New("migrate: some migrations were not read")
	}
	for i, m := range all {
		name := strings.ReplaceAll(own[i].Name, "'", "''")
		m.UpSQL += fmt.Sprintf(addHistoryText, own[i].Version, name, own[i].Checksum)
	}
	return nil
}
