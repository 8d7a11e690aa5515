package db

import (
	"context"
	"errors"
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
func (s *Decisions) Merge(ctx context.Context, into crash.BucketID, from []crash.BucketID, person,
	reason string) (head crash.BucketID, err error) {
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
	rows, err := d.Query(ctx, sqlHeads, pgx.NamedArgs{"ids": IDBytes(ids)})
	if err != nil {
		return nil, err
	}
	heads := map[crash.BucketID]crash.BucketID{}
	var id, head crash.BucketID
	if _, err := pgx.ForEachRow(rows, []any{ScanTo(id[:]), ScanTo(head[:])}, func() error {
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

// IDBytes returns ids as an argument of type bytea[].
func IDBytes(ids []crash.BucketID) [][]byte {
	out := make([][]byte, len(ids))
	for i, id := range ids {
		out[i] = id[:]
	}
	return out
}

// merge puts the tree of one head under another.
func (d *deciding) merge(ctx context.Context, from, head crash.BucketID, cause crash.DecisionCause, person,
	reason string) error {
	args := pgx.NamedArgs{
		"bucket": from[:], "other": head[:], "head": head[:], "cause": string(cause), "person": person, "reason": reason,
		"at": d.store.Now(), "round": d.round,
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

const (
	// Of several buckets that are one problem, the head has the name.
	sqlHeadName     = `select h.id, h.name from buckets as b join buckets as h on h.id = b.head where b.id = @bucket`
	sqlSetName      = `update buckets set name = @name, changed = @round where id = @bucket`
	sqlInsertRename = `
		insert into decisions (kind, cause, bucket_id, before, after, person, reason, at)
		values ('renamed', @cause, @bucket, @before, @after, @person, @reason, @at)`
)

var (
	errBadName = crash.Errorf(crash.Invalid, "bad_name", "A name is one line of at most %d characters.",
		crash.MaxProblemName)
	errSameName  = crash.Errorf(crash.Conflict, "same_name", "The problem has that name already.")
	errNameGiven = crash.Errorf(crash.Conflict, "named_again", "The problem was given another name since; undo "+
		"that first.")
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
		if err := d.QueryRow(ctx, sqlHeadName, pgx.NamedArgs{"bucket": bucket[:]}).Scan(ScanTo(head[:]),
			&before); err != nil {
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

func (d *deciding) rename(ctx context.Context, head crash.BucketID, before, after string, cause crash.DecisionCause,
	person, reason string) error {
	args := pgx.NamedArgs{
		"bucket": head[:], "name": after, "before": before, "after": after, "cause": string(cause), "person": person,
		"reason": reason,
		"at":     d.store.Now(), "round": d.round,
	}
	for _, sql := range []string{sqlSetName, sqlInsertRename} {
		if _, err := d.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return d.store.Audit(ctx, d, AuditEvent{
		Person: person, Action: "problem.rename", Subject: head.String(), Detail: map[string]any{"before": before,
			"after": after},
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
