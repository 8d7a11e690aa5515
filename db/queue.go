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
)

// FilingJob does the next step of one filing. It may run too often, too late or not at all without
// harm: the filing itself says what is to be done.
type FilingJob struct {
	Filing int64 `json:"filing"`
}

// Kind is the name of the job in the queue.
func (FilingJob) Kind() string { return "filing" }

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
