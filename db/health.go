package db

import (
	"context"
	"fmt"
	"sync"
	"time"

	"mishap/crash"
)

// failure records since when and why something fails, until it succeeds again.
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

// Health reports whether the database answers, whether it has room, and whether what is stored is counted.
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

// health reports whether what is stored can be counted.
func (c *counter) health() crash.HealthCheck {
	h := crash.HealthCheck{Name: "Counting"}
	c.mu.Lock()
	reports, limit := c.reports, c.limit
	c.mu.Unlock()
	if reports > 0 {
		h.Detail = fmt.Sprintf("%d stored reports of this instance are not counted yet.", reports)
	}
	for _, f := range []*failure{&c.failing, &c.orphansFailing} {
		if since, err := f.get(); err != nil {
			h.Problem = "Reports are stored, but they cannot be counted at the moment: lists and charts are behind."
			h.Detail = fmt.Sprintf("Counting has failed since %s, with up to %d reports at a time. %s The last error: %v",
				since.UTC().Format("2006-01-02 15:04:05 UTC"), limit, h.Detail, err)
			break
		}
	}
	return h
}
