package db

import (
	"context"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// RetentionJob drops reports that are older than they are to be kept.
type RetentionJob struct{}

// Kind is the name of the job in the queue.
func (RetentionJob) Kind() string { return "retention" }

// dropEvery is how often it is looked for months that are over.
const dropEvery = 6 * time.Hour

// dropPeriodically puts a RetentionJob into the queue when a unit starts and from time to time, one over all units.
func dropPeriodically() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(dropEvery), func() (river.JobArgs, *river.InsertOpts) {
		return RetentionJob{}, &river.InsertOpts{Queue: queueSlow, MaxAttempts: 1, UniqueOpts: river.UniqueOpts{
			ByState: []rivertype.JobState{
				rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
			},
		}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

type retentionWorker struct {
	river.WorkerDefaults[RetentionJob]
	store    *Store
	keepDays int
}

// Work drops whole months that ended keepDays ago.
func (w *retentionWorker) Work(ctx context.Context, _ *river.Job[RetentionJob]) error {
	if w.keepDays == 0 {
		return nil
	}
	months, err := w.store.DropReports(ctx, w.store.now().AddDate(0, 0, -w.keepDays))
	if len(months) > 0 {
		w.store.log.InfoContext(ctx, "dropped reports; their counts stay", "months", months, "reports_keep_days", w.keepDays)
	}
	return err
}

// Timeout is none: the statements have their own.
func (w *retentionWorker) Timeout(*river.Job[RetentionJob]) time.Duration { return -1 }
