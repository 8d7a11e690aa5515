package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"mishap/crash"
)

// What takes long has a queue of its own, so that filing never waits for it.
const (
	queueSlow   = "slow"
	slowWorkers = 2
	lookEvery   = time.Minute // for what a unit that died has left behind
)

// SplitJob moves the stored reports that a split means, or brings them back. Where it is stands in the decision.
type SplitJob struct {
	Decision int64 `json:"decision"`
}

// Kind is the name of the job in the queue.
func (SplitJob) Kind() string { return "split" }

// RegroupJob works on one run of regrouping. Where it is stands in the run.
type RegroupJob struct {
	Run int64 `json:"run"`
}

// Kind is the name of the job in the queue.
func (RegroupJob) Kind() string { return "regroup" }

// LeftBehindJob goes on with splits and runs whose unit has died.
type LeftBehindJob struct{}

// Kind is the name of the job in the queue.
func (LeftBehindJob) Kind() string { return "left-behind" }

func leftBehind() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(lookEvery), func() (river.JobArgs, *river.InsertOpts) {
		return LeftBehindJob{}, &river.InsertOpts{Queue: queueSlow, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{
			ByState: []rivertype.JobState{
				rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
			},
		}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// slowWork is what the jobs that take long share. Stopping ends them at once: they go on elsewhere, or later, from where
// they were.
type slowWork struct {
	store    *Store
	rules    crash.Rules
	stopping chan struct{}
	stop     func()
}

func newSlowWork(s *Store, rules crash.Rules) *slowWork {
	w := &slowWork{store: s, rules: rules, stopping: make(chan struct{})}
	w.stop = sync.OnceFunc(func() { close(w.stopping) })
	return w
}

func (w *slowWork) add(workers *river.Workers) error {
	return errors.Join(
		river.AddWorkerSafely(workers, &splitWorker{slowWork: w}),
		river.AddWorkerSafely(workers, &regroupWorker{slowWork: w}),
		river.AddWorkerSafely(workers, &leftBehindWorker{slowWork: w}),
	)
}

// until runs do with a context that also ends when the work is to stop.
func (w *slowWork) until(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-w.stopping:
			cancel()
		case <-ctx.Done():
		}
	})
	err := do(ctx)
	cancel()
	watch.Wait()
	return err
}

type splitWorker struct {
	river.WorkerDefaults[SplitJob]
	*slowWork
}

// Work does all steps of a split.
func (w *splitWorker) Work(ctx context.Context, job *river.Job[SplitJob]) error {
	return w.until(ctx, func(ctx context.Context) error { return w.store.FinishSplit(ctx, job.Args.Decision) })
}

// Timeout is none: each step has its own.
func (w *splitWorker) Timeout(*river.Job[SplitJob]) time.Duration { return -1 }

type regroupWorker struct {
	river.WorkerDefaults[RegroupJob]
	*slowWork
}

// Work does all steps of a run, unless another unit is at it.
func (w *regroupWorker) Work(ctx context.Context, job *river.Job[RegroupJob]) error {
	return w.until(ctx, func(ctx context.Context) error { return w.regroup(ctx, job.Args.Run) })
}

// Timeout is none: each step has its own.
func (w *regroupWorker) Timeout(*river.Job[RegroupJob]) time.Duration { return -1 }

// regroup works on a run, if it is for the rules of this program: during an update, only units that know them do.
func (w *slowWork) regroup(ctx context.Context, id int64) error {
	run, err := w.store.Regroup(ctx, id)
	if err == nil && run.Rules == w.rules.Version {
		_, err = w.store.WorkRegroup(ctx, id, w.rules, nil)
	}
	return err
}

type leftBehindWorker struct {
	river.WorkerDefaults[LeftBehindJob]
	*slowWork
}

// Work goes on with everything that is not finished and that nobody is at.
func (w *leftBehindWorker) Work(ctx context.Context, _ *river.Job[LeftBehindJob]) error {
	return w.until(ctx, func(ctx context.Context) error {
		ids, err := w.store.UnfinishedSplits(ctx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := w.store.FinishSplit(ctx, id); err != nil {
				return err
			}
		}
		run, err := w.store.RunningRegroup(ctx)
		if errors.Is(err, crash.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return w.regroup(ctx, run.ID)
	})
}

// Timeout is none: each step has its own.
func (w *leftBehindWorker) Timeout(*river.Job[LeftBehindJob]) time.Duration { return -1 }

func (s *Store) addSplitJob(ctx context.Context, tx pgx.Tx, decision int64) error {
	if _, err := s.inserter.InsertTx(ctx, tx, SplitJob{decision}, &river.InsertOpts{Queue: queueSlow}); err != nil {
		return fmt.Errorf("queue split %d: %w", decision, err)
	}
	return nil
}

func (s *Store) addRegroupJob(ctx context.Context, tx pgx.Tx, run int64) error {
	if _, err := s.inserter.InsertTx(ctx, tx, RegroupJob{run}, &river.InsertOpts{Queue: queueSlow}); err != nil {
		return fmt.Errorf("queue regrouping %d: %w", run, err)
	}
	return nil
}

// FinishSplit does all steps that a split still needs, with rests between them. It returns early when ctx ends.
func (s *Store) FinishSplit(ctx context.Context, id int64) error {
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
