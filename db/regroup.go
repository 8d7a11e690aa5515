package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	runColumns   = `id, rules, dry, person, state, started, updated, estimate, looked_at, moved, waiting`
	sqlInsertRun = `
		insert into regroup_runs (rules, dry, person, state, started, updated, estimate)
		select @rules, @dry, @person, 'running', @at, @at, coalesce((
			select case when min(c.reltuples) < 0 then null else sum(c.reltuples)::bigint end
			from pg_inherits as i join pg_class as c on c.oid = i.inhrelid where i.inhparent = 'reports'::regclass
		), (select count(*) from (select from reports limit 1000000) as r))
		on conflict ((true)) where state = 'running' do nothing
		returning ` + runColumns
	sqlRunningRun = `select ` + runColumns + ` from regroup_runs where state = 'running'`
	sqlRun        = `select ` + runColumns + ` from regroup_runs where id = @id`
	sqlRuns       = `select ` + runColumns + ` from regroup_runs order by id desc limit @limit`
	sqlStopRun    = `
		update regroup_runs set state = 'stopped', updated = @at where id = @id and state = 'running'
		returning ` + runColumns
)

func scanRun(row pgx.CollectableRow) (r crash.RegroupRun, err error) {
	err = row.Scan(&r.ID, &r.Rules, &r.Dry, &r.Person, &r.State, &r.Started, &r.Updated, &r.Estimate, &r.LookedAt,
		&r.Moved, &r.Waiting)
	return r, err
}

var (
	errRegroupRunning = crash.Errorf(crash.Conflict, "regroup_running", "Reports are already being regrouped.")
	errUnknownRun     = crash.Errorf(crash.NotFound, "unknown_run", "There is no such regrouping run.")
	errRunEnded       = crash.Errorf(crash.Conflict, "run_ended", "This run has already ended.")
)

// StartRegroup starts a run that applies grouping rules to the stored reports. A dry run only finds
// out what they would change. Jobs do the work in steps, in any instance (see
// [Decisions.StepRegroup]). It returns Conflict if another run has not ended.
func (s *Decisions) StartRegroup(ctx context.Context, rules int, dry bool, person string) (crash.RegroupRun, error) {
	var run crash.RegroupRun
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlInsertRun, pgx.NamedArgs{"rules": rules, "dry": dry, "person": person, "at": s.Now()})
		if err != nil {
			return err
		}
		if run, err = pgx.CollectExactlyOneRow(rows, scanRun); errors.Is(err, pgx.ErrNoRows) {
			return errRegroupRunning
		} else if err != nil {
			return err
		}
		if err := s.Audit(ctx, tx, AuditEvent{
			Person: person, Action: "regroup.start", Subject: "reports",
			After: map[string]any{"run": run.ID, "rules": rules, "dry": dry, "running": true},
		}); err != nil {
			return err
		}
		return s.addRegroupJob(ctx, tx, run.ID)
	})
	if err != nil {
		return run, fmt.Errorf("start regrouping: %w", err)
	}
	return run, nil
}

// StopRegroup ends a run early. Reports that it has moved stay moved. It returns Conflict if the
// run has ended.
func (s *Decisions) StopRegroup(ctx context.Context, id int64, person string) (crash.RegroupRun, error) {
	var run crash.RegroupRun
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlStopRun, pgx.NamedArgs{"id": id, "at": s.Now()})
		if err != nil {
			return err
		}
		if run, err = pgx.CollectExactlyOneRow(rows, scanRun); errors.Is(err, pgx.ErrNoRows) {
			return errRunEnded
		} else if err != nil {
			return err
		}
		return s.Audit(ctx, tx, AuditEvent{Person: person, Action: "regroup.stop", Subject: "reports",
			Before: map[string]any{"run": id, "running": true}, After: map[string]any{"run": id, "running": false}})
	})
	if err != nil {
		return run, fmt.Errorf("stop regrouping: %w", err)
	}
	return run, nil
}

