package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// regroupLock is the advisory lock of the one who works on the run. Any fixed number will do.
const regroupLock = int64(0x6d69736861707267) // "mishaprg"

const (
	restWhileBehind = 250 * time.Millisecond // before it is looked again whether counting has caught up
	lookAtOthers    = 500 * time.Millisecond // how often a run that another unit works on is looked at
)

// WorkRegroup does all steps of a run, and rests for as long as each has taken, so that there is room for other work. With
// progress, which hears of each step, it also watches a run that another unit works on, and goes on with it when that dies;
// without, it leaves such a run alone. It returns the run as it then stands; when ctx ends, with ctx's error.
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
		if crash.Sleep(ctx, lookAtOthers) != nil {
			return run, ctx.Err()
		}
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), sqlUnlock, pgx.NamedArgs{"lock": regroupLock}) }()
	for {
		began := time.Now()
		run, err := s.GoOnRegroup(ctx, id, rules)
		if err != nil {
			return run, err
		}
		if progress != nil {
			progress(run)
		}
		if run.State != crash.RegroupRunning {
			return run, nil
		}
		rest := time.Since(began)
		if run.Waiting {
			rest = restWhileBehind
		}
		if crash.Sleep(ctx, rest) != nil {
			return run, ctx.Err()
		}
	}
}

const (
	// What reports have left, and where most of them went.
	sqlLeft = `
		select distinct on (from_id) from_id, to_id from regroup_moves
		where run_id = @run and from_id > @after and from_id <> '' and to_id <> ''
		order by from_id, reports desc, to_id limit @limit`
	sqlLeftEmpty = `
		select b.head = b.id and not exists (select from reports where bucket_id = b.id), b.name, h.id, h.name
		from buckets as b, buckets as t join buckets as h on h.id = t.head where b.id = @from and t.id = @to`
	sqlEndRun = `update regroup_runs set state = 'done', updated = @at where id = @id and state = 'running'`
)

// leftBatch is how many buckets are looked after in one transaction.
const leftBatch = 100

// endRegroup looks after the buckets that have nothing left: all that people see of them follows to where most of their
// reports went. It can be done again: a bucket that has followed is no head any more.
func (s *Decisions) endRegroup(ctx context.Context, run crash.RegroupRun) (crash.RegroupRun, error) {
	after := []byte{}
	for last := run.Dry; !last; {
		if err := s.decide(ctx, func(d *deciding) error {
			rows, err := d.Query(ctx, sqlLeft, pgx.NamedArgs{"run": run.ID, "after": after, "limit": leftBatch})
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
				if err := d.follow(ctx, p.from, p.to, run); err != nil {
					return err
				}
				after = p.from[:]
			}
			last = len(pairs) < leftBatch
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

// follow lets a bucket that has nothing left count under the one that its reports went to: its address, its bugs and its notes
// are that one's then, and its name too, if that has none. Splits of it are asked there.
func (d *deciding) follow(ctx context.Context, from, to crash.BucketID, run crash.RegroupRun) error {
	args := pgx.NamedArgs{"from": from[:], "to": to[:]}
	var empty bool
	var name, headName string
	var head crash.BucketID
	if err := d.QueryRow(ctx, sqlLeftEmpty, args).Scan(&empty, &name, ScanTo(head[:]), &headName); err != nil {
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
