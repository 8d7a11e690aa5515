package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
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
		select ` + splitColumns + ` from unnest(@ids::uuid[], @at::timestamptz[]) as m (id, received)
			join reports as r on r.received = m.received and r.id = m.id
		where r.bucket_id = any(@buckets::bytea[]) order by r.received, r.id`
	sqlSplitStep = `
		update decisions set looked_at = looked_at + @looked_at, moved = moved + @moved, finished = @finished,
			received = @received, report_id = @id
		where id = @decision`
	sqlDropSources = `delete from split_sources where decision_id = @id`
	sqlIsEmpty     = `
		select b.head = b.id and not exists (select from reports where bucket_id = b.id), h.head
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
	rule crash.Rule
}

func scanSplit(row pgx.CollectableRow) (r splitReport, err error) {
	err = row.Scan((*[16]byte)(&r.id), ScanTo(r.bucket[:]), &r.summary.Executable, &r.summary.Package, &r.summary.Version,
		&r.summary.Release, &r.summary.Architecture, &r.rule)
	return r, err
}

// StepSplit does the next step of moving the reports of a split, or of moving them back after it
// was undone. Concurrent calls are safe, and so is repeating a lost step. It returns NotFound for
// an unknown decision.
func (s *Decisions) StepSplit(ctx context.Context, id int64) (finished bool, err error) {
	err = s.decide(ctx, func(d *deciding) error {
		rows, err := d.Query(ctx, sqlDecisionForUpdate, pgx.NamedArgs{"id": id})
		if err != nil {
			return err
		}
		decision, err := oneDecision(id, rows)
		if err != nil {
			return err
		}
		if finished = decision.Finished; finished {
			return nil
		}
		finished, err = d.stepSplit(ctx, decision)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("continue split %d: %w", id, err)
	}
	return finished, nil
}

func (d *deciding) stepSplit(ctx context.Context, decision crash.Decision) (finished bool, err error) {
	rows, err := d.Query(ctx, sqlSourcesOf, pgx.NamedArgs{"id": decision.ID})
	if err != nil {
		return false, err
	}
	sources, err := pgx.CollectRows(rows, scanID)
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

func scanID(row pgx.CollectableRow) (id crash.BucketID, err error) {
	err = row.Scan(ScanTo(id[:]))
	return id, err
}

// reportsToSplit reads the next reports that a split may move.
func (d *deciding) reportsToSplit(ctx context.Context, decision crash.Decision,
	sources []crash.BucketID) (reports []splitReport, last bool, err error) {
	args := pgx.NamedArgs{"buckets": IDBytes(sources)}
	sql, limit := sqlReportsToSplit, splitBatch
	switch chosen := decision.Condition.Reports; {
	case !decision.Stands():
		args["buckets"] = [][]byte{decision.Other[:]}
	case len(chosen) > 0:
		sql, limit = sqlChosenReports, len(chosen)+1
		ids, at := make([][16]byte, len(chosen)), make([]time.Time, len(chosen))
		for i, id := range chosen {
			ids[i], at[i] = id, id.Received()
		}
		args["ids"], args["at"] = ids, at
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
	rows, err := d.Query(ctx, sql, args)
	if err != nil {
		return nil, false, err
	}
	reports, err = pgx.CollectRows(rows, scanSplit)
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
	if err := d.QueryRow(ctx, sqlIsEmpty, args).Scan(&empty, ScanTo(head[:])); err != nil {
		return err
	}
	if !empty || head == decision.Other {
		return nil
	}
	return d.merge(ctx, decision.Other, head, crash.CauseEmptied, decision.UndoneBy, "Its reports were brought back.")
}

const sqlUnfinished = `select id from decisions where not finished order by id limit 100`

// UnfinishedSplits returns up to 100 splits, and undone splits, whose stored reports have not all
// been examined.
func (s *Decisions) UnfinishedSplits(ctx context.Context) ([]int64, error) {
	rows, err := s.Pool.Query(ctx, sqlUnfinished)
	if err != nil {
		return nil, fmt.Errorf("unfinished splits: %w", Classify(err))
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("unfinished splits: %w", Classify(err))
	}
	return ids, nil
}

const sqlTogether = `
	with members as (
		select id, reports from buckets where head in (select head from buckets where id = any(@ids::bytea[]))
	)
	select coalesce((select sum(reports) from members), 0)::bigint,
		(select count(distinct system) from bucket_systems where bucket_id in (select id from members))`

// Together returns how many reports and distinct machines some problems have in total.
func (s *Decisions) Together(ctx context.Context, ids []crash.BucketID) (reports, machines int64, err error) {
	if err := s.Pool.QueryRow(ctx, sqlTogether, pgx.NamedArgs{"ids": IDBytes(ids)}).Scan(&reports, &machines); err != nil {
		return 0, 0, fmt.Errorf("count problems together: %w", Classify(err))
	}
	return reports, machines, nil
}

// These constants limit how many of the newest reports a preview examines. It examines fewer if it
// needs all fields of each.
const (
	previewReports = 1000
	previewBodies  = 200
	previewShown   = 5 // examples on each side
)

const sqlPreviewReports = `
	select ` + ReportColumns +
	`, case when @bodies then body end from unnest(@buckets::bytea[]) as s (source) cross join lateral (
		select * from reports where bucket_id = s.source order by received desc, id desc limit @limit
	) as r
	order by received desc, id desc limit @limit`

const sqlMembers = `select id from buckets where id in ` + Members + ` order by id`

// PreviewSplit examines which of the newest reports of a problem meet a condition. It returns
// Invalid for an invalid condition.
func (s *Decisions) PreviewSplit(ctx context.Context, bucket crash.BucketID, c crash.Condition) (p crash.SplitPreview,
	err error) {
	if err := c.Check(); err != nil {
		return p, err
	}
	limit := previewReports
	if c.NeedsFields() {
		limit = previewBodies
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlMembers, pgx.NamedArgs{"bucket": bucket[:]})
		if err != nil {
			return err
		}
		buckets, err := pgx.CollectRows(rows, scanID)
		if err != nil {
			return err
		}
		rows, err = tx.Query(ctx, sqlPreviewReports, pgx.NamedArgs{"buckets": IDBytes(buckets), "limit": limit + 1,
			"bodies": c.NeedsFields()})
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
	if err != nil {
		return p, fmt.Errorf("preview of a split of %s: %w", bucket, err)
	}
	return p, nil
}
