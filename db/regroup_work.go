package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// regroupLock is the advisory lock of the instance that works on the run. The number is arbitrary.
const regroupLock = int64(0x6d69736861707267) // "mishaprg"

const (
	backlogPause  = 250 * time.Millisecond // pause while too many reports are uncounted
	watchInterval = 500 * time.Millisecond // interval of reading a run that another instance works on
)

// WorkRegroup does all remaining steps of a run. It pauses after each for as long as the step took,
// to leave room for other work. It calls progress after each step. If another instance works on the
// run, WorkRegroup watches it and takes over when that instance dies; if progress is nil, it
// returns at once instead. It returns the last state of the run. If ctx ends, it also returns ctx's
// error.
func (s *Decisions) WorkRegroup(ctx context.Context, id int64, rules crash.Rules,
	progress func(crash.RegroupRun)) (crash.RegroupRun, error) {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return crash.RegroupRun{}, fmt.Errorf("work on regrouping: %w", Classify(err))
	}
	defer conn.Release()
	for {
		var mine bool
		if err := conn.QueryRow(ctx, sqlTryLock, pgx.NamedArgs{"lock": regroupLock}).Scan(&mine); err != nil {
			return crash.RegroupRun{}, fmt.Errorf("work on regrouping: %w", Classify(err))
		}
		if mine {
			break
		}
		run, err := s.Regroup(ctx, id)
		if err != nil || progress == nil || run.State != crash.RegroupRunning {
			return run, err
		}
		progress(run)
		if crash.Sleep(ctx, watchInterval) != nil {
			return run, ctx.Err()
		}
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), sqlUnlock, pgx.NamedArgs{"lock": regroupLock}) }()
	for {
		began := time.Now()
		run, err := s.StepRegroup(ctx, id, rules)
		if err != nil {
			return run, err
		}
		if progress != nil {
			progress(run)
		}
		if run.State != crash.RegroupRunning {
			return run, nil
		}
		pause := time.Since(began)
		if run.Waiting {
			pause = backlogPause
		}
		if crash.Sleep(ctx, pause) != nil {
			return run, ctx.Err()
		}
	}
}

const (
	// sqlMoveSources selects buckets that have lost reports, and the bucket to which most of those
	// went.
	sqlMoveSources = `
		select distinct on (from_id) from_id, to_id from regroup_moves
		where run_id = @run and from_id > @after and from_id <> '' and to_id <> ''
		order by from_id, reports desc, to_id limit @limit`
	sqlIsEmptied = `
		select b.head = b.id and not exists (select from reports where bucket_id = b.id), b.name, h.id, h.name
		from buckets as b, buckets as t join buckets as h on h.id = t.head where b.id = @from and t.id = @to`
	sqlEndRun = `update regroup_runs set state = 'done', updated = @at where id = @id and state = 'running'`
)

// emptiedBatch is the number of buckets that one transaction examines at the end of a run.
const emptiedBatch = 100

// endRegroup merges each bucket without reports into the bucket to which most of its reports went.
// It can be repeated, because a merged bucket is no longer a head.
func (s *Decisions) endRegroup(ctx context.Context, run crash.RegroupRun) (crash.RegroupRun, error) {
	after := []byte{}
	for last := run.Dry; !last; {
		if err := s.decide(ctx, func(d *deciding) error {
			rows, err := d.Query(ctx, sqlMoveSources, pgx.NamedArgs{"run": run.ID, "after": after, "limit": emptiedBatch})
			if err != nil {
				return err
			}
			type pair struct{ from, to crash.BucketID }
			pairs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p pair, err error) {
				err = row.Scan(ScanTo(p.from[:]), ScanTo(p.to[:]))
				return p, err
			})
			if err != nil {
				return err
			}
			for _, p := range pairs {
				if err := d.mergeEmptied(ctx, p.from, p.to, run); err != nil {
					return err
				}
				after = p.from[:]
			}
			last = len(pairs) < emptiedBatch
			return nil
		}); err != nil {
			return run, err
		}
	}
	if _, err := s.Pool.Exec(ctx, sqlEndRun, pgx.NamedArgs{"id": run.ID, "at": s.Now()}); err != nil {
		return run, err
	}
	return s.Regroup(ctx, run.ID)
}

// mergeEmptied merges a bucket into the bucket that its reports went to, if it has no reports left.
// The latter gets its address, bugs, notes and splits, and its name unless it has one.
func (d *deciding) mergeEmptied(ctx context.Context, from, to crash.BucketID, run crash.RegroupRun) error {
	args := pgx.NamedArgs{"from": from[:], "to": to[:]}
	var empty bool
	var name, headName string
	var head crash.BucketID
	if err := d.QueryRow(ctx, sqlIsEmptied, args).Scan(&empty, &name, ScanTo(head[:]), &headName); err != nil {
		return err
	}
	if !empty || head == from {
		return nil
	}
	reason := fmt.Sprintf("Version %d of the grouping rules has left no report here.", run.Rules)
	if err := d.merge(ctx, from, head, crash.CauseRegrouped, run.Person, reason); err != nil {
		return err
	}
	if err := d.inheritSplits(ctx, from, to); err != nil {
		return err
	}
	if name != "" && headName == "" {
		return d.rename(ctx, head, "", name, crash.CauseRegrouped, run.Person, reason)
	}
	return nil
}
