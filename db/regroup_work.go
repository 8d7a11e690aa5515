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
func (s *Decisions) WorkRegroup(ctx context.Context, id int64, rules crash.Rules, progress func(crash.RegroupRun)) (crash.RegroupRun, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return crash.RegroupRun{}, fmt.Errorf("work on regrouping: %w", known(err))
	}
	defer conn.Release()
	for {
		var mine bool
		if err := conn.QueryRow(ctx, sqlTryLock, pgx.NamedArgs{"lock": regroupLock}).Scan(&mine); err != nil {
			return crash.RegroupRun{}, fmt.Errorf("work on regrouping: %w", known(err))
		}
		if mine {
			break
		}
		run, err := s.Regroup(ctx, id)
		if err != nil || progress == nil || run.State != crash.RegroupRunning {
			return run, err
		}
		progress(run)
		if wait(ctx, lookAtOthers); ctx.Err() != nil {
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
		if wait(ctx, rest); ctx.Err() != nil {
			return run, ctx.Err()
		}
	}
}
