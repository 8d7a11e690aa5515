package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"mishap/crash"
	"mishap/crash/span"
	"mishap/db"
)

// longJobs is shared by the long jobs. They record their progress in the database, so that another
// instance or a later job can continue after an interruption.
type longJobs struct {
	decisions *db.Decisions
	rules     crash.Rules
	running   context.Context // ends when the instance stops
	tracer    *span.Tracer
}

// interruptible calls do as a step with this name. It ends early if the instance stops.
func (l *longJobs) interruptible(ctx context.Context, name string, do func(context.Context) error) error {
	ctx, step := l.tracer.Start(ctx, name)
	err := interruptible(ctx, l.running, do)
	step.End(err)
	return err
}

type splitWorker struct {
	river.WorkerDefaults[db.SplitJob]
	*longJobs
}

// Work runs all remaining steps of a split.
func (w *splitWorker) Work(ctx context.Context, job *river.Job[db.SplitJob]) error {
	return w.interruptible(ctx, "job split", func(ctx context.Context) error {
		return w.decisions.FinishSplit(ctx, job.Args.Decision)
	})
}

// Timeout returns the limit after which River cleans up after a killed instance. FinishDecisions
// continues a longer job.
func (w *splitWorker) Timeout(*river.Job[db.SplitJob]) time.Duration { return jobLimit }

type regroupWorker struct {
	river.WorkerDefaults[db.RegroupJob]
	*longJobs
}

// Work runs all remaining steps of a regrouping run, unless another instance works on it.
func (w *regroupWorker) Work(ctx context.Context, job *river.Job[db.RegroupJob]) error {
	return w.interruptible(ctx, "job regroup", func(ctx context.Context) error {
		run, err := w.decisions.Regroup(ctx, job.Args.Run)
		if err != nil {
			return err
		}
		return w.decisions.ContinueRegroup(ctx, run, w.rules)
	})
}

// Timeout returns the limit after which River cleans up after a killed instance. FinishDecisions
// continues a longer job.
func (w *regroupWorker) Timeout(*river.Job[db.RegroupJob]) time.Duration { return jobLimit }
