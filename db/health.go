package db

import (
	"context"
	"sync"
	"time"

	"mishap/crash"
)

// failure remembers that something fails, since when and why, until it goes well again.
type failure struct {
	mu    sync.Mutex
	since time.Time // zero: all is well
	err   error
}

func (f *failure) result(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	switch {
	case err == nil:
		f.since = time.Time{}
	case f.since.IsZero():
		f.since = time.Now()
	}
}

// get returns the last error and since when there have been errors; nil if there is none now.
func (f *failure) get() (since time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.since, f.err
}

// Health tells whether the database answers, whether it has room, and whether what is stored is counted.
func (s *Store) Health(ctx context.Context) []crash.HealthCheck {
	database, storing := crash.HealthCheck{Name: "Database"}, crash.HealthCheck{Name: "Storing"}
	if err := s.Ping(ctx); err != nil {
		database.Problem, database.Detail = "The database cannot be reached.", err.Error()
	}
	if s.saver.noSpace.Load() {
		storing.Problem = "There is no space left on the disk of the database: reports cannot be stored."
	}
	return []crash.HealthCheck{database, storing, s.counter.health()}
}
