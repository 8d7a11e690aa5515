package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	sqlWholeProblem = `
		select b.id, b.id = b.head, b.signature, b.rule, b.provisional, b.problem_type, b.title, b.executable, b.package,
			b.source_package
		from buckets as b where b.id in ` + Members + ` order by b.id = b.head desc, b.id`
	sqlCountSplits = `select count(*) from decisions where kind = 'split' and bucket_id = @bucket`
	// sqlSplitInto looks for a split into the same bucket that is in effect or still being undone.
	sqlSplitInto = `
		select exists (
			select from decisions where kind = 'split' and other_id = @other and (undone_at is null or not finished))`
	sqlMergeOf = `select ` + decisionColumns +
		` from decisions as d where d.kind = 'merged' and d.bucket_id = @bucket and d.undone_at is null`
	sqlInsertSplit = `
		insert into decisions (kind, cause, bucket_id, other_id, condition, person, reason, at, finished)
		values ('split', 'person', @bucket, @other, @condition, @person, @reason, @at, false) returning id`
	sqlInsertSource = `
		insert into split_sources (bucket_id, decision_id) select unnest(@buckets::bytea[]), @id
		on conflict do nothing`
)

var errSplitAlready = crash.Errorf(crash.Conflict, "split_already",
	"Reports that meet this condition are already split off from this problem, or are just moving back.")

// splitBucket holds the columns of a bucket that a split needs.
type splitBucket struct {
	id       crash.BucketID
	isHead   bool
	grouping crash.Grouping
	summary  crash.Summary
}

func scanSplitBucket(row pgx.CollectableRow) (b splitBucket, err error) {
	err = row.Scan(ScanTo(b.id[:]), &b.isHead, &b.grouping.Signature, &b.grouping.Rule, &b.grouping.Provisional,
		&b.summary.ProblemType, &b.summary.Title, &b.summary.Executable, &b.summary.Package, &b.summary.SourcePackage)
	return b, err
}

// Split moves the present and future reports of a problem that meet a condition to a problem of
// their own, until it is undone. It applies to all buckets that the problem has now. It affects new
// reports at once; [Decisions.StepSplit] moves stored ones in steps. Split returns the decision,
// whose Other is the new problem. It returns Invalid for an invalid condition, Conflict if there is
// such a split already, and NotFound for an unknown bucket.
func (s *Decisions) Split(ctx context.Context, bucket crash.BucketID, c crash.Condition, person,
	reason string) (crash.Decision, error) {
	if err := c.Check(); err != nil {
		return crash.Decision{}, err
	}
	var id int64
	err := s.decide(ctx, func(d *deciding) error {
		members, err := d.members(ctx, bucket)
		if err != nil {
			return err
		}
		id, err = d.split(ctx, members[0], c, person, reason)
		if err != nil {
			return err
		}
		return s.addSplitJob(ctx, d, id)
	})
	if err != nil {
		return crash.Decision{}, fmt.Errorf("split %s: %w", bucket, err)
	}
	return s.Decision(ctx, id)
}

// members returns the buckets of a problem, its head first. It returns NotFound for an unknown
// bucket.
func (d *deciding) members(ctx context.Context, bucket crash.BucketID) ([]splitBucket, error) {
	rows, err := d.Query(ctx, sqlWholeProblem, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return nil, err
	}
	members, err := pgx.CollectRows(rows, scanSplitBucket)
	if err == nil && len(members) == 0 {
		err = crash.ErrUnknownBucket
	}
	return members, err
}

// split records the decision to split the problem with this head, and creates the new bucket.
func (d *deciding) split(ctx context.Context, head splitBucket, c crash.Condition, person, reason string) (id int64,
	err error) {
	args := pgx.NamedArgs{"bucket": head.id[:], "condition": c, "person": person, "reason": reason, "at": d.store.Now()}
	var number int64
	if err := d.QueryRow(ctx, sqlCountSplits, args).Scan(&number); err != nil {
		return 0, err
	}
	to := head.grouping
	to.Signature = crash.SplitSignature(head.grouping.Signature, c, number+1)
	other := crash.BucketIDOf(to.Signature)
	args["other"] = other[:]
	var exists bool
	if err := d.QueryRow(ctx, sqlSplitInto, args).Scan(&exists); err != nil {
		return 0, err
	}
	if exists {
		return 0, errSplitAlready
	}
	if err := d.ensureBucket(ctx, other, to, head.summary); err != nil {
		return 0, err
	}
	if err := d.unmergeTarget(ctx, other, person); err != nil {
		return 0, err
	}
	if err := d.QueryRow(ctx, sqlInsertSplit, args).Scan(&id); err != nil {
		return 0, err
	}
	members, err := d.members(ctx, head.id) // without the new bucket
	if err != nil {
		return 0, err
	}
	sources := make([]crash.BucketID, len(members))
	for i, m := range members {
		sources[i] = m.id
	}
	if _, err := d.Exec(ctx, sqlInsertSource, pgx.NamedArgs{"buckets": IDBytes(sources), "id": id}); err != nil {
		return 0, err
	}
	return id, d.store.Audit(ctx, d, AuditEvent{
		Person: person, Action: "problem.split", Subject: head.id.String(),
		After: auditedSplit(other, c), Detail: map[string]any{"reason": reason},
	})
}

// auditedSplit returns what the audit log says about a split.
func auditedSplit(into crash.BucketID, c crash.Condition) map[string]any {
	return map[string]any{"into": into.String(), "condition": c.String()}
}

// unmergeTarget undoes the merge that ended an earlier split into the same bucket.
func (d *deciding) unmergeTarget(ctx context.Context, id crash.BucketID, person string) error {
	rows, err := d.Query(ctx, sqlMergeOf, pgx.NamedArgs{"bucket": id[:]})
	if err != nil {
		return err
	}
	merge, err := pgx.CollectExactlyOneRow(rows, scanDecision)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := d.Exec(ctx, sqlUndone, pgx.NamedArgs{"id": merge.ID, "person": person, "at": d.store.Now()}); err != nil {
		return err
	}
	return d.unmerge(ctx, merge)
}

const (
	sqlSplitOf = `
		select exists (select from decisions as d join split_sources as s on s.decision_id = d.id
			where s.bucket_id = @other and d.undone_at is null)`
	sqlBeginAgain = `
		update decisions set looked_at = 0, moved = 0, received = null, report_id = null, finished = false
		where id = @id`
)

var errSplitFurther = crash.Errorf(crash.Conflict, "split_further", "Reports were taken out of that problem in turn; "+
	"undo that first.")

// unsplit starts to move the reports of a split back, and no longer applies the split to new
// reports. It returns Conflict if the new problem was split in turn.
func (d *deciding) unsplit(ctx context.Context, decision crash.Decision) error {
	args := pgx.NamedArgs{"other": decision.Other[:], "id": decision.ID}
	var further bool
	if err := d.QueryRow(ctx, sqlSplitOf, args).Scan(&further); err != nil {
		return err
	}
	if further {
		return errSplitFurther
	}
	if _, err := d.Exec(ctx, sqlBeginAgain, args); err != nil {
		return err
	}
	return d.store.addSplitJob(ctx, d, decision.ID)
}
