package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
)

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
	p := newPlacer(d.store, d)
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
