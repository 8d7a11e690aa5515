package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	regroupBatch     = 250     // reports in one step
	maxMoveSignature = 300     // bytes of a signature that are stored with a run
	maxRegroupQueue  = 2 * 256 // uncounted reports above which regrouping pauses

	sqlRunCursor = `select ` + runColumns +
		`, coalesce(received, '0001-01-01'), coalesce(report_id, '00000000-0000-0000-0000-000000000000')
		from regroup_runs where id = @id`
	// sqlReportsToGroup reads the bodies only of those reports that older rules have grouped.
	sqlReportsToGroup = `
		select id, bucket_id, rule, counted, executable, package, version, release, architecture, address_signature,
			rules < @rules, case when rules < @rules then body end
		from reports where received >= @received and (received, id) > (@received, @id)
		order by received, id limit @limit`
	sqlUncounted = `
		select coalesce(sum(cardinality(reports)), 0) from (select reports from uncounted limit 1000) as u`
	sqlRunWaits = `
		update regroup_runs set waiting = @waiting, updated = @at
		where id = @id and state = 'running' and waiting <> @waiting`
	sqlStampRules = `
		update reports as r set rules = @rules from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
		where r.received = m.received and r.id = m.id and r.rules < @rules`
	sqlStampRule = `
		update reports as r set rule = m.rule, unbucketed = m.unbucketed
		from unnest(@ids::uuid[], @received::timestamptz[], @rule::text[], @unbucketed::text[])
			as m (id, received, rule, unbucketed)
		where r.received = m.received and r.id = m.id`
	// sqlRunStep changes nothing if another instance has recorded the same step.
	sqlRunStep = `
		update regroup_runs set looked_at = looked_at + @looked_at, received = @received, report_id = @report,
			updated = @at, waiting = false
		where id = @id and state = 'running' and received is not distinct from nullif(@from::timestamptz, '0001-01-01')
			and coalesce(report_id, '00000000-0000-0000-0000-000000000000') = @from_id`
	sqlRunMoved = `update regroup_runs set moved = moved + @moved where id = @id`
	sqlAddMove  = `
		insert into regroup_moves as m (run_id, from_id, to_id, signature, is_new, reports)
		values (@run, @from, @to, @signature, @is_new, @reports)
		on conflict (run_id, from_id, to_id) do update set reports = m.reports + excluded.reports`
)

// groupedReport is a stored report with its result under the new rules.
type groupedReport struct {
	askedReport
	from     *crash.BucketID
	rule     crash.Rule
	counted  bool
	address  string
	stale    bool // grouped by older rules
	grouping crash.Grouping
}

// own returns the bucket of the report's signature, or nil if it has none.
func (r groupedReport) own() *crash.BucketID {
	if r.grouping.Signature == "" {
		return nil
	}
	id := crash.BucketIDOf(r.grouping.Signature)
	return &id
}

// differs reports whether the new rules give another result than the stored one.
func (r groupedReport) differs() bool {
	return r.stale && (!sameBucket(r.from, r.own()) || r.rule != r.grouping.Rule)
}

// StepRegroup does the next step of a run: it groups some reports again, and moves those that now
// belong to other buckets, with their counts. Only the move holds the counting lock. A lost step
// can be repeated without harm, even by two instances at once. While too many reports are
// uncounted, StepRegroup does nothing and sets Waiting. It returns NotFound for an unknown run.
func (s *Decisions) StepRegroup(ctx context.Context, id int64, rules crash.Rules) (crash.RegroupRun, error) {
	run, err := s.stepRegroup(ctx, id, rules)
	if err != nil {
		return run, fmt.Errorf("regroup: %w", Classify(err))
	}
	return run, nil
}

