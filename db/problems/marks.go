package problems

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlEmbargoed = `
		select exists (select from embargoes where bucket_id in ` + db.Members + ` and lifted_at is null)`
	sqlEmbargo = `
		insert into embargoes (bucket_id, person, rule_id, reason, at)
		values (@bucket, @person, nullif(@rule::bigint, 0), @reason, @at)`
	sqlLift = `
		update embargoes set lifted_by = @person, lifted_at = @at
		where bucket_id in ` + db.Members + ` and lifted_at is null`
)

// Embargo hides a problem, in a transaction of its own; see [Store.EmbargoIn].
func (s *Store) Embargo(ctx context.Context, e crash.Embargo) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error { return s.EmbargoIn(ctx, tx, e) })
	if err != nil {
		return fmt.Errorf("embargo %s: %w", e.Bucket, err)
	}
	return nil
}

// EmbargoIn hides the problem of any bucket from everyone without the private right for its
// package. It changes nothing if the problem is embargoed already. It returns NotFound for an
// unknown bucket, and Invalid for a reason that cannot be stored.
func (s *Store) EmbargoIn(ctx context.Context, tx pgx.Tx, e crash.Embargo) error {
	e.Reason, _ = crash.CleanLine(e.Reason, crash.MaxReason+1) // Check refuses what is too long
	if err := e.Check(); err != nil {
		return err
	}
	args := pgx.NamedArgs{"bucket": e.Bucket[:], "person": e.Person, "rule": e.Rule, "reason": e.Reason, "at": s.Now()}
	embargoed, err := s.lockAndAsk(ctx, tx, sqlEmbargoed, args)
	if err != nil || embargoed {
		return err
	}
	if _, err := tx.Exec(ctx, sqlEmbargo, args); err != nil {
		return err
	}
	return s.Audit(ctx, tx, db.AuditEvent{Person: e.Person, Action: "problem.embargo", Subject: e.Bucket.String(),
		Before: map[string]any{"embargoed": false}, After: map[string]any{"embargoed": true},
		Detail: map[string]any{"reason": e.Reason, "rule": e.Rule}})
}

// sqlEmbargoes selects the oldest embargo of each problem.
const sqlEmbargoes = `
	select * from (
		select distinct on (b.head) e.id, b.head, e.person, coalesce(e.rule_id, 0), e.reason, e.at
		from embargoes as e join buckets as b on b.id = e.bucket_id
		where e.lifted_at is null order by b.head, e.id
	) as x order by at, id limit @limit`

// Embargoes returns up to limit standing embargoes of problems that the reader of ctx may see, the oldest
// first.
func (s *Store) Embargoes(ctx context.Context, limit int) ([]crash.Embargo, error) {
	rows, err := s.Pool.Query(ctx, sqlEmbargoes, pgx.NamedArgs{"limit": limit})
	if err != nil {
		return nil, fmt.Errorf("embargoes: %w", db.Classify(err))
	}
	embargoes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e crash.Embargo, err error) {
		err = row.Scan(&e.ID, db.ScanTo(e.Bucket[:]), &e.Person, &e.Rule, &e.Reason, &e.At)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("embargoes: %w", db.Classify(err))
	}
	return embargoes, nil
}

// sqlCountEmbargoed counts the embargoed problems among those of some buckets.
const sqlCountEmbargoed = `
	select count(*) from (select distinct head from buckets where id = any(@buckets::bytea[])) as p
	where exists (
		select from buckets as m join embargoes as e on e.bucket_id = m.id
		where m.head = p.head and e.lifted_at is null)`

// CountEmbargoed returns how many of the problems of some buckets are embargoed.
func (s *Store) CountEmbargoed(ctx context.Context, buckets []crash.BucketID) (n int, err error) {
	err = s.Pool.QueryRow(ctx, sqlCountEmbargoed, pgx.NamedArgs{"buckets": db.IDBytes(buckets)}).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count embargoed problems: %w", db.Classify(err))
	}
	return n, nil
}

// lockAndAsk locks the problem of @bucket, sets @bucket to its head, and returns the answer of a
// statement about it.
func (s *Store) lockAndAsk(ctx context.Context, tx pgx.Tx, sql string, args pgx.NamedArgs) (answer bool, err error) {
	var head crash.BucketID
	err = tx.QueryRow(ctx, sqlLockProblem, args).Scan(db.ScanTo(head[:]))
	if errors.Is(err, pgx.ErrNoRows) {
		return false, crash.ErrUnknownBucket
	}
	if err != nil {
		return false, err
	}
	args["bucket"] = head[:]
	return answer, tx.QueryRow(ctx, sql, args).Scan(&answer)
}

var errNotEmbargoed = crash.Errorf(crash.Conflict, "not_embargoed", "This problem is not embargoed.")

// LiftEmbargo shows an embargoed problem to everyone again. Its bugs stay as they are. It returns
// NotFound for an unknown bucket, and Conflict if the problem is not embargoed.
func (s *Store) LiftEmbargo(ctx context.Context, bucket crash.BucketID, person string) error {
	err := s.lift(ctx, bucket, sqlEmbargoed, sqlLift, errNotEmbargoed,
		db.AuditEvent{Person: person, Action: "problem.lift-embargo", Subject: bucket.String(),
			Before: map[string]any{"embargoed": true}, After: map[string]any{"embargoed": false}})
	if err != nil {
		return fmt.Errorf("lift the embargo of %s: %w", bucket, err)
	}
	return nil
}

// lift ends the embargo or the hold of a problem, and records that. It returns none if sqlStands
// says that there is none.
func (s *Store) lift(ctx context.Context, bucket crash.BucketID, sqlStands, sqlLift string, none error,
	e db.AuditEvent) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"bucket": bucket[:], "person": e.Person, "at": s.Now()}
		stands, err := s.lockAndAsk(ctx, tx, sqlStands, args)
		if err != nil {
			return err
		}
		if !stands {
			return none
		}
		if _, err := tx.Exec(ctx, sqlLift, args); err != nil {
			return err
		}
		return s.Audit(ctx, tx, e)
	})
}

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
