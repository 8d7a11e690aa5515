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
		select b.id, b.id = b.head, b.signature, b.rule, b.provisional, b.problem_type, b.title, b.executable, b.package, b.source_package
		from buckets as b where b.id in ` + Members + ` order by b.id = b.head desc, b.id`
	sqlCountSplits = `select count(*) from decisions where kind = 'split' and bucket_id = @bucket`
	// A split into the same bucket that stands, or whose reports are still being brought back.
	sqlSplitInto  = `select exists (select from decisions where kind = 'split' and other_id = @other and (undone_at is null or not finished))`
	sqlMergedAway = `select ` + decisionColumns +
		` from decisions as d where d.kind = 'merged' and d.bucket_id = @bucket and d.undone_at is null`
	sqlInsertSplit = `
		insert into decisions (kind, cause, bucket_id, other_id, condition, person, reason, at, finished)
		values ('split', 'person', @bucket, @other, @condition, @person, @reason, @at, false) returning id`
	sqlInsertSource = `insert into split_sources (bucket_id, decision_id) select unnest(@buckets::bytea[]), @id on conflict do nothing`
)

var errSplitAlready = crash.Errorf(crash.Conflict, "split_already",
	"Reports that meet this condition are taken out of this problem already, or are just being brought back.")

// leaf is a bucket as a split needs it.
type leaf struct {
	id       crash.BucketID
	isHead   bool
	grouping crash.Grouping
	summary  crash.Summary
}

func scanLeaf(row pgx.CollectableRow) (l leaf, err error) {
	err = row.Scan(ScanTo(l.id[:]), &l.isHead, &l.grouping.Signature, &l.grouping.Rule, &l.grouping.Provisional,
		&l.summary.ProblemType,
		&l.summary.Title, &l.summary.Executable, &l.summary.Package, &l.summary.SourcePackage)
	return l, err
}

// Split takes the reports of a problem that meet a condition out into a problem of their own, for good, the future ones too,
// until it is undone: those of all signatures that the problem has now. New reports are asked from the moment when this
// returns; those that are stored are moved in steps by [Decisions.GoOnSplit]. It returns the decision, whose Other is the new
// problem; Invalid for a condition that is none, Conflict when such reports are taken out already, and NotFound for an
// unknown bucket.
func (s *Decisions) Split(ctx context.Context, bucket crash.BucketID, c crash.Condition, person,
	reason string) (crash.Decision, error) {
	if err := c.Check(); err != nil {
		return crash.Decision{}, err
	}
	var id int64
	err := s.decide(ctx, func(d *deciding) error {
		whole, err := d.whole(ctx, bucket)
		if err != nil {
			return err
		}
		id, err = d.split(ctx, whole[0], c, person, reason)
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

// whole are the buckets of a problem, its head first.
func (d *deciding) whole(ctx context.Context, bucket crash.BucketID) ([]leaf, error) {
	rows, err := d.Query(ctx, sqlWholeProblem, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return nil, err
	}
	whole, err := pgx.CollectRows(rows, scanLeaf)
	if err == nil && len(whole) == 0 {
		err = crash.ErrUnknownBucket
	}
	return whole, err
}

// split takes reports out of the problem with this head.
func (d *deciding) split(ctx context.Context, head leaf, c crash.Condition, person, reason string) (id int64,
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
	var there bool
	if err := d.QueryRow(ctx, sqlSplitInto, args).Scan(&there); err != nil {
		return 0, err
	}
	if there {
		return 0, errSplitAlready
	}
	if err := d.ensureBucket(ctx, other, to, head.summary); err != nil {
		return 0, err
	}
	if err := d.freeAgain(ctx, other, person); err != nil {
		return 0, err
	}
	if err := d.QueryRow(ctx, sqlInsertSplit, args).Scan(&id); err != nil {
		return 0, err
	}
	whole, err := d.whole(ctx, head.id) // without what was just taken out of it
	if err != nil {
		return 0, err
	}
	sources := make([]crash.BucketID, len(whole))
	for i, l := range whole {
		sources[i] = l.id
	}
	if _, err := d.Exec(ctx, sqlInsertSource, pgx.NamedArgs{"buckets": IDBytes(sources), "id": id}); err != nil {
		return 0, err
	}
	return id, d.store.Audit(ctx, d, AuditEvent{
		Person: person, Action: "problem.split", Subject: head.id.String(),
		Detail: map[string]any{"into": other.String(), "condition": c.String(), "reason": reason},
	})
}

// freeAgain takes a problem out of another one into which it went when the same split was undone before.
func (d *deciding) freeAgain(ctx context.Context, id crash.BucketID, person string) error {
	rows, err := d.Query(ctx, sqlMergedAway, pgx.NamedArgs{"bucket": id[:]})
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
	sqlBeginAgain = `update decisions set looked_at = 0, moved = 0, received = null, report_id = null, finished = false where id = @id`
)

var errSplitFurther = crash.Errorf(crash.Conflict, "split_further", "Reports were taken out of that problem in turn; "+
	"undo that first.")

// unsplit has the reports of a problem that was taken out brought back. New ones are not asked any more.
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