func (s *Decisions) stepRegroup(ctx context.Context, id int64, rules crash.Rules) (crash.RegroupRun, error) {
	var from crash.OopsID
	var since time.Time
	run, err := s.runAt(ctx, id, &since, &from)
	if err != nil || run.State != crash.RegroupRunning {
		return run, err
	}
	var uncounted int64
	if err := s.Pool.QueryRow(ctx, sqlUncounted).Scan(&uncounted); err != nil {
		return run, err
	}
	run.Waiting = uncounted > maxRegroupQueue
	if _, err := s.Pool.Exec(ctx, sqlRunWaits, pgx.NamedArgs{"id": id, "waiting": run.Waiting,
		"at": s.Now()}); err != nil || run.Waiting {
		return run, err
	}
	reports, err := s.readAndGroup(ctx, since, from, rules)
	if err != nil {
		return run, err
	}
	var changed []groupedReport
	for _, r := range reports {
		if r.differs() {
			changed = append(changed, r)
		}
	}
	if len(changed) > 0 && !run.Dry {
		if err := s.regroupReports(ctx, run, changed); err != nil {
			return run, err
		}
		changed = nil
	}
	if len(reports) == 0 {
		return s.endRegroup(ctx, run)
	}
	if err := s.recordStep(ctx, run, reports, changed, since, from); err != nil {
		return run, err
	}
	return s.Regroup(ctx, id)
}

func (s *Decisions) runAt(ctx context.Context, id int64, since *time.Time, from *crash.OopsID) (crash.RegroupRun,
	error) {
	rows, err := s.Pool.Query(ctx, sqlRunCursor, pgx.NamedArgs{"id": id})
	if err != nil {
		return crash.RegroupRun{}, err
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r crash.RegroupRun, err error) {
		err = row.Scan(&r.ID, &r.Rules, &r.Dry, &r.Person, &r.State, &r.Started, &r.Updated, &r.Estimate, &r.LookedAt,
			&r.Moved, &r.Waiting, since, (*[16]byte)(from))
		return r, err
	})
	if err == nil && len(runs) == 0 {
		err = errUnknownRun
	}
	if err != nil {
		return crash.RegroupRun{}, err
	}
	return runs[0], nil
}

// readAndGroup reads the next reports and groups them by the new rules.
func (s *Decisions) readAndGroup(ctx context.Context, since time.Time, from crash.OopsID,
	rules crash.Rules) ([]groupedReport, error) {
	rows, err := s.Pool.Query(ctx, sqlReportsToGroup, pgx.NamedArgs{
		"received": since, "id": [16]byte(from), "rules": rules.Version, "limit": regroupBatch,
	})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r groupedReport, err error) {
		var bucket, body []byte
		err = row.Scan((*[16]byte)(&r.id), &bucket, &r.rule, &r.counted, &r.summary.Executable, &r.summary.Package,
			&r.summary.Version, &r.summary.Release, &r.summary.Architecture, &r.address, &r.stale, &body)
		if err != nil || !r.stale {
			return r, err
		}
		if bucket != nil {
			r.from = (*crash.BucketID)(bucket)
		}
		fields, err := s.Decompress(body)
		if err != nil {
			return r, err
		}
		r.grouping = rules.Group(fields)
		return r, nil
	})
}

// recordStep records the progress of a run. In a dry run it records what would move; otherwise it
// marks the reports as grouped by the new rules.
func (s *Decisions) recordStep(ctx context.Context, run crash.RegroupRun, reports, changed []groupedReport,
	since time.Time, from crash.OopsID) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		last := reports[len(reports)-1].id
		tag, err := tx.Exec(ctx, sqlRunStep, pgx.NamedArgs{
			"id": run.ID, "looked_at": len(reports), "received": last.Received(), "report": [16]byte(last), "at": s.Now(),
			"from": since, "from_id": [16]byte(from),
		})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if run.Dry {
			d := &deciding{Tx: tx, store: s.Store}
			_, pairs, err := d.regroupMoves(ctx, changed)
			if err != nil {
				return err
			}
			return d.addMoves(ctx, run, pairs)
		}
		var stale reportRows
		for _, r := range reports {
			if r.stale {
				stale.add(r.id, move{})
			}
		}
		_, err = tx.Exec(ctx, sqlStampRules, pgx.NamedArgs{"rules": run.Rules, "ids": stale.ids, "received": stale.received})
		return err
	})
}
