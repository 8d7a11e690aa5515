package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mishap/crash"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// FilingJob does the next step of one filing. It may run too often, too late or not at all without
// harm: the filing itself says what is to be done.
type FilingJob struct {
	Filing int64 `json:"filing"`
}

// Kind is the name of the job in the queue.
func (FilingJob) Kind() string { return "filing" }

// newInserter returns a client that only puts jobs into the queue.
func newInserter(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("job queue: %w", err)
	}
	return client, nil
}

// AddFilingJob queues a step of a filing, in the transaction that makes the step necessary. It runs
// in so much time from now.
func (s *Handle) AddFilingJob(ctx context.Context, tx pgx.Tx, filing int64, in time.Duration) error {
	opts := &river.InsertOpts{}
	if in > 0 {
		opts.ScheduledAt = time.Now().Add(in)
	}
	if _, err := s.inserter.InsertTx(ctx, tx, FilingJob{Filing: filing}, opts); err != nil {
		return fmt.Errorf("queue filing %d: %w", filing, err)
	}
	return nil
}

// LongQueue is the queue of long jobs. Filing has another one, so that it never waits for them.
// Older versions know it by this name.
const LongQueue = "slow"

// SplitJob moves the stored reports of a split, or moves them back. The decision records its
// progress.
type SplitJob struct {
	Decision int64 `json:"decision"`
}

// Kind is the name of the job in the queue.
func (SplitJob) Kind() string { return "split" }

// RegroupJob works on one run of regrouping. The run records its progress.
type RegroupJob struct {
	Run int64 `json:"run"`
}

// Kind is the name of the job in the queue.
func (RegroupJob) Kind() string { return "regroup" }

// FinishDecisions continues all splits and regrouping runs that are not finished and that no
// instance works on.
func (s *Decisions) FinishDecisions(ctx context.Context, rules crash.Rules) error {
	ids, err := s.UnfinishedSplits(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.FinishSplit(ctx, id); err != nil {
			return err
		}
	}
	run, err := s.RunningRegroup(ctx)
	if errors.Is(err, crash.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.ContinueRegroup(ctx, run, rules)
}

// ContinueRegroup works on a run if it is for these rules: during an update, only instances that
// know them do.
func (s *Decisions) ContinueRegroup(ctx context.Context, run crash.RegroupRun, rules crash.Rules) error {
	if run.Rules != rules.Version {
		return nil
	}
	_, err := s.WorkRegroup(ctx, run.ID, rules, nil)
	return err
}

func (s *Store) addSplitJob(ctx context.Context, tx pgx.Tx, decision int64) error {
	if _, err := s.inserter.InsertTx(ctx, tx, SplitJob{decision}, &river.InsertOpts{Queue: LongQueue}); err != nil {
		return fmt.Errorf("queue split %d: %w", decision, err)
	}
	return nil
}

func (s *Store) addRegroupJob(ctx context.Context, tx pgx.Tx, run int64) error {
	if _, err := s.inserter.InsertTx(ctx, tx, RegroupJob{run}, &river.InsertOpts{Queue: LongQueue}); err != nil {
		return fmt.Errorf("queue regrouping %d: %w", run, err)
	}
	return nil
}

// FinishSplit does all steps that a split still needs, with a pause after each. It returns early
// when ctx ends.
func (s *Decisions) FinishSplit(ctx context.Context, id int64) error {
	for {
		began := time.Now()
		finished, err := s.GoOnSplit(ctx, id)
		if finished || err != nil {
			return err
		}
		if crash.Sleep(ctx, time.Since(began)) != nil {
			return ctx.Err()
		}
	}
}
