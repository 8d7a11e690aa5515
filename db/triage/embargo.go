package triage

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
	standing, err := s.lockEmbargo(ctx, tx, args)
	if err != nil || standing {
		return err
	}
	if _, err := tx.Exec(ctx, sqlEmbargo, args); err != nil {
		return err
	}
	return s.Audit(ctx, tx, db.AuditEvent{Person: e.Person, Action: "problem.embargo", Subject: e.Bucket.String(),
		Detail: map[string]any{"reason": e.Reason, "rule": e.Rule}})
}

// lockEmbargo locks the problem of @bucket, sets @bucket to its head, and reports whether it is
// embargoed.
func (s *Store) lockEmbargo(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) (standing bool, err error) {
	var head crash.BucketID
	err = tx.QueryRow(ctx, sqlLockProblem, args).Scan(db.ScanTo(head[:]))
	if errors.Is(err, pgx.ErrNoRows) {
		return false, crash.ErrUnknownBucket
	}
	if err != nil {
		return false, err
	}
	args["bucket"] = head[:]
	return standing, tx.QueryRow(ctx, sqlEmbargoed, args).Scan(&standing)
}

var errNotEmbargoed = crash.Errorf(crash.Conflict, "not_embargoed", "This problem is not embargoed.")

// LiftEmbargo shows an embargoed problem to everyone again. Its bugs stay as they are. It returns
// NotFound for an unknown bucket, and Conflict if the problem is not embargoed.
func (s *Store) LiftEmbargo(ctx context.Context, bucket crash.BucketID, person string) error {
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"bucket": bucket[:], "person": person, "at": s.Now()}
		standing, err := s.lockEmbargo(ctx, tx, args)
		if err != nil {
			return err
		}
		if !standing {
			return errNotEmbargoed
		}
		if _, err := tx.Exec(ctx, sqlLift, args); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "problem.lift-embargo", Subject: bucket.String()})
	})
	if err != nil {
		return fmt.Errorf("lift the embargo of %s: %w", bucket, err)
	}
	return nil
}
