package upkeep

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash/audit"
	"mishap/db"
)

// AuditLog reads the audit log. It is safe for concurrent use.
type AuditLog struct{ store *db.Store }

// NewAuditLog returns a Store for the audit log in store.
func NewAuditLog(store *db.Store) *AuditLog { return &AuditLog{store} }

const sqlRecords = `
	select id, at, kind, person, via, address, request_id, action, subject, before, after, detail, result, reason
	from audit_events
	where (@who = '' or (case when person <> '' then person else via end) = @who)
		and (@action = '' or action = @action) and (@object = '' or subject = @object)
		and (@address = '' or address = @address and address <> '')
		and (@result = '' or result = @result)
		and (@since::timestamptz is null or at >= @since) and (@until::timestamptz is null or at < @until)
		and (@id::bigint = 0 or (at, id) < (@at, @id))
	order by at desc, id desc limit @limit`

// List returns at most limit records after a cursor, newest first.
func (s *AuditLog) List(ctx context.Context, f audit.Filter, after audit.Cursor, limit int) ([]audit.Record, error) {
	// Each filter has an index. A generic plan could use only one of them, so PostgreSQL plans each query.
	rows, err := s.store.Pool.Query(ctx, sqlRecords, pgx.QueryExecModeCacheDescribe, pgx.NamedArgs{
		"who": f.Person, "action": f.Action, "object": f.Object, "address": f.Address, "result": f.Result,
		"since": timeOrNull(f.Since), "until": timeOrNull(f.Until), "at": after.At, "id": after.ID, "limit": limit,
	})
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", db.Classify(err))
	}
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r audit.Record, err error) {
		err = row.Scan(&r.ID, &r.At, &r.Kind, &r.Person, &r.Via, &r.Address, &r.RequestID, &r.Action, &r.Object,
			&r.Before, &r.After, &r.Detail, &r.Result, &r.Reason)
		r.At = r.At.UTC()
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", db.Classify(err))
	}
	return records, nil
}

// exportChunk is the number of records that one query of All reads.
const exportChunk = 1000

// All returns all records that a filter selects, newest first, without holding them in memory. It
// leaves out records that are inserted after the first is read.
func (s *AuditLog) All(ctx context.Context, f audit.Filter) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		var after audit.Cursor
		for {
			records, err := s.List(ctx, f, after, exportChunk)
			if err != nil {
				yield(audit.Record{}, err)
				return
			}
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
				after = audit.Cursor{At: r.At, ID: r.ID}
			}
			if len(records) < exportChunk {
				return
			}
		}
	}
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

const sqlDrop = `select drop_audit_events(@oldest, @most)`

const (
	// MinAuditDays is the shortest time for which records stay. The database enforces it, too.
	MinAuditDays = 31
	dropChunk    = 10_000 // records that one statement deletes
)

// Drop removes records older than keepDays days, and records how many. It removes none if keepDays is
// 0. Records of removed accounts stay, so that nobody else gets their names.
func (s *AuditLog) Drop(ctx context.Context, keepDays int) error {
	if keepDays == 0 {
		return nil
	}
	oldest, dropped := s.store.Now().AddDate(0, 0, -max(keepDays, MinAuditDays)), int64(0)
	for {
		var n int64
		err := s.store.Pool.QueryRow(ctx, sqlDrop, pgx.NamedArgs{"oldest": oldest, "most": dropChunk}).Scan(&n)
		if err != nil {
			return fmt.Errorf("drop old records of the audit log: %w", db.Classify(err))
		}
		if dropped += n; n < dropChunk {
			break
		}
	}
	if dropped == 0 {
		return nil
	}
	return s.store.AuditAlone(ctx, db.AuditEvent{Action: "audit.drop", Detail: map[string]any{
		"records": dropped, "older_than": oldest.UTC().Format(time.DateOnly)}})
}
