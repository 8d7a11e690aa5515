package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// Merging never touches counts: each signature keeps its own, for ever, and buckets.head says under which problem they are
// read. A standing decision "merged" is an edge from a problem to the one that it went into; every bucket has one at most,
// the edges form trees, and the head of a bucket is the root of its tree. Only roots are merged, and never into their own
// tree, so that no circle can come about; all this happens under the lock of [deciding].
const (
	sqlHeads       = `select id, head from buckets where id = any(@ids::bytea[])`
	sqlInsertMerge = `
		insert into decisions (kind, cause, bucket_id, other_id, person, reason, at)
		values ('merged', @cause, @bucket, @other, @person, @reason, @at)`
	sqlMoveHeads = `update buckets set head = @other, changed = @round where head = @bucket`
	sqlTouchHead = `update buckets set changed = @round where head = @head`
)

var errOneAlready = crash.Errorf(crash.Conflict, "one_already", "These are one problem already.")

// Merge makes the reports of some problems those of another, for good, the future ones too, until it is undone. Each may be
// named by any bucket that is part of it. The head that comes back is the one that they all have now; it has all their
// bugs. Problems that are one with it already are passed over. It returns NotFound for an unknown bucket, and Conflict when
// there is nothing left to merge.
func (s *Decisions) Merge(ctx context.Context, into crash.BucketID, from []crash.BucketID, person, reason string) (head crash.BucketID, err error) {
	err = s.decide(ctx, func(d *deciding) error {
		heads, err := d.heads(ctx, append([]crash.BucketID{into}, from...))
		if err != nil {
			return err
		}
		head = heads[into]
		merged := map[crash.BucketID]bool{head: true}
		for _, id := range from {
			if from := heads[id]; !merged[from] {
				merged[from] = true
				if err := d.merge(ctx, from, head, crash.CausePerson, person, reason); err != nil {
					return err
				}
			}
		}
		if len(merged) == 1 {
			return errOneAlready
		}
		return nil
	})
	if err != nil {
		return head, fmt.Errorf("merge into %s: %w", into, err)
	}
	return head, nil
}

// heads finds the heads of all the given buckets.
func (d *deciding) heads(ctx context.Context, ids []crash.BucketID) (map[crash.BucketID]crash.BucketID, error) {
	rows, err := d.Query(ctx, sqlHeads, pgx.NamedArgs{"ids": idBytes(ids)})
	if err != nil {
		return nil, err
	}
	heads := map[crash.BucketID]crash.BucketID{}
	var id, head crash.BucketID
	if _, err := pgx.ForEachRow(rows, []any{into(id[:]), into(head[:])}, func() error {
		heads[id] = head
		return nil
	}); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := heads[id]; !ok {
			return nil, crash.ErrUnknownBucket
		}
	}
	return heads, nil
}

func idBytes(ids []crash.BucketID) [][]byte {
	out := make([][]byte, len(ids))
	for i, id := range ids {
		out[i] = id[:]
	}
	return out
}

// merge puts the tree of one head under another.
func (d *deciding) merge(ctx context.Context, from, head crash.BucketID, cause crash.DecisionCause, person, reason string) error {
	args := pgx.NamedArgs{
		"bucket": from[:], "other": head[:], "head": head[:], "cause": string(cause), "person": person, "reason": reason,
		"at": d.store.now(), "round": d.round,
	}
	for _, sql := range []string{sqlInsertMerge, sqlMoveHeads, sqlTouchHead} {
		if _, err := d.Exec(ctx, sql, args); err != nil {
			return fmt.Errorf("merge %s into %s: %w", from, head, err)
		}
	}
	return d.store.Audit(ctx, d, AuditEvent{
		Person: person, Action: "problem.merge", Subject: from.String(),
		Detail: map[string]any{"into": head.String(), "cause": cause, "reason": reason},
	})
}

const (
	// What was merged into a bucket before goes with it.
	sqlUnmerge = `
		with recursive tree (id) as (
			select @bucket::bytea
			union
			select d.bucket_id from decisions as d join tree on d.other_id = tree.id where d.kind = 'merged' and d.undone_at is null
		)
		update buckets set head = @bucket, changed = @round where id in (select id from tree)`
	sqlTouchOld   = `update buckets set changed = @round where head = (select head from buckets where id = @other)`
	sqlRefuseName = `
		update known_names set refused = true
		where address_id = @bucket and (select head from buckets where id = known_names.bucket_id) = (select head from buckets where id = @other)`
)

// unmerge makes what was merged a problem of its own again, with all that was merged into it. A provisional problem that a
// person takes out of the one with names is not moved there again by itself.
func (d *deciding) unmerge(ctx context.Context, decision crash.Decision) error {
	args := pgx.NamedArgs{"bucket": decision.Bucket[:], "other": decision.Other[:], "round": d.round}
	statements := []string{sqlUnmerge, sqlTouchOld}
	if decision.Cause == crash.CauseSymbolised {
		statements = append(statements, sqlRefuseName)
	}
	for _, sql := range statements {
		if _, err := d.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return nil
}
