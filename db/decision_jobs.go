package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"mishap/crash"
)

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
	return s.continueRegroup(ctx, run, rules)
}

// continueRegroup works on a run if it is for these rules: during an update, only instances that
// know them do.
func (s *Decisions) continueRegroup(ctx context.Context, run crash.RegroupRun, rules crash.Rules) error {
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
		if wait(ctx, time.Since(began)); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