// RunningRegroup returns the run that has not ended. It returns NotFound if there is none.
func (s *Decisions) RunningRegroup(ctx context.Context) (crash.RegroupRun, error) {
	return s.oneRun(ctx, sqlRunningRun, pgx.NamedArgs{})
}

// Regroup returns a run. It returns NotFound if there is none with this id.
func (s *Decisions) Regroup(ctx context.Context, id int64) (crash.RegroupRun, error) {
	return s.oneRun(ctx, sqlRun, pgx.NamedArgs{"id": id})
}

func (s *Decisions) oneRun(ctx context.Context, sql string, args pgx.NamedArgs) (crash.RegroupRun, error) {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return crash.RegroupRun{}, fmt.Errorf("run of regrouping: %w", Classify(err))
	}
	run, err := pgx.CollectExactlyOneRow(rows, scanRun)
	if errors.Is(err, pgx.ErrNoRows) {
		return run, errUnknownRun
	}
	if err != nil {
		return run, fmt.Errorf("run of regrouping: %w", Classify(err))
	}
	return run, nil
}

// Regroups returns up to limit runs, latest first.
func (s *Decisions) Regroups(ctx context.Context, limit int) ([]crash.RegroupRun, error) {
	rows, err := s.Pool.Query(ctx, sqlRuns, pgx.NamedArgs{"limit": limit})
	if err != nil {
		return nil, fmt.Errorf("runs of regrouping: %w", Classify(err))
	}
	runs, err := pgx.CollectRows(rows, scanRun)
	if err != nil {
		return nil, fmt.Errorf("runs of regrouping: %w", Classify(err))
	}
	return runs, nil
}

const sqlRunMoves = `
	select m.from_id, m.to_id, coalesce(nullif(f.name, ''), nullif(f.title, ''), left(f.signature, 300), ''),
		coalesce(nullif(t.name, ''), m.signature), m.is_new, m.reports, coalesce(f.reports, 0)
	from regroup_moves as m left join buckets as f on f.id = m.from_id left join buckets as t on t.id = m.to_id
	where m.run_id = @run
	order by m.reports desc, m.from_id, m.to_id limit @limit`

// RegroupMoves returns between which buckets a run has moved reports, or would move them, and how
// many. The largest numbers come first.
func (s *Decisions) RegroupMoves(ctx context.Context, run int64, limit int) ([]crash.RegroupMove, error) {
	rows, err := s.Pool.Query(ctx, sqlRunMoves, pgx.NamedArgs{"run": run, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("moves of run %d: %w", run, Classify(err))
	}
	moves, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m crash.RegroupMove, err error) {
		var from, to []byte
		err = row.Scan(&from, &to, &m.FromLabel, &m.ToLabel, &m.New, &m.Reports, &m.Left)
		copy(m.From[:], from)
		copy(m.To[:], to)
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("moves of run %d: %w", run, Classify(err))
	}
	return moves, nil
}

const sqlRunEffect = `
	with moves as (select * from regroup_moves where run_id = @run),
	sources as (
		select m.from_id, count(*) as targets, sum(m.reports) as reports, coalesce(max(b.reports), 0) as had
		from moves as m left join buckets as b on b.id = m.from_id where m.from_id <> '' group by m.from_id
	), targets as (
		select to_id, count(*) as sources, bool_and(is_new) as is_new from moves where to_id <> '' group by to_id
	)
	select (select count(*) from sources),
		(select count(*) from sources where targets > 1 or (had > case when @dry then reports else 0 end)),
		(select count(*) from targets where is_new), (select count(*) from targets where sources > 1 or not is_new)`

// RegroupEffect returns how many buckets a run has changed, or would change if it is dry.
func (s *Decisions) RegroupEffect(ctx context.Context, run crash.RegroupRun) (crash.RegroupEffect, error) {
	var e crash.RegroupEffect
	err := s.Pool.QueryRow(ctx, sqlRunEffect, pgx.NamedArgs{"run": run.ID, "dry": run.Dry}).Scan(&e.Changed, &e.Split,
		&e.New, &e.Merged)
	if err != nil {
		return e, fmt.Errorf("effect of run %d: %w", run.ID, Classify(err))
	}
	return e, nil
}
