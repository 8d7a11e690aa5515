package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"mishap/crash"
	"mishap/crash/grouping"
)

// FilingJob does the next step of one filing. It may run too often, too late or not at all without
// harm: the filing itself says what is to be done.
type FilingJob struct {
	Filing int64 `json:"filing"`
}

// Kind is the name of the job in the queue.
func (FilingJob) Kind() string { return "filing" }

// JobsConfig says what the jobs do.
type JobsConfig struct {
	Log   *slog.Logger
	File  func(ctx context.Context, filing int64) error // does one step of a filing
	Tasks []Task                                        // what the instances do again and again, each time one of them
	Rules crash.Rules                                   // for regrouping; zero: this program's
}

// Jobs works on the queue. Any number of instances may run one.
type Jobs struct {
	client *river.Client[pgx.Tx]
	stop   context.CancelFunc // ends long jobs and tasks at once
}

const (
	filingWorkers = 4
	fetchCooldown = 5 * time.Millisecond // shortest pause between two fetches; new jobs announce themselves

	// jobLimit is the longest that a job may run. River gives a job that seems to run longer to
	// another instance: its instance was killed. Without a limit such a job would count as running
	// for ever.
	jobLimit = 6 * time.Hour
)

// NewJobs returns the workers of this instance. Start starts them.
func NewJobs(s *Store, c JobsConfig) (*Jobs, error) {
	if c.Log == nil {
		c.Log = s.log
	}
	if c.Rules.Group == nil {
		c.Rules = grouping.CurrentRules()
	}
	running, stop := context.WithCancel(context.Background()) //nolint:forbidigo // Stop ends it
	long := &longJobs{decisions: NewDecisions(s), rules: c.Rules, running: running}
	workers := river.NewWorkers()
	err := errors.Join(
		river.AddWorkerSafely(workers, &filingWorker{file: c.File}),
		river.AddWorkerSafely(workers, &splitWorker{longJobs: long}),
		river.AddWorkerSafely(workers, &regroupWorker{longJobs: long}),
	)
	var periodic []*river.PeriodicJob
	for _, t := range c.Tasks {
		river.AddWorkerArgs(workers, taskJob{kind: t.Name}, &taskWorker{task: t, running: running})
		periodic = append(periodic, t.periodic())
	}
	var client *river.Client[pgx.Tx]
	if err == nil {
		client, err = river.NewClient(riverpgxv5.New(s.pool), &river.Config{
			Logger:  c.Log,
			Workers: workers,
			Queues: map[string]river.QueueConfig{
				river.QueueDefault: {MaxWorkers: filingWorkers},
				queueLong:          {MaxWorkers: longWorkers},
				queueTasks:         {MaxWorkers: len(c.Tasks) + 1}, // room for one that finds its task busy
			},
			FetchCooldown:       fetchCooldown,
			FetchOnlyKnownKinds: true, // during an update, leave the jobs of another version to its instances
			PeriodicJobs:        periodic,
		})
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &Jobs{client: client, stop: stop}, nil
}

// Start begins working. The workers outlive ctx; Stop ends them.
func (j *Jobs) Start(ctx context.Context) error {
	if err := j.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start jobs: %w", known(err))
	}
	return nil
}

// Stop fetches no more jobs, interrupts long jobs and tasks, whose progress is in the database, and
// waits for filings under way until ctx ends; then it cancels them.
func (j *Jobs) Stop(ctx context.Context) error {
	j.stop()
	err := j.client.Stop(ctx)
	if err != nil && ctx.Err() != nil {
		err = j.client.StopAndCancel(context.WithoutCancel(ctx))
	}
	if err != nil {
		return fmt.Errorf("stop jobs: %w", err)
	}
	return nil
}

type filingWorker struct {
	river.WorkerDefaults[FilingJob]
	file func(ctx context.Context, filing int64) error
}

// Work does one step. The step after it has a job of its own.
func (w *filingWorker) Work(ctx context.Context, job *river.Job[FilingJob]) error {
	return w.file(ctx, job.Args.Filing)
}

// Timeout is far above what a step takes, which has its own limits.
func (w *filingWorker) Timeout(*river.Job[FilingJob]) time.Duration { return jobLimit }

// newInserter returns a client that only puts jobs into the queue.
func newInserter(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("job queue: %w", err)
	}
	return client, nil
}

// addFilingJob queues a step of a filing, in the transaction that makes the step necessary. It runs
// in so much time from now.
func (s *Handle) addFilingJob(ctx context.Context, tx pgx.Tx, filing int64, in time.Duration) error {
	opts := &river.InsertOpts{}
	if in > 0 {
		opts.ScheduledAt = time.Now().Add(in)
	}
	if _, err := s.inserter.InsertTx(ctx, tx, FilingJob{Filing: filing}, opts); err != nil {
		return fmt.Errorf("queue filing %d: %w", filing, err)
	}
	return nil
}
