package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// Merging does not change counts: each bucket keeps its own, and buckets.head says to which problem
// they belong. A "merged" decision that is not undone is an edge from one problem to another. Every
// bucket has at most one such edge, so the edges form trees, and the head of a bucket is the root
// of its tree. Only roots are merged, and only into other trees, under the lock of [deciding]; so
// no cycle can arise.
const (
	sqlHeads = `select id, head from buckets where id = any(@ids::bytea[])`
	// sqlInsertMerge also ends the mutes of the problem that is merged, so that the other one stays
	// visible if it was, and has one mute if it was muted. A problem whose signature changes under new
	// grouping rules stays muted: the other one has its reports, and none from before or from problems
	// that are not muted.
	sqlInsertMerge = `
		with merge as (
			insert into decisions (kind, cause, bucket_id, other_id, person, reason, at)
			values ('merged', @cause, @bucket, @other, @person, @reason, @at) returning id
		), run as (
			select max(id) as id from regroup_runs where not dry and @cause = 'regrouped'
		), live as (
			select m.is_new as created, exists (
					select from buckets as s join buckets as b on b.head = s.head join marks as t on t.bucket_id = b.id
					where s.id = m.from_id and t.kind = 'muted' and t.undone_at is null and t.ended_at is null
				) as muted
			from run join regroup_moves as m on m.run_id = run.id and m.to_id = @other
		)
		update marks set ended_at = @at, merged_by = merge.id from merge
		where kind = 'muted' and undone_at is null and ended_at is null
			and bucket_id in (select id from buckets where head = @bucket)
			and (select coalesce(bool_and(created and muted), false) from live) is false`
	sqlMoveHeads = `update buckets set head = @other, changed = @round where head = @bucket`
	sqlTouchHead = `update buckets set changed = @round where head = @head`
)

var errOneAlready = crash.Errorf(crash.Conflict, "one_already", "These problems are already merged.")

// Merge makes the present and future reports of some problems part of another problem, until the
// merge is undone. Any bucket of a problem can stand for it. It returns the head of the resulting
// problem, which has the bugs of all. It ignores problems that are merged already. It returns
// NotFound for an unknown bucket, and Conflict if nothing is left to merge.
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

// heads returns the heads of buckets. It returns NotFound if one is unknown.
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

// merge makes head the head of all buckets whose head is from. Mutes of from end.
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
		After:  map[string]any{"into": head.String()},
		Detail: map[string]any{"cause": cause, "reason": reason},
	})
}

const (
	// sqlUnmerge also moves the buckets that were merged into this one earlier.
	sqlUnmerge = `
		with recursive tree (id) as (
			select @bucket::bytea
			union
			select d.bucket_id from decisions as d join tree on d.other_id = tree.id
			where d.kind = 'merged' and d.undone_at is null
		)
		update buckets set head = @bucket, changed = @round where id in (select id from tree)`
	// sqlRestoreMutes restores the mutes that the merge has ended.
	sqlRestoreMutes = `
		update marks set ended_at = null, merged_by = null where merged_by = @decision and undone_at is null`
	sqlTouchOld   = `update buckets set changed = @round where head = (select head from buckets where id = @other)`
	sqlRefuseName = `
		update known_names set refused = true
		where address_id = @bucket and (select head from buckets where id = known_names.bucket_id)
			= (select head from buckets where id = @other)`
)

// unmerge makes a merged bucket a problem of its own again, with everything that was merged into
// it. If the bucket is provisional, mishap does not merge it into the one with names again.
func (d *deciding) unmerge(ctx context.Context, decision crash.Decision) error {
	args := pgx.NamedArgs{"bucket": decision.Bucket[:], "other": decision.Other[:], "round": d.round,
		"decision": decision.ID}
	statements := []string{sqlUnmerge, sqlTouchOld, sqlRestoreMutes}
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
	// The head of a problem holds its name.
	sqlHeadName     = `select h.id, h.name from buckets as b join buckets as h on h.id = b.head where b.id = @bucket`
	sqlSetName      = `update buckets set name = @name, changed = @round where id = @bucket`
	sqlInsertRename = `
		insert into decisions (kind, cause, bucket_id, before, after, person, reason, at)
		values ('renamed', @cause, @bucket, @before, @after, @person, @reason, @at)`
)

var (
	errBadName = crash.Errorf(crash.Invalid, "bad_name", "A name is one line of at most %d characters.",
		crash.MaxProblemName)
	errSameName  = crash.Errorf(crash.Conflict, "same_name", "The problem already has this name.")
	errNameGiven = crash.Errorf(crash.Conflict, "named_again", "The problem was given another name since; undo "+
		"that first.")
)

// Rename gives a problem a name, or removes it if name is empty. The signature and the addresses of
// the problem stay the same. It returns Invalid for an invalid name, Conflict if the name is
// unchanged, and NotFound for an unknown bucket.
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
		"reason": reason, "at": d.store.Now(), "round": d.round,
	}
	for _, sql := range []string{sqlSetName, sqlInsertRename} {
		if _, err := d.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return d.store.Audit(ctx, d, AuditEvent{
		Person: person, Action: "problem.rename", Subject: head.String(),
		Before: map[string]any{"name": before}, After: map[string]any{"name": after},
		Detail: map[string]any{"cause": cause, "reason": reason},
	})
}

const sqlName = `select name from buckets where id = @bucket`

// unname restores the previous name. It returns Conflict if the problem was renamed again since.
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
