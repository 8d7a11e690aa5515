package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
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
	return head, Wrap(err, "merge into %s", into)
}

const (
	// sqlMergeable selects those problems, in their order, about which nobody has decided anything that speaks
	// against a merge by a rule: they are neither embargoed nor held, nothing was split off or into them, and nobody
	// has undone a merge of them with each other. It also tells which are muted, and which have a bug.
	sqlMergeable = `
		select p.id, exists (
				select from buckets as m join marks as k on k.bucket_id = m.id
				where m.head = p.id and k.kind = 'muted' and k.undone_at is null and k.ended_at is null
			), exists (select from buckets as m join bucket_bugs as l on l.bucket_id = m.id where m.head = p.id)
		from unnest(@problems::bytea[]) with ordinality as p (id, place) join buckets as b on b.id = p.id and b.head = b.id
		where not exists (
				select from buckets as m join marks as k on k.bucket_id = m.id
				where m.head = p.id and k.kind in ('embargo', 'hold') and k.undone_at is null
			) and not exists (
				select from buckets as m join decisions as d on m.id in (d.bucket_id, d.other_id)
				where m.head = p.id and d.kind = 'split' and d.undone_at is null
			) and not exists (
				select from buckets as m join decisions as d on m.id in (d.bucket_id, d.other_id)
					join buckets as o on o.id in (d.bucket_id, d.other_id) and o.id <> m.id
				where m.head = p.id and d.kind = 'merged' and d.undone_at is not null and o.head <> p.id
					and o.head = any(@problems::bytea[])
			)
		order by p.place`
)

// MergeTwins merges problems into the first of them that may be merged, on behalf of a rule, with a reason
// for each. It leaves out those about which people have decided otherwise, those that are muted, and those with
// a bug if the first one has a bug, too. It does nothing if the problem which the rule found is left out.
func (s *Decisions) MergeTwins(ctx context.Context, found crash.BucketID, problems []crash.BucketID,
	reasons map[crash.BucketID]string, rule string) (merged int, err error) {
	type row struct {
		id         crash.BucketID
		muted, bug bool
	}
	err = s.decide(ctx, func(d *deciding) error {
		rows, err := List(ctx, d, sqlMergeable, pgx.NamedArgs{"problems": problems},
			Into(func(r *row) []any { return []any{&r.id, &r.muted, &r.bug} }))
		if err != nil || len(rows) == 0 {
			return err
		}
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.id != rows[0].id && (r.muted || r.bug && rows[0].bug) })
		if !slices.ContainsFunc(rows, func(r row) bool { return r.id == found }) {
			return nil
		}
		for _, r := range rows[1:] {
			reason := crash.Truncate("Twins: "+reasons[r.id]+".", crash.MaxReason)
			if err := d.merge(ctx, r.id, rows[0].id, crash.CausePerson, "rule: "+rule, reason); err != nil {
				return err
			}
			merged++
		}
		return nil
	})
	return merged, Wrap(err, "merge twins of %s", found)
}

// heads returns the heads of buckets. It returns NotFound if one is unknown.
func (d *deciding) heads(ctx context.Context, ids []crash.BucketID) (map[crash.BucketID]crash.BucketID, error) {
	heads := map[crash.BucketID]crash.BucketID{}
	var id, head crash.BucketID
	if err := Each(ctx, d, sqlHeads, pgx.NamedArgs{"ids": ids}, []any{&id, &head},
		func() { heads[id] = head }); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := heads[id]; !ok {
			return nil, crash.ErrUnknownBucket
		}
	}
	return heads, nil
}

// merge makes head the head of all buckets whose head is from. Mutes of from end.
func (d *deciding) merge(ctx context.Context, from, head crash.BucketID, cause crash.DecisionCause, person,
	reason string) error {
	args := pgx.NamedArgs{
		"bucket": from[:], "other": head[:], "head": head[:], "cause": string(cause), "person": person, "reason": reason,
		"at": d.now(), "round": d.round,
	}
	if err := Exec(ctx, d, args, sqlInsertMerge, sqlMoveHeads, sqlTouchHead); err != nil {
		return fmt.Errorf("merge %s into %s: %w", from, head, err)
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
	return Exec(ctx, d, args, statements...)
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
	errNameGiven = crash.Errorf(crash.Conflict, "named_again", "The problem was renamed again; undo that first.")
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
		if err := d.QueryRow(ctx, sqlHeadName, pgx.NamedArgs{"bucket": bucket[:]}).Scan(&head,
			&before); err != nil {
			return err
		}
		if name == before {
			return errSameName
		}
		return d.rename(ctx, head, before, name, crash.CausePerson, person, reason)
	})
	return WrapOr(err, crash.ErrUnknownBucket, "rename %s", bucket)
}

