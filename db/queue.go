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

// filingJob does the next step of one filing. It is harmless if the job runs too often, too late or
// never, because the filing itself records its next step.
type filingJob struct {
	Filing int64  `json:"filing"`
	Cause  string `json:"cause,omitempty"` // the span that queued the job, see package span; empty: not traced
}

// Kind returns the name of the job in the queue.
func (filingJob) Kind() string { return "filing" }

// newInserter returns a client that can only insert jobs.
func newInserter(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("job queue: %w", err)
	}
	return client, nil
}

// AddFilingJob queues the next step of a filing in tx. The job runs after the delay in.
func (s *Handle) AddFilingJob(ctx context.Context, tx pgx.Tx, filing int64, in time.Duration) error {
	opts := &river.InsertOpts{}
	if in > 0 {
		opts.ScheduledAt = time.Now().Add(in)
	}
	if _, err := s.inserter.InsertTx(ctx, tx, filingJob{filing, s.tracer.CauseOf(ctx).String()}, opts); err != nil {
		return fmt.Errorf("queue filing %d: %w", filing, err)
	}
	return nil
}

// longQueue is the queue of long jobs. Filings use another queue, so that they never wait for long
// jobs. Older versions use the same name.
const longQueue = "slow"

// splitJob moves the stored reports of a split, or moves them back. The decision records the
// progress.
type splitJob struct {
	Decision int64 `json:"decision"`
}

// Kind returns the name of the job in the queue.
func (splitJob) Kind() string { return "split" }

// regroupJob works on one regrouping run. The run records the progress.
type regroupJob struct {
	Run int64 `json:"run"`
}

// Kind returns the name of the job in the queue.
func (regroupJob) Kind() string { return "regroup" }

// FinishDecisions continues all unfinished splits and regrouping runs that no instance works on.
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

// ContinueRegroup works on a run if the run uses these rules. During an update, only instances with
// the new rules do so.
func (s *Decisions) ContinueRegroup(ctx context.Context, run crash.RegroupRun, rules crash.Rules) error {
	if run.Rules != rules.Version {
		return nil
	}
	_, err := s.WorkRegroup(ctx, run.ID, rules, nil)
	return err
}

func (s *Handle) addSplitJob(ctx context.Context, tx pgx.Tx, decision int64) error {
	if _, err := s.inserter.InsertTx(ctx, tx, splitJob{decision}, &river.InsertOpts{Queue: longQueue}); err != nil {
		return fmt.Errorf("queue split %d: %w", decision, err)
	}
	return nil
}

func (s *Handle) addRegroupJob(ctx context.Context, tx pgx.Tx, run int64) error {
	if _, err := s.inserter.InsertTx(ctx, tx, regroupJob{run}, &river.InsertOpts{Queue: longQueue}); err != nil {
		return fmt.Errorf("queue regrouping %d: %w", run, err)
	}
	return nil
}

// FinishSplit runs all remaining steps of a split. It pauses after each for as long as the step
// took. It returns early if ctx ends.
func (s *Decisions) FinishSplit(ctx context.Context, id int64) error {
	for {
		began := time.Now()
		finished, err := s.StepSplit(ctx, id)
		if finished || err != nil {
			return err
		}
		if crash.Sleep(ctx, time.Since(began)) != nil {
			return ctx.Err()
		}
	}
}
