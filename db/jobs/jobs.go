// Package jobs works on the queue of jobs in the database: filings, long decisions and periodic
// tasks. Package db adds jobs to the queue.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/grouping"
	"mishap/crash/span"
	"mishap/db"
)

// Config contains the settings of Jobs.
type Config struct {
	Log   *slog.Logger
	File  func(ctx context.Context, filing int64) error // does one step of a filing
	Tasks []Task                                        // periodic tasks; each run takes place in one instance
	Rules crash.Rules                                   // for regrouping; zero means this program's

	Tracer *span.Tracer // records jobs; nil means none
}

// Jobs works on the queue. Each instance may have one.
type Jobs struct {
	client *river.Client[pgx.Tx]
	stop   context.CancelFunc // ends long jobs and tasks at once
}

const (
	filingWorkers = 4
	longWorkers   = 2
	fetchCooldown = 5 * time.Millisecond // minimum time between two fetches; new jobs cause a notification

	// jobLimit is the maximum duration of a job. If a job seems to run longer, River assumes that its
	// instance was killed and gives the job to another one.
	jobLimit = 6 * time.Hour
)

// New returns Jobs for this instance. Start starts them.
func New(s *db.Store, c Config) (*Jobs, error) {
	if c.Log == nil {
		c.Log = s.Log
	}
	if c.Rules.Group == nil {
		c.Rules = grouping.CurrentRules()
	}
	running, stop := context.WithCancel(context.Background()) //nolint:forbidigo // Stop ends it
	long := &longJobs{decisions: db.NewDecisions(s), rules: c.Rules, running: running, tracer: c.Tracer}
	workers := river.NewWorkers()
	err := errors.Join(
		river.AddWorkerSafely(workers, &filingWorker{file: c.File, tracer: c.Tracer}),
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
		client, err = river.NewClient(riverpgxv5.New(s.Pool), &river.Config{
			Logger:  c.Log,
			Workers: workers,
			Queues: map[string]river.QueueConfig{
				river.QueueDefault: {MaxWorkers: filingWorkers},
				db.LongQueue:       {MaxWorkers: longWorkers},
				queueTasks:         {MaxWorkers: len(c.Tasks) + 1}, // one more, for a run whose task is still busy
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

// Start starts the workers. They outlive ctx; Stop ends them.
func (j *Jobs) Start(ctx context.Context) error {
	if err := j.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start jobs: %w", db.Classify(err))
	}
	return nil
}

// Stop stops fetching jobs, and interrupts long jobs and tasks, whose progress is in the database.
// It waits for running filings until ctx ends, and then cancels them.
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
	river.WorkerDefaults[db.FilingJob]
	file   func(ctx context.Context, filing int64) error
	tracer *span.Tracer
}

// Work does one step of a filing. The next step has a job of its own.
func (w *filingWorker) Work(ctx context.Context, job *river.Job[db.FilingJob]) (err error) {
	ctx = audit.WithActor(ctx, &audit.Actor{Kind: audit.Job, Via: "file-bugs"})
	ctx, step := w.tracer.Start(ctx, "job file-bugs", span.ParseCause(job.Args.Cause))
	defer func() { step.End(err) }()
	return w.file(ctx, job.Args.Filing)
}

// Timeout returns a limit far above the duration of a step, which has its own limits.
func (w *filingWorker) Timeout(*river.Job[db.FilingJob]) time.Duration { return jobLimit }
