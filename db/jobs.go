package db

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"mishap/crash"
)

// FilingJob is the job that works on one filing. It may run too often, too late or not at all without harm: what is to be
// done is in the filing.
type FilingJob struct {
	Filing int64 `json:"filing"`
}

// Kind is the name of the job in the queue.
func (FilingJob) Kind() string { return "filing" }

// JobsConfig says what the jobs do.
type JobsConfig struct {
	Log             *slog.Logger
	File            func(ctx context.Context, filing int64) error // one step of a filing
	KeepReportsDays int                                           // for how many days after the end of their month of arrival reports are kept; 0: for ever
	Rules           crash.Rules                                   // that stored reports are regrouped by; zero: this program's
}

// Jobs works on the queue. It is safe to run in any number of units.
type Jobs struct {
	client *river.Client[pgx.Tx]
	slow   *slowWork
}

const (
	filingWorkers = 4
	fetchCooldown = 5 * time.Millisecond // between two looks into the queue; new jobs announce themselves
)

// NewJobs returns the workers of this unit. Start starts them.
func NewJobs(s *Store, c JobsConfig) (*Jobs, error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &filingWorker{file: c.File}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	log := c.Log
	if log == nil {
		log = s.log
	}
	if c.Rules.Group == nil {
		c.Rules = crash.CurrentRules()
	}
	slow := newSlowWork(s, c.Rules)
	if err := slow.add(workers); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	if err := river.AddWorkerSafely(workers, &retentionWorker{store: s, keepDays: c.KeepReportsDays}); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	client, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		Logger:        log,
		Workers:       workers,
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: filingWorkers}, queueSlow: {MaxWorkers: slowWorkers}},
		FetchCooldown: fetchCooldown,
		PeriodicJobs:  []*river.PeriodicJob{leftBehind(), dropPeriodically()},
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &Jobs{client: client, slow: slow}, nil
}

// Start begins working. The workers outlive ctx; Stop ends them.
func (j *Jobs) Start(ctx context.Context) error {
	if err := j.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start jobs: %w", known(err))
	}
	return nil
}

// Stop takes up no more jobs and waits for those under way until ctx ends; then they are cancelled.
func (j *Jobs) Stop(ctx context.Context) error {
	j.slow.stop() // where it was stands in the database
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

// Work does one step. What comes after it has a job of its own.
func (w *filingWorker) Work(ctx context.Context, job *river.Job[FilingJob]) error {
	return w.file(ctx, job.Args.Filing)
}

// Timeout is none: the step knows its own limits.
func (w *filingWorker) Timeout(*river.Job[FilingJob]) time.Duration { return -1 }

// newInserter returns a client that only puts jobs into the queue.
func newInserter(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("job queue: %w", err)
	}
	return client, nil
}

// addFilingJob puts a filing into the queue, in the transaction that makes the step necessary.
func (s *Store) addFilingJob(ctx context.Context, tx pgx.Tx, filing int64, in time.Duration) error {
	opts := &river.InsertOpts{}
	if in > 0 {
		opts.ScheduledAt = time.Now().Add(in)
	}
	if _, err := s.inserter.InsertTx(ctx, tx, FilingJob{Filing: filing}, opts); err != nil {
		return fmt.Errorf("queue filing %d: %w", filing, err)
	}
	return nil
}
