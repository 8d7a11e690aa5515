package triage

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlIsHeld = `
		select exists (select from holds where bucket_id in ` + db.Members + ` and lifted_at is null)`
	sqlHold = `
		insert into holds (bucket_id, person, reason, at) values (@bucket, @person, @reason, @at)`
	sqlLiftHold = `
		update holds set lifted_by = @person, lifted_at = @at
		where bucket_id in ` + db.Members + ` and lifted_at is null`
	sqlHolds = `
		select h.id, b.head, h.person, h.reason, h.at from holds as h join buckets as b on b.id = h.bucket_id
		where h.lifted_at is null order by h.at desc, h.id desc limit @limit`
)

// Hold prevents that anything of the reports and core dumps of a problem is removed because of its
// age. It changes nothing if the problem is held already. It returns NotFound for an unknown bucket,
// and Invalid for a reason that cannot be stored.
func (s *Store) Hold(ctx context.Context, h crash.Hold) error {
	reason, ok := crash.CleanLine(h.Reason, crash.MaxReason)
	if !ok {
		return crash.Errorf(crash.Invalid, "bad_reason", "A reason is one line of at most %d characters.", crash.MaxReason)
	}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"bucket": h.Bucket[:], "person": h.Person, "reason": reason, "at": s.Now()}
		held, err := s.lockAndAsk(ctx, tx, sqlIsHeld, args)
		if err != nil || held {
			return err
		}
		if _, err := tx.Exec(ctx, sqlHold, args); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: h.Person, Action: "problem.hold", Subject: h.Bucket.String(),
			Before: map[string]any{"held": false}, After: map[string]any{"held": true},
			Detail: map[string]any{"reason": reason}})
	})
	if err != nil {
		return fmt.Errorf("hold %s: %w", h.Bucket, err)
	}
	return nil
}

var errNotHeld = crash.Errorf(crash.Conflict, "not_held", "This problem is not held.")

// LiftHold ends the hold of a problem. It returns NotFound for an unknown bucket, and Conflict if the
// problem is not held.
func (s *Store) LiftHold(ctx context.Context, bucket crash.BucketID, person string) error {
	err := s.lift(ctx, bucket, sqlIsHeld, sqlLiftHold, errNotHeld,
		db.AuditEvent{Person: person, Action: "problem.lift-hold", Subject: bucket.String(),
			Before: map[string]any{"held": true}, After: map[string]any{"held": false}})
	if err != nil {
		return fmt.Errorf("lift the hold of %s: %w", bucket, err)
	}
	return nil
}

// Holds returns up to limit standing holds, the newest first, with the problems that they cover now.
func (s *Store) Holds(ctx context.Context, limit int) ([]crash.Hold, error) {
	rows, err := s.Pool.Query(ctx, sqlHolds, pgx.NamedArgs{"limit": limit})
	if err != nil {
		return nil, fmt.Errorf("holds: %w", db.Classify(err))
	}
	holds, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h crash.Hold, err error) {
		err = row.Scan(&h.ID, db.ScanTo(h.Bucket[:]), &h.Person, &h.Reason, &h.At)
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("holds: %w", db.Classify(err))
	}
	return holds, nil
}