func (d *deciding) rename(ctx context.Context, head crash.BucketID, before, after string, cause crash.DecisionCause,
	person, reason string) error {
	args := pgx.NamedArgs{
		"bucket": head[:], "name": after, "before": before, "after": after, "cause": string(cause), "person": person,
		"reason": reason, "at": d.store.Now(), "round": d.round,
	}
	if err := Exec(ctx, d, args, sqlSetName, sqlInsertRename); err != nil {
		return err
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
	return Exec(ctx, d, args, sqlSetName)
}

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
	"Reports that meet this condition are already split off, or are moving back.")

// splitBucket holds the columns of a bucket that a split needs.
type splitBucket struct {
	id       crash.BucketID
	isHead   bool
	grouping crash.Grouping
	summary  crash.Summary
}

func scanSplitBucket(row pgx.CollectableRow) (b splitBucket, err error) {
	err = row.Scan(&b.id, &b.isHead, &b.grouping.Signature, &b.grouping.Rule, &b.grouping.Provisional,
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
		return s.addLongJob(ctx, d, splitJob{id})
	})
	if err != nil {
		return crash.Decision{}, fmt.Errorf("split %s: %w", bucket, err)
	}
	return s.Decision(ctx, id)
}

// members returns the buckets of a problem, its head first. It returns NotFound for an unknown
// bucket.
func (d *deciding) members(ctx context.Context, bucket crash.BucketID) ([]splitBucket, error) {
	members, err := List(ctx, d, sqlWholeProblem, pgx.NamedArgs{"bucket": bucket[:]}, scanSplitBucket)
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
	if _, err := d.Exec(ctx, sqlInsertSource, pgx.NamedArgs{"buckets": sources, "id": id}); err != nil {
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
	merge, err := One(ctx, d, sqlMergeOf, pgx.NamedArgs{"bucket": id[:]}, scanDecision)
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

var errSplitFurther = crash.Errorf(crash.Conflict, "split_further", "Reports were split off from that problem "+
	"in turn; undo that first.")

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
	return d.store.addLongJob(ctx, d, splitJob{decision.ID})
}

const (
	sqlDecisionForUpdate = sqlDecision + ` for update`
	sqlSplitCursor       = `
		select coalesce(received, '0001-01-01'), coalesce(report_id, '00000000-0000-0000-0000-000000000000')
		from decisions where id = @id`
	sqlSourcesOf      = `select bucket_id from split_sources where decision_id = @id order by bucket_id`
	splitColumns      = `r.id, r.bucket_id, r.executable, r.package, r.version, r.release, r.architecture, r.rule`
	sqlReportsToSplit = `
		select ` + splitColumns + ` from unnest(@buckets::bytea[]) as s (bucket_id) cross join lateral (
			select * from reports as r
			where r.bucket_id = s.bucket_id and r.received >= @received and (r.received, r.id) > (@received, @id)
			order by r.received, r.id limit @limit
		) as r
		order by r.received, r.id limit @limit`
	sqlChosenReports = `
		select ` + splitColumns + ` from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on ` + AmongReports + `
		where r.bucket_id = any(@buckets::bytea[]) order by r.received, r.id`
	sqlSplitStep = `
		update decisions set looked_at = looked_at + @looked_at, moved = moved + @moved, finished = @finished,
			received = @received, report_id = @id
		where id = @decision`
	sqlDropSources = `delete from split_sources where decision_id = @id`
	sqlIsEmpty     = `
		select b.head = b.id and not exists (select from reports where bucket_id = b.id offset 0), h.head
		from buckets as b, buckets as h where b.id = @other and h.id = @bucket`
)

// These constants are the numbers of reports in one step. The step is smaller if it needs all
// fields of each.
const (
	splitBatch  = 1000
	splitBodies = 200
)

type splitReport struct {
	askedReport
	rule crash.GroupingRule
}

func scanSplit(row pgx.CollectableRow) (r splitReport, err error) {
	err = row.Scan((*[16]byte)(&r.id), &r.bucket, &r.summary.Executable, &r.summary.Package, &r.summary.Version,
		&r.summary.Release, &r.summary.Architecture, &r.rule)
	return r, err
}

// StepSplit does the next step of moving the reports of a split, or of moving them back after it
// was undone. Concurrent calls are safe, and so is repeating a lost step. It returns NotFound for
// an unknown decision.
func (s *Decisions) StepSplit(ctx context.Context, id int64) (finished bool, err error) {
	if err := s.ReachArchives(ctx); err != nil {
		return false, err
	}
	err = s.decide(ctx, func(d *deciding) error {
		decision, err := oneDecision(ctx, d, sqlDecisionForUpdate, id)
		if err != nil {
			return err
		}
		if finished = decision.Finished; finished {
			return nil
		}
		finished, err = d.stepSplit(ctx, decision)
		return err
	})
	return finished, Wrap(err, "continue split %d", id)
}

func (d *deciding) stepSplit(ctx context.Context, decision crash.Decision) (finished bool, err error) {
	sources, err := List(ctx, d, sqlSourcesOf, pgx.NamedArgs{"id": decision.ID}, pgx.RowTo[crash.BucketID])
	if err != nil {
		return false, err
	}
	reports, finished, err := d.reportsToSplit(ctx, decision, sources)
	if err != nil {
		return false, err
	}
	// The reports to move were read above, so this counts all of them.
	if err := d.countAll(ctx); err != nil {
		return false, err
	}
	var moves []move
	p := newPlacer(d)
	for i := range reports {
		r := &reports[i]
		to, err := d.splitTo(ctx, p, decision, sources, r)
		if err != nil {
			return false, err
		}
		if to != r.bucket {
			moves = append(moves, move{id: r.id, to: &to, grouping: crash.Grouping{Rule: r.rule}})
		}
	}
	moved, err := d.moveReports(ctx, moves, 0)
	if err != nil {
		return false, err
	}
	args := pgx.NamedArgs{"decision": decision.ID, "looked_at": len(reports), "moved": moved, "finished": finished,
		"received": nil, "id": nil}
	if n := len(reports); n > 0 {
		args["received"], args["id"] = reports[n-1].id.Received(), [16]byte(reports[n-1].id)
	}
	if _, err := d.Exec(ctx, sqlSplitStep, args); err != nil {
		return false, err
	}
	if finished && !decision.Stands() {
		return true, d.endUnsplit(ctx, decision)
	}
	return finished, nil
}

// reportsToSplit reads the next reports that a split may move.
func (d *deciding) reportsToSplit(ctx context.Context, decision crash.Decision,
	sources []crash.BucketID) (reports []splitReport, last bool, err error) {
	args := pgx.NamedArgs{"buckets": sources}
	sql, limit := sqlReportsToSplit, splitBatch
	switch chosen := decision.Condition.Reports; {
	case !decision.Stands():
		args["buckets"] = [][]byte{decision.Other[:]}
	case len(chosen) > 0:
		sql, limit = sqlChosenReports, len(chosen)+1
		maps.Copy(args, ReportsArgs(chosen))
	case decision.Condition.NeedsFields():
		limit = splitBodies
	}
	if sql == sqlReportsToSplit {
		var received time.Time
		var id [16]byte
		if err := d.QueryRow(ctx, sqlSplitCursor, pgx.NamedArgs{"id": decision.ID}).Scan(&received, &id); err != nil {
			return nil, false, err
		}
		args["received"], args["id"], args["limit"] = received, id, limit
	}
	reports, err = List(ctx, d, sql, args, scanSplit)
	return reports, len(reports) < limit, err
}

// splitTo returns the bucket that a report belongs to under a split, or after it was undone.
func (d *deciding) splitTo(ctx context.Context, p *placer, decision crash.Decision, sources []crash.BucketID,
	r *splitReport) (crash.BucketID, error) {
	if decision.Stands() {
		holds, err := p.holds(ctx, &r.askedReport, decision.Condition)
		if err != nil || !holds {
			return r.bucket, err
		}
		return p.place(ctx, &r.askedReport, decision.Other) // the target may have been split in turn
	}
	from := sources[0]
	if len(sources) > 1 {
		if err := p.read(ctx, &r.askedReport); err != nil {
			return r.bucket, err
		}
		own := crash.BucketIDOf(grouping.SignatureOf(r.fields).Signature)
		for _, source := range sources {
			if source == own {
				from = source
			}
		}
	}
	return p.place(ctx, &r.askedReport, from)
}

// endUnsplit finishes undoing a split: it merges the new problem, now empty, into the original one.
func (d *deciding) endUnsplit(ctx context.Context, decision crash.Decision) error {
	if _, err := d.Exec(ctx, sqlDropSources, pgx.NamedArgs{"id": decision.ID}); err != nil {
		return err
	}
	var empty bool
	var head crash.BucketID
	args := pgx.NamedArgs{"other": decision.Other[:], "bucket": decision.Bucket[:]}
	if err := d.QueryRow(ctx, sqlIsEmpty, args).Scan(&empty, &head); err != nil {
		return err
	}
	if !empty || head == decision.Other {
		return nil
	}
	return d.merge(ctx, decision.Other, head, crash.CauseEmptied, decision.UndoneBy, "Its reports moved back.")
}

const sqlUnfinished = `select id from decisions where not finished order by id limit 100`

// UnfinishedSplits returns up to 100 splits, and undone splits, whose stored reports have not all
// been examined.
func (s *Decisions) UnfinishedSplits(ctx context.Context) ([]int64, error) {
	ids, err := List(ctx, s.Pool, sqlUnfinished, nil, pgx.RowTo[int64])
	return ids, Wrap(err, "unfinished splits")
}

const sqlTogether = `
	with members as (
		select id, reports from buckets where head in (select head from buckets where id = any(@ids::bytea[]))
	)
	select coalesce((select sum(reports) from members), 0)::bigint,
		(select count(distinct system) from bucket_systems where bucket_id in (select id from members))`

// Together returns how many reports and distinct machines some problems have in total.
func (s *Decisions) Together(ctx context.Context, ids []crash.BucketID) (reports, machines int64, err error) {
	err = s.Pool.QueryRow(ctx, sqlTogether, pgx.NamedArgs{"ids": ids}).Scan(&reports, &machines)
	return reports, machines, Wrap(err, "count problems together")
}

// These constants limit how many of the newest reports a preview examines. It examines fewer if it
// needs all fields of each.
const (
	previewReports = 1000
	previewBodies  = 200
	previewShown   = 5 // examples on each side
)

const (
	sqlPreviewReports = `
		select ` + ReportColumns + `, null::bytea from unnest(@buckets::bytea[]) as s (source) cross join lateral (
			select * from reports where bucket_id = s.source and received >= @here
			order by received desc, id desc limit @limit
		) as r
		order by received desc, id desc limit @limit`
	sqlPreviewBodies = `
		select ` + ReportColumns + `, body from unnest(@buckets::bytea[]) as s (source) cross join lateral (
			select * from reports where bucket_id = s.source and received >= @here and body is not null
			order by received desc, id desc limit @limit
		) as r
		order by received desc, id desc limit @limit`
)

const sqlMembers = `select id from buckets where id in ` + Members + ` order by id`

// PreviewSplit examines which of the newest reports of a problem meet a condition. It looks in archives only if there
// is none here. It returns Invalid for an invalid condition.
func (s *Decisions) PreviewSplit(ctx context.Context, bucket crash.BucketID, c crash.Condition) (p crash.SplitPreview,
	err error) {
	if err := c.Check(); err != nil {
		return p, err
	}
	limit := previewReports
	if c.NeedsFields() {
		limit = previewBodies
	}
	p, err = Recent(ctx, s.Handle, func(ctx context.Context, since time.Time) (crash.SplitPreview, bool, error) {
		p, err := s.previewSplit(ctx, bucket, c, limit, since)
		return p, p.LookedAt > 0, err
	})
	return p, Wrap(err, "preview of a split of %s", bucket)
}

func (s *Decisions) previewSplit(ctx context.Context, bucket crash.BucketID, c crash.Condition, limit int,
	since time.Time) (p crash.SplitPreview, err error) {
	sql := sqlPreviewReports
	if c.NeedsFields() {
		sql = sqlPreviewBodies
	}
	p.More = !since.IsZero()
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		buckets, err := List(ctx, tx, sqlMembers, pgx.NamedArgs{"bucket": bucket[:]}, pgx.RowTo[crash.BucketID])
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, pgx.NamedArgs{"buckets": buckets, "limit": limit + 1, "here": since})
		if err != nil {
			return err
		}
		var body []byte
		for rows.Next() {
			var r crash.ReportRow
			if err := scanReportAnd(rows, &r, &body); err != nil {
				return err
			}
			if p.LookedAt == int64(limit) {
				p.More = true
				continue
			}
			p.LookedAt++
			var fields crash.Fields
			if body != nil {
				if fields, err = Decompress(body); err != nil {
					return err
				}
			}
			side, count := &p.StayExamples, &p.Stays
			if c.Holds(r.ID, r.Summary, func(function string) bool { return grouping.Calls(fields, function) }) {
				side, count = &p.GoesExamples, &p.Goes
			}
			*count++
			if len(*side) < previewShown {
				*side = append(*side, r)
			}
		}
		return rows.Err()
	})
	return p, err
}
