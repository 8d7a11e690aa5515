package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/riverqueue/river"
)

// Task is work that is done again and again, each time by one of the instances. A run that an
// instance did not finish is not repeated: the next one comes anyway.
type Task struct {
	Name  string        // kind of its jobs in the queue
	Every time.Duration // at least one second
	Run   func(context.Context) error
}

// queueTasks is a queue of its own, so that tasks never wait for long jobs, nor filings for tasks.
const queueTasks = "tasks"

// uniquePeriod bounds the time in which a task is queued only once. Instances that become leader of
// the queue one after the other queue every task when they do. A longer period would leave out the
// first run after a restart.
const uniquePeriod = 10 * time.Second

// periodic returns the entry of River's schedule. The leader of the queue follows it, and queues
// each task when it becomes leader. Jobs are unique by time and not by state, so that a job whose
// instance was killed does not hold up the next.
func (t Task) periodic() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(t.Every), func() (river.JobArgs, *river.InsertOpts) {
		return taskJob{kind: t.Name}, &river.InsertOpts{
			Queue: queueTasks, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByPeriod: min(t.Every, uniquePeriod)},
		}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// taskJob runs a task once. The task is its kind, so that an instance without the task leaves the
// job to others.
type taskJob struct{ kind string }

// Kind is the name of the job in the queue.
func (j taskJob) Kind() string { return j.kind }

type taskWorker struct {
	river.WorkerDefaults[taskJob]
	task    Task
	running context.Context // ends when the instance stops
	busy    sync.Mutex
}

// Work runs the task, unless this instance is still busy with the run before. Tasks that must not
// run in two instances at the same time hold a lock in the database.
func (w *taskWorker) Work(ctx context.Context, _ *river.Job[taskJob]) error {
	if !w.busy.TryLock() {
		return nil
	}
	defer w.busy.Unlock()
	return interruptible(ctx, w.running, w.task.Run)
}

// Timeout ends a run that takes far too long, and lets River clean up after a killed instance.
func (w *taskWorker) Timeout(*river.Job[taskJob]) time.Duration { return jobLimit }

// interruptible calls do with a context that also ends when running does. What do leaves unfinished
// because of jobLimit is no error: the task or job that comes next goes on with it.
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
