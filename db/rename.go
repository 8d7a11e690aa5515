package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	// Of several buckets that are one problem, the head has the name.
	sqlHeadName     = `select h.id, h.name from buckets as b join buckets as h on h.id = b.head where b.id = @bucket`
	sqlSetName      = `update buckets set name = @name, changed = @round where id = @bucket`
	sqlInsertRename = `
		insert into decisions (kind, cause, bucket_id, before, after, person, reason, at)
		values ('renamed', @cause, @bucket, @before, @after, @person, @reason, @at)`
)

var (
	errBadName   = crash.Errorf(crash.Invalid, "bad_name", "A name is one line of at most %d characters.", crash.MaxProblemName)
	errSameName  = crash.Errorf(crash.Conflict, "same_name", "The problem has that name already.")
	errNameGiven = crash.Errorf(crash.Conflict, "named_again", "The problem was given another name since; undo that first.")
)

// Rename gives a problem a name, or with an empty one takes it away. Its signature and its addresses stay. It returns
// Invalid for a name that is none, Conflict when it is the same, and NotFound for an unknown bucket.
func (s *Decisions) Rename(ctx context.Context, bucket crash.BucketID, name, person, reason string) error {
	name, ok := crash.CleanLine(name, crash.MaxProblemName)
	if !ok {
		return errBadName
	}
	err := s.decide(ctx, func(d *deciding) error {
		var head crash.BucketID
		var before string
		if err := d.QueryRow(ctx, sqlHeadName, pgx.NamedArgs{"bucket": bucket[:]}).Scan(into(head[:]), &before); err != nil {
			return err
		}
		if name == before {
			return errSameName
		}
		return d.rename(ctx, head, before, name, crash.CausePerson, person, reason)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.ErrUnknownBucket
	}
	if err != nil {
		return fmt.Errorf("rename %s: %w", bucket, err)
	}
	return nil
}

func (d *deciding) rename(ctx context.Context, head crash.BucketID, before, after string, cause crash.DecisionCause, person, reason string) error {
	args := pgx.NamedArgs{
		"bucket": head[:], "name": after, "before": before, "after": after, "cause": string(cause), "person": person, "reason": reason,
		"at": d.store.now(), "round": d.round,
	}
	for _, sql := range []string{sqlSetName, sqlInsertRename} {
		if _, err := d.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return d.store.Audit(ctx, d, AuditEvent{
		Person: person, Action: "problem.rename", Subject: head.String(), Detail: map[string]any{"before": before, "after": after},
	})
}

const sqlName = `select name from buckets where id = @bucket`

// unname gives the name back that was there before, if the one that is taken back is still the one.
func (d *deciding) unname(ctx context.Context, decision crash.Decision) error {
	args := pgx.NamedArgs{"bucket": decision.Bucket[:], "name": decision.Before, "round": d.round}
	var now string
	if err := d.QueryRow(ctx, sqlName, args).Scan(&now); err != nil {
		return err
	}
	if now != decision.After {
		return errNameGiven
	}
	_, err := d.Exec(ctx, sqlSetName, args)
	return err
}
