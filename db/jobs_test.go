package db_test

import (
	"context"
	"testing"
	"time"

	"mishap/db"
	"mishap/db/dbtest"

	"github.com/jackc/pgx/v5"
)

// A task runs even if an earlier job of it seems to be still running because its instance was
// killed.
func TestTaskAfterKill(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	ran := make(chan struct{}, 1)
	config := db.JobsConfig{Log: dbtest.Log(t),
		Tasks: []db.Task{{Name: "sound-horn", Every: time.Second, Run: func(context.Context) error {
			select {
			case ran <- struct{}{}:
			default:
			}
			return nil
		}}}}
	stop := startJobs(t, s, config)
	<-ran
	stop()
	dbtest.Exec(t, url,
		`update river_job set state = 'running', finalized_at = null, attempted_at = now() where kind = 'sound-horn'`)
	select {
	case <-ran: // the second run
	default:
	}
	startJobs(t, s, config)
	select {
	case <-ran:
	case <-time.After(2 * time.Minute):
		t.Error("the task does not run again")
	}
}

// During an update, an instance leaves unknown jobs to instances of the other version.
func TestUnknownJobs(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	dbtest.Exec(t, url,
		`insert into river_job (kind, args, max_attempts, queue) values ('from-tomorrow', '{}', 1, 'default')`)
	const filing = 7
	if err := s.InTx(t.Context(), func(tx pgx.Tx) error {
		return s.AddFilingJob(t.Context(), tx, filing,
			0)
	}); err != nil {
		t.Fatal(err)
	}
	worked := make(chan int64, 1)
	stop := startJobs(t, s, db.JobsConfig{Log: dbtest.Log(t), File: func(_ context.Context, id int64) error {
		worked <- id
		return nil
	}})
	if id := <-worked; id != filing { // the other job was queued first
		t.Errorf("got filing %d, want %d", id, filing)
	}
	stop()
	var n int
	err := s.Pool.QueryRow(t.Context(),
		`select count(*) from river_job where kind = 'from-tomorrow' and state = 'available' and attempt = 0`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	if n != 1 {
		t.Errorf("got %d untouched jobs of another version, want 1", n)
	}
}

// startJobs starts workers and returns a function that stops them. The end of the test also stops
// them.
func startJobs(t *testing.T, s *db.Store, c db.JobsConfig) (stop func()) {
	t.Helper()
	workers, err := db.NewJobs(s, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := workers.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := workers.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}
