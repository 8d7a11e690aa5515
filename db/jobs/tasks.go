package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/riverqueue/river"
)

// Task is a periodic task. Each run takes place in one instance. An unfinished run is not repeated,
// because the next one follows anyway.
type Task struct {
	Name  string        // kind of its jobs in the queue
	Every time.Duration // at least one second
	Run   func(context.Context) error
}

// queueTasks is a separate queue, so that tasks do not wait for long jobs, and filings do not wait
// for tasks.
const queueTasks = "tasks"

// uniquePeriod is the maximum time within which a task is queued only once. Each instance that
// becomes leader of the queue queues all tasks. A longer period would omit the first run after a
// restart.
const uniquePeriod = 10 * time.Second

// periodic returns the entry of the task in River's schedule. The leader of the queue follows the
// schedule, and queues each task when it becomes leader. Jobs are unique by time, not by state, so
// that a job of a killed instance does not block the next one.
func (t Task) periodic() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(t.Every), func() (river.JobArgs, *river.InsertOpts) {
		return taskJob{kind: t.Name}, &river.InsertOpts{
			Queue: queueTasks, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByPeriod: min(t.Every, uniquePeriod)},
		}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// taskJob runs a task once. Its kind is the name of the task, so that instances without that task
// leave the job to others.
type taskJob struct{ kind string }

// Kind returns the name of the job in the queue.
func (j taskJob) Kind() string { return j.kind }

type taskWorker struct {
	river.WorkerDefaults[taskJob]
	task    Task
	running context.Context // ends when the instance stops
	busy    sync.Mutex
}

// Work runs the task, unless the previous run has not ended in this instance. Tasks that must not
// run in two instances at once hold a lock in the database.
func (w *taskWorker) Work(ctx context.Context, _ *river.Job[taskJob]) error {
	if !w.busy.TryLock() {
		return nil
	}
	defer w.busy.Unlock()
	return interruptible(ctx, w.running, w.task.Run)
}

// Timeout returns the limit after which River ends a run, or cleans up after a killed instance.
func (w *taskWorker) Timeout(*river.Job[taskJob]) time.Duration { return jobLimit }

// interruptible calls do with a context that also ends with running. It returns nil if jobLimit
// interrupts do, because the next job or task continues the work.
func interruptible(ctx, running context.Context, do func(context.Context) error) error {
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(running, cancel)()
	err := do(both)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}
